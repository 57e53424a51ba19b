"""The dispersion of citation positions (ALiiCE, Xu et al. 2025, arXiv 2406.13375).

## cvcp

Xu et al. 2025 (ALiiCE, arXiv 2406.13375): the coefficient of variation of the positions of
citations within their sentences, over all sentences of all answers. 0: all citations have the same
place, such as the end; more: they are spread. It describes, and neither direction is better.

`strict`: the place of a mark is the share of its statement's characters, marks left out, that come
before it; marks at the same place are one. `reference`: each `[n]` by its offset in the sentence,
marks included, over the sentence's length, so that a citation at the end moves with its number of
marks; a sentence that opens with a bracket gives its first mark to the sentence before.

*Example.* "Ab [1] cdef [2]." `strict`: the statement "Ab cdef." has 8 characters, 2 and 7 of them
before a mark: places 2/8 and 7/8 have mean .5625 and standard deviation .3125, so CVCP = .56.
`reference`: the marks begin at 3 and 12 of 16 characters, CVCP = 4.5/7.5 = .60.
"""

import re
from collections.abc import Callable, Sequence

import numpy as np

from citeforge.evaluator.measures.declared import per_submission
from citeforge.evaluator.measures.handed import Answer, Answers
from citeforge.evaluator.statements.split import Statement, split_statements
from citeforge.evaluator.statistics.estimates import Floats, Sample, ratio
from citeforge.evaluator.submissions.tools import Need

_MARK = re.compile(r"\[\d+\]")


class VariationSample(Sample):
    """Sufficient statistics of a standard deviation divided by the mean of the same numbers.

    Sums are, for each query: how many, their deviations from a centre that all share, the squares
    of these, and the centre times how many. The centre keeps small deviations exact.
    """

    def combine(self, sums: Floats) -> Floats:
        """Compute coefficients of variation from sums over queries."""
        return _divide_deviation(sums)


def _divide_deviation(sums: Floats) -> Floats:
    """Compute coefficients of variation from sums; NaN without numbers, or if their mean is 0."""
    n, deviations, squares, centres = np.moveaxis(sums, -1, 0)
    variance = ratio(squares, n) - ratio(deviations, n) ** 2
    return ratio(np.sqrt(np.maximum(variance, 0.0)), ratio(deviations + centres, n))


def variation_sample(numbers: Sequence[Sequence[Sequence[float]]]) -> Sample:
    """Make the sample of a coefficient of variation over all numbers of all queries.

    Args:
        numbers: by run and query.
    """
    every = [x for run in numbers for query in run for x in query]
    centre = float(np.mean(every)) if every else 0.0
    deviations = [[np.array(query) - centre for query in run] for run in numbers]
    sums = np.array(
        [[[len(d), d.sum(), (d**2).sum(), centre * len(d)] for d in run] for run in deviations]
    )
    return VariationSample(sums, _divide_deviation(sums))


@per_submission("cvcp", needs=(Need.SEGMENTER,), source="Xu et al. 2025 (ALiiCE)",
                reads_labels=False)  # fmt: skip
def places(answers: Answers) -> Sample:
    """Measure how much the positions of citations within their statements vary, by answer."""
    return _make_sample(answers, _list_strict_positions)


@places.reference
def reference_places(answers: Answers) -> Sample:
    """Make the sample of the variation of citation positions, as ALiiCE's code does."""
    return _make_sample(answers, _list_reference_positions)


def _make_sample(answers: Answers, list_positions: Callable[[Answer], list[float]]) -> Sample:
    """Make the sample of the variation of citation positions that a function lists per answer."""
    numbers: list[list[list[float]]] = [
        [[] for _ in range(answers.shape[1])] for _ in range(answers.shape[0])
    ]
    for answer in answers:
        numbers[answer.run][answer.row] += list_positions(answer)
    return variation_sample(numbers)


def _list_strict_positions(answer: Answer) -> list[float]:
    """List the distinct relative positions, in [0, 1], of citations in each statement."""
    grammar, segmenter = answer.submission.grammar, answer.submission.tools.get_segmenter()
    statements = split_statements(answer.output, grammar, segmenter, answer.n_shown).statements
    return [place for statement in statements for place in sorted(_compute_positions(statement))]


def _compute_positions(statement: Statement) -> set[float]:
    """Compute the relative position, in [0, 1], of each citation mark of a statement."""
    size = sum(end - start for start, end in statement.spans)
    return {
        sum(max(0, min(end, mark.start) - start) for start, end in statement.spans) / size
        for mark in statement.markers
        if mark.numbers
    }


def _list_reference_positions(answer: Answer) -> list[float]:
    """List each citation's offset in its sentence divided by the sentence's length."""
    spans = answer.submission.tools.get_segmenter().split(answer.output)
    sentences = [answer.output[start:end] for start, end in spans]
    for at in range(1, len(sentences)):
        sentence = sentences[at]
        mark = _MARK.search(sentence) if sentence.startswith("[") else None
        if mark is not None:
            sentences[at - 1] += mark[0]
            sentences[at] = sentence[: mark.start()] + sentence[mark.end() :]
    return [m.start() / len(s) for s in sentences for m in _MARK.finditer(s)]


MEASURES = (
    places.measure(
        "CVCP", "coefficient of variation of the places of citations in their sentences",
        high=None, scale=1, higher_is_better=None,
        formula="standard deviation ÷ mean of the places of all citations of all answers",
        edge_cases="no citation, or all before their sentences: not computed"),
)  # fmt: skip
