"""A system's submission: one JSON line for each (query, context set, run)."""

from __future__ import annotations

from typing import Any

import msgspec


class OwnPassage(msgspec.Struct, gc=False):
    """A passage that the system brought itself, in the order shown to it.

    Attributes:
        text: its text.
        docid: its id, where it has one.
        title: its title.
    """

    text: str
    docid: str | None = None
    title: str = ""


class TokenLogprob(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """Log probability of one citation token.

    Attributes:
        index: position of the citation in the output, from 0.
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
        meta: anything else.
    """

    query_id: str
    output: str
    context: str | None = None
    run: int = 0
    passages: list[OwnPassage] | None = None
    citations: list[list[int]] | None = None
    logprobs: list[TokenLogprob] | None = None
    meta: Any = None


class Header(msgspec.Struct, forbid_unknown_fields=True):
    """Optional first line: ``{"submission": {"system", "benchmark", …}}``."""

    submission: dict[str, Any]
