"""Replies of an endpoint: their format, their store, and what has changed since they came."""

import hashlib
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

import msgspec

from citeforge.engines.sqlite import Store
from citeforge.kg.values import Row, Term


def reply_key(endpoint: str, query: str) -> str:
    """Compute the key of a SPARQL reply in the store: sha256 of endpoint and query."""
    return hashlib.sha256(f"{endpoint}\n{query}".encode()).hexdigest()


class ReplyStore(Store):
    """SQLite store of endpoint replies by query; a killed run loses no reply.

    It also keeps the batch sizes of the runs that wrote it, and how often replies were compared
    with new ones.
    """

    APPLICATION = 0x63666B67  # "cfkg"
    VERSION = 2
    SCHEMA = """CREATE TABLE replies (
        key TEXT PRIMARY KEY, endpoint TEXT NOT NULL, query TEXT NOT NULL,
        body BLOB NOT NULL, fetched REAL NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE batches (size INTEGER PRIMARY KEY);
    CREATE TABLE comparisons (endpoint TEXT NOT NULL, compared INTEGER NOT NULL,
        changed INTEGER NOT NULL)"""

    def get(self, endpoint: str, query: str) -> tuple[bytes, float] | None:
        """Get (body, seconds since 1970) of the stored reply to a query; None if none is."""
        key = reply_key(endpoint, query)
        rows = self.rows("SELECT body, fetched FROM replies WHERE key = ?", key)
        return (bytes(rows[0][0]), rows[0][1]) if rows else None

    def put(self, endpoint: str, query: str, body: bytes) -> None:
        """Store an endpoint's reply to a SPARQL query."""
        values = (reply_key(endpoint, query), endpoint, query, body, time.time())
        self.rows("INSERT OR REPLACE INTO replies VALUES (?, ?, ?, ?, ?)", *values)

    def endpoints(self) -> list[str]:
        """List the addresses of the SPARQL endpoints with stored replies."""
        return [e for (e,) in self.rows("SELECT DISTINCT endpoint FROM replies ORDER BY 1")]

    def queries_before(self, endpoint: str, latest: float) -> list[str]:
        """List the queries that were answered before a time, ordered by key."""
        statement = "SELECT query FROM replies WHERE endpoint = ? AND fetched < ? ORDER BY key"
        return [query for (query,) in self.rows(statement, endpoint, latest)]

    def add_batch_size(self, size: int) -> None:
        """Record the number of entities per query of a run that writes this store."""
        self.rows("INSERT OR IGNORE INTO batches VALUES (?)", size)

    def batch_sizes(self) -> list[int]:
        """List the numbers of entities per query of the runs that wrote this store."""
        return [size for (size,) in self.rows("SELECT size FROM batches ORDER BY 1")]

    def add_comparison(self, endpoint: str, compared: int, changed: int) -> None:
        """Record how many stored replies were asked for again, and how many had changed."""
        self.rows("INSERT INTO comparisons VALUES (?, ?, ?)", endpoint, compared, changed)

    def comparison_counts(self, endpoint: str) -> Counter[str]:
        """Count the stored replies that were asked for again, and those that had changed."""
        statement = "SELECT SUM(compared), SUM(changed) FROM comparisons WHERE endpoint = ?"
        ((compared, changed),) = self.rows(statement, endpoint)
        return +Counter({"replies_compared": compared or 0, "replies_changed": changed or 0})


class RetrievalTimes:
    """Times at which the replies that a run used were retrieved."""

    def __init__(self) -> None:
        """Start without any reply's time."""
        self._time_of: dict[str, float] = {}

    def add(self, query: str, when: float) -> None:
        """Record when the reply to a SPARQL query came, in seconds since 1970."""
        self._time_of[query] = when

    def span(self) -> dict[str, str | int]:
        """Describe for manifests when replies came: ``first``, ``last``, number of ``replies``."""
        if not self._time_of:
            return {}
        times = self._time_of.values()
        return {
            "first": _write_time(min(times)),
            "last": _write_time(max(times)),
            "replies": len(times),
        }


def _write_time(seconds: float) -> str:
    """Format seconds since 1970 as ISO 8601 in UTC."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def describe_change(old: Sequence[Row], new: Sequence[Row]) -> str:
    """Describe the first difference between two replies to a SPARQL query; "" if equal.

    Blank nodes are not compared: each reply gives them names of its own.
    """
    rows = [Counter(map(_comparable, reply)) for reply in (old, new)]
    gone, added = rows[0] - rows[1], rows[1] - rows[0]
    if not gone and not added:
        return ""
    texts = (min(map(_row_text, part), default="nothing") for part in (gone, added))
    return "was {}, is {}".format(*texts)


def _comparable(row: Row) -> frozenset[tuple[str, Term]]:
    """Convert a row of a SPARQL reply to a set of terms, without names of blank nodes."""
    blank = Term("bnode", "")
    return frozenset((name, blank if t.type == "bnode" else t) for name, t in row.items())


def _row_text(row: Iterable[tuple[str, Term]]) -> str:
    """Format a row of a SPARQL reply in one line, with variables and shortened values."""
    cells = sorted(
        (name, term.value.rpartition("/")[2] if term.type == "uri" else term.value)
        for name, term in row
    )
    return "(" + ", ".join(f"{name} {value[:40]!r}" for name, value in cells) + ")"


class TruncatedError(ValueError):
    """A reply of status 200 was cut off or has another format."""


class _Results(msgspec.Struct, gc=False):
    """``results`` of a reply."""

    bindings: list[Row]


class _Head(msgspec.Struct, gc=False):
    """``head`` of a reply: names of its variables."""

    vars: list[str]


class _Reply(msgspec.Struct, gc=False):
    """A reply in SPARQL 1.1 Query Results JSON Format."""

    head: _Head
    results: _Results


_DECODER = msgspec.json.Decoder(_Reply)


def parse_rows(body: bytes, variables: Iterable[str]) -> list[Row]:
    """Parse a reply in SPARQL 1.1 Query Results JSON Format into rows.

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
