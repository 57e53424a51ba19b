"""``citeforge run SYSTEM`` (a command per system, made from its record) and ``citeforge bench``."""

import shlex
import shutil
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from citeforge.cli.command import HeadedOption, NamedCommands, path_option
from citeforge.cli.json_output import headed_json_option, present
from citeforge.cli.options import (
    add_options,
    benchmark_option,
    endpoint_options,
    field_options,
    judging_options,
    names_option,
    record_from,
    run_options,
)
from citeforge.cli.short_help import ManyOptions
from citeforge.schemas.errors import UsageError
from citeforge.schemas.recipes.base import Judging, RunOptions
from citeforge.schemas.recipes.command_options import AmountOptions, PromptingOptions
from citeforge.schemas.recipes.groups import PROMPTS
from citeforge.schemas.recipes.systems import System


class Systems(NamedCommands):
    """Group with one command per system, built-in or a plugin's."""

    def sections(self) -> dict[str, dict[str, str]]:
        """Map the help heading to {system: description}, built-in systems first."""
        from citeforge.systems.registry import systems

        return {"Systems": {name: system.help for name, system in systems().items()}}

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Make the command that runs the named system on a benchmark."""
        from citeforge.systems.registry import get_system

        return _command(get_system(name))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a system's command; name it in messages without secrets, quoted for a shell."""
        name, command, others = super().resolve_command(ctx, args)
        return (name if command is None else shlex.quote(command.name or "")), command, others


@click.group(cls=Systems, subcommand_metavar="SYSTEM [OPTIONS]")
def run() -> None:
    """Run a system and write its submission.

    `run SYSTEM --help` lists its options.
    """


def _command(system: System) -> click.Command:
    """Make the command ``run NAME`` that runs one system on a benchmark."""
    record = system.options

    def command(**parameters: Any) -> None:
        """Run the system with the parsed options."""
        _run(system, record_from(record, parameters), parameters)

    if system.llm:
        command = endpoint_options(command)
    command = _add_common_options(system)(add_options(field_options(record))(command))
    return click.command(system.name, cls=ManyOptions, help=_help_text(system))(command)


def _add_common_options(system: System) -> Callable[[Any], Any]:
    """Make a decorator that adds the options that all systems share."""
    options = [
        benchmark_option,
        path_option("--out", required=not system.llm, help="Submission to write."),
        click.option("--context", "contexts", multiple=True, help=_contexts_help(system)),
        add_options(field_options(AmountOptions)),
        click.option(
            "--system",
            "title",
            help="Name in the submission's header.",
            cls=HeadedOption,
            group=PROMPTS,
        ),
        headed_json_option,
    ]
    if system.llm and not system.argument:
        options.insert(1, add_options(field_options(PromptingOptions, ("llm",))))

    def decorate(command: Any) -> Any:
        """Add the shared options to a command."""
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def _contexts_help(system: System) -> str:
    """Write the help of ``--context`` for a system."""
    if system.own:
        return "Context set whose queries are asked (default: the first)."
    return f"Context sets (default: {system.context or 'all'})."


def _help_text(system: System) -> str:
    """Write the help of a system's command: its description and paper."""
    where = f" ({system.where})." if system.where else "."
    return f"{system.help[:1].upper()}{system.help[1:]}{where}"


def _run(system: System, system_options: Any, parsed_options: dict[str, Any]) -> None:
    """Run a system on a benchmark and print the outcome, or the plan of its requests (dry run).

    Args:
        system: declaration of the system.
        system_options: record of the options that this system declares.
        parsed_options: parsed options of the command.
    """
    from citeforge.engines.running.setup import judge_session, replay_store
    from citeforge.library.systems import run as run_one

    judge, endpoint = None, run_options(parsed_options)
    if system.argument:
        parsed_options["llm"] = system.asks or None
        _refuse_unheeded(system)
    out = parsed_options["out"]
    if parsed_options.get("dry_run"):
        judging = getattr(system_options, "judging", None)
        judge = None if judging is None else judge_session(judging, endpoint)
        _print_plans(
            [system], parsed_options, endpoint, judge=judge, options={system.name: system_options}
        )
        return
    if out is None:
        raise UsageError("give --out FILE, or --dry-run", code="missing-option")
    if getattr(system_options, "rerank", None) is not None:
        judge = judge_session(
            system_options.judging, endpoint, store=replay_store(endpoint, parsed_options["llm"])
        )
    names = ("benchmark", "out", "llm", "contexts", "title", *AmountOptions.model_fields)
    given: dict[str, Any] = {name: parsed_options.get(name) for name in names}
    print_outcome(
        out, run_one(system, **given, options=system_options, judge=judge, endpoint=endpoint)
    )


_UNHEEDED = ("max_cost", "price", "rpm", "tpm", "batch", "base_url", "reasoning_effort")
"""Options of endpoints that neither a program nor a server of one's own heeds."""


def _refuse_unheeded(system: System) -> None:
    """Raise an error for endpoint options that have no effect on a user's own system."""
    context = click.get_current_context()
    for name in _UNHEEDED:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise UsageError(
                f"--{name.replace('_', '-')}: {system.name} is your own; the option is for openai: "
                "models",
                code="option-without-effect",
            )


