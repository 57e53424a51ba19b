"""HTTP replies: Retry-After, and compressed bodies of bounded size."""

import email.utils
import zlib
from collections.abc import Mapping
from datetime import UTC, datetime

_LONGEST_WAIT = 366 * 86400.0
"""Seconds; a server that names more (1e308) means no more by it."""
_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS
"""``wbits`` by which zlib tells gzip from zlib itself."""


class UnreadableBodyError(Exception):
    """A body that is too long, or compressed in a way that cannot be unpacked."""


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that a server asks to wait: Retry-After as seconds or as an HTTP date (RFC 9110).

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
    try:
        date = email.utils.parsedate_to_datetime(text)
    except (TypeError, ValueError, OverflowError, IndexError):
        return None  # no date of this calendar
    return date if date.tzinfo else date.replace(tzinfo=UTC)


def unpack_body(body: bytes, encoding: str, most: int) -> bytes:
    """Undo the Content-Encoding of a body.

    Args:
        body: as it was received.
        encoding: value of the header; gzip and deflate are unpacked, as often as they are named.
        most: largest size in bytes, packed and unpacked: a megabyte can unpack to a gigabyte.

    Raises:
        UnreadableBodyError: another encoding, a damaged body, or a longer one.
    """
    for name in reversed([e.strip().lower() for e in encoding.split(",") if e.strip()]):
        if name == "identity":
            continue
        if name not in ("gzip", "x-gzip", "deflate"):
            raise UnreadableBodyError(
                f"the reply is compressed by {name[:20]}, which was not asked for; "
                "switch compression off in the server or in the proxy before it"
            )
        body = _inflate(body, most)
    if len(body) > most:
        raise UnreadableBodyError(f"the reply is longer than {most >> 20} MiB")
    return body


def _inflate(body: bytes, most: int) -> bytes:
    """Unpack a reply that is compressed by gzip, zlib or deflate, up to a number of bytes."""
    for window in (_GZIP_OR_ZLIB, -zlib.MAX_WBITS):  # some servers send deflate without a header
        unpacker = zlib.decompressobj(window)
        try:
            unpacked = unpacker.decompress(body, most + 1)
        except zlib.error:
            continue
        if not unpacker.eof and len(unpacked) <= most:
            raise UnreadableBodyError("the compressed reply is not whole")
        return unpacked
    raise UnreadableBodyError("the reply cannot be unpacked")
