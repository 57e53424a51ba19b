"""Declaration of a measure, and the function that computes it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Generic, Literal, TypeVar

from citeforge.evaluator.statistics.estimates import Sample
from citeforge.evaluator.statistics.intervals import Range
from citeforge.evaluator.submissions.inputs import Inputs
from citeforge.schemas.errors import UsageError

if TYPE_CHECKING:
    from citeforge.evaluator.submissions.tools import ScoringTools

Answers = TypeVar("Answers")
"""Answers of a submission as some measures read them."""


OWN_WEIGHTS = (
    "the gold is hidden, and what an answer contains decides how much its query weighs: one query "
    "could make up the whole value"
)
"""Reason why ratios of sums over queries are not published."""


@dataclass(frozen=True)
class CitationQuality:
    """A measure's definition of citation quality, for comparisons of definitions.

    Attributes:
        aspect: what it looks at: the citations there are, what ought to be cited, or both.
        apart: one sentence: what sets it apart from other definitions.
        reference: one sentence: what the paper's own code does otherwise; empty for nothing.
    """

    aspect: Literal["precision", "recall", "both"]
    apart: str
    reference: str = ""

    def why(self, protocol: str) -> str:
        """Explain how this definition of citation quality differs from others, under a protocol."""
        return f"{self.apart} {self.reference if protocol == 'reference' else ''}".strip()


@dataclass(frozen=True)
class Measure:
    """Declaration of a named score; :class:`MeasureOf` adds how it is computed.

    It is a share, from 0 to 1 and shown as 0 to 100, where nothing else is said.

    Attributes:
        name: as in ``--measures`` and signatures.
        family: group it belongs to; naming the family selects them all.
        definition: one line.
        formula: the value of one answer, as the family's page in docs/measures says it (Markdown).
        edge_cases: where that needs a word more, and what ``reference`` does otherwise (Markdown).
        low: smallest raw value.
        high: largest raw value; None when there is no bound.
        scale: factor for display.
        needs: what a benchmark or submission must have, as text; empty for nothing.
        source: paper and section.
        uses: what it is handed besides answers, and its signature names: ``judge``, ``segmenter``,
            ``llm``; ``statements``, which need the segmenter.
        reads: answers to what: ``passages``, all ``cells`` of an authorship benchmark, ``triples``
            of a graph, or what else a kind declares among its ``readings``.
        parameters: parts of its name after the base: cutoff, part, references.
        options: (tools, protocol) to the choices that change it, as its signature lists them.
        gold: protocol to the gold sets that it uses, where there are several.
        origin: plugin that brings it, with its version; None for a built-in one.
        unlabelled: why labels of statements and citations decide nothing of it; empty where they
            do.
        higher_is_better: whether a higher value is a better one; None where neither direction is.
        reads_labels: whether hidden labels, gold answers or assessments may decide anything of it;
            False where answers and what systems are shown decide alone. Where the gold is hidden,
            it is published without noise then.
        linear: it is a share of verdicts, so that error rates of the judge can correct it.
        citation_quality: how it defines the quality of citations; None where it measures something
            else.
        changes: what changed in ``strict``, one sentence for each later version of its definition;
            signatures have the version.
    """

    name: str
    family: str
    definition: str
    low: float = 0
    high: float | None = 1
    scale: int = 100
    needs: str = ""
    source: str = field(kw_only=True)
    uses: tuple[str, ...] = ()
    formula: str = field(default="", kw_only=True)
    edge_cases: str = field(default="", kw_only=True)
    reads: ClassVar[str]
    parameters: Mapping[str, object] = field(default_factory=dict, compare=False)
    options: Callable[[ScoringTools, str], str | None] | None = None
    gold: Mapping[str, str] = field(default_factory=dict, compare=False)
    origin: str | None = None
    higher_is_better: bool | None = True
    reads_labels: bool = True
    linear: bool = False
    unlabelled: str = ""
    citation_quality: CitationQuality | None = None
    changes: tuple[str, ...] = ()

    @property
    def form(self) -> str:
        """What users type: the name."""
        return self.name

    @property
    def help(self) -> str:
        """Description in one line."""
        return self.definition

    def version(self, protocol: str) -> str | None:
        """Get the version of its definition, for signatures; None for the first one."""
        return str(1 + len(self.changes)) if self.changes and protocol == "strict" else None

    @property
    def range(self) -> Range:
        """Range of the measure's raw values."""
        return Range(self.low, math.inf if self.high is None else self.high)


SHORT_ANSWERS = (
    "short answers are compared as numbers, dates and whole words "
    "(docs/definitions.md#short_answers)",
)
"""What changed in measures that look for short answers."""
VALUES = ("cited values are compared as short answers are (docs/definitions.md#short_answers)",)
"""What changed in measures of cited triples."""
SCRIPTS = ("words of scripts other than Latin are words, too (docs/definitions.md#text)",)
"""What changed in measures of words."""


@dataclass(frozen=True)
class MeasureOf(Measure, Generic[Answers]):
    """A measure with the function that computes it from answers of one sort.

    Attributes:
        compute: answers to the measure's sample, or to one for each place; what several measures
            share is computed by ``answers.once(function)``. Raises CannotError, which says why
            the measure cannot be computed.
    """

    compute: Callable[[Answers], Sample | Sequence[Sample]] = field(kw_only=True)


@dataclass(frozen=True)
class PassageMeasure(MeasureOf[Inputs]):
    """A measure of answers that cite passages."""

    reads = "passages"


count = partial(PassageMeasure, high=None, scale=1, higher_is_better=None)
"""Declare a measure that counts something in each answer; more is neither better nor worse."""


_CUTOFF = re.compile(r"[1-9][0-9]{0,8}")


@dataclass(frozen=True)
class CutoffForm:
    """Measures that differ in a number of passages alone, as in ir_measures: ``nDCG@10``.

    Attributes:
        base: part of the name before ``@``.
        make: number to the measure.
        listed: numbers of those that are listed, and that families select.
    """

    base: str
    make: Callable[[int], Measure]
    listed: tuple[int, ...]

    def measures(self) -> list[Measure]:
        """Make the measures with the usual cutoffs, such as ``nDCG@5`` and ``nDCG@10``."""
        return list(map(self.make, self.listed))

    def parse(self, name: str) -> Measure | None:
        """Make the measure that a name such as ``nDCG@7`` asks for; None if its base is another.

        Raises:
            UsageError: no such number is possible.
        """
        base, _, cutoff = name.partition("@")
        if base != self.base:
            return None
        if not _CUTOFF.fullmatch(cutoff):
            raise UsageError(
                f"measure {name!r}: @ is followed by the number of passages to look at, a whole "
                f"number of at least 1, as in {self.base}@5",
                code="bad-option",
            )
        return self.make(int(cutoff))
