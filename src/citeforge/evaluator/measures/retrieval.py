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

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import partial

from citeforge.evaluator.measures.columns import Rows, mean_of_defined
from citeforge.evaluator.measures.declared import CutoffForm, PassageMeasure
from citeforge.evaluator.statistics.estimates import Sample
from citeforge.evaluator.submissions.inputs import AnswerItem, Inputs
from citeforge.evaluator.submissions.tools import CannotError

BASES = ("P", "R", "nDCG")
LISTED = (1, 2, 3, 5, 10)
Form = tuple[str, int]
"""Base of a measure's name, and its cutoff."""


@dataclass(frozen=True)
class RankingMeasure(PassageMeasure):
    """A measure of the ranking that was shown."""


def ranking(inputs: Inputs, base: str, cutoff: int) -> Sample:
    """Compute P@k, R@k or nDCG@k of the shown passages, in their order, by ir-measures.

    ``reference``: P@k is divided by the distinct passages retrieved, not by k, and a query without
    relevant passages scores 0.
    """
    inputs.once(_require_judgements)
    if inputs.protocol == "reference" and base != "nDCG":
        judged = inputs.benchmark.relevant_ids
        values = {
            (run, item.row): _reference_value(
                base, distinct_ids(item)[:cutoff], set(judged[item.row])
            )
            for run, item in inputs.items()
        }
    elif cutoff in LISTED:
        values = inputs.once(_listed_values)[base, cutoff]
    else:
        values = _rank_values(inputs, [(base, cutoff)])[base, cutoff]
    return mean_of_defined(inputs, values)


def _require_judgements(inputs: Inputs) -> None:
    """Raise an error if there are no relevance judgements, or no shown passage has an id.

    Raises:
        CannotError: there are no judgements, or passages have no ids.
    """
    if not any(inputs.benchmark.relevant_ids):
        raise CannotError("needs relevance judgements", code="no-relevant")
    if not any(p.id for _, item in inputs.items() for p in item.passages):
        raise CannotError("needs passages with ids", code="missing-field")


def _listed_values(inputs: Inputs) -> dict[Form, Rows]:
    """Compute P, R and nDCG at all cutoffs of ``LISTED``, in one call of ir-measures."""
    return _rank_values(inputs, [(base, cutoff) for base in BASES for cutoff in LISTED])


def _rank_values(inputs: Inputs, forms: Iterable[Form]) -> dict[Form, Rows]:
    """Compute ranking measures of the passages shown for all answers, by ir-measures.

    Raises:
        CannotError: it is not installed.
    """
    try:
        import ir_measures
    except ImportError as error:
        raise CannotError(
            "needs ir-measures: pip install 'citeforge[scores]'", code="missing-extra"
        ) from error
    judged = inputs.benchmark.relevant_ids
    forms_of = {ir_measures.parse_measure(f"{base}@{k}"): (base, k) for base, k in forms}
    values: dict[Form, Rows] = {form: {} for form in forms_of.values()}
    for run, items in enumerate(inputs.runs):
        qrels = [ir_measures.Qrel(str(item.row), i, 1) for item in items for i in judged[item.row]]
        ranked = [
            ir_measures.ScoredDoc(str(item.row), name, float(-place))
            for item in items
            for place, name in enumerate(distinct_ids(item))
        ]
        for metric in ir_measures.iter_calc(list(forms_of), qrels, ranked):
            values[forms_of[metric.measure]][run, int(metric.query_id)] = metric.value
    return values


def _reference_value(base: str, top: Collection[str], relevant: set[str]) -> float:
    """Compute P@k or R@k (``base``) of the first k passages as Attributed-IR's code does."""
    below = top if base == "P" else relevant
    return len(relevant.intersection(top)) / len(below) if below else 0.0


def distinct_ids(item: AnswerItem) -> list[str]:
    """List the ids of the shown passages in order, each once."""
    return list(dict.fromkeys(p.id for p in item.passages if p.id))


def _declare(cutoff: int, base: str, words: str, formula: str, edge_cases: str) -> RankingMeasure:
    """Declare a measure of the first ``cutoff`` passages shown, such as ``P@5``."""
    return RankingMeasure(
        f"{base}@{cutoff}",
        "retrieval",
        f"{words} among the first {cutoff} shown passages",
        formula=formula,
        edge_cases=edge_cases,
        needs="passages with ids, judgements",
        source="Djeddal et al. 2024 (Attributed-IR), section 3.2.2",
        compute=partial(ranking, base=base, cutoff=cutoff),
        parameters={"base": base, "cutoff": cutoff},
    )


MEASURES = tuple(
    CutoffForm(
        base,
        partial(_declare, base=base, words=words, formula=formula, edge_cases=edge_cases),
        LISTED,
    )
    for base, words, formula, edge_cases in (
        ("P", "share of relevant ones", "relevant among the first k ÷ k",
         "`reference`: ÷ the distinct passages among the first k"),
        ("R", "relevant ones found", "relevant among the first k ÷ all relevant passages of the "
         "query", ""),
        ("nDCG", "normalised discounted gain", "`Σ 1/log2(rank + 1)` over relevant ones among the "
         "first k ÷ the largest such sum", ""),
    )
)  # fmt: skip
