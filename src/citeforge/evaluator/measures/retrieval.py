"""Quality of the ranking that was shown: P@k, R@k and nDCG@k, for any k."""

from collections.abc import Sequence
from functools import partial

from citeforge.evaluator.measures.columns import Rows, mean_of_defined
from citeforge.evaluator.measures.declared import (
    CannotError,
    CutoffForm,
    Found,
    Measure,
    PassageMeasure,
)
from citeforge.evaluator.submissions.inputs import AnswerItem, Inputs


def rankings(inputs: Inputs, measures: Sequence[Measure]) -> Found:
    """Compute P@k, R@k and nDCG@k of the shown passages, in their order, by ir-measures.

    ``reference``: P@k is divided by the distinct passages retrieved, not by k, and a query without
    relevant passages scores 0.
    """
    try:
        import ir_measures
    except ImportError as error:
        raise CannotError(
            "needs ir-measures: pip install 'citeforge[scores]'", code="missing-extra"
        ) from error
    judged = inputs.benchmark.relevant_ids
    if not any(judged):
        raise CannotError("needs relevance judgements", code="no-relevant")
    if not any(p.id for _, item in inputs.items() for p in item.passages):
        raise CannotError("needs passages with ids", code="missing-field")
    names = {m.name: ir_measures.parse_measure(m.name) for m in measures}
    columns: dict[str, Rows] = {name: {} for name in names}
    for run, items in enumerate(inputs.runs):
        qrels = [ir_measures.Qrel(str(item.row), i, 1) for item in items for i in judged[item.row]]
        ranked = [
            ir_measures.ScoredDoc(str(item.row), name, float(-place))
            for item in items
            for place, name in enumerate(distinct_ids(item))
        ]
        back = {str(measure): name for name, measure in names.items()}
        for metric in ir_measures.iter_calc(list(names.values()), qrels, ranked):
            columns[back[str(metric.measure)]][run, int(metric.query_id)] = metric.value
        if inputs.protocol == "reference":
            for measure in measures:
                for item in items if measure.parameters["base"] in ("P", "R") else ():
                    value = _reference_value(measure, distinct_ids(item), set(judged[item.row]))
                    columns[measure.name][run, item.row] = value
    for name, values in columns.items():
        yield mean_of_defined(inputs, name, values)


def _reference_value(measure: Measure, ranked: list[str], relevant: set[str]) -> float:
    """Compute P@k or R@k of one ranking as Attributed-IR's code does."""
    top = set(ranked[: int(str(measure.parameters["cutoff"]))])
    below = top if measure.parameters["base"] == "P" else relevant
    return len(top & relevant) / len(below) if below else 0.0


def distinct_ids(item: AnswerItem) -> list[str]:
    """List the ids of the shown passages in order, each once."""
    return list(dict.fromkeys(p.id for p in item.passages if p.id))


def _measure(cutoff: int, base: str, words: str, formula: str, edge_cases: str) -> Measure:
    """Declare a ranking measure with a cutoff."""
    return PassageMeasure(
        f"{base}@{cutoff}",
        "retrieval",
        f"{words} among the first {cutoff} shown passages",
        formula=formula,
        edge_cases=edge_cases,
        needs="passages with ids, judgements",
        source="Djeddal et al. 2024 (Attributed-IR), section 3.2.2",
        compute=rankings,
        parameters={"base": base, "cutoff": cutoff},
    )


MEASURES = tuple(
    CutoffForm(
        base, partial(_measure, base=base, words=words, formula=formula, edge_cases=edge_cases)
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
