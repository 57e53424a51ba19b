"""Measures of where an answer cites, whatever it cites.

## placement

Ours; they describe, and neither direction is better. [Statements](#statements) follow
the rules of `strict` in both protocols, in `reference` those of punkt's sentences. A paragraph
ends at an empty line, and where a list item begins.

*Example.* "One is here [1][2]. Two is there. Three is far [3]." is one paragraph of three
statements: PerStatement = 3/3, AtEnd = 1/3 (only the third one ends it), First = Last = 1. "One is
here. Two is there [1]." has PerStatement 1/2, AtEnd 1, First 0.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from citeforge.evaluator.measures.declared import COUNT, per_answer
from citeforge.evaluator.measures.handed import Answer
from citeforge.evaluator.statements.layout import skip_bullet
from citeforge.evaluator.statements.split import Statement, split_statements
from citeforge.evaluator.submissions.tools import Need

_LINE = re.compile(r"[^\n]+\n?|\n")
_NUMBERED = re.compile(r"\s*\d{1,3}[.)]\s")


@dataclass(frozen=True)
class Places:
    """Where the citations of one answer are.

    Attributes:
        cited: number of distinct citations of each statement; at least one statement.
        at_end: citations of statements that end a paragraph of several.
        in_long: citations in paragraphs of several statements.
    """

    cited: Sequence[int]
    at_end: int
    in_long: int


@per_answer("placement", needs=(Need.SEGMENTER,), source="ours", reads_labels=False)
def places(answer: Answer) -> Places | None:
    """Count an answer's citations by statement and by paragraph position; None if it is empty."""
    grammar, segmenter = answer.submission.grammar, answer.submission.tools.get_segmenter()
    statements = split_statements(answer.output, grammar, segmenter, answer.n_shown).statements
    return count_places(answer.output, statements) if statements else None


def count_places(output: str, statements: Sequence[Statement]) -> Places:
    """Count an answer's citations: per statement, in paragraphs, and at their ends."""
    breaks = [line.start() for line in _LINE.finditer(output) if _ends_paragraph(line[0])]
    paragraphs = [sum(at <= s.spans[0][0] for at in breaks) for s in statements]
    sizes, cited = Counter(paragraphs), [len(set(s.numbers)) for s in statements]
    following = [*paragraphs[1:], None]
    places = list(zip(cited, paragraphs, following, strict=True))
    return Places(
        cited,
        at_end=sum(n for n, own, after in places if sizes[own] > 1 and own != after),
        in_long=sum(n for n, own, _ in places if sizes[own] > 1),
    )


def _ends_paragraph(line: str) -> bool:
    """Whether a line ends the paragraph above it: an empty one, or an item of a list."""
    bullet = line[: skip_bullet(line, 0)]
    return not line.strip() or bool(bullet.strip()) or _NUMBERED.match(line) is not None


MEASURES = (
    places.measure(
        "Placement.PerStatement", "distinct citations per statement",
        mean=lambda p: sum(p.cited) / len(p.cited), formula="citations ÷ statements of an answer",
        edge_cases="no statement: undefined", **COUNT),
    places.measure(
        "Placement.AtEnd", "citations at the last statement of a paragraph of several",
        mean=lambda p: p.at_end / p.in_long if p.in_long else None, higher_is_better=None,
        formula="of the citations in paragraphs of two statements or more, those of the last "
        "statement", edge_cases="no such citation: undefined"),
    places.measure(
        "Placement.First", "answers whose first statement cites",
        mean=lambda p: float(p.cited[0] > 0), higher_is_better=None,
        formula="1 if the first statement cites, else 0", edge_cases="no statement: undefined"),
    places.measure(
        "Placement.Last", "answers whose last statement cites",
        mean=lambda p: float(p.cited[-1] > 0), higher_is_better=None,
        formula="1 if the last statement cites, else 0", edge_cases="no statement: undefined"),
)  # fmt: skip
