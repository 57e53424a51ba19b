"""Why a measure could not be computed."""

from __future__ import annotations

from citeforge.schemas.errors import CiteforgeError


class CannotError(CiteforgeError):
    """A measure's needs are missing; the message says which."""
