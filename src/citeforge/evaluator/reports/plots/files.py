"""One plot as a file; what the endings of file names ask for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from citeforge.engines.io.files import write_bytes
from citeforge.evaluator.reports.plots.figure import Figure
from citeforge.schemas.errors import UsageError
from citeforge.schemas.extras import require

DRAWN: dict[str, Callable[[Figure], bytes]] = {
    "svg": lambda f: (f.svg + "\n").encode(),
    "png": lambda f: f.png(),
    "pdf": lambda f: f.pdf(),
}
"""Formats that are one plot."""
_WRITTEN: dict[str, Callable[[Figure], bytes]] = {**DRAWN, "csv": lambda f: f.csv.encode()}


def require_plot(out: Path | None) -> None:
    """Refuse, before any work, a file that no plot can be written to; None is fine.

    Raises:
        UsageError: another ending.
        MissingExtraError: the extra ``report`` is not installed.
    """
    if out is None:
        return
    if out.suffix.lower().removeprefix(".") not in _WRITTEN:
        raise UsageError(f"{out}: a plot is written as {', '.join(f'.{n}' for n in _WRITTEN)}")
    for module in ("altair", "vl_convert"):
        require(module)


def write_plot(out: Path, figure: Figure) -> None:
    """Write a plot, or its data as CSV, by the ending of the file name.

    Raises:
        UsageError: another ending.
        MissingExtraError: the extra ``report`` is not installed.
    """
    require_plot(out)
    write_bytes(out, _WRITTEN[out.suffix.lower().removeprefix(".")](figure))


ENDINGS = {".html": "html", ".htm": "html", ".md": "md", ".json": "json", ".csv": "csv",
           ".tex": "latex", ".svg": "svg", ".png": "png", ".pdf": "pdf"}  # fmt: skip
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
