"""The replay store: every answer paid for, found again by the hash of its request."""

from __future__ import annotations

import json
import sqlite3
import time
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeVar

import msgspec

from citeforge.engines.io.files import canonical_json
from citeforge.engines.io.sqlite import open_store, store_errors
from citeforge.engines.llm.records import Answer, Failure, Token, request_key
from citeforge.engines.llm.stores.spill import leftovers
from citeforge.schemas.errors import InputError

APPLICATION_ID = 0x43464C4C  # "CFLL"
VERSION = 1

T = TypeVar("T")

_SCHEMA = """
CREATE TABLE IF NOT EXISTS answers (
    key TEXT PRIMARY KEY, payload TEXT NOT NULL, sample INTEGER NOT NULL, answer TEXT NOT NULL,
    created REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS failures (
    key TEXT PRIMARY KEY, payload TEXT NOT NULL, sample INTEGER NOT NULL, kind TEXT NOT NULL,
    message TEXT NOT NULL, status INTEGER, created REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS usage (
    id INTEGER PRIMARY KEY, key TEXT NOT NULL, prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL, created REAL NOT NULL
)
"""


@dataclass(frozen=True)
class StoreStats:
    """Totals of a store, over all runs.

    Attributes:
        answers: stored answers.
        failures: requests that ended in a failure and have no answer.
        prompt_tokens: paid for, failures included.
        completion_tokens: likewise.
        kinds: failures by kind.
        models: answers by model.
    """

    answers: int
    failures: int
    prompt_tokens: int
    completion_tokens: int
    kinds: dict[str, int]
    models: dict[str, int]


class ReplayStore:
    """SQLite file (WAL) with answers, failures kept apart, and the tokens of every paid call.

    An answer is stored before anybody sees it. Several processes may share the file.
    """

    def __init__(self, path: Path, readonly: bool = False) -> None:
        """Open or create a store.

        Raises:
            InputError: damaged, another database, newer, locked, read-only; the file is untouched.
        """
        self.path = path
        self._db = open_store(path, APPLICATION_ID, VERSION, _SCHEMA, readonly)
        if not readonly:
            self._take_in_leftovers()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def _take_in_leftovers(self) -> None:
        """Store what earlier runs had paid for and could not store."""
        with leftovers(self.path) as rows:
            if not rows:
                return
            with store_errors(self.path), self._transaction() as db:
                for number, row in enumerate(rows, 1):
                    key = check_row(row, number)
                    answer = decode_answer(canonical_json(row["answer"]))
                    values = (canonical_json(row["payload"]), row["sample"], encode_answer(answer))
                    cursor = db.execute(
                        "INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?, ?)",
                        (key, *values, row["created"]),
                    )
                    if cursor.rowcount:  # else a run died between taking in and removing
                        db.execute("DELETE FROM failures WHERE key = ?", (key,))
                        self._pay(db, key, answer, row["created"])

    def get(self, key: str) -> Answer | None:
        """A stored answer; failures are never replayed."""
        with store_errors(self.path):
            row = self._db.execute("SELECT answer FROM answers WHERE key = ?", (key,)).fetchone()
        return None if row is None else self._stored(key, row[0], StoredAnswer).answer()

    def put(self, key: str, payload: Mapping[str, Any], sample: int, answer: Answer) -> None:
        """Store an answer, and forget a failure of the same request."""
        now = time.time()
        with store_errors(self.path), self._transaction() as db:
            db.execute(
                "INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?, ?)",
                (key, canonical_json(payload), sample, encode_answer(answer), now),
            )
            db.execute("DELETE FROM failures WHERE key = ?", (key,))
            self._pay(db, key, answer, now)

    def fail(self, key: str, payload: Mapping[str, Any], sample: int, failure: Failure) -> None:
        """Record a failure; an answer that is there already stands."""
        now = time.time()
        with store_errors(self.path), self._transaction() as db:
            db.execute(
                "INSERT OR REPLACE INTO failures SELECT ?, ?, ?, ?, ?, ?, ? "
                "WHERE NOT EXISTS (SELECT 1 FROM answers WHERE key = ?)",
                (
                    key,
                    canonical_json(payload),
                    sample,
                    failure.reason,
                    failure.message,
                    failure.status,
                    now,
                    key,
                ),
            )
            self._pay(db, key, failure, now)

    def _transaction(self) -> _Transaction:
        return _Transaction(self._db)

    @staticmethod
    def _pay(db: sqlite3.Connection, key: str, result: Answer | Failure, now: float) -> None:
        if result.prompt_tokens or result.completion_tokens:
            db.execute(
                "INSERT INTO usage (key, prompt_tokens, completion_tokens, created) "
                "VALUES (?, ?, ?, ?)",
                (key, result.prompt_tokens, result.completion_tokens, now),
            )

    def tokens(self) -> tuple[int, int]:
        """Prompt and completion tokens paid for so far, in all runs."""
        with store_errors(self.path):
            row = self._db.execute(
                "SELECT coalesce(sum(prompt_tokens), 0), coalesce(sum(completion_tokens), 0) "
                "FROM usage"
            ).fetchone()
        return int(row[0]), int(row[1])

    def stats(self) -> StoreStats:
        """Totals."""
        with store_errors(self.path):
            (answers,) = self._db.execute("SELECT count(*) FROM answers").fetchone()
            kinds = self._db.execute("SELECT kind, count(*) FROM failures GROUP BY 1 ORDER BY 1")
            models = self._db.execute(
                "SELECT json_extract(payload, '$.model'), count(*) FROM answers GROUP BY 1 "
                "ORDER BY 1"
            )
            by_kind, by_model = dict(kinds.fetchall()), dict(models.fetchall())
        prompt, completion = self.tokens()
        return StoreStats(answers, sum(by_kind.values()), prompt, completion, by_kind, by_model)

    def export(self) -> Iterator[dict[str, Any]]:
        """All answers as rows that ``import_rows`` takes, ordered by key; no failures."""
        with store_errors(self.path):
            rows = self._db.execute(
                "SELECT key, payload, sample, answer, created FROM answers ORDER BY key"
            )
            for key, payload, sample, answer, created in rows:
                yield {
                    "key": key,
                    "payload": self._stored(key, payload, dict[str, Any]),
                    "sample": sample,
                    "answer": self._stored(key, answer, dict[str, Any]),
                    "created": created,
                }

    def _stored(self, key: str, text: str, kind: type[T]) -> T:
        """A JSON column in its declared type; SQLite checks its pages, not what they hold."""
        try:
            return msgspec.json.decode(text, type=kind)
        except (msgspec.MsgspecError, TypeError, ValueError, RecursionError) as error:
            raise InputError(
                f"is damaged: the answer {key} is no JSON ({str(error)[:120]})",
                path=self.path,
                allowed="restore a copy, or name another store; the file was not touched",
            ) from error

    def import_rows(self, rows: Iterator[dict[str, Any]]) -> tuple[int, int]:
        """Take in exported rows; what is there already stands.

        Returns:
            (rows added, rows that were there).

        Raises:
            InputError: a row is not an exported one, or its key is not that of its payload.
        """
        added = known = 0
        with store_errors(self.path), self._transaction() as db:
            for number, row in enumerate(rows, 1):
                key = check_row(row, number)
                cursor = db.execute(
                    "INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?, ?)",
                    (
                        key,
                        canonical_json(row["payload"]),
                        row["sample"],
                        canonical_json(row["answer"]),
                        row["created"],
                    ),
                )
                added += cursor.rowcount
                known += 1 - cursor.rowcount
        return added, known


