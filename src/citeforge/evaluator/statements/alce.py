"""Statements as ALCE's own evaluator reads them, for ``reference`` (Gao et al. 2023)."""

import re

from citeforge.evaluator.statements.strict import CitedStatement
from citeforge.evaluator.submissions.inputs import AnswerItem, Inputs
from citeforge.schemas.citations.grammar import read_number

_MARK = re.compile(r"\[\d+")
_SPACED_MARK = re.compile(r" \[\d+")


def reference_output(output: str) -> str:
    """Keep the first line of an output, as ALCE's evaluator does."""
    return output.strip().split("\n")[0].replace("<|im_end|>", "")


def reference_clean(text: str) -> str:
    """Remove citations as ALCE's code does: ``[1, 2]`` leaves ``, 2``."""
    return _MARK.sub("", _SPACED_MARK.sub("", text)).replace(" |", "").replace("]", "")


def read_alce(item: AnswerItem, inputs: Inputs) -> list[CitedStatement]:
    """Split the first line of an answer into statements with citations as ALCE's evaluator does.

    Raises:
        CannotError: nothing splits sentences.
    """
    return read_alce_text(reference_output(item.output), item, inputs)


def read_alce_text(output: str, item: AnswerItem, inputs: Inputs) -> list[CitedStatement]:
    """Split a text into statements with citations as ALCE's evaluator does, faults included.

    Range is checked on all markers first, then the list is cut to ``at_most_citations``; ``[0]``
    is the last passage; repeats are kept. ``cot`` changes nothing here.

    Args:
        output: what of the answer is read.
        item: the answer.
        inputs: all answers.

    Raises:
        CannotError: nothing splits sentences.
    """
    if inputs.task == "qampari":
        parts = output.rstrip().rstrip(".").rstrip(",").split(",")
        sentences = [f"{item.query} {part.strip()}" for part in parts]
    else:
        sentences = [output[s:e] for s, e in inputs.tools.get_segmenter().split(output)]
    statements = []
    n = item.n_passages
    for sentence in sentences:
        positions = [read_number(mark[1:]) - 1 for mark in _MARK.findall(sentence)]
        text = reference_clean(sentence).strip()
        if any(p >= n or p < -n for p in positions):
            statements.append(CitedStatement(text, (), wrong=len(positions), skipped=True))
        else:
            cited = positions[: inputs.tools.options.at_most_citations]
            shown = tuple(p % n for p in cited)
            statements.append(CitedStatement(text, shown, as_written=tuple(cited)))
    return statements


def alce_text(item: AnswerItem) -> str:
    """Get an answer's text as ALCE's word-based measures (such as ROUGE) read it."""
    return reference_clean(reference_output(item.output))
