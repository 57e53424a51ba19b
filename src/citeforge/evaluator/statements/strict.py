"""Statements as the protocol ``strict`` reads them (docs/definitions.md#statements)."""

from collections.abc import Iterable
from dataclasses import dataclass

from citeforge.evaluator.statements.list_items import ListItem, list_items
from citeforge.evaluator.statements.split import split_statements
from citeforge.evaluator.submissions.inputs import AnswerItem, Inputs


@dataclass(frozen=True)
class CitedStatement:
    """A statement with its citations.

    Attributes:
        text: the hypothesis.
        cited: 0-based positions of the passages cited, all shown; ``reference`` keeps repeats.
        wrong: number of further citations that are wrong whatever the judge says.
        skipped: ``reference``: a citation was out of range, so the statement has recall 0 and its
            citations enter no precision.
        as_written: the same citations as their numbers less 1, where ``[0]`` and ``[n]`` are two
            names of the last passage (ALCE's ``reference``); empty where each has one name.
    """

    text: str
    cited: tuple[int, ...]
    wrong: int = 0
    skipped: bool = False
    as_written: tuple[int, ...] = ()


def read_strict(item: AnswerItem, inputs: Inputs) -> list[CitedStatement]:
    """Split an answer into statements with distinct citations, as ``strict`` reads them.

    Raises:
        CannotError: nothing splits sentences.
    """
    if inputs.task == "qampari":
        items = strict_items(item, inputs)  # each is judged together with its question
        return [
            make_statement(f"{item.query} {one.text}", one.numbers, item, inputs) for one in items
        ]
    segmenter = inputs.tools.get_segmenter()
    reading = split_statements(item.output, inputs.grammar, segmenter, item.n_passages)
    return [make_statement(s.text, s.numbers, item, inputs) for s in reading.statements]


def make_statement(
    text: str, numbers: Iterable[int], item: AnswerItem, inputs: Inputs
) -> CitedStatement:
    """Make a statement from its text and the numbers it cites; out-of-range ones are wrong."""
    distinct = [n - inputs.grammar.base for n in dict.fromkeys(numbers)]
    inside = tuple(p for p in distinct if 0 <= p < item.n_passages)
    return CitedStatement(text, inside, wrong=len(distinct) - len(inside))


def strict_items(item: AnswerItem, inputs: Inputs) -> list[ListItem]:
    """Split a list answer at its separators into items, each with its citations."""
    text = answer_part(item.output, inputs)
    return list_items(text, inputs.grammar.parse(text, item.n_passages).markers)


def answer_part(text: str, inputs: Inputs) -> str:
    """Remove the reasoning before the first colon if option ``cot`` is set; "" without a colon."""
    return text.partition(":")[2] if inputs.tools.options.cot else text
