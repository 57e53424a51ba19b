"""Statements with their citations: what a judge is asked about."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from citeforge.evaluator.measures.cannot import CannotError
from citeforge.evaluator.measures.columns import Key
from citeforge.evaluator.statements.inputs import AnswerItem, Inputs
from citeforge.evaluator.tools import NO_JUDGE


@dataclass(frozen=True)
class Claim:
    """A statement to be judged, with its citations.

    Attributes:
        text: the hypothesis.
        cited: 0-based positions of the passages cited, all shown; ``reference`` keeps repeats.
        wrong: number of further citations that are wrong whatever the judge says.
        skipped: ``reference``: a citation was out of range, so the statement has recall 0 and its
            citations enter no precision.
    """

    text: str
    cited: tuple[int, ...]
    wrong: int = 0
    skipped: bool = False


def read_claims(
    inputs: Inputs, read: Callable[[AnswerItem, Inputs], list[Claim]]
) -> list[tuple[Key, AnswerItem, list[Claim]]]:
    """Statements of every answer with what it cites: ((run, query row), answer, statements).

    Raises:
        CannotError: there is no judge, or nothing that splits sentences.
    """
    if inputs.tools.judge is None:
        raise CannotError(NO_JUDGE)
    if inputs.tools.segmenter is None and inputs.task != "qampari":
        raise CannotError(inputs.tools.why_no_segmenter or "needs a segmenter")
    rows = []
    for run, item in inputs.items():
        # In `strict` all families read the same statements; they are cut once.
        key = ("strict" if inputs.protocol == "strict" else read.__qualname__, run, item.row)
        if key not in inputs.statements:
            inputs.statements[key] = read(item, inputs)
        rows.append(((run, item.row), item, inputs.statements[key]))
    return rows
