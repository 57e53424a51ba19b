"""Text that may be left by a tool and that the grammar reads as words; ``check`` warns of it."""

import re

from citeforge.schemas.citations.doubt import is_raised_mark
from citeforge.schemas.citations.grammar import Parsed, overlaps

_LIKE_RESIDUE = re.compile(
    r"(?P<raised>\\textsuperscript\{\s*\d{1,3}(?:\s*[,;–-]\s*\d{1,3}){0,9}\s*\})"
    r"|(?<!\S)<\d{1,2}>|\[\d{1,2}(?=\s+\[\d)|oaicite:\d+|contentReference(?=\[)"
    # Characters of private use, and those of ChatGPT as a file of JSON spells them.
    r"|[\ue000-\uf8ff]+|(?:\\u[eE]2[01][0-9a-fA-F](?:(?:file)?cite)?)+"
    r"|</?\w{1,20}:(?:render|argument|cit|ref|source)\w*\b[^<>]{0,200}>?"
    r"|<(?:bos|pad|unk|eot_id|start_of_turn)>"
)


def find_unknown_residue(output: str, parsed: Parsed) -> list[tuple[int, int]]:
    """Find spans left in the text that look like unread marks or tool markup (``oaicite:1``).

    Args:
        output: what the system wrote.
        parsed: what the grammar read in it.

    Returns:
        (start, end) of each place that the grammar has neither read nor counted as unread.
    """
    spans = sorted([*((m.start, m.end) for m in parsed.markers), *parsed.unparsed])
    return [
        match.span()
        for match in _LIKE_RESIDUE.finditer(output)
        if not overlaps(match.span(), spans)
        and not overlaps(match.span(), parsed.lists)
        and (match["raised"] is None or is_raised_mark(output, *match.span()))
    ]
