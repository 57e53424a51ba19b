"""Correctness, precision and recall of citations (KaLMA, section 4.2).

## kalma

Li et al. 2024, sections 4.1 to 4.5; `reference`: their code. A citation is a triple (QID, relation,
value); one bracket may hold several. `G` is the minimum knowledge set of the question. `strict`
compares relations without case, and takes BioKaLMA's and Wikidata's name of one for the same;
values are the same as [short answers](#short_answers) are. A
fact of `G` is a set of equivalent triples: the gold triple, and the shown ones that state the same
by an inverse relation (`[B, child: A]` for `[A, father: B]`) or by another relation of a declared
group (`noble title`, `position held`); the column `equivalents` of the gold table lists them.

`@micro` divides sums over all answers (`NA` measures do, too). `@macro` averages the answers'
quotients. *Absent* triples are those of `G` that the context set removed. In `strict`:

- An incomplete citation is wrong and counts. A triple cited twice counts twice for P and once for
  R, and so do two triples of one fact.
- An answer without citations has Corr, P and Align 0 in `@macro`. `@micro` is 0 if there is nothing
  to divide.
- A shown triple that leads from one entity of the question to another one and is not in `G` is said
  by the question: its citations are left out of P, hits and divisor.
- A general question asks for themes ("what career"). Other shown facts that answer it (a military
  rank) are right in P and not wanted in R; the query's metadata lists them (`answers`).
- A question without `G` is left out of R, and its citations are not precise.
- Without any `[NA]` NA.P is not computed, without anything absent none of the NA measures.
- GEval: a missing or empty answer has 1. A reply without one clear mark is a failure, with bounds 1
  and 5.

Under `reference`:

- reading: punctuation alone; a citation without a relation is dropped; comparison letter by letter,
  and with the gold triples alone
- Corr, P, R: P = triples of `G` hit ÷ citations, on the gold of all rounds; R and NA on that of
  rounds 2 and later, or without rounds; P and R do not ask what was shown
- leaves: empty answers and empty graphs (not from NA); uncited answers leave `@macro` of Corr, P
  and Align; F1 is of means over runs
- Align: the first 400 answers; a value that stands in the statement counts without the judge
- NA: *absent* is gold that the answer did not cite; pairs are counted, so values can pass 1;
  answers without `[NA]` leave
- GEval: the first 100 answers with a graph; the first number of the reply (of a long one, in its
  last 10 characters), above 5 too; none: 3

*Example.* `G` has 3 triples. An answer cites g1 twice, a shown triple outside `G`, and an
incomplete one: Corr = 3/4, P = 2/4, R = 1/3, F1 = .40. A second answer cites nothing, and its `G`
has 2: `@micro` Corr = 3/4, R = 1/5; `@macro` Corr = 3/8, R = 1/6.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from citeforge.evaluator.measures.declared import (
    COUNT,
    VALUES,
    CitationQuality,
    Group,
    Measure,
    per_submission,
)
from citeforge.evaluator.measures.kalma_graphs import KalmaInputs
from citeforge.evaluator.measures.values import ByAnswer
from citeforge.evaluator.statements.kalma import is_unreadable
from citeforge.evaluator.statements.triples import ParsedAnswer
from citeforge.evaluator.statistics.estimates import (
    Floats,
    Sample,
    divide_sums,
    harmonic,
    harmonic_sample,
    mean_sample,
)
from citeforge.evaluator.submissions.inputs import AnswerKey
from citeforge.evaluator.submissions.tools import CannotError


@dataclass(frozen=True)
class Share:
    """Numbers that one answer adds to a ratio of sums.

    Attributes:
        hits: added to the numerator.
        total: added to the denominator.
        empty: value of the answer where there is nothing to divide; NaN where it then leaves.
    """

    hits: float
    total: float
    empty: float = math.nan

    @property
    def value(self) -> float:
        """Hits ÷ total of one answer; a fixed value (NaN by default) if the total is 0."""
        return self.hits / self.total if self.total else self.empty


@dataclass(frozen=True)
class CitedTriples:
    """Citations of one answer: the correct, the precise and the gold facts that they state.

    Attributes:
        correct: of its citations.
        precise: of its citations.
        recalled: of the gold facts.
        n_citations: its citations.
        n_na: its [NA] marks.
    """

    correct: Share
    precise: Share
    recalled: Share
    n_citations: int
    n_na: int


def strict_counts(answer: ParsedAnswer) -> CitedTriples:
    """Count an answer's correct and precise citations and the gold facts they state (``strict``).

    A citation is correct when it is complete and its triple was shown; precise when it also states
    a fact of the minimum knowledge set, which any equivalent triple does, or answers the general
    question by a relation of its themes. What the question itself says counts neither as right nor
    as wrong in P. A triple cited twice counts each time for P; a
    fact counts once for R, whichever of its triples are cited.
    """
    facts = answer.shown.facts
    right = answer.shown.answers.union(*facts)
    correct = [c.compared for c in answer.citations if answer.shown.is_complete_and_shown(c)]
    n = len(answer.citations)
    n_premises = sum(k in answer.shown.premises for k in correct)
    return CitedTriples(
        Share(len(correct), n, empty=0.0),
        Share(sum(k in right for k in correct), n - n_premises, empty=0.0),
        Share(sum(not fact.isdisjoint(correct) for fact in facts), len(facts)),
        n,
        answer.n_na,
    )


def is_later(round_number: int) -> bool:
    """Whether a gold triple's round is not the first; True for gold without rounds (0), too."""
    return round_number != 1


