"""Texts in Markdown: names of systems, data sets and measures show as they are, without effect."""

import re
from html import escape

_MARKS = re.compile(r"[\\`*|~$]|(?<![^\W_])_|_(?![^\W_])|\](?=[\[(:])|^\[")
"""Characters that begin or end something in a line; ``[1, 2]`` is no link."""
_BLOCK = re.compile(r"#{1,6}(?=\s|$)|[-+](?=\s|$)|=+$|-+$|\d{1,9}(?=[.)](?:\s|$))")
"""Beginnings of a line that make it a heading, a list or a rule."""
_LINKS = re.compile(r"(?=://)|(?<=www)(?=\.)|(?<=\w)(?=@[\w-]+\.\w)|(?<=@)(?<!\w@)", re.IGNORECASE)
"""What becomes a mention or a link without any mark around it."""


def markdown_text(text: object) -> str:
    """Escape a text for one line of Markdown, in a table, too: it shows as it is.

    No markup, HTML, mathematics, link or mention takes effect. Line breaks become spaces, and other
    control characters the replacement character.
    """
    line = " ".join(str(text).split())
    line = "".join(c if c.isprintable() else "\ufffd" for c in line)
    plain = _MARKS.sub(r"\\\g<0>", escape(line, quote=False))
    if block := _BLOCK.match(plain):
        offset = block.end() if plain[0].isdigit() else 0
        plain = f"{plain[:offset]}\\{plain[offset:]}"
    return _LINKS.sub("\u200d", plain)


def markdown_code(text: object) -> str:
    """Write a text as code in one line of Markdown, outside of tables."""
    line = " ".join(str(text).split())
    fence = _fence(line, 1)
    space = " " if line.startswith("`") or line.endswith("`") or not line else ""
    return f"{fence}{space}{line}{space}{fence}"


def markdown_block(text: str, language: str = "") -> str:
    """Write a text as a block of code in Markdown."""
    fence = _fence(text, 3)
    return f"{fence}{language}\n{text}\n{fence}"


def _fence(text: str, min_length: int) -> str:
    """Make a fence of at least ``min_length`` backticks, longer than every run in a text."""
    return "`" * max(min_length, 1 + max(map(len, re.findall("`+", text)), default=0))
