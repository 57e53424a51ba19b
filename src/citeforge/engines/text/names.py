"""Names inside texts, masked so that their marks and words are none of the sentence."""

import re
from collections.abc import Collection, Iterable

_MARKS = ".!?"
_MAY_END = re.compile(r"\s*\Z|\s+[\"“«(\[]?[^\W\d_a-z]")
"""What follows a name whose last mark may end the sentence, too: nothing, or a capital."""


def mask_names(text: str, names: Collection[str]) -> str:
    """Replace each of the given names in a text by X, longer ones first."""
    return _pattern(names).sub("X", text)


def blank_names(text: str, names: Iterable[str]) -> str:
    """Replace each name with spaces or marks by one capitalised word of the same length.

    Positions stay as they are. ``Guards! Guards! is funny.`` becomes ``Gxxxxxxxxxxxxxx is funny.``
    A name's last full stop is kept where it may end the sentence, too.
    """

    def blank(match: re.Match[str]) -> str:
        """Write one word in place of a name."""
        name = match[0]
        ends = name[-1] in _MARKS and _MAY_END.match(text, match.end()) is not None
        return f"{name[0]}{'x' * (len(name) - 1 - ends)}{name[-1] if ends else ''}"

    return _pattern([n for n in names if len(n) > 1 and not n.isalnum()]).sub(blank, text)


def _pattern(names: Collection[str]) -> re.Pattern[str]:
    """Compile a pattern for whole names, longer ones first; without names it finds nothing."""
    found = "|".join(re.escape(name) for name in sorted({*names}, key=lambda n: (-len(n), n)))
    return re.compile(rf"(?<!\w)(?:{found})(?!\w)" if found else r"(?!)")
