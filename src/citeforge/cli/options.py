"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

benchmark_option = click.option(
    "--benchmark",
    type=click.Path(path_type=Path),
    required=True,
    help="Package, or hub:ORG/NAME[@REVISION].",
)
verdicts_option = click.option(
    "--verdicts", type=click.Path(path_type=Path), help="Verdict store (SQLite)."
)

_ENDPOINT = (
    click.option("--base-url", help="OpenAI-compatible endpoint (default: OPENAI_BASE_URL)."),
    click.option(
        "--concurrency",
        type=click.IntRange(1),
        default=16,
        show_default=True,
        help="Requests in flight.",
    ),
    click.option(
        "--timeout",
        type=click.FloatRange(0, min_open=True),
        default=120.0,
        show_default=True,
        help="Seconds before a silent connection counts as broken.",
    ),
    click.option(
        "--rpm",
        type=click.FloatRange(0, min_open=True),
        help="Requests a minute to start with (learnt from 429s otherwise).",
    ),
    click.option("--tpm", type=click.FloatRange(0, min_open=True), help="Tokens a minute."),
    click.option("--price", metavar="IN,OUT", help="Prices per million tokens."),
    click.option("--max-cost", type=click.FloatRange(0), help="Stop before this is passed."),
    click.option("--store", type=click.Path(path_type=Path), help="Replay store (SQLite)."),
)
_MODEL = (
    click.option("--revision", help="Commit, tag or branch of a Hub model."),
    click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda, …"),
    click.option(
        "--batch-size",
        type=click.IntRange(1),
        help="Pairs a batch of a local model (default: 32 on a GPU, 8 elsewhere).",
    ),
    click.option(
        "--workers",
        type=click.IntRange(1),
        default=1,
        show_default=True,
        help="Processes with a copy of the model each.",
    ),
    click.option(
        "--threshold",
        type=click.FloatRange(0, 1),
        default=0.5,
        show_default=True,
        help="Least probability of entailment of a classifier.",
    ),
    click.option("--max-tokens", type=click.IntRange(8), help="Longest input of a local model."),
    click.option("--entailment-label", help="Entailment label, when a model does not tell."),
)


def endpoint_options(command: F) -> F:
    """Options of everything that talks to an endpoint."""
    for option in reversed(_ENDPOINT):
        command = option(command)
    return command


def model_options(command: F) -> F:
    """Options of local judge models."""
    for option in reversed(_MODEL):
        command = option(command)
    return command


def client_options(given: dict[str, Any]) -> Any:
    """ClientOptions from parsed options."""
    from citeforge.engines.llm.options import ClientOptions
    from citeforge.engines.llm.records import Price
    from citeforge.schemas.errors import UsageError

    price = None
    if given["price"] is not None:
        try:
            prompt, completion = (float(n) for n in given["price"].split(","))
        except ValueError as error:
            raise UsageError(
                "--price: expected IN,OUT per million tokens, e.g. 0.15,0.60"
            ) from error
        price = Price(prompt, completion)
    return ClientOptions(
        base_url=given["base_url"],
        concurrency=given["concurrency"],
        timeout=given["timeout"],
        requests_per_minute=given["rpm"],
        tokens_per_minute=given["tpm"],
        price=price,
        max_cost=given["max_cost"],
    )


def open_replay(given: dict[str, Any]) -> Any:
    """The replay store of ``--store``, or None."""
    from citeforge.engines.llm.store import ReplayStore

    return None if given["store"] is None else ReplayStore(given["store"])


def keep_answers(given: dict[str, Any], name: str, out: Path) -> None:
    """Answers that were paid for are kept even when nobody asked for it: beside ``out``."""
    from citeforge.engines.folders import beside

    if name.startswith("openai:") and given["store"] is None:
        given["store"] = beside(out, ".replay.db")


def if_exists(given: dict[str, Any]) -> Any:
    """What ``--overwrite`` and ``--resume`` say, as builders take it."""
    from citeforge.schemas.errors import UsageError

    if given["overwrite"] and given.get("resume"):
        raise UsageError("--overwrite and --resume exclude each other")
    return "overwrite" if given["overwrite"] else "resume" if given.get("resume") else "refuse"


def judge_session(given: dict[str, Any], name: str | None, verdicts: Path | None) -> Any:
    """The session of ``--judge`` with its options and ``--verdicts``; None without a judge."""
    if name is None:
        return None
    from citeforge.engines.judge.hf import HfOptions
    from citeforge.engines.judge.registry import make_judge
    from citeforge.engines.judge.session import JudgeSession
    from citeforge.engines.judge.store import VerdictStore

    hf = HfOptions(
        revision=given["revision"],
        device=given["device"],
        batch_size=given["batch_size"],
        threshold=given["threshold"],
        max_tokens=given["max_tokens"],
        entailment_label=given["entailment_label"],
        workers=given["workers"],
    )
    judge = make_judge(name, hf=hf, client=client_options(given), replay=open_replay(given))
    return JudgeSession(judge, None if verdicts is None else VerdictStore(verdicts))
