"""Numbers of answers about a graph in the triples that they cite.

## kalma_numbers

The same as `Numbers` of [numbers](#numbers), for answers that cite triples: a number is found if a
triple that its statement cites, and that was shown, has it in its value. It asks no judge, other
than `KaLMA.Align`, and reads statements as [kalma](#kalma) does.

*Example.* "She was born in 1815 [Q7259, date of birth: 10 December 1815], and died at 37 [Q7259,
date of death: 27 November 1852]." has one statement with two numbers, of which 1815 is found:
KaLMA.Numbers = 1/2.
"""

from citeforge.evaluator.measures.declared import per_submission
from citeforge.evaluator.measures.kalma_graphs import KalmaInputs
from citeforge.evaluator.statements.triples import ParsedAnswer
from citeforge.evaluator.submissions.inputs import AnswerKey
from citeforge.evaluator.submissions.tools import Need
from citeforge.plugins.published_measures.numbers import NumberCounts, count_found
from citeforge.plugins.published_measures.quantities import Quantities, read_quantities


@per_submission(
    "kalma_numbers", reads="triples", needs=(Need.SEGMENTER,), source="ours", reads_labels=False
)
def numbers(inputs: KalmaInputs) -> dict[AnswerKey, NumberCounts]:
    """Count, per answer, its numbers (quantities) and those in the triples it cites."""
    return {(run, r.row): _count_numbers(inputs, r) for run, r in inputs.items()}


def _count_numbers(inputs: KalmaInputs, answer: ParsedAnswer) -> NumberCounts:
    """Count an answer's numbers, and those in cited and shown triples; a missing one has 0 of 1."""
    if answer.is_missing:  # it counts as one number that is not found
        return NumberCounts(0, 0, 1, 0)
    every = Quantities("\n".join(triple.value for triple in answer.shown.triples))
    return count_found(every, (
        (read_quantities(claim.text, only_sure=True), Quantities("\n".join(
            key.value for key in claim.citations if answer.shown.is_complete_and_shown(key)
        )))
        for claim in inputs.claims(answer)
    ))  # fmt: skip


MEASURES = (
    numbers.measure(
        "KaLMA.Numbers", "numbers of an answer that the triples cited for them have",
        mean=lambda n: n.cited / n.total if n.total else None,
        formula="numbers found in a triple that their statement cites ÷ numbers",
        edge_cases="no number: undefined; citations of triples that were not shown: not found"),
    numbers.measure(
        "KaLMA.Numbers.Shown", "numbers of an answer that a triple shown has",
        mean=lambda n: n.shown / n.total if n.total else None,
        formula="the same in any triple shown; the rest is invented, or known otherwise",
        edge_cases="no number: undefined"),
)  # fmt: skip
