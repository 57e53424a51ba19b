"""What to call in Python instead of each command; `docs/cli.md` shows it beside the command."""

import importlib
import inspect
from typing import Any

CALLS = {
    "build": "citeforge.build",
    "build --print-recipe": "citeforge.builders.recipe_files.recipe_text",
    "build --from": "citeforge.rebuild",
    "verify": "citeforge.builders.verify.verify",
    "show": "citeforge.load",
    "export prompts": "citeforge.export_prompts",
    "export signature": "citeforge.publishing.signing.sign_package",
    "verify --key": "citeforge.publishing.signing.check_signature",
    "run": "citeforge.run",
    "bench": "citeforge.bench",
    "check": "citeforge.check",
    "score": "citeforge.score_files",
    "compare": "citeforge.compare",
    "labels calibrate": "citeforge.plugins.labels.calibration.calibrate",
    "report": "citeforge.report",
    "gate": "citeforge.gate",
    "gate --plan": "citeforge.gate_plan",
    "labels export": "citeforge.plugins.labels.sheets.export_sheet",
    "labels plan": "citeforge.plugins.labels.planning.plan_labelling",
    "labels propose": "citeforge.plugins.labels.nuggets.propose_nuggets",
    "labels import": "citeforge.plugins.labels.returned.import_sheets",
    "labels meta-eval": "citeforge.plugins.labels.meta_eval.judge_quality",
    "audit": "citeforge.audit",
    "export card": "citeforge.card",
    "publish DIR": "citeforge.publish",
    "publish results": "citeforge.plugins.leaderboard.results.open_pull_request",
    "export": "citeforge.export",
    "reproduce": "citeforge.plugins.reproduce.run.reproduce_tables",
    "leaderboard build": "citeforge.plugins.leaderboard.build.build_leaderboard",
    "leaderboard add": "citeforge.plugins.leaderboard.submit.add_submissions",
    "leaderboard init": "citeforge.plugins.leaderboard.start.start_leaderboard",
    "kg profile": "citeforge.kg.profile.profile_class",
    "kg snapshot": "citeforge.kg.snapshot.write_snapshot",
    "kg link": "citeforge.kg.links.link_questions",
    "labels judge": "citeforge.plugins.labels.judging.judge_pairs",
    "llm run": "citeforge.systems.prompt_files.answer_prompts",
    "llm stats": "citeforge.engines.llm.replay.ReplayStore.stats",
    "llm export": "citeforge.engines.llm.replay.export_store",
    "llm import": "citeforge.engines.llm.replay.import_store",
    "llm forget": "citeforge.engines.llm.replay.ReplayStore.forget_batch",
    "build demo": "citeforge.library.demo.start_demo",
    "view": "citeforge.library.viewer.server.open_viewer",
    "doctor": "citeforge.engines.running.doctor.examine",
    "list": "citeforge.cli.catalogue.rows_of",
}
"""Command to the function or class that does its work; `build`, `export` and `run` have one for
all of their sub-commands."""


def resolve(name: str) -> Any:
    """The object of a dotted name.

    Raises:
        AttributeError: there is none.
        ModuleNotFoundError: its module is not there.
    """
    parts = name.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError as error:
            if cut == 1 or not (error.name or "").startswith("citeforge"):
                raise
            continue
        for part in parts[cut:]:
            found = getattr(found, part)
        return found
    raise ModuleNotFoundError(name)


def call_of(command: str) -> str | None:
    """A line of Python for a command; None for a group whose sub-commands have theirs."""
    words = command.removeprefix("citeforge ")
    first = words.partition(" ")[0]
    name = CALLS.get(words) or (CALLS[first] if first in ("build", "export", "run") else None)
    if name is None:
        return None
    found = resolve(name)
    wanted = [
        p.name
        for p in inspect.signature(found).parameters.values()
        if p.default is p.empty and p.name != "self"
    ]
    return f"{name}({', '.join(wanted)})"
