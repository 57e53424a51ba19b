"""The header Retry-After of HTTP replies."""

import email.utils
from collections.abc import Mapping
from datetime import UTC, datetime

_LONGEST_WAIT = 366 * 86400.0
"""Seconds; a server that names more (1e308) means no more by it."""


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Read how many seconds a server asks to wait (Retry-After, RFC 9110); None if it names none.

    A date is read against the server's own Date, so that a wrong clock here does no harm.
    """
    value = headers.get("retry-after")
    if value is None:
        return None
    try:
        return min(max(0.0, float(value)), _LONGEST_WAIT)
    except ValueError:
        pass
    until = _read_date(value)
    if until is None:
        return None
    now = _read_date(headers.get("date", "")) or datetime.now(UTC)
    return min(max(0.0, (until - now).total_seconds()), _LONGEST_WAIT)


def _read_date(text: str) -> datetime | None:
    """Parse an HTTP date, in UTC if it names no zone; None for a text that is no date."""
    try:
        date = email.utils.parsedate_to_datetime(text)
    except (TypeError, ValueError, OverflowError, IndexError):
        return None  # no date of this calendar
    return date if date.tzinfo else date.replace(tzinfo=UTC)
