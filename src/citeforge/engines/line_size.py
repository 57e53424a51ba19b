"""How large a line, a cell of a table or an answer may be: ``--largest-line``."""

from contextvars import ContextVar
from pathlib import Path

from citeforge.schemas.errors import InputError

DEFAULT_LINE = 4
"""Megabytes of a line or an answer that are read where nobody asks for more."""
_MEGABYTE = 1_000_000
_largest_line = ContextVar("largest line", default=DEFAULT_LINE * _MEGABYTE)


def largest_line() -> int:
    """Get the size limit in bytes of an input line, a table cell or an answer."""
    return _largest_line.get()


def set_largest_line(megabytes: int) -> None:
    """Set the size limit in megabytes of an input line, a table cell or an answer."""
    _largest_line.set(megabytes * _MEGABYTE)


def size_error(path: Path, line: int | None, subject: str, size: int | None = None) -> InputError:
    """Make the error for a line, cell or answer that is larger than :func:`largest_line`.

    Args:
        path: its file.
        line: its line.
        subject: what is too large, with an article.
        size: its bytes; None if these are not known.
    """
    has = "has more" if size is None else f"has {size:,} bytes, more"
    return InputError(
        f"{subject} {has} than the {largest_line():,} bytes that are read",
        path=path,
        line=line,
        allowed=f"one record per line; if it is what it should be, --largest-line MEGABYTES "
        f"(default: {DEFAULT_LINE}) or CITEFORGE_LARGEST_LINE",
        code="too-large",
    )
