"""Commands of ``citeforge`` as rows: ``--help`` imports none of them.

Each row's code is imported when the command is used.
"""

import click

from citeforge.cli.command import Command
from citeforge.engines.catalogue import Catalogue


def _build() -> click.Command:
    """Import the command ``build``."""
    from citeforge.cli.building import build

    return build


def _kg() -> click.Command:
    """Import the command ``kg``."""
    from citeforge.cli.graphs import kg

    return kg


def _run() -> click.Command:
    """Import the command ``run``."""
    from citeforge.cli.running import run

    return run


def _bench() -> click.Command:
    """Import the command ``bench``."""
    from citeforge.cli.running import bench

    return bench


def _check() -> click.Command:
    """Import the command ``check``."""
    from citeforge.cli.scoring import check

    return check


def _score() -> click.Command:
    """Import the command ``score``."""
    from citeforge.cli.scoring import score

    return score


def _compare() -> click.Command:
    """Import the command ``compare``."""
    from citeforge.cli.scoring import compare

    return compare


def _gate() -> click.Command:
    """Import the command ``gate``."""
    from citeforge.cli.gating import gate

    return gate


def _report() -> click.Command:
    """Import the command ``report``."""
    from citeforge.cli.scoring import report

    return report


def _verify() -> click.Command:
    """Import the command ``verify``."""
    from citeforge.cli.lookup import verify

    return verify


def _publish() -> click.Command:
    """Import the command ``publish``."""
    from citeforge.cli.publish import publish

    return publish


def _export() -> click.Command:
    """Import the command ``export``."""
    from citeforge.cli.export import export

    return export


def _show() -> click.Command:
    """Import the command ``show``."""
    from citeforge.cli.showing import show

    return show


def _view() -> click.Command:
    """Import the command ``view``."""
    from citeforge.cli.viewing import view

    return view


def _list() -> click.Command:
    """Import the command ``list``."""
    from citeforge.cli.listing import lists

    return lists


def _doctor() -> click.Command:
    """Import the command ``doctor``."""
    from citeforge.cli.lookup import doctor

    return doctor


def _llm() -> click.Command:
    """Import the command ``llm``."""
    from citeforge.cli.llm import llm

    return llm


COMMANDS: Catalogue[Command, None] = Catalogue(
    "commands",
    "command",
    Command,
    (
        Command(
            "build", "Build a benchmark package from a source, or by a recipe.", _build, "Build"
        ),
        Command("kg", "Ask a knowledge graph: profile, snapshot, link.", _kg, "Build"),
        Command("run", "Run a system and write its submission.", _run, "Run"),
        Command(
            "bench", "Run, score and compare several systems, and make a report.", _bench, "Run"
        ),
        Command("check", "Check a submission; never changes it.", _check, "Score"),
        Command("score", "Score submissions against a package.", _score, "Score"),
        Command(
            "compare",
            "Compare score files pairwise, or all with one baseline; or two packages.",
            _compare,
            "Score",
        ),
        Command("gate", "Decide whether a new system may replace the baseline.", _gate, "Score"),
        Command(
            "report",
            "Make a report of score files: a page, a table (md, tex, csv), or a plot (svg, png, "
            "pdf).",
            _report,
            "Score",
        ),
        Command(
            "verify",
            "Check a package: hashes, schemas, ids, contexts; and who signed it.",
            _verify,
            "Trust",
        ),
        Command(
            "publish",
            "Publish a package to the Hugging Face Hub, or a model's scores.",
            _publish,
            "Publish",
        ),
        Command(
            "export",
            "Write prompts, the card, the layout of another tool, or training data.",
            _export,
            "Publish",
        ),
        Command("show", "Summarise a package, or show one query in context.", _show, "Look up"),
        Command(
            "view",
            "Show packages, answers, scores and reports below folders as local pages.",
            _view,
            "Look up",
        ),
        Command(
            "list",
            "List the names to choose from: sources, formats, judges, measures, …",
            _list,
            "Look up",
        ),
        Command(
            "doctor",
            "Check installation, cache, endpoint, Hub and store; say what to do.",
            _doctor,
            "Look up",
        ),
        Command(
            "llm",
            "Ask an LLM, and keep its answers: run, stats, export, import, forget.",
            _llm,
            "Advanced",
        ),
    ),
)


def load_command(name: str) -> click.Command | None:
    """Import a command by name, built-in or a plugin's; None for an unknown one.

    Raises:
        InputError: the plugin that declares it is broken.
        UsageError: two plugins declare it.
    """
    command = COMMANDS.find(name)
    return None if command is None else command.load()


def grouped_helps() -> dict[str, dict[str, str]]:
    """Map help headings to {command: one-line help}; import declarations, but no command."""
    groups: dict[str, dict[str, str]] = {}
    for command in COMMANDS.all().values():
        if " " not in command.name:
            groups.setdefault(command.group, {})[command.name] = command.help
    return groups


def one_line_helps() -> dict[str, str]:
    """Map the names of all commands to their one-line helps."""
    return {name: text for group in grouped_helps().values() for name, text in group.items()}
