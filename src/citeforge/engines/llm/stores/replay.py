"""The replay store: every answer paid for, found again by the hash of its request."""

from __future__ import annotations

import json
import sqlite3
import time
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from citeforge.engines.io.files import canonical_json
from citeforge.engines.io.sqlite import Store, store_errors
from citeforge.engines.llm.records import Failure, LlmReply, request_key
from citeforge.engines.llm.stores.spill import ExportedRow, spilled_rows, spills
from citeforge.schemas.errors import InputError

T = TypeVar("T")
_decode_object = msgspec.json.Decoder(dict[str, Any]).decode

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


class ReplayStore(Store):
    """Answers, failures kept apart, and the tokens of every paid call.

    An answer is stored before anybody sees it.
    """

    APPLICATION = 0x43464C4C  # "CFLL"
    SCHEMA = _SCHEMA

    def __init__(self, path: Path, readonly: bool = False) -> None:
        """Open or create a store, and take in what earlier runs could not store.

        Raises:
            InputError: see :class:`Store`.
        """
        super().__init__(path, readonly)
        if self.is_first:
            for spill in spills(path):
                self.import_rows(spilled_rows(spill), paid=True)
                spill.unlink()

    def get(self, key: str) -> LlmReply | None:
        """A stored answer; failures are never replayed."""
        rows = self.rows("SELECT answer FROM answers WHERE key = ?", key)
        return self._stored(key, rows[0][0], decode_answer) if rows else None

    def put(self, key: str, payload: Mapping[str, Any], sample: int, answer: LlmReply) -> None:
        """Store an answer, and forget a failure of the same request."""
        row = (key, canonical_json(payload), sample, encode_answer(answer), time.time())
        with self.transaction() as db:
            self._add(db, row)
            self._pay(db, key, answer)

    def fail(self, key: str, payload: Mapping[str, Any], sample: int, failure: Failure) -> None:
        """Record a failure; an answer that is there already stands."""
        row = (key, canonical_json(payload), sample, failure.reason, failure.message)
        with self.transaction() as db:
            db.execute(
                "INSERT OR REPLACE INTO failures SELECT ?, ?, ?, ?, ?, ?, ? "
                "WHERE NOT EXISTS (SELECT 1 FROM answers WHERE key = ?)",
                (*row, failure.status, time.time(), key),
            )
            self._pay(db, key, failure)

    @staticmethod
    def _add(db: sqlite3.Connection, row: tuple[Any, ...]) -> int:
        """Store an answer and forget its failure; how many were added."""
        db.execute("DELETE FROM failures WHERE key = ?", row[:1])
        return db.execute("INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?, ?)", row).rowcount

    @staticmethod
    def _pay(db: sqlite3.Connection, key: str, result: LlmReply | Failure) -> None:
        tokens = (result.prompt_tokens, result.completion_tokens)
        if any(tokens):
            db.execute(
                "INSERT INTO usage (key, prompt_tokens, completion_tokens, created) "
                "VALUES (?, ?, ?, ?)",
                (key, *tokens, time.time()),
            )

    def tokens(self) -> tuple[int, int]:
        """Prompt and completion tokens paid for so far, in all runs."""
        sums = "SELECT total(prompt_tokens), total(completion_tokens) FROM usage"
        ((prompt, completion),) = self.rows(sums)
        return int(prompt), int(completion)

    def stats(self) -> StoreStats:
        """Totals."""
        ((answers,),) = self.rows("SELECT count(*) FROM answers")
        kinds = dict(self.rows("SELECT kind, count(*) FROM failures GROUP BY 1 ORDER BY 1"))
        model = "json_extract(payload, '$.model')"
        models = dict(self.rows(f"SELECT {model}, count(*) FROM answers GROUP BY 1 ORDER BY 1"))
        return StoreStats(answers, sum(kinds.values()), *self.tokens(), kinds, models)

    def export(self) -> Iterator[ExportedRow]:
        """All answers as rows that ``import_rows`` takes, ordered by key; no failures."""
        with store_errors(self.path):
            rows = self._db.execute(
                "SELECT key, payload, sample, answer, created FROM answers ORDER BY key"
            )
            for key, payload, sample, answer, created in rows:
                yield ExportedRow(
                    key,
                    self._stored(key, payload, _decode_object),
                    sample,
                    self._stored(key, answer, _decode_object),
                    created,
                )

    def _stored(self, key: str, text: str, decode: Callable[[str], T]) -> T:
        """What a JSON column holds; SQLite checks its pages, not what they hold."""
        try:
            return decode(text)
        except (msgspec.MsgspecError, TypeError, ValueError, RecursionError) as error:
            raise InputError(
                f"is damaged: the answer {key} is no JSON ({str(error)[:120]})",
                path=self.path,
                allowed="restore a copy, or name another store; the file was not touched",
            ) from error

    def import_rows(self, rows: Iterable[ExportedRow], paid: bool = False) -> tuple[int, int]:
        """Take in exported rows; what is there already stands.

        Args:
            rows: as :meth:`export` gives them.
            paid: whether their tokens were paid for with this store.

        Returns:
            (rows added, rows that were there).

        Raises:
            InputError: a row is not an exported one, or its key is not that of its payload.
        """
        added = number = 0
        with self.transaction() as db:
            for number, row in enumerate(rows, 1):
                answer = check_row(row, number)
                payload, reply = canonical_json(row.payload), canonical_json(row.answer)
                is_new = self._add(db, (row.key, payload, row.sample, reply, row.created))
                added += is_new
                if is_new and paid:  # else a run died between taking in and removing
                    self._pay(db, row.key, answer)
        return added, number - added


def check_row(row: ExportedRow, number: int) -> LlmReply:
    """The answer of an exported row, after checking that its key is that of its payload.

    Raises:
        InputError: it is not, or the answer is none.
    """
    try:
        answer = decode_answer(canonical_json(row.answer))
        expected = request_key(row.payload, row.sample)
    except (ValueError, msgspec.MsgspecError) as error:
        raise InputError(f"is not an exported answer ({error!r})", line=number) from error
    if row.key != expected:
        raise InputError("the key is not that of the payload", line=number, field="key")
    return answer


def exported_row(
    key: str, payload: Mapping[str, Any], sample: int, answer: LlmReply
) -> ExportedRow:
    """An answer as a row of an exported store."""
    return ExportedRow(key, dict(payload), sample, json.loads(encode_answer(answer)), time.time())


def encode_answer(answer: LlmReply) -> str:
    """An answer as JSON."""
    fields = {name: value for name, value in vars(answer).items() if value is not None}
    if answer.numbers is not None:
        fields["numbers"] = answer.numbers.tolist()
    return canonical_json(fields)


def decode_answer(text: str) -> LlmReply:
    """The inverse of :func:`encode_answer`.

    Raises:
        msgspec.MsgspecError: it is no such JSON, or a field has another type.
    """
    return msgspec.json.decode(text, type=LlmReply, dec_hook=_numbers)


def _numbers(kind: Any, values: Any) -> array[float]:
    return array("d", msgspec.convert(values, list[float]))
