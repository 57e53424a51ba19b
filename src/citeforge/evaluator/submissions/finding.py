"""One error or warning about a submission."""

from dataclasses import dataclass

from citeforge.schemas.errors import CiteforgeError, InputError


@dataclass(frozen=True)
class Finding:
    """An error or a warning of a check.

    Attributes:
        code: short stable name of the kind of finding, e.g. ``"duplicate-id"``; errors have the
            code of :class:`~citeforge.schemas.errors.CiteforgeError`.
        message: what is wrong, and what would be right.
        line: 1-based line in the file; None for the file as a whole.
        field: field at fault.
    """

    code: str
    message: str
    line: int | None = None
    field: str | None = None

    def __str__(self) -> str:
        return self.message if self.field is None else f"{self.field}: {self.message}"

    @classmethod
    def from_error(cls, error: CiteforgeError) -> "Finding":
        """The finding of an error, without the path."""
        if not isinstance(error, InputError):
            return cls(error.code, str(error))
        allowed = f"; {error.allowed}" if error.allowed else ""
        return cls(error.code, f"{error.message}{allowed}", error.line, error.field)
