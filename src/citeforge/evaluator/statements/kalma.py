"""KaLMA's own reading of an answer: ``extract_citations``, whose behaviour was found by running it.

Its reading is by punctuation alone: a bracket ends at the first ``]`` of its line, pieces are cut
at colons, and a relation is what follows the last comma before a colon.
"""

import re
from collections.abc import Iterator

from citeforge.engines.text.segment import Span
from citeforge.schemas.kg import Key
from citeforge.schemas.text import splice

_BOUNDARY = re.compile(r"(?<=[^A-Z].[?.]) +(?=[A-Z])")
NA = "[NA]"

# Cells of a CSV of outputs that pandas reads as missing: such an answer is passed over.
_MISSING = frozenset(
    ("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
     "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null")
)  # fmt: skip


class Sentences:
    """Sentence segmenter as in KaLMA's code.

    It cuts at spaces between a full stop or question mark and a capital, unless the character two
    before the mark is a capital.
    """

    signature = "kalma"

    def split(self, text: str) -> list[Span]:
        """Cut a text into sentences, as spans; brackets are treated like other text."""
        ends = [m.span() for m in _BOUNDARY.finditer(text)]
        starts = [0, *(end for _, end in ends)]
        return list(zip(starts, [*(start for start, _ in ends), len(text)], strict=True))


SENTENCES = Sentences()


def is_unreadable(output: str) -> bool:
    """Whether KaLMA's code skips an answer: an empty one, or one that pandas reads as missing."""
    return output in _MISSING


def without_brackets(text: str) -> str:
    """Remove all brackets from a text, as KaLMA's code does for its judge and LLM."""
    plain = splice(text, ((start, end, "") for start, end in _find_brackets(text)))
    return plain.replace("  ", " ").replace(" .", ".")


def read_brackets(text: str) -> tuple[tuple[Key, ...], int]:
    """Read (cited triples, number of [NA] marks) from the brackets of a text.

    Citations without a relation are dropped; one without a value is a citation.
    """
    parts = [text[start:end] for start, end in _find_brackets(text)]
    cited = tuple(c for b in parts if b != NA for c in _read_triples(b))
    return cited, parts.count(NA)


def _find_brackets(text: str) -> Iterator[Span]:
    """Find the spans of brackets: from each ``[`` to the first ``]`` of its line."""
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


def _read_triples(bracket: str) -> list[Key]:
    """Read the triples in a bracket as KaLMA's code does."""
    inside = bracket[1:]
    qid = inside.partition(",")[0]
    head, *rest = bracket.split(": ")
    citations: list[Key] = []
    relation = _trailing_relation(head)
    for number, piece in enumerate(rest, 1):
        value = piece[:-1] if number == len(rest) else piece.rsplit(", ", 1)[0]
        if relation:
            citations.append(Key(qid, relation, value))
        relation = _trailing_relation(piece)
    return citations


def _trailing_relation(text: str) -> str:
    """Get the relation at a text's end, after its last comma; empty without a comma."""
    _, comma, relation = text.rpartition(", ")
    return relation if comma else ""