def reference_counts(answer: ParsedAnswer) -> CitedTriples:
    """Count an answer's correct and precise citations and cited gold triples as KaLMA's code does.

    Precision is knowledge hit ÷ citations on the gold of all rounds, recall looks at the gold of
    rounds ≥ 2, and neither asks whether the triple was shown.
    """
    cited = set(answer.citations)
    hits = [(key in cited, is_later(number)) for key, number in answer.shown.gold]
    n = len(answer.citations)
    return CitedTriples(
        Share(sum(c in answer.shown.verbatim for c in answer.citations), n),
        Share(sum(hit for hit, _ in hits), n),
        Share(sum(hit and later for hit, later in hits), sum(later for _, later in hits)),
        n,
        answer.n_na,
    )


class CitedCounts(ByAnswer[CitedTriples]):
    """Counts of the citations of scored answers.

    Attributes:
        has_sets: whether any question has a minimum knowledge set.
    """

    def __init__(self, counts: Mapping[AnswerKey, CitedTriples], inputs: KalmaInputs) -> None:
        """Store citation counts of scored answers; ``inputs`` are all answers."""
        super().__init__(counts, inputs.shape)
        self.has_sets = any(reading.shown.gold for _, reading in inputs.items())

    def f1(self, sample: Sample) -> Sample:
        """Return an F1 sample unchanged; subclasses may average over runs in another order."""
        return sample


class ReferenceCounts(CitedCounts):
    """Counts of citations as in KaLMA's code, whose F1 is of precision and recall over runs."""

    def f1(self, sample: Sample) -> Sample:
        """Change an F1 sample so that precision and recall are averaged over runs first."""
        return _average_runs_first(sample)


PAPER = "Li et al. 2024 (KaLMA), section 4"


@per_submission("kalma", reads="triples", source=PAPER)
def cited(inputs: KalmaInputs) -> CitedCounts:
    """Count each answer's citations of triples: all, correct and precise ones."""
    return CitedCounts({(run, r.row): strict_counts(r) for run, r in inputs.items()}, inputs)


@cited.reference
def reference_cited(inputs: KalmaInputs) -> CitedCounts:
    """Count the citations of each answer as KaLMA's code does; unreadable ones are left out."""
    counts = {
        (run, r.row): reference_counts(r)
        for run, r in inputs.items()
        if r.shown.triples and not is_unreadable(r.output)
    }
    return ReferenceCounts(counts, inputs)


