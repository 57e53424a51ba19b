"""Statements as Attributed-IR's evaluators read them, for ``reference`` (Djeddal et al. 2024)."""

import re
from dataclasses import replace
from typing import TypeVar

from citeforge.evaluator.statements.strict import CitedStatement
from citeforge.evaluator.submissions.inputs import AnswerItem, Inputs
from citeforge.schemas.citations.grammar import read_number

InputsT = TypeVar("InputsT", bound=Inputs)
MOST_CITATIONS = 7
MOST_STATEMENTS = 20
_BRACKET = r"\[\d+(?:,\s*\d+)*\]"
_MARK = re.compile(rf"{_BRACKET}(?:,\s{_BRACKET})*")  # brackets joined by commas are one mark
_NUMBER = re.compile(r"\d+")
_PROMPT_START, _PROMPT_END = "<|system|>", "<|assistant|>\n"


def mark_numbers(text: str) -> list[int]:
    """List the numbers in all citation marks of a text, in order."""
    return [read_number(n) for mark in _MARK.findall(text) for n in _NUMBER.findall(mark)]


def _reference_statements(item: AnswerItem, inputs: Inputs) -> list[tuple[str, list[int]]]:
    """Split an answer into (text, cited numbers) as Attributed-IR's evaluator does.

    A mark that opens a sentence replaces the citations of the sentence before, unless that one was
    nothing but marks; it is no citation of its own sentence. A sentence that is one mark, or marks
    joined by commas, is no statement; other sentences of marks are statements without text.
    """
    output = air_output(item.output)
    statements: dict[int, tuple[str, list[int]]] = {}
    for at, (start, end) in enumerate(inputs.tools.get_segmenter().split(output)):
        sentence = output[start:end]
        marks = _MARK.findall(sentence)
        own = sentence
        if marks and sentence.startswith(marks[0]):
            own = sentence[len(marks[0]) :]
            if at - 1 in statements:
                statements[at - 1] = (statements[at - 1][0], mark_numbers(marks[0]))
        if not marks or ", ".join(marks) != sentence:
            text = _MARK.sub("", sentence).replace(" .", ".")
            statements[at] = (text, mark_numbers(own))
    return list(statements.values())


def read_attributed_ir(item: AnswerItem, inputs: Inputs) -> list[CitedStatement]:
    """Read an answer's first 20 statements, with up to 7 distinct citations each.

    Citations are cut before the range check; ``[0]`` is the last passage. A statement with a
    citation out of range is marked as skipped: NLI skips it, AutoAIS looks at its other citations.

    Raises:
        CannotError: nothing splits sentences.
    """
    n = item.n_passages
    statements = []
    for text, numbers in _reference_statements(item, inputs)[:MOST_STATEMENTS]:
        # The order of premises is that of a Python set, as in the evaluator.
        cited = list(set(numbers))[:MOST_CITATIONS]
        inside = tuple((number - 1) % n for number in cited if number <= n)
        n_wrong = len(cited) - len(inside)
        statements.append(CitedStatement(text, inside, wrong=n_wrong, skipped=n_wrong > 0))
    return statements


def with_passages(inputs: InputsT) -> InputsT:
    """Drop answers that were shown no passages if the protocol is ``reference``.

    Raises:
        CannotError: none has any.
    """
    inputs.require_passages()
    if inputs.protocol == "strict":
        return inputs
    return replace(inputs, runs=[[i for i in items if i.n_passages] for items in inputs.runs])


def without_reference_marks(text: str) -> str:
    """Remove citations as Attributed-IR's code does: ``[1]`` and ``[1, 2]``, and nothing else."""
    return re.sub(_BRACKET, "", text)


def air_output(output: str) -> str:
    """Remove a repeated system prompt from an output, as Attributed-IR's evaluators do."""
    output = output.replace("<|endoftext|>", "")
    text = ""
    while (start := output.find(_PROMPT_START)) >= 0:
        end = output.find(_PROMPT_END, start + len(_PROMPT_START))
        if end < 0:
            break
        text += output[:start]
        output = output[end + len(_PROMPT_END) :]
    return text + output


def air_text(item: AnswerItem) -> str:
    """Get an answer's text as Attributed-IR's measures of correctness read it.

    Closed-book outputs (no passages) keep their brackets.
    """
    output = air_output(item.output)
    return without_reference_marks(output) if item.n_passages else output
