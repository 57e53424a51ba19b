"""What the endings of a report's file name ask for."""

from __future__ import annotations

from pathlib import Path

from citeforge.schemas.errors import UsageError

PICTURES = ("svg", "png", "pdf")
"""Formats that are one plot."""
ENDINGS = {".html": "html", ".htm": "html", ".md": "md", ".json": "json", ".csv": "csv",
           ".tex": "latex", **{f".{name}": name for name in PICTURES}}  # fmt: skip
"""Ending of a file name to the format that it asks for."""


def format_of(out: str | Path | None) -> str:
    """Format that a file name asks for; ``md`` without a file.

    Raises:
        UsageError: the name has no known ending.
    """
    if out is None:
        return "md"
    ending = Path(out).suffix.lower()
    if ending not in ENDINGS:
        raise UsageError(
            f"{out}: a report cannot be written as {ending or 'a file without ending'!r}; "
            f"known: {', '.join(ENDINGS)}, or name the format"
        )
    return ENDINGS[ending]
