"""Replies of an endpoint, kept with the time at which they came."""

import hashlib
import time
from collections.abc import Iterable

import msgspec

from citeforge.engines.io.sqlite import Store
from citeforge.kg.values.terms import Row


def reply_key(endpoint: str, query: str) -> str:
    """sha256 of endpoint and query."""
    return hashlib.sha256(f"{endpoint}\n{query}".encode()).hexdigest()


class ReplyStore(Store):
    """Replies of endpoints by their queries; a killed run loses none that it had."""

    APPLICATION = 0x63666B67  # "cfkg"
    SCHEMA = """CREATE TABLE replies (
        key TEXT PRIMARY KEY, endpoint TEXT NOT NULL, query TEXT NOT NULL,
        body BLOB NOT NULL, fetched REAL NOT NULL
    ) WITHOUT ROWID"""

    def get(self, endpoint: str, query: str) -> bytes | None:
        """The kept reply, if there is one."""
        key = reply_key(endpoint, query)
        rows = self.rows("SELECT body FROM replies WHERE key = ?", key)
        return bytes(rows[0][0]) if rows else None

    def put(self, endpoint: str, query: str, body: bytes) -> None:
        """Keep a reply."""
        values = (reply_key(endpoint, query), endpoint, query, body, time.time())
        self.rows("INSERT OR REPLACE INTO replies VALUES (?, ?, ?, ?, ?)", *values)

    def endpoints(self) -> list[str]:
        """Endpoints whose replies are kept."""
        return [e for (e,) in self.rows("SELECT DISTINCT endpoint FROM replies ORDER BY 1")]


class TruncatedError(ValueError):
    """A reply of status 200 that is not whole."""


class _Results(msgspec.Struct, gc=False):
    bindings: list[Row]


class _Head(msgspec.Struct, gc=False):
    vars: list[str]


class _Reply(msgspec.Struct, gc=False):
    head: _Head
    results: _Results


_DECODER = msgspec.json.Decoder(_Reply)


def parse_rows(body: bytes, variables: Iterable[str]) -> list[Row]:
    """Rows of a reply in SPARQL 1.1 Query Results JSON Format.

    Raises:
        TruncatedError: not whole, not that format, or without the variables of the query (Wikidata
            cuts long queries off in the middle of a reply whose status is 200).
    """
    try:
        reply = _DECODER.decode(body)
    # Text that is no UTF-8, and nesting without end, have errors of their own.
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise TruncatedError(f"the reply is not whole ({len(body):,} bytes; {error})") from error
    absent = set(variables).difference(reply.head.vars)
    if absent:
        raise TruncatedError(f"the reply is not of this query: it has no ?{min(absent)}")
    return reply.results.bindings
