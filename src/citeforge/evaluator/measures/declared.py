"""Declarations of measures: facts of each one, what it is handed, and how it is computed.

A *group* is a function with what it is handed; its measures share what the function computes::

    @per_answer("style", needs=(Need.PASSAGES,), source="our house rules")
    def passages_shown(answer):
        return len(answer.passages)

    MEASURES = (passages_shown.measure("Shown", "passages shown", high=None, scale=1),)
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack

from citeforge.evaluator.measures.handed import compute_each, hand_over
from citeforge.evaluator.measures.values import ByAnswer, Number
from citeforge.evaluator.statements.protocols import Evaluator
from citeforge.evaluator.statistics.estimates import Sample
from citeforge.evaluator.statistics.intervals import Range
from citeforge.evaluator.submissions.inputs import SharedResults
from citeforge.evaluator.submissions.tools import CannotError, Need
from citeforge.schemas.errors import UsageError

if TYPE_CHECKING:
    from citeforge.evaluator.submissions.tools import ScoringTools

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
    """A named score: its facts, and which number it takes of what its group computes.

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
        group: what its group computes, and from what.
        mean: takes its number from the result of one answer, or None where it is not defined; the
            numbers are averaged over queries.
        ratio: takes two numbers from the result of one answer; the sum of the first over all
            answers is divided by that of the second.
        sample: makes its sample, or one for each place, from the group's result in its own way.
            Without any of the three the result of an answer is the number itself.
        requires: what a benchmark or submission must have, as text; empty for nothing.
        source: paper and section.
        parameters: parts of its name after the base: cutoff, part, references.
        cutoffs: numbers of passages that are listed, where any may follow ``@`` in its name;
            ``sample`` takes the number, too.
        options: (tools, protocol) to the choices that change it, as its signature lists them.
        gold: protocol to the gold sets that it uses, where there are several.
        origin: plugin that brings it, with its version; None for a built-in one.
        unlabelled: why labels of statements and citations decide nothing of it; empty where they
            do.
        higher_is_better: whether a higher value is a better one; None where neither direction is.
        reads_labels: whether hidden labels, gold answers or assessments may decide anything of it;
            False where answers and what systems are shown decide alone. Where the gold is hidden,
            it is published without noise then.
        counts_unanswerable: whether queries that nothing in the benchmark answers count; all other
            measures leave these out.
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
    requires: str = ""
    source: str = field(kw_only=True)
    group: Group = field(kw_only=True, repr=False)
    mean: Callable[[Any], Number | None] | None = None
    ratio: Callable[[Any], tuple[Number, float]] | None = None
    sample: Callable[..., Sample | Sequence[Sample]] | None = None
    formula: str = field(default="", kw_only=True)
    edge_cases: str = field(default="", kw_only=True)
    parameters: Mapping[str, object] = field(default_factory=dict, compare=False)
    cutoffs: tuple[int, ...] = ()
    options: Callable[[ScoringTools, str], str | None] | None = None
    gold: Mapping[str, str] = field(default_factory=dict, compare=False)
    origin: str | None = None
    higher_is_better: bool | None = True
    reads_labels: bool = True
    counts_unanswerable: bool = False
    linear: bool = False
    unlabelled: str = ""
    citation_quality: CitationQuality | None = None
    changes: tuple[str, ...] = ()

    @property
    def form(self) -> str:
        """Name of the measure, as users type it."""
        return self.name

    @property
    def help(self) -> str:
        """Definition of the measure in one line."""
        return self.definition

    def version(self, protocol: str) -> str | None:
        """Get the version of the measure's definition, for signatures; None for the first."""
        return str(1 + len(self.changes)) if self.changes and protocol == "strict" else None

    @property
    def range(self) -> Range:
        """Range of the measure's values before they are scaled for display."""
        return Range(self.low, math.inf if self.high is None else self.high)

    @property
    def reads(self) -> str:
        """Kind of answers that the measure needs: citing ``passages``, ``triples``, …."""
        return self.group.reads

    @property
    def asks_judge(self) -> bool:
        """Whether the measure asks a judge of entailment."""
        return self.group.asks_judge

    @property
    def is_segmented(self) -> bool:
        """Whether the measure's value depends on the sentence segmenter."""
        return not {Need.STATEMENTS, Need.SEGMENTER}.isdisjoint(self.group.needs)

    def compute(self, answers: SharedResults) -> Sample | Sequence[Sample]:
        """Compute the measure's sample (or one per experimental condition) from the answers.

        Args:
            answers: as the group reads them.

        Raises:
            CannotError: says why it cannot be computed.
        """
        return self.take_sample(self.group.results(answers))

    def take_sample(self, results: Any) -> Sample | Sequence[Sample]:
        """Take the measure's sample (or one per experimental condition) from its group's results.

        Args:
            results: what the group computed: of each answer, a sample, or what ``sample`` takes.

        Raises:
            CannotError: says why it cannot be computed.
        """
        if self.sample is not None:
            return self.sample(results)
        if isinstance(results, Sample):
            return results
        by_answer: ByAnswer[Any] = results
        return by_answer.mean(self.mean) if self.ratio is None else by_answer.ratio(self.ratio)

    def at(self, cutoff: int) -> Measure:
        """Copy the measure with a cutoff, so that only the first passages count, as in ``P@5``."""
        assert self.sample is not None
        return replace(
            self, name=f"{self.name}@{cutoff}", sample=partial(self.sample, cutoff=cutoff),
            definition=self.definition.format(cutoff), cutoffs=(),
            parameters={"base": self.name, "cutoff": cutoff},
        )  # fmt: skip

    def parse(self, name: str) -> Measure | None:
        """Parse a name with a cutoff, such as ``nDCG@7``; None if it is of another measure.

        Raises:
            UsageError: no such number is possible.
        """
        base, _, cutoff = name.partition("@")
        if base != self.name or not self.cutoffs:
            return None
        if not _CUTOFF.fullmatch(cutoff):
            raise UsageError(
                f"measure {name!r}: @ is followed by the number of passages to look at, a whole "
                f"number of at least 1, as in {base}@5",
                code="bad-option",
            )
        return self.at(int(cutoff))


