"""Measures of bundles: refusals, faithfulness of citations, and positions of citations."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from citeforge.engines.judge.records import Pair, Verdict
from citeforge.engines.text.refusals import is_refusal
from citeforge.evaluator.measures.columns import Key, judge_of
from citeforge.evaluator.measures.declared import CannotError, Found, Measure, MeasureOf
from citeforge.evaluator.statistics.estimates import (
    Floats,
    Sample,
    mean_sample,
    ratio,
    ratio_sample,
)
from citeforge.evaluator.statistics.significance import paired_t
from citeforge.evaluator.submissions.benchmark import Benchmark, ContextTable
from citeforge.evaluator.submissions.tools import ScoringTools
from citeforge.plugins.bundles import design
from citeforge.schemas.refusals import HYPOTHESIS, JUDGE
from citeforge.schemas.tables import RELEVANT
from citeforge.schemas.text import normalise_answer

_HALF_WIDTH = 0.05
_Z = 1.959963984540054


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
class CellAnswers:
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
    by_cell: dict[str, dict[Key, CellAnswer]] = field(default_factory=dict)

    @property
    def runs(self) -> list[int]:
        """Sorted numbers of the runs that answer any cell (context set) of the bundle."""
        return sorted({run for answers in self.by_cell.values() for run, _ in answers})

    def answer(self, cell: str, run: int, row: int) -> CellAnswer | None:
        """Get the answer to a query in a cell; if missing, MISSING in ``strict``, else None."""
        answer = self.by_cell.get(cell, {}).get((run, row))
        return answer or (MISSING if self.tools.options.protocol == "strict" else None)

    def column(self, value: Callable[[int, int], float]) -> Floats:
        """Compute a value per run and query by a function; shape (runs, queries).

        Args:
            value: function of (run, row of the query); NaN where the value is not defined.
        """
        rows = range(len(self.benchmark.query_ids))
        return np.array([[value(run, row) for row in rows] for run in self.runs], np.float64)


@dataclass(frozen=True)
class BundleMeasure(MeasureOf[CellAnswers]):
    """A measure of the answers to all cells of a bundle."""

    reads = "bundle"


Holds = Callable[[CellAnswer, CellAnswer, int], bool]
"""(answer in the cell original, answer in another cell, row) to whether something holds."""


def deflection(cells: CellAnswers, measures: Sequence[Measure]) -> Found:
    """Measure refusals with and without answer-bearing passages: yield (name, sample).

    Raises:
        CannotError: a judge is to detect refusals, and there is none, or it failed.
    """
    refused = _refusal_detector(cells)
    # A missing answer counts as wrong in both cells.
    wrong = cells.column(lambda run, row: refused(design.ANSWERABLE, run, row, True))
    right = cells.column(lambda run, row: refused(design.RELATED, run, row, False))
    some = cells.tables[design.PARTIAL].relevant

    def in_part(run: int, row: int) -> float:
        """Whether the answer refuses (0 or 1) where some evidence is shown; NaN where none is."""
        return refused(design.PARTIAL, run, row, True) if some[row] else math.nan

    samples = {
        "Refusal.P": _ratio(right, right + wrong),
        "Refusal.R": mean_sample(right),
        "Refusal.F1": _ratio(2 * right, 1 + right + wrong),
        "Refusal.Balanced": mean_sample((right + 1 - wrong) / 2),
        "Refusal.Answered": mean_sample(1 - right),
        "Refusal.Wrong": mean_sample(wrong),
        "Refusal.Partial": mean_sample(cells.column(in_part)),
    }
    yield from ((m.name, samples[m.name]) for m in measures)


def _ratio(above: Floats, below: Floats) -> Sample:
    """Make the sample of a ratio of sums, over the queries where both terms are defined."""
    sums = np.stack([above, below], axis=-1)
    return ratio_sample(np.where(np.isnan(sums).any(axis=-1, keepdims=True), 0.0, sums))


def _refusal_detector(cells: CellAnswers) -> Callable[[str, int, int, bool], float]:
    """Make the function (cell, run, row, missing) that gives 1 for a refusal, 0 for none."""
    detector = cells.bundle.refusals or JUDGE
    judged = _judge_refusals(cells) if detector == JUDGE else {}

    def refused(cell: str, run: int, row: int, missing: bool) -> float:
        """Whether an answer is a refusal (0 or 1); a missing one counts as ``missing``, or NaN."""
        answer = cells.answer(cell, run, row)
        if answer is None:
            return math.nan
        if answer.is_missing:
            return float(missing)
        if detector == JUDGE:
            return float(not answer.text.strip() or judged[answer.text])
        return float(is_refusal(answer.text, detector, cites=bool(answer.cited)))

    return refused


def _judge_refusals(cells: CellAnswers) -> dict[str, bool]:
    """Ask the judge which answers are refusals: text of each answer to the verdict."""
    judge = judge_of(cells.tools)
    texts = dict.fromkeys(a.text for cell in cells.by_cell.values() for a in cell.values())
    decisions = judge.ask(Pair(text, HYPOTHESIS) for text in texts)
    verdicts = {p.premise: d.entailed for p, d in decisions.items() if isinstance(d, Verdict)}
    if len(verdicts) < len(texts):
        raise CannotError("the judge failed on answers, which may be refusals", code="judge-failed")
    return verdicts


def faithfulness(cells: CellAnswers, measures: Sequence[Measure]) -> Found:
    """Measure whether citations follow the evidence when it is removed or copied to a decoy.

    All but ``Faith.Cites`` are over answers that cite the evidence in the cell ``original``
    (Wallat et al. 2025, arXiv 2412.18004, call a citation post-rationalised that the answer does
    not depend on).
    """
    ids = [
        [cells.tables[c].ids_of(row) for c in design.FAITHFULNESS]
        for row in range(len(cells.benchmark.query_ids))
    ]
    target = [design.only_difference(before, without) for before, without, _ in ids]
    decoy = [design.only_difference(before, decoyed) for before, _, decoyed in ids]
    gold = _gold_answers(cells)

    def cites(run: int, row: int) -> float:
        """Whether the original answer cites the target passage (0 or 1); NaN if it is missing."""
        answer = cells.answer(design.ORIGINAL, run, row)
        return math.nan if answer is None else float(target[row] in answer.cited)

    def among_citing(context: str, holds: Holds, if_missing: bool) -> Floats:
        """Test answers in a changed context, per run and query; NaN if evidence was not cited."""

        def outcome(run: int, row: int) -> float:
            """Test one answer: 0 or 1, or ``if_missing``; NaN if evidence was not cited."""
            before, after = cells.answer(design.ORIGINAL, run, row), cells.answer(context, run, row)
            if before is None or after is None or target[row] not in before.cited:
                return math.nan
            return float(if_missing if after.is_missing else holds(before, after, row))

        return cells.column(outcome)

    columns = {
        "Faith.Cites": cells.column(cites),
        "Faith.Moved": among_citing(
            design.REMOVED, lambda _, a, row: target[row] not in a.cited, False
        ),
        "Faith.PostRat": among_citing(
            design.REMOVED,
            lambda b, a, row: bool(a.cited) and _says_the_same(b, a, gold[row]),
            True,
        ),
        "Faith.Decoy": among_citing(design.DECOY, lambda _, a, row: decoy[row] in a.cited, True),
    }
    yield from ((m.name, mean_sample(columns[m.name])) for m in measures)


def _gold_answers(cells: CellAnswers) -> list[list[str]]:
    """List the normalised gold short answers of each query."""
    from citeforge.package.package import short_answers

    b = cells.benchmark
    short = short_answers(b.queries, b.mappings[RELEVANT], b.gold)
    return [[n for a in answers if (n := normalise_answer(a))] for answers in short]


def _says_the_same(before: CellAnswer, after: CellAnswer, gold: list[str]) -> bool:
    """Whether the second answer repeats a gold answer of the first, or (without one) its words."""
    first, second = normalise_answer(before.text), normalise_answer(after.text)
    matches = [answer for answer in gold if answer in first]
    return any(answer in second for answer in matches) if matches else first == second


def position(cells: CellAnswers, measures: Sequence[Measure]) -> Found:
    """Measure how often each position is cited, over rotations of the same passages."""
    k = cells.bundle.k

    def rate(place: int) -> Floats:
        """Compute the share of rotated contexts that cite a place, shape (runs, queries)."""

        def cited_share(run: int, row: int) -> float:
            """Compute the share of a query's rotated contexts in which this place is cited."""
            answers = [cells.answer(design.rotation_name(s), run, row) for s in range(k)]
            present = [a for a in answers if a is not None and not a.is_missing]
            # With a missing rotation, not every passage would have been at the place once.
            return sum(place in a.cited for a in present) / k if len(present) == k else math.nan

        return cells.column(cited_share)

    rates = np.stack([rate(place) for place in range(k)])
    half = k // 2
    early = rates[:half].mean(axis=0) - rates[-half:].mean(axis=0)
    ends = (rates[0] + rates[-1]) / 2 - rates[1:-1].mean(axis=0)
    for measure in measures:
        if measure.name == "Pos.Cited":
            for place in range(k):
                yield measure.name, replace(mean_sample(rates[place]), place=f"{place + 1}")
        elif measure.name == "Pos.Queries":
            yield measure.name, _queries_needed(early)
        else:
            effect = early if measure.name == "Pos.Early" else ends
            means = np.nanmean(effect, axis=0) if effect.size else effect
            p = paired_t(means[~np.isnan(means)])
            yield measure.name, replace(mean_sample(effect), p_t=p)


