"""Refusal of files and folders that are no submission, by what they are."""

import re
from pathlib import Path

from citeforge.ir_convert.recognition import recognise_source
from citeforge.package.manifest import MANIFEST
from citeforge.schemas.errors import InputError

_HTML = re.compile(rb"\s*<(?:!doctype html|html)\b", re.IGNORECASE)
_TABLE = re.compile(rb"[^\n{\[\t]*\t[^\n]*\n")
"""First line of a table with tabs."""
_ANSWERS = 'answers: one JSON object per line, {"query_id": …, "output": …}'


def refuse_foreign(path: Path, start: bytes) -> None:
    """Raise an error for a file or folder that is no submission: a package, source, or page.

    Args:
        path: file or folder.
        start: first bytes of the file.

    Raises:
        InputError: a package, a source, a page or a table with tabs.
    """
    if (path / MANIFEST).is_file() or (path.name == MANIFEST and b'"benchmark_hash"' in start):
        folder = path if path.is_dir() else path.parent
        allowed = f"{_ANSWERS}; the package itself: citeforge verify {folder}"
        raise _error("a benchmark package", path, allowed)
    if (source := recognise_source(path, start)) is not None:
        allowed = f"{_ANSWERS}; a benchmark of it: citeforge build rage --source {source.spec}"
        raise _error(source.noun, path, allowed)
    if _HTML.match(start):
        raise _error("an HTML page", path, _ANSWERS)
    if _TABLE.match(start):
        raise _error("a table with tabs", path, f"{_ANSWERS}; or a table with commas (.csv)")


def _error(noun: str, path: Path, allowed: str) -> InputError:
    """Make the error for a file or folder that is ``noun`` and no submission."""
    return InputError(f"is {noun}, not a submission", path=path, allowed=allowed, code="wrong-kind")
