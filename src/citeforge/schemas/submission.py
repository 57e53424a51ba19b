"""A system's submission: one JSON line for each (query, context set, run)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

TRUNCATED = "length"
"""``finish_reason`` of an answer that was cut, as the OpenAI protocol names it."""


class OwnPassage(msgspec.Struct, gc=False):
    """A passage that the system brought itself, in the order shown to it.

    Attributes:
        text: its text; may be left out where the benchmark's corpus has the docid.
        docid: its id, where it has one: by it the benchmark's judgements say whether it is
            relevant.
        title: its title.
    """

    text: str = ""
    docid: str | None = None
    title: str = ""


class TokenLogprob(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """Log probability of one citation token.

    Attributes:
        index: mark that the token is a part of, counted from 0 over every ``[n]`` and every other
            bracket that may be a citation (``[2019]`` counts, ``[NA]`` does not).
        token: the token.
        logprob: natural logarithm of its probability.
    """

    index: int
    token: str
    logprob: float


class SubmissionLine(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """One answer.

    Attributes:
        query_id: query of the benchmark.
        output: what the system wrote, citations included.
        context: context set that it was shown; None when the benchmark has one, or for own
            passages.
        run: number of a repeated run, from 0.
        passages: the system's own passages, in the order shown.
        citations: positions cited by each statement, when the system gives them apart.
        logprobs: log probabilities of the citation tokens.
        finish_reason: why the model stopped, where that was not of its own accord: ``length`` for
            an answer that was cut at the token limit.
        meta: anything else.
    """

    query_id: str
    output: str
    context: str | None = None
    run: int = 0
    passages: list[OwnPassage] | None = None
    citations: list[list[int]] | None = None
    logprobs: list[TokenLogprob] | None = None
    finish_reason: str | None = None
    meta: Any = None

    @property
    def is_truncated(self) -> bool:
        """Whether the answer was cut at the token limit."""
        return self.finish_reason == TRUNCATED


class Header(msgspec.Struct, forbid_unknown_fields=True):
    """Optional first line: ``{"submission": {"system", "benchmark", "benchmark_hash", …}}``."""

    submission: dict[str, Any]


def make_header(
    system: str,
    benchmark: str | None,
    benchmark_hash: str | None,
    contexts: Iterable[str],
    **more: Any,
) -> Header:
    """The header that says what a submission answers.

    Args:
        system: name of the system.
        benchmark: name of the benchmark; None when the prompts do not say.
        benchmark_hash: its hash, by which ``score`` and ``check`` know it; likewise.
        contexts: context sets that were shown, repeats allowed.
        more: how the answers were made: LLM, options, hashes of prompts.
    """
    named = {"benchmark": benchmark, "benchmark_hash": benchmark_hash}
    known: dict[str, Any] = {k: v for k, v in named.items() if v is not None}
    shown = list(dict.fromkeys(contexts))
    return Header({"system": system, **known, **({"contexts": shown} if shown else {}), **more})
