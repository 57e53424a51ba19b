"""Statements and texts of the answers of a submission, as a scoring protocol reads them."""

from collections.abc import Callable
from typing import Literal

from citeforge.evaluator.statements.alce import alce_text, read_alce
from citeforge.evaluator.statements.attributed_ir import (
    air_text,
    read_attributed_ir,
    with_passages,
)
from citeforge.evaluator.statements.strict import CitedStatement, read_strict
from citeforge.evaluator.submissions.inputs import AnswerItem, AnswerKey, Inputs
from citeforge.schemas.citations.grammar import without_markers

Evaluator = Literal["alce", "attributed_ir"]
"""Whose evaluator the protocol ``reference`` follows; in ``strict`` all measures read the same."""
AnswerStatements = list[tuple[AnswerKey, AnswerItem, list[CitedStatement]]]
"""Every answer with its key and its statements."""


def statements_of(inputs: Inputs, evaluator: Evaluator) -> AnswerStatements:
    """List every answer with its statements by the rules of ``strict`` or a paper's evaluator.

    Args:
        inputs: the answers.
        evaluator: whose rules ``reference`` follows. Attributed-IR's leaves out answers that were
            shown no passage.

    Raises:
        CannotError: nothing splits sentences; or no answer was shown a passage (ALCE's evaluator
            asks for none).
    """
    if inputs.protocol == "strict":
        return inputs.once(_read_all_strict, is_judged=False)
    read = _read_all_as_alce if evaluator == "alce" else _read_all_as_attributed_ir
    return inputs.once(read, is_judged=False)


def text_of(item: AnswerItem, inputs: Inputs, evaluator: Evaluator) -> str:
    """Get an answer's text without citation marks, by ``strict`` or a paper evaluator's rules.

    Args:
        item: the answer.
        inputs: all answers.
        evaluator: whose rules ``reference`` follows. For Attributed-IR's measures, closed-book
            answers keep their brackets.
    """
    if inputs.protocol == "reference":
        return alce_text(item) if evaluator == "alce" else air_text(item)
    if evaluator == "attributed_ir" and not item.n_passages:
        return item.output
    parsed = inputs.grammar.parse(item.output, item.n_passages)
    return without_markers(item.output, parsed.markers)


def _read_all_strict(inputs: Inputs) -> AnswerStatements:
    """Read the statements of all answers as ``strict`` does."""
    inputs.require_passages()
    return _read_all(inputs, read_strict)


def _read_all_as_alce(inputs: Inputs) -> AnswerStatements:
    """Read the statements of all answers as ALCE's evaluator does."""
    return _read_all(inputs, read_alce)


def _read_all_as_attributed_ir(inputs: Inputs) -> AnswerStatements:
    """Read the statements of answers with passages as Attributed-IR's evaluators do."""
    return _read_all(with_passages(inputs), read_attributed_ir)


def _read_all(
    inputs: Inputs, read_statements: Callable[[AnswerItem, Inputs], list[CitedStatement]]
) -> AnswerStatements:
    """Read the statements of all answers by a function of one answer."""
    return [((run, item.row), item, read_statements(item, inputs)) for run, item in inputs.items()]
