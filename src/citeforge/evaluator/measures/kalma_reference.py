"""How KaLMA's own code reads an answer (its ``extract_citations``, found by running it).

Its reading is by punctuation alone: a bracket ends at the first ``]`` of its line, pieces are cut
at colons, and a relation is what follows the last comma before a colon.
"""

import re
from collections.abc import Iterator

from citeforge.engines.text.segment import Span
from citeforge.schemas.benchmarks.kg import Key
from citeforge.schemas.text import spliced

_BOUNDARY = re.compile(r"(?<=[^A-Z].[?.]) +(?=[A-Z])")
NA = "[NA]"

# Cells of a CSV of outputs that pandas reads as missing: such an answer is passed over.
_MISSING = frozenset(
    ("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
     "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null")
)  # fmt: skip


class Sentences:
    """Sentences as KaLMA's code cuts them: at spaces between a full stop or question mark, which
    no capital stands two characters before, and a capital."""

    signature = "kalma"

    def split(self, text: str) -> list[Span]:
        """Spans of the sentences; brackets are text like any other."""
        ends = [m.span() for m in _BOUNDARY.finditer(text)]
        starts = [0, *(end for _, end in ends)]
        return list(zip(starts, [*(start for start, _ in ends), len(text)], strict=True))


SENTENCES = Sentences()


def is_unreadable(output: str) -> bool:
    """Whether an answer leaves everything: an empty one, or one that pandas takes for a gap."""
    return output in _MISSING


def without_brackets(text: str) -> str:
    """A text as its judge and its LLM see it."""
    plain = spliced(text, ((start, end, "") for start, end in _brackets(text)))
    return plain.replace("  ", " ").replace(" .", ".")


def read_brackets(text: str) -> tuple[tuple[Key, ...], int]:
    """Citations in order, and the number of [NA].

    Citations without a relation are dropped; one without a value is a citation.
    """
    parts = [text[start:end] for start, end in _brackets(text)]
    cited = tuple(c for b in parts if b != NA for c in _triples(b))
    return cited, parts.count(NA)


def _brackets(text: str) -> Iterator[Span]:
    """From each ``[`` to the first ``]`` of its line, in one pass over the text."""
    at, line_end = 0, -1
    while (start := text.find("[", at)) >= 0:
        if line_end < start:
            line_end = text.find("\n", start)
            line_end = len(text) if line_end < 0 else line_end
        end = text.find("]", start, line_end)
        if end < 0:
            at = line_end
            continue
        yield start, end + 1
        at = end + 1


def _triples(bracket: str) -> list[Key]:
    """Read the triples in a bracket as KaLMA's code does."""
    inside = bracket[1:]
    qid = inside.partition(",")[0]
    head, *rest = bracket.split(": ")
    citations: list[Key] = []
    relation = _behind_last_comma(head)
    for number, piece in enumerate(rest, 1):
        value = piece[:-1] if number == len(rest) else piece.rsplit(", ", 1)[0]
        if relation:
            citations.append(Key(qid, relation, value))
        relation = _behind_last_comma(piece)
    return citations


def _behind_last_comma(piece: str) -> str:
    """The relation that a piece ends in; empty when it holds no comma."""
    _, comma, relation = piece.rpartition(", ")
    return relation if comma else ""