@dataclass(frozen=True)
class Quotient:
    """Correctness, precision or recall, as a micro and as a macro average over answers.

    Attributes:
        share: takes what an answer adds to it from the counts of its citations.
        needs_sets: whether it looks at minimum knowledge sets.
        of_gold: whether it is divided by gold facts, so that without any it is undefined.
    """

    share: Callable[[CitedTriples], Share]
    needs_sets: bool = True
    of_gold: bool = False

    def sums(self, cited: CitedCounts) -> Floats:
        """Get (hits, total) of this quotient for each answer, shape (runs, queries, 2).

        Raises:
            CannotError: the benchmark has no minimum knowledge sets, and it needs them.
        """
        sums, _ = cited.sums(lambda counts: (self.share(counts).hits, self.share(counts).total))
        if (self.needs_sets and not cited.has_sets) or (self.of_gold and not sums[..., 1].any()):
            raise CannotError("the benchmark has no minimum knowledge sets", code="no-gold")
        return sums

    def values(self, cited: CitedCounts) -> Floats:
        """Compute each answer's correctness, precision or recall, shape (runs, queries)."""
        self.sums(cited)  # says first what is missing
        return cited.mean(lambda counts: self.share(counts).value).per_query

    def micro(self, cited: CitedCounts) -> Sample:
        """Make the sample of the micro average: sum of hits ÷ sum of totals."""
        return micro_sample(self.sums(cited), is_always_defined=not self.of_gold)

    def macro(self, cited: CitedCounts) -> Sample:
        """Make the sample of the macro average: the mean of each answer's hits ÷ total."""
        return mean_sample(self.values(cited))


CORRECT = Quotient(lambda counts: counts.correct, needs_sets=False)
PRECISE = Quotient(lambda counts: counts.precise)
RECALLED = Quotient(lambda counts: counts.recalled, of_gold=True)


def micro_f1(cited: CitedCounts) -> Sample:
    """Compute the harmonic mean of micro precision and micro recall."""
    sums = [PRECISE.sums(cited), RECALLED.sums(cited)]
    return cited.f1(f1_sample(np.concatenate(sums, axis=-1)))


def macro_f1(cited: CitedCounts) -> Sample:
    """Compute the harmonic mean of macro precision and macro recall."""
    return cited.f1(harmonic_sample(PRECISE.values(cited), RECALLED.values(cited)))


class MicroSample(Sample):
    """Sufficient statistics of a micro average: hits and totals."""

    def combine(self, sums: Floats) -> Floats:
        """Divide the sum of hits by that of totals; 0 if the total is 0."""
        return np.nan_to_num(divide_sums(sums))


def micro_sample(sums: Floats, is_always_defined: bool = False) -> Sample:
    """Make the sample of a micro average (summed hits ÷ summed totals; 0 if the total is 0).

    Args:
        sums: hits and totals, shape (runs, queries, 2).
        is_always_defined: whether it is 0, and not undefined, when nothing at all is divided.
    """
    return MicroSample(sums, divide_sums(sums), always=is_always_defined)


class MicroF1Sample(Sample):
    """Sufficient statistics of a micro F1: hits and totals of precision, then of recall."""

    def combine(self, sums: Floats) -> Floats:
        """Compute F1 from summed hits and totals of precision and recall; 0 if undefined."""
        return _divide_to_f1(sums)


def f1_sample(sums: Floats) -> Sample:
    """Make the sample of a micro F1 from hits and totals of precision and recall.

    Args:
        sums: hits and totals of precision, then of recall, shape (runs, queries, 4).
    """
    return MicroF1Sample(sums, _divide_to_f1(sums), always=True)


def _divide_to_f1(sums: Floats) -> Floats:
    """Compute F1 from hits and totals of precision, then of recall; a quotient by 0 counts as 0."""
    precision, recall = divide_sums(sums[..., :2]), divide_sums(sums[..., 2:])
    return harmonic(np.nan_to_num(precision), np.nan_to_num(recall))


