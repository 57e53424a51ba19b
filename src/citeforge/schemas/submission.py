"""A system's submission: one JSON line for each (query, context set, run)."""

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from citeforge.schemas.finish_reasons import is_cut

if TYPE_CHECKING:
    TextId = str
else:
    TextId = str | int
    """An id; a whole number in a file is read as its text."""

CONTROL = "control"
"""Field of a header, true for a control system: a reference line that nothing ranks."""

HEADER = re.compile(rb'\s*\{\s*"submission"\s*:')
"""Start of a line that is the header, not an answer."""


class OwnPassage(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """A passage that the system brought itself, in the order shown to it.

    Attributes:
        text: its text; may be left out where the benchmark's corpus has the docid.
        docid: its id, where it has one: by it the benchmark's judgements say whether it is
            relevant.
        title: its title.
        url: where it was found, for answers that cite by URL.
        idx: HAGRID's number of it: the passages of a line count up by 1, from any number.
    """

    text: str = ""
    docid: TextId | None = None
    title: str = ""
    url: str = ""
    idx: int | None = None

    def __post_init__(self) -> None:
        """Convert a numeric document id to text."""
        if self.docid is not None:
            self.docid = str(self.docid)


class CitedSpan(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """One citation, with the words of the answer that it is for, and the words that it quotes.

    Offsets count Unicode characters and exclude the end. What the measures read are the marks of
    the output; spans are kept beside them.

    Attributes:
        start: first character of the output that is cited for, marks counted.
        end: behind the last one; a citation that has a position and no extent spans its mark.
        passage: 0-based position among the passages shown; None for a source that is none of them.
        source: what the system itself calls it: id, URL or title.
        written: what stood in the answer where the mark stands now (a link, say); empty where
            nothing did; None where the span is of words.
        quote: words of the source, as the system gives them.
        quote_start: where the quotation starts in the source, in units of ``quote_unit``.
        quote_end: behind its end.
        quote_unit: ``char``, ``block`` (from 0) or ``page`` (from 1).
        confidence: what the system says of it, 0 to 1.
    """

    start: int
    end: int
    passage: int | None = None
    source: str = ""
    written: str | None = None
    quote: str | None = None
    quote_start: int | None = None
    quote_end: int | None = None
    quote_unit: str | None = None
    confidence: float | None = None


class CitedSentence(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """A sentence as the system itself marked it, with what it cites.

    Attributes:
        text: its text, without marks; it is one unit, whatever it holds.
        citations: 0-based positions among the passages shown, in the system's order, repeats kept;
            null for a citation of what is none of them.
    """

    text: str
    citations: list[int | None] = []


class CitedFact(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """A statement and a page that it cites, as read from the answer by another tool.

    Attributes:
        statement: what the answer says.
        url: page that it cites for it.
        verdict: whether the page supports it, if that was decided; ``undecided`` for a page without
            an answer, ``failed`` where the question failed.
    """

    statement: str
    url: str
    verdict: Literal["supported", "unsupported", "undecided", "failed"] | None = None


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
        sentences: the same answer in the system's own sentences, where it gives them apart: the
            unit of TREC's support measures under ``reference``.
        logprobs: log probabilities of the citation tokens.
        finish_reason: why the model stopped, as any vendor names it
            (:mod:`citeforge.schemas.finish_reasons`).
        spans: which words are cited for, and which are quoted, where the system says.
        meta: anything else.
        prompt: what was asked, as ``export prompts`` wrote it; answers that begin with it are cut.
        benchmark: name of the benchmark that was answered; not read.
        benchmark_hash: its hash, as in a header: a line of another benchmark is refused.
    """

    query_id: TextId
    output: str
    context: str | None = None
    run: int = 0
    passages: list[OwnPassage] | None = None
    sentences: list[CitedSentence] | None = None
    logprobs: list[TokenLogprob] | None = None
    finish_reason: str | None = None
    spans: list[CitedSpan] | None = None
    meta: Any = None
    prompt: str | None = None
    benchmark: str | None = None
    benchmark_hash: str | None = None

    def __post_init__(self) -> None:
        """Convert a numeric query id to text; raise an error unless passages' ``idx`` counts by 1.

        Raises:
            ValueError: marks would cite other passages than HAGRID's numbers do.
        """
        self.query_id = str(self.query_id)
        numbers = [p.idx for p in self.passages or () if p.idx is not None]
        if numbers and numbers != list(range(numbers[0], numbers[0] + len(self.passages or ()))):
            raise ValueError(
                "idx does not count the passages one by one; [1] cites the first of the list"
            )

    @property
    def is_truncated(self) -> bool:
        """Whether the answer was cut: at a limit, by a filter, or by a fault."""
        return is_cut(self.finish_reason)


Lines = Iterator[tuple[int, SubmissionLine]]
"""Answers of a file, each with the number of its line."""


class ReportLine(SubmissionLine, gc=False):
    """An answer with statements and citations that another tool read from it.

    No format of submissions has this, lest a system says of itself what is supported: a reader that
    was asked for it makes it of the files of another run.

    Attributes:
        facts: what measures of statements and URLs take in place of the output.
    """

    facts: tuple[CitedFact, ...] | None = None


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
    """Make the header of a submission, which names its system and the benchmark it answers.

    Args:
        system: name of the system.
        benchmark: name of the benchmark; None when the prompts do not say.
        benchmark_hash: its hash, by which ``score`` and ``check`` find it; None, too.
        contexts: context sets that were shown, repeats allowed.
        more: how the answers were made: LLM, options, hashes of prompts.
    """
    identity = {"benchmark": benchmark, "benchmark_hash": benchmark_hash}
    header: dict[str, Any] = {k: v for k, v in identity.items() if v is not None}
    names = list(dict.fromkeys(contexts))
    return Header({"system": system, **header, **({"contexts": names} if names else {}), **more})
