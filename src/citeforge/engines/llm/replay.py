"""The replay store: every answer paid for, found again by the hash of its request."""

import glob
import json
import sqlite3
import time
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from citeforge.engines.io.files import atomic_file, canonical_json, storage_errors
from citeforge.engines.io.jsonlines import read_rows
from citeforge.engines.io.sqlite import Store, store_errors
from citeforge.engines.llm.records import Call, LlmReply, Result, request_key
from citeforge.schemas.errors import InputError

T = TypeVar("T")
C = TypeVar("C", bound=Call)
OnResult = Callable[[int, Result], None]
Take = Callable[[str, Result], None]
"""Takes the result of a call by its key."""
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


class ExportedRow(msgspec.Struct, forbid_unknown_fields=True):
    """An answer with its request, as a line of an exported store and of a spill."""

    key: str
    payload: dict[str, Any]
    sample: int
    answer: dict[str, Any]
    created: float


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
                self.import_rows(spilled_rows(spill), spill, paid=True)
                spill.unlink()

    def get(self, key: str) -> LlmReply | None:
        """A stored answer; failures are never replayed."""
        rows = self.rows("SELECT answer FROM answers WHERE key = ?", key)
        return self._stored(key, rows[0][0], decode_answer) if rows else None

    def keep(self, key: str, payload: Mapping[str, Any], sample: int, result: Result) -> None:
        """Store what came of a request, and what it cost.

        An answer ends the failure of its request; a failure beside an answer is not recorded.
        """
        row = (key, canonical_json(payload), sample)
        with self.transaction() as db:
            if isinstance(result, LlmReply):
                self._add(db, (*row, encode_answer(result), time.time()))
            else:
                failure = (result.reason, result.message, result.status, time.time())
                db.execute(
                    "INSERT OR REPLACE INTO failures SELECT ?, ?, ?, ?, ?, ?, ? "
                    "WHERE NOT EXISTS (SELECT 1 FROM answers WHERE key = ?)",
                    (*row, *failure, key),
                )
            self._pay(db, key, result)

    @staticmethod
    def _add(db: sqlite3.Connection, row: tuple[Any, ...]) -> int:
        """Store an answer and forget its failure; how many were added."""
        db.execute("DELETE FROM failures WHERE key = ?", row[:1])
        return db.execute("INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?, ?)", row).rowcount

    @staticmethod
    def _pay(db: sqlite3.Connection, key: str, result: Result) -> None:
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
                f"is damaged: the answer {key} is not JSON ({str(error)[:120]})",
                path=self.path,
                allowed="restore a copy, or name another store; the file was not touched",
                code="bad-store",
            ) from error

    def import_rows(
        self, rows: Iterable[ExportedRow], source: Path | None = None, paid: bool = False
    ) -> tuple[int, int]:
        """Take in exported rows; what is there already stands.

        Args:
            rows: as :meth:`export` gives them.
            source: file that they come from, for errors.
            paid: whether their tokens were paid for with this store.

        Returns:
            (rows added, rows that were there).

        Raises:
            InputError: a row is not an exported one, or its key is not that of its payload.
        """
        added = number = 0
        with self.transaction() as db:
            for number, row in enumerate(rows, 1):
                answer = _checked_answer(row, source, number)
                payload, reply = canonical_json(row.payload), canonical_json(row.answer)
                is_new = self._add(db, (row.key, payload, row.sample, reply, row.created))
                added += is_new
                if is_new and paid:  # else a run died between taking in and removing
                    self._pay(db, row.key, answer)
        return added, number - added


def ask_once(
    calls: Sequence[C], model: str, store: ReplayStore | None,
    settle: Callable[[C, LlmReply], Result], ask: Callable[[dict[str, C], Take], None],
    on_result: OnResult | None = None,
) -> list[Result]:  # fmt: skip
    """One result a call, in order; equal calls are made once, stored ones never.

    Args:
        calls: what to ask.
        model: who is asked.
        store: of answers; None for none.
        settle: a stored answer as its call takes it.
        ask: makes the calls that are left, by their keys, and hands over each result.
        on_result: told (index of the call, result) as soon as each is there.
    """
    places: dict[str, list[int]] = {}
    for place, call in enumerate(calls):
        places.setdefault(request_key(call.payload(model), call.sample), []).append(place)
    results: dict[int, Result] = {}

    def take(key: str, result: Result) -> None:
        for place in places[key]:
            results[place] = result
            if on_result is not None:
                on_result(place, result)

    waiting: dict[str, C] = {}
    for key, (place, *_) in places.items():
        answer = None if store is None else store.get(key)
        if answer is None:
            waiting[key] = calls[place]
        else:
            take(key, settle(calls[place], answer))
    if waiting:
        ask(waiting, take)
    return [results[place] for place in range(len(calls))]


def export_store(store: Path, out: Path) -> int:
    """Write all answers of a store as JSON Lines.

    Returns:
        Number of answers.

    Raises:
        InputError: the store cannot be read.
    """
    count = 0
    with ReplayStore(store, readonly=True) as opened, atomic_file(out) as file:
        for row in opened.export():
            text = json.dumps(msgspec.structs.asdict(row), ensure_ascii=False, sort_keys=True)
            file.write(text.encode() + b"\n")
            count += 1
    return count


def import_store(store: Path, file: Path) -> tuple[int, int]:
    """Take exported answers into a store; what is there stands.

    Returns:
        (answers added, answers that were there).

    Raises:
        InputError: a line is not an exported answer, or its key is not that of its payload.
    """
    with ReplayStore(store) as opened:
        return opened.import_rows((row for _, row in read_rows(file, ExportedRow)), file)


def _checked_answer(row: ExportedRow, source: Path | None, line: int) -> LlmReply:
    """The answer of an exported row, after checking that its key is that of its payload."""
    try:
        answer = decode_answer(canonical_json(row.answer))
        expected = request_key(row.payload, row.sample)
    except (ValueError, msgspec.MsgspecError) as error:
        message = f"is not an exported answer ({error!r})"
        raise InputError(message, path=source, line=line, code="bad-store") from error
    if row.key != expected:
        message = "does not match the payload"
        raise InputError(message, path=source, line=line, field="key", code="hash-mismatch")
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


def _numbers(kind: Any, values: Any) -> "array[float]":
    return array("d", msgspec.convert(values, list[float]))


def spills(store: Path) -> list[Path]:
    """Files that earlier runs with a store have left beside it."""
    return sorted(store.parent.glob(f"{glob.escape(store.name)}.spill.*"))


def spilled_rows(path: Path) -> Iterator[ExportedRow]:
    """Rows of such a file.

    Raises:
        InputError: it cannot be read or holds something else.
    """
    with storage_errors(path), path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                return  # room that was not used, or a row that a dying process did not finish
            try:
                row = msgspec.json.decode(line, type=ExportedRow)
            except (msgspec.MsgspecError, UnicodeDecodeError) as error:
                raise InputError(
                    f"is not a kept answer ({error})",
                    path=path,
                    line=number,
                    allowed="what an earlier run wrote; remove the file to continue without it",
                    code="bad-store",
                ) from error
            yield row
