"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from citeforge.cli.record_options import add, options_of, record_from
from citeforge.schemas.recipes.base import Judging
from citeforge.schemas.recipes.run import ENDPOINT, LOCAL, RunOptions

F = TypeVar("F", bound=Callable[..., Any])

benchmark_option = click.option(
    "--benchmark",
    type=click.Path(path_type=Path),
    required=True,
    help="Package, or hub:ORG/NAME[@REVISION].",
)
verdicts_option = add(options_of(RunOptions, ("verdicts",)))
endpoint_options = add(options_of(RunOptions, ENDPOINT))
"""Options of everything that talks to an endpoint."""
_LOCAL_JUDGE = [n for n in Judging.model_fields if n != "judge"]


def model_options(command: F) -> F:
    """Options of local judge models."""
    return add([*options_of(Judging, _LOCAL_JUDGE), *options_of(RunOptions, LOCAL)])(command)


def run_options(given: dict[str, Any]) -> RunOptions:
    """How engines run, as parsed options say."""
    return record_from(RunOptions, given, (*ENDPOINT, *LOCAL, "verdicts"))


def client_options(given: dict[str, Any]) -> Any:
    """ClientOptions from parsed options."""
    from citeforge.engines.setup import client_options as made

    return made(run_options(given))


def open_replay(given: dict[str, Any]) -> Any:
    """The replay store of ``--store``, or None."""
    from citeforge.engines.setup import replay_store

    return replay_store(run_options(given))


def keep_answers(given: dict[str, Any], name: str, out: Path) -> None:
    """Answers that cost something are kept even when nobody asked for it: beside ``out``."""
    from citeforge.engines.folders import beside
    from citeforge.engines.setup import costs

    if costs(name) and given["store"] is None:
        given["store"] = beside(out, ".replay.db")


def judge_session(given: dict[str, Any], name: str | None, verdicts: Path | None) -> Any:
    """The session of ``--judge`` with its options and ``--verdicts``; None without a judge."""
    from citeforge.engines.setup import judge_session as made

    run = run_options(given | {"verdicts": verdicts})
    judging = record_from(Judging, given | {"judge": name})
    return made(judging, run, store=open_replay(given) if name is not None else None)
