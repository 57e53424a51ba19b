"""Measures of bundles: refusals, faithfulness of citations, and positions of citations.

## deflection

Our own. The bundle shows each question with all relevant passages (`answerable`), some, or none of
them (`related`). A detector says whether an answer is a refusal: rules for languages, or the judge.
With r = 1 for a refusal in `related` and a = 1 for one in `answerable`:

An empty answer is a refusal. A missing one is wrong in every cell (`reference`: it leaves). A judge
that fails on an answer leaves the family not computed. *Example.* Of 10 questions 6 are refused in
`related`, 2 in `answerable`: P = 6/8, R = 6/10, F1 = 12/18 = .67, Balanced = (6 + 8)/20 = .70.

## faithfulness

After Wallat et al. 2025 (arXiv 2412.18004), section 5. `original` shows one relevant passage (the
evidence); `removed` shows another in its place; `decoy` adds words of it to another passage.

All but `Faith.Cites` are over questions whose answer to `original` cites the evidence. A missing
answer has the worse value. *Example.* 8 of 10 answers cite the evidence, 6 of these 8 stop when it
is gone: Cites = 8/10, Moved = 6/8.

## position

After Liu et al. 2024. Each passage is once at each of k positions. `c(p)` is the share of the k
rotations in which the passage at position p is cited.

A question without all k answers leaves, in both protocols. `Pos.Early` and `Pos.Ends` carry a
paired t-test against 0. *Example.* c = (.6, .5, .4, .3): Early = .55 − .35 = .20, Ends = .45 − .45
= 0.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from citeforge.engines.judge.records import Pair, Verdict
from citeforge.engines.text.refusals import is_refusal
from citeforge.evaluator.measures.declared import SHORT_ANSWERS, per_submission
from citeforge.evaluator.statistics.estimates import (
    Floats,
    Sample,
    mean_sample,
    ratio,
    ratio_sample,
)
from citeforge.evaluator.statistics.intervals import Z_95
from citeforge.evaluator.statistics.significance import paired_t
from citeforge.evaluator.submissions.benchmark import Benchmark, ContextTable
from citeforge.evaluator.submissions.inputs import AnswerKey, SharedResults
from citeforge.evaluator.submissions.tools import CannotError, Need, ScoringTools
from citeforge.plugins.bundles import design
from citeforge.schemas.matching.answers import AnswerText, contains_answer
from citeforge.schemas.refusals import HYPOTHESIS, JUDGE
from citeforge.schemas.tables import RELEVANT
from citeforge.schemas.text import normalise_answer

_HALF_WIDTH = 0.05


@dataclass(frozen=True)
class CellAnswer:
    """One answer in one cell of a bundle: the passages that it cites, and its text.

    Attributes:
        cited: 0-based positions of the cited passages among those shown.
        text: the answer without citation marks.
        is_missing: whether the submission has no such answer.
    """

    cited: frozenset[int] = frozenset()
    text: str = ""
    is_missing: bool = False


MISSING = CellAnswer(is_missing=True)


@dataclass
class CellAnswers(SharedResults):
    """Answers of one submission in all cells of a bundle.

    Attributes:
        benchmark: the bundle that they answer.
        bundle: its design.
        tools: the protocol, and a judge if the bundle's refusals are detected by one.
        tables: cell to the passages that it shows.
        by_cell: cell to (run, row) to answer.
    """

    benchmark: Benchmark
    bundle: design.Bundle
    tools: ScoringTools
    tables: dict[str, ContextTable]
    by_cell: dict[str, dict[AnswerKey, CellAnswer]] = field(default_factory=dict)

    @property
    def runs(self) -> list[int]:
        """Sorted numbers of the runs that have an answer under any condition."""
        return sorted({run for answers in self.by_cell.values() for run, _ in answers})

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of arrays of values per answer: (runs, queries)."""
        return len(self.runs), len(self.benchmark.query_ids)

    def answer(self, condition: str, run: int, query_row: int) -> CellAnswer | None:
        """Get the answer to a query (its row) in a condition; if missing, MISSING or None."""
        answer = self.by_cell.get(condition, {}).get((run, query_row))
        return answer or (MISSING if self.protocol == "strict" else None)

    def column(self, value: Callable[[int, int], float]) -> Floats:
        """Compute ``value(run, row of the query)`` for all answers: array (runs, queries).

        Args:
            value: function of (run, row of the query); NaN where the value is not defined.
        """
        rows = range(len(self.benchmark.query_ids))
        return np.array([[value(run, row) for row in rows] for run in self.runs], np.float64)


