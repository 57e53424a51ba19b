"""One error or warning about a submission."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from citeforge.schemas.errors import CiteforgeError, InputError

_MOST_PLACES = 3
"""Queries, or lines, that are named of each kind of finding."""


@dataclass(frozen=True)
class Finding:
    """An error or a warning of a check.

    Attributes:
        code: short stable name of the kind of finding, e.g. ``"duplicate-id"``; errors have the
            code of :class:`~citeforge.schemas.errors.CiteforgeError`.
        message: what is wrong, and what would be right.
        line: 1-based line in the file; None for the file as a whole.
        field: field at fault.
        query_id: query that the answer is, or should be, about; None for the file as a whole.
        option: what an option of the command does about it; empty for nothing, and in places that
            have no such option.
    """

    code: str
    message: str
    line: int | None = None
    field: str | None = None
    query_id: str | None = None
    option: str = ""

    def __str__(self) -> str:
        """Write the message, after its field and before the command's option, if there are any."""
        text = self.message if self.field is None else f"{self.field}: {self.message}"
        return f"{text}; {self.option}" if self.option else text

    @classmethod
    def from_error(cls, error: CiteforgeError) -> "Finding":
        """Turn an exception into a finding, without the path that it names."""
        if not isinstance(error, InputError):
            return cls(error.code, str(error))
        allowed = f"; {error.allowed}" if error.allowed else ""
        return cls(error.code, f"{error.message}{allowed}", error.line, error.field)


def describe(
    findings: Sequence[Finding], severity: str, path: Path, one_by_one: bool = False
) -> Iterator[str]:
    """Describe errors or warnings (``severity``) in one line per kind, or each in one line.

    Args:
        findings: of one submission.
        severity: ``error`` or ``warning``.
        path: the submission.
        one_by_one: describe each finding in a line of its own.
    """
    kinds: dict[object, list[Finding]] = {}
    for number, found in enumerate(findings):
        is_of_whole = found.line is None and found.query_id is None
        kind = number if one_by_one or is_of_whole else (found.code, found.field)
        kinds.setdefault(kind, []).append(found)
    for first, *others in kinds.values():
        place = f"{path}" if first.line is None else f"{path}:{first.line}"
        times = ""
        if others:
            named = [f.query_id or f"line {f.line}" for f in (first, *others)[:_MOST_PLACES]]
            more = ", …" * (len(others) >= _MOST_PLACES)
            times = f" ({len(others) + 1:,} times: {', '.join(named)}{more})"
        yield f"{place}: {severity}{times}: {first}"
