"""All errors that citeforge raises for what a caller can mend.

Each renders as one line: what is wrong, where, and what would be right.
"""

from citeforge.schemas.errors import (
    CiteforgeError,
    FailuresError,
    InputError,
    MissingExtraError,
    UnknownValueError,
    UsageError,
)

__all__ = [
    "CiteforgeError",
    "FailuresError",
    "InputError",
    "MissingExtraError",
    "UnknownValueError",
    "UsageError",
]