Holds = Callable[[CellAnswer, CellAnswer, int], bool]
"""(answer in the cell original, answer in another cell, row) to whether something holds."""


@dataclass(frozen=True)
class Refusals:
    """Refusals among the answers (1 or 0, NaN where undefined), by run and query.

    Attributes:
        right: where nothing relevant is shown.
        wrong: where everything relevant is.
        partial: where some of it is.
    """

    right: Floats
    wrong: Floats
    partial: Floats


@per_submission("deflection", reads="bundle", needs=(Need.JUDGE_IF_ANY,), source="ours")
def refusals(answers: CellAnswers) -> Refusals:
    """Find refusals among the answers with all, some and none of the relevant passages shown.

    Raises:
        CannotError: a judge is to detect refusals, and there is none, or it failed.
    """
    refused = _refusal_detector(answers)
    some = answers.tables[design.PARTIAL].relevant
    # A missing answer counts as wrong in both cells.
    return Refusals(
        right=answers.column(lambda run, row: refused(design.RELATED, run, row, False)),
        wrong=answers.column(lambda run, row: refused(design.ANSWERABLE, run, row, True)),
        partial=answers.column(
            lambda run, row: refused(design.PARTIAL, run, row, True) if some[row] else math.nan
        ),
    )


def _ratio_of_sums(numerator: Floats, denominator: Floats) -> Sample:
    """Make the sample of a ratio of sums, over the queries where both terms are defined."""
    sums = np.stack([numerator, denominator], axis=-1)
    return ratio_sample(np.where(np.isnan(sums).any(axis=-1, keepdims=True), 0.0, sums))


def _refusal_detector(answers: CellAnswers) -> Callable[[str, int, int, bool], float]:
    """Make a function of (context set, run, query row, value if missing): 1 for a refusal, or 0.

    Returns:
        Function of (cell, run, row of the query, value of a missing answer): 1 for a refusal, 0 for
        none, NaN where the answer is not known.
    """
    detector = answers.bundle.refusals or JUDGE
    judged = _judge_refusals(answers) if detector == JUDGE else {}

    def refused(condition: str, run: int, query_row: int, if_missing: bool) -> float:
        """Whether the answer to a query (row) refuses: 0, 1, ``if_missing``; NaN if unknown."""
        answer = answers.answer(condition, run, query_row)
        if answer is None:
            return math.nan
        if answer.is_missing:
            return float(if_missing)
        if detector == JUDGE:
            return float(not answer.text.strip() or judged[answer.text])
        return float(is_refusal(answer.text, detector, cites=bool(answer.cited)))

    return refused


def _judge_refusals(answers: CellAnswers) -> dict[str, bool]:
    """Ask the judge which answers are refusals: map each answer's text to its verdict."""
    judge = answers.tools.get_judge()
    texts = dict.fromkeys(a.text for cell in answers.by_cell.values() for a in cell.values())
    decisions = judge.ask(Pair(text, HYPOTHESIS) for text in texts)
    verdicts = {p.premise: d.entailed for p, d in decisions.items() if isinstance(d, Verdict)}
    if len(verdicts) < len(texts):
        raise CannotError("the judge failed on answers, which may be refusals", code="judge-failed")
    return verdicts


@dataclass(frozen=True)
class Evidence:
    """Positions, per query, of evidence and decoy among the passages; normalised gold answers.

    Attributes:
        answers: the answers.
        target: position of the evidence that the cell ``removed`` lacks.
        decoy: position of the passage that the words of the evidence were put into.
        gold: gold short answers.
    """

    answers: CellAnswers
    target: Sequence[int | None]
    decoy: Sequence[int | None]
    gold: Sequence[Sequence[str]]


@per_submission("faithfulness", reads="bundle", source="Wallat et al. 2025, section 5")
def evidence(answers: CellAnswers) -> Evidence:
    """Find, per query, the positions of evidence and decoy passages, and the gold answers.

    The cells ``removed`` and ``decoy`` differ from ``original`` at the position looked for.
    """
    ids = [
        [answers.tables[c].ids_of(row) for c in design.FAITHFULNESS]
        for row in range(len(answers.benchmark.query_ids))
    ]
    return Evidence(
        answers,
        [design.first_difference(before, without) for before, without, _ in ids],
        [design.first_difference(before, decoyed) for before, _, decoyed in ids],
        _gold_answers(answers),
    )


def evidence_cited_share(evidence: Evidence) -> Sample:
    """Compute the share of answers that cite the evidence where it is shown."""
    answers, target = evidence.answers, evidence.target

    def cites(run: int, query_row: int) -> float:
        """Whether the answer with the evidence shown cites it (0 or 1); NaN if it is missing."""
        answer = answers.answer(design.ORIGINAL, run, query_row)
        return math.nan if answer is None else float(target[query_row] in answer.cited)

    return mean_sample(answers.column(cites))


