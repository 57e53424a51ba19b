"""Quality of the ranking that was shown: P@k, R@k and nDCG@k, for any k.

## retrieval

Djeddal et al. 2024, section 3.2.2 and table 3; computed by ir-measures with binary relevance. These
measures look at the ranking shown, each id once, and not at the answer. Any whole number k ≥ 1 may
follow `@`.

A query without a relevant passage leaves; under `reference` it has P and R of 0. A query without
passages has 0. The `MAX` row of several systems (`--max-row`) takes the best value query by query:
an oracle, no system.

*Example.* Shown d1, d2, d3; relevant d1, d3, d9. P@5 = 2/5 (`reference` 2/3), R@5 = 2/3, nDCG@3 =
(1 + 1/2) / (1 + .631 + 1/2) = .70.
"""

from collections.abc import Iterable
from functools import cached_property

from citeforge.evaluator.measures.declared import per_submission
from citeforge.evaluator.measures.handed import Answers
from citeforge.evaluator.measures.values import ByAnswer
from citeforge.evaluator.statistics.estimates import Sample
from citeforge.evaluator.submissions.inputs import AnswerItem, AnswerKey
from citeforge.evaluator.submissions.tools import CannotError, Need

BASES = ("P", "R", "nDCG")
LISTED = (1, 2, 3, 5, 10)
RankMeasure = tuple[str, int]
"""Base of a measure's name, and its cutoff."""


class Rankings:
    """Passages shown for all answers, in their order, which ir-measures computes measures of."""

    def __init__(self, answers: Answers) -> None:
        """Read the passages shown for all answers as rankings; require judgements and ids.

        Raises:
            CannotError: there are no judgements, or passages have no ids.
        """
        self.answers, self.relevant = answers, answers.relevant_ids
        if not any(self.relevant):
            raise CannotError("needs relevance judgements", code="no-relevant")
        if not any(p.id for answer in answers for p in answer.passages):
            raise CannotError("needs passages with ids", code="missing-field")

    def mean(self, base: str, cutoff: int) -> Sample:
        """Average P@k, R@k or nDCG@k (``base``) over queries."""
        measure = base, cutoff
        values = self._listed[measure] if cutoff in LISTED else self._values([measure])[measure]
        return ByAnswer(values, self.answers.shape).mean()

    @cached_property
    def _listed(self) -> dict[RankMeasure, dict[AnswerKey, float]]:
        """Values of P, R and nDCG at all cutoffs of ``LISTED``, in one call of ir-measures."""
        return self._values((base, cutoff) for base in BASES for cutoff in LISTED)

    def _values(self, measures: Iterable[RankMeasure]) -> dict[RankMeasure, dict[AnswerKey, float]]:
        """Compute ranking measures of all answers, by ir-measures.

        Raises:
            CannotError: it is not installed.
        """
        try:
            import ir_measures
        except ImportError as error:
            raise CannotError(
                "needs ir-measures: pip install 'citeforge[scores]'", code="missing-extra"
            ) from error
        forms_of = {ir_measures.parse_measure(f"{base}@{k}"): (base, k) for base, k in measures}
        values: dict[RankMeasure, dict[AnswerKey, float]] = {
            measure: {} for measure in forms_of.values()
        }
        for run, items in enumerate(self.answers.runs):
            qrels = [
                ir_measures.Qrel(str(item.row), i, 1)
                for item in items for i in self.relevant[item.row]
            ]  # fmt: skip
            ranked = [
                ir_measures.ScoredDoc(str(item.row), name, float(-place))
                for item in items
                for place, name in enumerate(distinct_ids(item))
            ]
            for metric in ir_measures.iter_calc(list(forms_of), qrels, ranked):
                values[forms_of[metric.measure]][run, int(metric.query_id)] = metric.value
        return values


class ReferenceRankings(Rankings):
    """The same with P and R as Attributed-IR's code computes them.

    P@k is divided by the distinct passages retrieved, not by k, and a query without relevant
    passages scores 0.
    """

    def mean(self, base: str, cutoff: int) -> Sample:
        """Average P@k, R@k or nDCG@k (``base``) over queries."""
        if base == "nDCG":
            return super().mean(base, cutoff)
        values = {}
        for answer in self.answers:
            top, relevant = distinct_ids(answer)[:cutoff], set(self.relevant[answer.row])
            below = top if base == "P" else relevant
            values[answer.key] = len(relevant.intersection(top)) / len(below) if below else 0.0
        return ByAnswer(values, self.answers.shape).mean()


@per_submission(
    "retrieval", needs=(Need.PASSAGES, Need.GOLD), requires="passages with ids, judgements",
    source="Djeddal et al. 2024 (Attributed-IR), section 3.2.2", cutoffs=LISTED,
)  # fmt: skip
def rankings(answers: Answers) -> Rankings:
    """Get each answer's ranking, which is the passages that were shown for it, in order."""
    return Rankings(answers)


@rankings.reference
def reference_rankings(answers: Answers) -> Rankings:
    """Read the passages shown with each answer as its ranking; P and R as in the paper's code."""
    return ReferenceRankings(answers)


def distinct_ids(item: AnswerItem) -> list[str]:
    """List the ids of the shown passages in order, each once."""
    return list(dict.fromkeys(p.id for p in item.passages if p.id))


MEASURES = (
    rankings.measure("P", "share of relevant ones among the first {} shown passages",
        sample=lambda shown, cutoff: shown.mean("P", cutoff),
        formula="relevant among the first k ÷ k",
        edge_cases="`reference`: ÷ the distinct passages among the first k"),
    rankings.measure("R", "relevant ones found among the first {} shown passages",
        sample=lambda shown, cutoff: shown.mean("R", cutoff),
        formula="relevant among the first k ÷ all relevant passages of the query"),
    rankings.measure("nDCG", "normalised discounted gain among the first {} shown passages",
        sample=lambda shown, cutoff: shown.mean("nDCG", cutoff),
        formula="`Σ 1/log2(rank + 1)` over relevant ones among the first k ÷ the largest such sum"),
)  # fmt: skip