@dataclass(frozen=True, kw_only=True)
class RunsF1Sample(Sample):
    """Sufficient statistics of a micro F1 whose precision and recall are averaged over runs first.

    Attributes:
        n_runs: number of runs, whose sums follow each other: hits and totals of P and of R.
    """

    n_runs: int

    def combine(self, sums: Floats) -> Floats:
        """Compute P and R per run, average each over runs, and give their harmonic mean."""
        each = sums.reshape(*sums.shape[:-1], self.n_runs, sums.shape[-1] // self.n_runs)
        means = [np.nan_to_num(divide_sums(each[..., i : i + 2])).mean(axis=-1) for i in (0, 2)]
        return harmonic(means[0], means[1])


def _average_runs_first(sample: Sample) -> Sample:
    """Change an F1 sample so that P and R are averaged over runs before F1, as in KaLMA's code.

    Args:
        sample: sums of each run and query: hits and total of P, hits and total of R.
    """
    runs, queries, k = sample.sums.shape
    if runs == 1:
        return sample
    merged = sample.sums.transpose(1, 0, 2).reshape(1, queries, runs * k)
    return RunsF1Sample(merged, sample.per_query, always=sample.always, n_runs=runs)


_KG = "a kalma benchmark"
_SETS = "a kalma benchmark with minimum knowledge sets"


def micro_and_macro(
    group: Group, name: str, definition: str, micro: Callable[..., Sample],
    macro: Callable[..., Sample], **facts: Any,
) -> tuple[Measure, ...]:  # fmt: skip
    """Declare a measure twice: as a micro average (ratio of sums) and as a macro average.

    Args:
        group: group whose results both read.
        name: name without ``KaLMA.`` and ``@micro`` or ``@macro``.
        definition: start of the definition of both.
        micro: makes the sample of the micro average from the group's results.
        macro: makes that of the macro average.
        facts: further facts of both measures.
    """
    return tuple(
        group.measure(
            f"KaLMA.{name}@{how}", f"{definition}, {words}", sample=sample, changes=VALUES, **facts
        )
        for how, words, sample in (
            ("micro", "over all of them", micro),
            ("macro", "per answer, then averaged", macro),
        )
    )


def _rounds(reference_rounds: str) -> dict[str, str]:
    """Map protocols to the rounds of gold triples that they use; ``strict`` uses all of them."""
    return {"strict": "all", "reference": reference_rounds}


_quality = partial(
    CitationQuality,
    reference="KaLMA's code drops incomplete citations and answers without any, and does not ask "
    "whether a triple was shown.",
)
_SET = "Citations are compared with the minimum knowledge set, not with the statement"
_OF_ANSWER = "citations, and `[NA]` marks, of an answer"
MEASURES = (
    *micro_and_macro(
        cited, "Corr", "citations that are complete triples of the shown graph",
        CORRECT.micro, CORRECT.macro, requires=_KG,
        formula="complete citations whose triple was shown ÷ citations",
        citation_quality=_quality(
            "precision", "A citation is right where its triple was shown, wanted or not."
        ),
    ),
    *micro_and_macro(
        cited, "P", "correct citations in the minimum knowledge set", PRECISE.micro, PRECISE.macro,
        requires=_SETS,
        formula="such citations that also state a fact of `G`, or (`strict`) answer a general "
        "question by its themes ÷ citations",
        gold=_rounds("all"), citation_quality=_quality("precision", f"{_SET}."),
    ),
    *micro_and_macro(
        cited, "R", "minimum knowledge hit by a correct citation", RECALLED.micro, RECALLED.macro,
        requires=_SETS,
        formula="facts of `G` that such a citation states ÷ facts of `G`",
        gold=_rounds("2+"), citation_quality=_quality("recall", f"{_SET}, all of which is wanted."),
    ),
    *micro_and_macro(
        cited, "F1", "harmonic mean of P and R", micro_f1, macro_f1, requires=_SETS,
        formula="harmonic mean of P and R of the same averaging",
        gold=_rounds("P:all,R:2+"), citation_quality=_quality("both", f"{_SET}."),
    ),
    cited.measure(
        "KaLMA.Citations", "citations per answer", mean=lambda counts: counts.n_citations,
        requires=_KG, formula=_OF_ANSWER, **COUNT),
    cited.measure("KaLMA.NAs", "[NA] marks per answer", mean=lambda counts: counts.n_na,
        requires=_KG, formula=_OF_ANSWER, **COUNT),
)  # fmt: skip