def _print_plans(
    systems: Sequence[str | System],
    parsed_options: dict[str, Any],
    endpoint: RunOptions,
    **more: Any,
) -> None:
    """Print how many LLM requests systems would send, without those whose replies are stored.

    Args:
        systems: names or declarations.
        parsed_options: parsed options of the command.
        endpoint: how the endpoint is reached, and what it may cost.
        more: further arguments of :func:`citeforge.library.systems.plan_run`.
    """
    from citeforge.engines.running.setup import replay_path
    from citeforge.library.systems import plan_run

    names = ("benchmark", "llm", *AmountOptions.model_fields)
    given = {name: parsed_options[name] for name in names}
    contexts = parsed_options.get("contexts") or [c for c in [parsed_options.get("context")] if c]
    endpoint = endpoint.model_copy(
        update={"store": replay_path(endpoint, parsed_options["llm"] or "")}
    )
    plan = plan_run(systems, **given, contexts=contexts, endpoint=endpoint, **more)
    present(plan, lambda: click.echo("\n".join(plan.to_text_lines())))


def print_outcome(out: Path, outcome: Any, noun: str = "query") -> None:
    """Print one line on a run; raise FailuresError if a query (called ``noun``) has no answer.

    Args:
        out: its submission.
        outcome: result of the run.
        noun: noun for what is answered.

    Raises:
        FailuresError: some answers are missing.
    """
    from citeforge.engines.llm.records import OF_SERVER
    from citeforge.engines.llm.replies import advice_for
    from citeforge.engines.textfiles import count_text
    from citeforge.schemas.errors import FailuresError
    from citeforge.schemas.outputs import MissingAnswer, RunResult

    missing = [
        MissingAnswer(query_id=query, reason=failure.reason, message=failure.message)
        for query, failure in outcome.failures
    ]
    result = RunResult(
        file=str(out), system=outcome.system, answers=outcome.answers, missing=tuple(missing),
        counts=outcome.counts, warnings=tuple(outcome.warnings),
    )  # fmt: skip
    present(result, partial(print_summary, out, outcome))
    print_warnings(out, outcome)
    if outcome.failures:
        for query, failure in outcome.failures[:5]:
            click.echo(f"{query}: {failure.reason}: {failure.message}", err=True)
        _, first = outcome.failures[0]
        advice = f"{advice_for(first)}; then " if first.reason in OF_SERVER else ""
        raise FailuresError(
            f"{count_text(len(outcome.failures), noun)} without an answer; {advice}run again",
            code="counted-failures",
        )


def print_summary(out: Path, outcome: Any) -> None:
    """Print submission, number of answers, system and other counts of a run."""
    from citeforge.engines.textfiles import count_text
    from citeforge.schemas.counts import count_line, describe_count

    counted = sorted(outcome.counts.items(), key=lambda pair: describe_count(pair[0]))
    notes = ", ".join(count_line(*pair) for pair in counted)
    answers = f"{count_text(outcome.answers, 'answer')} of {outcome.system}"
    click.echo(f"{out}: {answers}" + (f" ({notes})" if notes else ""))


def print_warnings(out: Path, outcome: Any) -> None:
    """Print the warnings about a run's answers on standard error."""
    for text in outcome.warnings:
        click.echo(f"warning: {out}: {text}", err=True)


def _split_names(text: str) -> list[str]:
    """List the names in a text that are separated by commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


@click.command(cls=ManyOptions)
@benchmark_option
@click.option("--systems", required=True, help="Names, separated by commas.")
@names_option("--llm", sort="llms", help="LLM that systems ask: {llms}.")
@path_option("--out", help="Folder to write.")
@click.option("--context", help="Context set (default: all that a system answers).")
@add_options(field_options(AmountOptions))
@click.option("--measures", help="Measures or families, with commas between.")
@names_option("--judge", "judge_name", sort="judges", help="Judge: {judges}.")
@judging_options
@click.option("--verbose", is_flag=True, help="Print all counts and signatures.")
def bench(**parameters: Any) -> None:
    """Run, score and compare several systems, and make a report.

    The folder gets SYSTEM.jsonl and SYSTEM.scores.json (of several context sets
    SYSTEM.CONTEXT.scores.json) of each system, report.html, and the answers of a served model in
    replay.db (--store), so that nothing is paid for twice. Each runs with its own defaults: for
    other options, use `run` and `score`. Before an LLM is asked, a line says how
    many calls the first round takes, with --price what they cost, and how many may follow.
    """
    from citeforge.engines.running.setup import judge_session
    from citeforge.engines.textfiles import count_text
    from citeforge.library.systems import bench as make
    from citeforge.reports.terminal import render_differences, render_scores
    from citeforge.schemas.errors import FailuresError

    names, out = _split_names(parameters["systems"]), parameters["out"]
    if out is None and not parameters["dry_run"]:
        raise UsageError("give --out FOLDER, or --dry-run", code="missing-option")
    if parameters["store"] is None and out is not None:
        parameters["store"] = out / "replay.db"
    endpoint = run_options(parameters, out=None)
    measures = _split_names(parameters["measures"] or "")
    judging = record_from(Judging, parameters | {"judge": parameters["judge_name"]})
    if endpoint.dry_run:
        judge = judge_session(judging, endpoint)
        _print_plans(names, parameters, endpoint, judge=judge, measures=measures)
        return
    out.mkdir(parents=True, exist_ok=True)
    passed = ("benchmark", "out", "llm", "context", *AmountOptions.model_fields)
    result = make(
        systems=names,
        measures=measures,
        judge=judge_session(judging, endpoint),
        endpoint=endpoint,
        tell=lambda name, outcome: print_summary(out / f"{name}.jsonl", outcome),
        **{name: parameters[name] for name in passed},
    )
    width = shutil.get_terminal_size().columns
    click.echo(render_scores([s.file for s in result.scores], width, parameters["verbose"]))
    if result.differences:
        click.echo(render_differences(result.differences, width))
    click.echo(str(result.report))
    missing = sum(len(outcome.failures) for outcome in result.ran)
    if missing:
        raise FailuresError(
            f"{count_text(missing, 'answer')} missing; run again", code="counted-failures"
        )
