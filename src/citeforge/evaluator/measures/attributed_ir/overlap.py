"""Overlap of cited passages with those of the gold answer (Attributed-IR)."""

from collections.abc import Sequence
from functools import partial

from citeforge.evaluator.measures.attributed_ir.answers import (
    AIR,
    air_output,
    mark_numbers,
    with_passages,
)
from citeforge.evaluator.measures.columns import means_by_answer
from citeforge.evaluator.measures.declared import (
    CannotError,
    CitationQuality,
    Found,
    Measure,
    percent,
)
from citeforge.evaluator.statements.inputs import AnswerItem, Inputs


def overlap_of(item: AnswerItem, inputs: Inputs) -> tuple[float, float] | None:
    """(precision, recall) of cited passage ids against the gold answer's.

    No gold or no generated citation gives 0 and stays; ``reference``: a query whose gold answer is
    the empty string leaves.
    """
    answer = item.gold.single
    if inputs.protocol == "reference" and (answer is None or not answer.text):
        return None
    cited = set(answer.citations) if answer is not None else set()
    if inputs.protocol == "reference":
        assert answer is not None
        quotes = inputs.benchmark.relevant_ids[item.row]
        marks = mark_numbers(answer.text or "")
        cited = {quotes[n - 1] for n in marks if n <= len(quotes)} if quotes else set()
        generated, n_wrong = _reference_ids(item), 0
    else:
        inside, n_wrong, _ = inputs.grammar.cited(item.output, len(item.passages))
        generated = {item.passages[p].id for p in inside}
    size = len(generated) + n_wrong
    shared = len(cited & generated)
    return (shared / size if size else 0.0, shared / len(cited) if cited else 0.0)


def _reference_ids(item: AnswerItem) -> set[str]:
    """The published code compares a marker with 1 instead of the number of passages: only ``[1]``
    counts, and ``[0]``, which is the last passage."""
    numbers = [n for n in mark_numbers(air_output(item.output)) if n <= 1]
    return {item.passages[n - 1].id for n in numbers} if item.passages else set()


_MEANS = means_by_answer(("Overlap.P", "Overlap.R"), overlap_of)


def overlap(inputs: Inputs, measures: Sequence[Measure]) -> Found:
    """Precision and recall of cited ids."""
    inputs = with_passages(inputs)
    if not any(g.citations for gold in inputs.benchmark.gold_rows for g in gold.answers):
        raise CannotError("needs gold answers with citations")
    return _MEANS(inputs, measures)


_overlap = partial(
    percent, family="attributed_ir", needs="gold answers with citations", source=AIR,
    compute=overlap,
)  # fmt: skip
_quality = partial(
    CitationQuality,
    apart="A citation is right where one gold answer cites the same passage, whatever it says.",
    reference="Their code counts [1] and [0] alone, so that only the first and the last passage "
    "can be cited.",
)
MEASURES = (
    _overlap("Overlap.P", definition="cited passages that the gold answer cites",
             citation_quality=_quality("precision")),
    _overlap("Overlap.R", definition="passages of the gold answer that are cited",
             citation_quality=_quality("recall")),
)  # fmt: skip