class Facts(TypedDict, total=False):
    """Fields of :class:`Measure` that a declaration sets for one measure, or a group for all."""

    low: float
    high: float | None
    scale: int
    requires: str
    source: str
    mean: Callable[[Any], Number | None]
    ratio: Callable[[Any], tuple[Number, float]]
    sample: Callable[..., Sample | Sequence[Sample]]
    formula: str
    edge_cases: str
    parameters: Mapping[str, object]
    cutoffs: tuple[int, ...]
    options: Callable[[ScoringTools, str], str | None]
    gold: Mapping[str, str]
    higher_is_better: bool | None
    reads_labels: bool
    counts_unanswerable: bool
    linear: bool
    unlabelled: str
    citation_quality: CitationQuality | None
    changes: tuple[str, ...]


class GroupFacts(Facts, total=False):
    """Facts of all measures of a group, and what its function is handed; see :class:`Group`."""

    needs: Collection[Need]
    reads: str
    evaluator: Evaluator | None


_CUTOFF = re.compile(r"[1-9][0-9]{0,8}")


class Group:
    """Measures that share facts, what they are handed, and what is computed of the answers.

    Attributes:
        name: family of its measures.
        needs: what its functions are handed; what is not named cannot be reached.
        reads: answers to what: ``passages``, all ``cells`` of an authorship benchmark, ``triples``
            of a graph, or what else a kind declares among its ``readings``.
        evaluator: whose rules ``reference`` reads answers by; None where no paper's evaluator does,
            which leaves ALCE's.
    """

    def __init__(
        self, family: str, *, needs: Collection[Need] = (), reads: str = "passages",
        evaluator: Evaluator | None = None, is_each: bool = False, lacks: str = "",
        missing: Any = None, **facts: Unpack[Facts],
    ) -> None:  # fmt: skip
        """Declare a group of measures: shared facts, and inputs and results of its function.

        Args:
            family: their family.
            needs: what they are handed.
            reads: what the answers are to.
            evaluator: whose rules ``reference`` reads answers by.
            is_each: whether its functions take one answer, and not all.
            lacks: what the error says is missing when no answer has a result.
            missing: result of a missing answer; None for the function's own.
            facts: fields of :class:`Measure` that are equal in all of them.
        """
        self.name, self.needs, self.reads = family, frozenset(needs), reads
        self.evaluator, self._facts = evaluator, facts
        self._is_each, self._lacks, self._missing = is_each, lacks, missing
        self._functions: dict[str, Callable[[Any], Any]] = {}

    def __repr__(self) -> str:
        """Describe the group, for users who list it in place of its measures."""
        return f"the group of measures {self.name!r} (list what its method `measure` returns)"

    def strict(self, function: Callable[[Any], Any]) -> Group:
        """Set the decorated function for ``strict`` and as the default; return the group."""
        self._functions["strict"] = function
        return self

    def reference(self, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Set the decorated function that computes results under ``reference``; return it."""
        self._functions["reference"] = function
        return function

    @property
    def asks_judge(self) -> bool:
        """Whether the measures of the group use a judge of entailment."""
        return not {Need.JUDGE, Need.JUDGE_IF_ANY}.isdisjoint(self.needs)

    def measure(self, name: str, definition: str, **facts: Unpack[Facts]) -> Measure:
        """Declare a measure of the group by its name, definition and other fields of a measure."""
        together: Facts = {**self._facts, **facts}
        return Measure(name, self.name, definition, group=self, **together)

    def results(self, answers: SharedResults) -> Any:
        """Compute the results that the group's measures share, once per submission.

        Raises:
            CannotError: they cannot be computed.
        """
        return answers.once(self._compute, self.asks_judge) if self._functions else answers

    def _compute(self, answers: SharedResults) -> Any:
        """Call the group's function with the parts of the answers that it declares."""
        strict = self._functions["strict"]
        function = self._functions.get(answers.protocol, strict)
        handed = hand_over(answers, self.needs, self.evaluator or "alce")
        if not self._is_each:
            results = function(handed)
        else:
            results = compute_each(function, handed, self._missing)
            if self._lacks and not results:
                raise CannotError(f"needs {self._lacks}", code="no-gold")
        if isinstance(results, dict) and not isinstance(results, ByAnswer):
            return ByAnswer(results, answers.shape)
        return results


Declare = Callable[[Callable[[Any], Any]], Group]
"""Decorator that makes a group of a function."""


def per_answer(
    family: str, *, lacks: str = "", missing: Any = None, **declared: Unpack[GroupFacts]
) -> Declare:
    """Return a decorator of functions of one answer; ``missing`` is the result of a missing one.

    It returns None where the result is not defined. To ask the judge it yields pairs of texts, and
    gets a :class:`~citeforge.evaluator.measures.values.Value` for each; those of all answers are
    asked together.

    Args:
        family: family of its measures.
        lacks: what the error says is missing when no answer has a result; empty where all have.
        missing: result of a missing answer where one is defined: the worst of the range; None for
            what the function makes of it.
        declared: as :class:`Group` takes them.
    """
    return Group(family, is_each=True, lacks=lacks, missing=missing, **declared).strict


def per_submission(family: str, **declared: Unpack[GroupFacts]) -> Declare:
    """Return a decorator that turns a function of all answers into a group of measures.

    It returns a result of each answer by its key, a sample, or what its measures make samples of.

    Args:
        family: family of its measures.
        declared: as :class:`Group` takes them.
    """
    return Group(family, **declared).strict


COUNT: Mapping[str, Any] = {"high": None, "scale": 1, "higher_is_better": None}
"""Facts of a measure that counts something in each answer; more is neither better nor worse."""


SHORT_ANSWERS = (
    "short answers are compared as numbers, dates and whole words "
    "(docs/definitions.md#short_answers)",
)
"""What changed in measures that look for short answers."""
VALUES = ("cited values are compared as short answers are (docs/definitions.md#short_answers)",)
"""What changed in measures of cited triples."""
SCRIPTS = ("words of scripts other than Latin are words, too (docs/definitions.md#text)",)
"""What changed in measures of words."""