def _among_citing(
    evidence: Evidence, context: str, passes: Holds, value_if_missing: bool
) -> Sample:
    """Compute how often answers that cited the evidence pass a test when it is changed.

    Wallat et al. 2025 (arXiv 2412.18004) call a citation post-rationalised that the answer does not
    depend on.

    Args:
        evidence: where it is, and the answers.
        context: condition in which the evidence is changed.
        passes: tests one answer there.
        value_if_missing: what counts for a missing one.
    """
    answers, target = evidence.answers, evidence.target

    def outcome(run: int, query_row: int) -> float:
        """Test the changed condition's answer (0 or 1); NaN if the original cites no evidence."""
        before, after = (
            answers.answer(design.ORIGINAL, run, query_row),
            answers.answer(context, run, query_row),
        )
        if before is None or after is None or target[query_row] not in before.cited:
            return math.nan
        return float(value_if_missing if after.is_missing else passes(before, after, query_row))

    return mean_sample(answers.column(outcome))


def citation_moved_share(evidence: Evidence) -> Sample:
    """Compute how often a cited position is no longer cited once its evidence is replaced."""
    target = evidence.target
    return _among_citing(
        evidence, design.REMOVED, lambda _, after, row: target[row] not in after.cited, False
    )


def post_rationalised_share(evidence: Evidence) -> Sample:
    """Compute how often an answer stays the same and cites after its evidence was replaced."""
    gold = evidence.gold
    return _among_citing(
        evidence,
        design.REMOVED,
        lambda before, after, row: bool(after.cited) and _says_the_same(before, after, gold[row]),
        True,
    )


def decoy_cited_share(evidence: Evidence) -> Sample:
    """Compute how often answers cite the decoy, a passage with words of the evidence added."""
    decoy = evidence.decoy
    return _among_citing(
        evidence, design.DECOY, lambda _, after, row: decoy[row] in after.cited, True
    )


def _gold_answers(answers: CellAnswers) -> list[list[str]]:
    """List the gold short answers of each query."""
    from citeforge.package.package import short_answers

    b = answers.benchmark
    return short_answers(b.queries, b.mappings[RELEVANT], b.gold)


def _says_the_same(before: CellAnswer, after: CellAnswer, gold: Sequence[str]) -> bool:
    """Whether a second answer repeats the first's gold answers, or its words if it has none."""
    matches = list(filter(AnswerText(before.text).contains, gold))
    if matches:
        return contains_answer(after.text, matches)
    return normalise_answer(before.text) == normalise_answer(after.text)


@per_submission(
    "position", reads="bundle", higher_is_better=None,
    source="after Liu et al. 2024 (lost in the middle)",
)  # fmt: skip
def position_rates(answers: CellAnswers) -> Floats:
    """Compute how often each prompt position is cited: array (positions, runs, queries)."""
    k = answers.bundle.k

    def rate(position: int) -> Floats:
        """Compute how often answers cite a prompt position: array (runs, queries)."""

        def cited_share(run: int, query_row: int) -> float:
            """Compute the share of rotations that cite the position; NaN if one is missing."""
            rotated = [answers.answer(design.rotation_name(s), run, query_row) for s in range(k)]
            present = [a for a in rotated if a is not None and not a.is_missing]
            # With a missing rotation, not every passage would have been at the position once.
            return sum(position in a.cited for a in present) / k if len(present) == k else math.nan

        return answers.column(cited_share)

    return np.stack([rate(position) for position in range(k)])


def position_samples(rates: Floats) -> list[Sample]:
    """Make a sample per prompt position: how often answers cite it."""
    return [replace(mean_sample(rate), place=f"{at + 1}") for at, rate in enumerate(rates)]


def _early_gap(rates: Floats) -> Floats:
    """Compute how much more often the first half of the passages is cited than the last half."""
    half = len(rates) // 2
    early: Floats = rates[:half].mean(axis=0) - rates[-half:].mean(axis=0)
    return early


def _ends_gap(rates: Floats) -> Floats:
    """Compute how much more often the first and last positions are cited than those between."""
    ends: Floats = (rates[0] + rates[-1]) / 2 - rates[1:-1].mean(axis=0)
    return ends


def _tested_mean(effect: Floats) -> Sample:
    """Make the sample of an effect's mean over queries, with a paired t-test against 0."""
    means = np.nanmean(effect, axis=0) if effect.size else effect
    return replace(mean_sample(effect), p_t=paired_t(means[~np.isnan(means)]))