class ExportedRow(msgspec.Struct, forbid_unknown_fields=True):
    """A line of an exported store."""

    key: str
    payload: dict[str, Any]
    sample: int
    answer: dict[str, Any]
    created: float

    def as_dict(self) -> dict[str, Any]:
        """The row as :meth:`ReplayStore.import_rows` takes it."""
        return msgspec.structs.asdict(self)


class _Transaction:
    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def __enter__(self) -> sqlite3.Connection:
        self._db.execute("BEGIN IMMEDIATE")
        return self._db

    def __exit__(self, kind: object, *_: object) -> None:
        self._db.execute("COMMIT" if kind is None else "ROLLBACK")


def check_row(row: dict[str, Any], number: int) -> str:
    """Key of an exported row, after checking that it belongs to its payload.

    Raises:
        InputError: it does not, or a field is missing or of the wrong type.
    """
    try:
        key, payload, sample = row["key"], row["payload"], row["sample"]
        decode_answer(canonical_json(row["answer"]))
        float(row["created"])
        expected = request_key(payload, sample)
    except (KeyError, TypeError, ValueError, msgspec.MsgspecError) as error:
        raise InputError(f"is not an exported answer ({error!r})", line=number) from error
    if key != expected:
        raise InputError("the key is not that of the payload", line=number, field="key")
    return str(key)


def exported_row(
    key: str, payload: Mapping[str, Any], sample: int, answer: Answer
) -> dict[str, Any]:
    """An answer as a row of an exported store."""
    return {
        "key": key,
        "payload": dict(payload),
        "sample": sample,
        "answer": json.loads(encode_answer(answer)),
        "created": time.time(),
    }


def encode_answer(answer: Answer) -> str:
    """An answer as JSON."""
    fields: dict[str, Any] = {
        "text": answer.text,
        "prompt_tokens": answer.prompt_tokens,
        "completion_tokens": answer.completion_tokens,
        "model": answer.model,
    }
    if answer.logprobs is not None:
        fields["logprobs"] = [[t.token, t.logprob] for t in answer.logprobs]
    if answer.finish_reason is not None:
        fields["finish_reason"] = answer.finish_reason
    if answer.numbers is not None:
        fields["numbers"] = answer.numbers.tolist()
    return canonical_json(fields)


class StoredAnswer(msgspec.Struct):
    """An answer as the store keeps it.

    Attributes:
        text: reply.
        prompt_tokens: paid for.
        completion_tokens: likewise.
        model: what the endpoint called itself.
        logprobs: (token, log probability) pairs, when they were asked for.
        finish_reason: why the model stopped, as the endpoint said.
        numbers: of a route that answers in numbers.
    """

    text: str
    prompt_tokens: int
    completion_tokens: int
    model: str
    logprobs: list[tuple[str, float]] | None = None
    finish_reason: str | None = None
    numbers: list[float] | None = None

    def answer(self) -> Answer:
        """The record that writers return."""
        return Answer(
            self.text,
            self.prompt_tokens,
            self.completion_tokens,
            self.model,
            None if self.logprobs is None else tuple(Token(t, p) for t, p in self.logprobs),
            self.finish_reason,
            None if self.numbers is None else array("d", self.numbers),
        )


def decode_answer(text: str) -> Answer:
    """The inverse of :func:`encode_answer`.

    Raises:
        msgspec.MsgspecError: it is no such JSON, or a field has another type.
    """
    return msgspec.json.decode(text, type=StoredAnswer).answer()
