"""Attributed-IR's reading of answers (Djeddal et al. 2024, and their code)."""

import re
from dataclasses import replace

from citeforge.evaluator.measures.alce.answers import strict_claims
from citeforge.evaluator.measures.declared import CannotError
from citeforge.evaluator.measures.judging import Claim
from citeforge.evaluator.statements.inputs import AnswerItem, Inputs
from citeforge.schemas.citations.grammar import read_number, without_markers

AIR = "Djeddal et al. 2024 (Attributed-IR), section 2.5"
MOST_CITATIONS = 7
MOST_STATEMENTS = 20
_BRACKET = r"\[\d+(?:,\s*\d+)*\]"
_MARK = re.compile(rf"{_BRACKET}(?:,\s{_BRACKET})*")  # brackets joined by commas are one mark
_NUMBER = re.compile(r"\d+")
_REFERENCE_MARKS = re.compile(r"\[\d+(?:,\s*\d+)*\]")
_PROMPT_START, _PROMPT_END = "<|system|>", "<|assistant|>\n"


def mark_numbers(text: str) -> list[int]:
    """Numbers of all marks, in order."""
    return [read_number(n) for mark in _MARK.findall(text) for n in _NUMBER.findall(mark)]


def claims_of(item: AnswerItem, inputs: Inputs) -> list[Claim]:
    """Statements with their citations, as the protocol reads them."""
    if inputs.protocol == "strict":
        return strict_claims(item, inputs)
    return _reference_claims(item, inputs)


def _reference_statements(item: AnswerItem, inputs: Inputs) -> list[tuple[str, list[int]]]:
    """Statements and the numbers they cite, as Attributed-IR's evaluator reads them.

    A mark that opens a sentence replaces the citations of the sentence before, unless that one was
    nothing but marks; it is no citation of its own sentence. A sentence that is one mark, or marks
    joined by commas, is no statement; other sentences of marks are statements without text.
    """
    assert inputs.tools.segmenter is not None
    output = air_output(item.output)
    statements: dict[int, tuple[str, list[int]]] = {}
    for at, (start, end) in enumerate(inputs.tools.segmenter.split(output)):
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


def _reference_claims(item: AnswerItem, inputs: Inputs) -> list[Claim]:
    """Citations de-duplicated and cut to seven before the range check; twenty statements at most.

    ``[0]`` is the last passage. A statement with a citation out of range is marked as skipped,
    which NLI heeds; AutoAIS looks at its other citations.
    """
    n = len(item.passages)
    claims = []
    for text, numbers in _reference_statements(item, inputs)[:MOST_STATEMENTS]:
        # The order of premises is that of a Python set, as in the evaluator.
        cited = list(set(numbers))[:MOST_CITATIONS]
        inside = tuple((number - 1) % n for number in cited if number <= n)
        n_wrong = len(cited) - len(inside)
        claims.append(Claim(text, inside, wrong=n_wrong, skipped=n_wrong > 0))
    return claims


def with_passages(inputs: Inputs) -> Inputs:
    """``reference``: queries without passages leave.

    Raises:
        CannotError: none has any.
    """
    if inputs.protocol == "strict":
        return inputs
    runs = [[item for item in items if item.passages] for items in inputs.runs]
    if not any(runs):
        raise CannotError("the submission brings no passages")
    return replace(inputs, runs=runs)


def without_reference_marks(text: str) -> str:
    """Attributed-IR's removal: exactly ``[1]`` and ``[1, 2]``, and nothing else."""
    return _REFERENCE_MARKS.sub("", text)


def air_output(output: str) -> str:
    """The output as Attributed-IR's evaluators prepare it: without a repeated system prompt."""
    output = output.replace("<|endoftext|>", "")
    text = ""
    while (start := output.find(_PROMPT_START)) >= 0:
        end = output.find(_PROMPT_END, start + len(_PROMPT_START))
        if end < 0:
            break
        text += output[:start]
        output = output[end + len(_PROMPT_END) :]
    return text + output


def air_text(item: AnswerItem, inputs: Inputs) -> str:
    """The output as Attributed-IR's correctness measures see it.

    Closed-book outputs (no passages) keep their brackets.
    """
    if inputs.protocol == "reference":
        output = air_output(item.output)
        return without_reference_marks(output) if item.passages else output
    if not item.passages:
        return item.output
    return without_markers(
        item.output, inputs.grammar.parse(item.output, len(item.passages)).markers
    )