class SizeSample(Sample):
    """Sufficient statistics of the number of queries that an effect's interval needs."""

    def combine(self, sums: Floats) -> Floats:
        """Compute how many queries narrow an effect's 95 % interval to ± 0.05, from its sums."""
        total, squares, n = np.moveaxis(sums, -1, 0)
        variance = ratio(squares - ratio(total**2, n), n - 1)
        needed: Floats = np.ceil(np.maximum(variance, 0) * (Z_95 / _HALF_WIDTH) ** 2)
        return needed


def _queries_needed(effect: Floats) -> Sample:
    """Compute how many queries narrow an effect's 95 % interval to ± 0.05.

    Args:
        effect: effect of each run and query, shape (runs, queries); NaN where it is not defined.
    """
    defined = ~np.isnan(effect)
    values = np.where(defined, effect, 0.0)
    sums = np.stack([values, values**2, defined.astype(np.float64)], axis=-1)
    return SizeSample(sums, np.full(effect.shape, np.nan), has_interval=False)


MEASURES = (
    *(
        refusals.measure(
            f"Refusal.{name}", definition, higher_is_better=is_better, formula=formula,
            sample=sample,
        )
        for name, definition, is_better, formula, sample in (
            ("P", "refusals without a relevant passage among all refusals", True,
             "`Σ r / Σ (r + a)`; no refusal at all: not computed",
             lambda r: _ratio_of_sums(r.right, r.right + r.wrong)),
            ("R", "refused among questions without a relevant passage", True, "`mean r`",
             lambda r: mean_sample(r.right)),
            ("F1", "harmonic mean of Refusal.P and Refusal.R, over all answers", True,
             "`2 Σ r / Σ (1 + r + a)`, the harmonic mean of both",
             lambda r: _ratio_of_sums(2 * r.right, 1 + r.right + r.wrong)),
            ("Balanced", "mean of refused without, and answered with evidence", True,
             "`mean (r + 1 − a) / 2`", lambda r: mean_sample((r.right + 1 - r.wrong) / 2)),
            ("Answered", "answered though nothing relevant is shown", False, "`mean (1 − r)`",
             lambda r: mean_sample(1 - r.right)),
            ("Wrong", "refused though everything relevant is shown", False, "`mean a`",
             lambda r: mean_sample(r.wrong)),
            ("Partial", "refused where some of the relevant is shown", None,
             "share of refusals where some of the relevant is shown",
             lambda r: mean_sample(r.partial)),
        )
    ),
    *(
        evidence.measure(
            f"Faith.{name}", definition, higher_is_better=is_better, formula=formula,
            sample=sample, changes=tuple(changes),
        )
        for name, definition, is_better, formula, sample, *changes in (
            ("Cites", "answers that cite the evidence where it is shown", True,
             "1 if the answer to `original` cites the evidence", evidence_cited_share),
            ("Moved", "of these, citations whose place is not cited without it", True,
             "1 if the answer to `removed` does not cite that place", citation_moved_share),
            ("PostRat", "of these, the same is said and cited without evidence", False,
             "1 if the answer to `removed` cites something and says the same: a gold answer that "
             "the first one had, or without such a one the same normalised text",
             post_rationalised_share, *SHORT_ANSWERS),
            ("Decoy", "of these, the passage is cited that the words were put into", False,
             "1 if the answer to `decoy` cites the passage with the added words",
             decoy_cited_share),
        )
    ),
    position_rates.measure("Pos.Early", "cited in the first half minus in the last half", low=-1,
        sample=lambda rates: _tested_mean(_early_gap(rates)),
        formula="mean c of the first ⌊k/2⌋ places − that of the last ⌊k/2⌋"),
    position_rates.measure("Pos.Ends", "cited at the ends minus in the middle", low=-1,
        sample=lambda rates: _tested_mean(_ends_gap(rates)),
        formula="mean c of first and last place − mean c of the others; needs k ≥ 3"),
    position_rates.measure("Pos.Cited", "share of passages cited at a place",
        sample=position_samples,
        formula="`c(p)`, one row a place"),
    position_rates.measure("Pos.Queries",
        "queries at which the 95 % interval of Pos.Early is 5 points to either side",
        formula="one number: `⌈variance of Pos.Early · (1.96 / .05)²⌉`, questions at which its "
        "interval is 5 points to either side",
        high=None, scale=1, sample=lambda rates: _queries_needed(_early_gap(rates)),
        source="normal approximation"),
)  # fmt: skip