def _queries_needed(effect: Floats) -> Sample:
    """Compute the queries needed for an effect's 95 % interval to be ± 0.05."""
    defined = ~np.isnan(effect)
    values = np.where(defined, effect, 0.0)
    sums = np.stack([values, values**2, defined.astype(np.float64)], axis=-1)

    def needed_queries(sums: Floats) -> Floats:
        """Count the queries for that width, from sum, sum of squares and number of values."""
        total, squares, n = np.moveaxis(sums, -1, 0)
        variance = ratio(squares - ratio(total**2, n), n - 1)
        return np.ceil(np.maximum(variance, 0) * (_Z / _HALF_WIDTH) ** 2)

    return Sample(sums, needed_queries, np.full(effect.shape, np.nan), has_interval=False)


_refusal = partial(
    BundleMeasure, family="deflection", compute=deflection, source="ours", uses=("judge",)
)
_faith = partial(
    BundleMeasure, family="faithfulness", compute=faithfulness,
    source="Wallat et al. 2025, section 5",
)  # fmt: skip
_pos = partial(
    BundleMeasure, family="position", compute=position, higher_is_better=None,
    source="after Liu et al. 2024 (lost in the middle)",
)  # fmt: skip
MEASURES = (
    *(
        _refusal(
            f"Refusal.{name}", definition=definition, higher_is_better=is_better, formula=formula
        )
        for name, definition, is_better, formula in (
            ("P", "refusals without a relevant passage among all refusals", True,
             "`Σ r / Σ (r + a)`; no refusal at all: not computed"),
            ("R", "refused among questions without a relevant passage", True, "`mean r`"),
            ("F1", "of both, over all answers", True,
             "`2 Σ r / Σ (1 + r + a)`, the harmonic mean of both"),
            ("Balanced", "mean of refused without, and answered with evidence", True,
             "`mean (r + 1 − a) / 2`"),
            ("Answered", "answered though nothing relevant is shown", False, "`mean (1 − r)`"),
            ("Wrong", "refused though everything relevant is shown", False, "`mean a`"),
            ("Partial", "refused where some of the relevant is shown", None,
             "share of refusals where some of the relevant is shown"),
        )
    ),
    *(
        _faith(
            f"Faith.{name}", definition=definition, higher_is_better=is_better, formula=formula
        )
        for name, definition, is_better, formula in (
            ("Cites", "answers that cite the evidence where it is shown", True,
             "1 if the answer to `original` cites the evidence"),
            ("Moved", "of these, citations whose place is not cited without it", True,
             "1 if the answer to `removed` does not cite that place"),
            ("PostRat", "of these, the same is said and cited without evidence", False,
             "1 if the answer to `removed` cites something and says the same: a gold answer that "
             "the first one had, or without such a one the same normalised text"),
            ("Decoy", "of these, the passage is cited that the words were put into", False,
             "1 if the answer to `decoy` cites the passage with the added words"),
        )
    ),
    _pos("Pos.Early", definition="cited in the first half minus in the last half", low=-1,
         formula="mean c of the first ⌊k/2⌋ places − that of the last ⌊k/2⌋"),
    _pos("Pos.Ends", definition="cited at the ends minus in the middle", low=-1,
         formula="mean c of first and last place − mean c of the others; needs k ≥ 3"),
    _pos("Pos.Cited", definition="share of passages cited at a place",
         formula="`c(p)`, one row a place"),
    _pos(
        "Pos.Queries", high=None, scale=1,
        definition="queries at which the 95 % interval of Pos.Early is 5 points to either side",
        formula="one number: `⌈variance of Pos.Early · (1.96 / .05)²⌉`, questions at which its "
        "interval is 5 points to either side",
        source="normal approximation",
    ),
)  # fmt: skip
