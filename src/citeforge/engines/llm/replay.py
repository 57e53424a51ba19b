"""The replay store: keeps every paid reply, and finds it by the hash of its request."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from citeforge.engines.files import atomic_file, canonical_json, digest
from citeforge.engines.jsonlines import read_rows
from citeforge.engines.keys import mask_known_keys, one_line
from citeforge.engines.ledger import current_ledger
from citeforge.engines.llm.adapting import patched
from citeforge.engines.llm.records import Failure, Llm, LlmReply, Request, Result, request_key
from citeforge.engines.sqlite import Store, store_errors
from citeforge.engines.textfiles import count_text
from citeforge.schemas.errors import InputError

S = TypeVar("S")
T = TypeVar("T")
OnResult = Callable[[int, Result], None]
Take = Callable[[str, Result], None]
"""Takes the result of a request by its key."""
REPLY, FAILURE = "reply", "failure"
_SAME = "same server"
PENDING, BATCH = "pending", "batch"
"""Kinds of rows: a request of a batch, and the batch itself, with the tokens paid for in it."""
_decode_object = msgspec.json.Decoder(dict[str, Any]).decode
_PUT = """
    INSERT INTO kept VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (asked) DO UPDATE SET
        (kind, content, payload, changes, prompt_tokens, completion_tokens, created, server) =
        (excluded.kind, excluded.content, excluded.payload, excluded.changes,
         prompt_tokens + excluded.prompt_tokens, completion_tokens + excluded.completion_tokens,
         excluded.created, excluded.server)
    WHERE kind <> 'reply'
"""
"""Inserts a row; on conflict adds the token counts, and keeps an existing reply."""


class ExportedRow(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A reply with its request, as a line of an exported store.

    Attributes:
        key: hash of the request that was sent.
        payload: its body.
        sample: index of a repeated request.
        answer: the reply.
        created: time in seconds since 1970.
        server: address of the endpoint that gave it; empty where it is not known.
        asked: fields in which the request as it was asked differs from what was sent (null: was
            not there), where the server does not take it as it was asked.
    """

    key: str
    payload: dict[str, Any]
    sample: int
    answer: LlmReply
    created: float
    asked: dict[str, Any] = {}
    server: str = ""


@dataclass(frozen=True)
class Server:
    """Endpoint that is asked for a model's replies.

    Attributes:
        address: as the store records it beside each reply.
        takes_others: whether replies that another address gave count as its own.
    """

    address: str
    takes_others: bool = False


@dataclass(frozen=True, slots=True)
class SentRequest:
    """A request as it is sent.

    Attributes:
        asked: hash of the request as it was asked.
        body: what is sent.
        sample: index of a repeated request.
        changes: see :class:`ExportedRow` (``asked``).
    """

    asked: str
    body: Mapping[str, Any]
    sample: int
    changes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class StoreStats:
    """Totals of a store, over all runs: replies, requests without one, and tokens paid for.

    Attributes:
        batch_tokens: of the tokens of prompts and of completions, those of batches.
        kinds: failures by reason.
        models: replies by model.
        servers: replies and verdicts by the address that gave them, where it is known.
    """

    answers: int
    failures: int
    prompt_tokens: int
    completion_tokens: int
    batch_tokens: tuple[int, int]
    kinds: dict[str, int]
    models: dict[str, int]
    servers: dict[str, int]


class ReplayStore(Store):
    """Store of replies, failures, the tokens that they cost, and judges' verdicts, in one table.

    A reply is stored before it is used.

    Attributes:
        n_replayed: replies that were taken from it since it was opened.
        ledger: where the command counts what it kept.
    """

    APPLICATION = 0x43464C4C  # "CFLL"
    VERSION = 2
    SCHEMA = """
    CREATE TABLE kept (
        asked TEXT PRIMARY KEY, kind TEXT NOT NULL, content TEXT NOT NULL, payload TEXT NOT NULL,
        changes TEXT NOT NULL, sample INTEGER NOT NULL, prompt_tokens INTEGER NOT NULL,
        completion_tokens INTEGER NOT NULL, created REAL NOT NULL, server TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX paid ON kept (kind, prompt_tokens, completion_tokens)
    """

    def __init__(self, path: Path, readonly: bool = False) -> None:
        """Open a store of LLM replies, which records in the current ledger what it keeps."""
        super().__init__(path, readonly)
        self.n_replayed = 0
        self.ledger = current_ledger()

    def get(self, key: str, server: Server | None = None) -> LlmReply | None:
        """Look up a reply by its request's hash; None if missing; refuse one of another server.

        Raises:
            InputError: another server than ``server`` gave it.
        """
        select = "SELECT content, server FROM kept WHERE kind = ? AND asked = ?"
        for content, address in self.rows(select, REPLY, key):
            self.require_server([address], server)
            return self._decode(key, content, decode_answer)
        return None

    def require_server(self, addresses: Iterable[str], server: Server | None) -> None:
        """Refuse replies from addresses other than the endpoint's, unless it accepts those, too.

        Args:
            addresses: those that gave the replies; empty ones are not known, and taken.
            server: the endpoint that would be asked; None for no check.

        Raises:
            InputError: another address gave one, and it is not recorded as the same.
        """
        if server is None:
            return
        for other in {*addresses} - {"", server.address}:
            pair = canonical_json(sorted((other, server.address)))
            key = digest(["same server", pair])
            if self.rows("SELECT 1 FROM kept WHERE asked = ?", key):
                continue
            if not server.takes_others:
                raise InputError(
                    f"has replies of {other}, and this command asks {server.address}: a model of "
                    "the same name there may be another one",
                    path=self.path,
                    allowed="--same-server, if it is the same model and replies of both may be "
                    "used; or another --store and --verdicts",
                    code="other-server",
                )
            if not self.readonly:
                row = (key, _SAME, pair, "{}", "{}", 0, 0, 0, time.time(), "")
                self.rows(_PUT, *row)

    def keep(
        self, request: SentRequest, result: Result, batch: str = "", created: float | None = None,
        server: str = "",
    ) -> bool:  # fmt: skip
        """Store a request's result and tokens, never replacing a reply; return whether it is new.

        Args:
            request: what was sent.
            result: what came of it.
            batch: name of the batch that it comes from.
            created: time of an imported result, which was paid for elsewhere; None for a new one.
            server: address that it came from.

        Returns:
            Whether it is new.
        """
        is_reply = not isinstance(result, Failure)
        paid = (result.prompt_tokens, result.completion_tokens) if created is None else (0, 0)
        kept = encode_answer(result)
        row = _make_row(request, REPLY if is_reply else FAILURE, kept, paid, created, server)
        add = "prompt_tokens = prompt_tokens + ?, completion_tokens = completion_tokens + ?"
        with self.transaction() as db:
            is_new = db.execute(_PUT, row).rowcount > 0
            for counted in [batch] if is_new else [batch, request.asked]:
                db.execute(f"UPDATE kept SET {add} WHERE asked = ?", (*paid, counted))
        if is_new and is_reply:
            self.ledger.keep("reply", self.path)
        return is_new

    def tokens(self, in_batches: bool = False) -> tuple[int, int]:
        """Sum tokens paid for in all runs, or only in batches: (prompt, completion)."""
        sums = "SELECT total(prompt_tokens), total(completion_tokens) FROM kept"
        sign = "=" if in_batches else "!="
        ((prompt, completion),) = self.rows(f"{sums} WHERE kind {sign} ?", BATCH)
        return int(prompt), int(completion)

    def keep_batch(self, name: str, requests: Iterable[SentRequest]) -> None:
        """Store a batch and its requests before the provider creates it."""
        rows = [_make_row(request, PENDING, name) for request in requests]
        with self.transaction() as db:
            db.executemany(_PUT, [_make_row(SentRequest(name, {}, 0), BATCH, "null"), *rows])

    def open_batches(self, keys: Iterable[str] | None = None) -> list[str]:
        """List the names of unfinished batches; with ``keys``, those with one of the requests."""
        chosen = "" if keys is None else "AND asked IN (SELECT value FROM json_each(?))"
        values = () if keys is None else (canonical_json(list(keys)),)
        select = "SELECT DISTINCT content FROM kept WHERE kind = ?"
        return [name for (name,) in self.rows(f"{select} {chosen}", PENDING, *values)]

    def forget_batch(self, name: str) -> int:
        """Mark a batch as never created; return how many requests will be asked again.

        Returns:
            Number of these requests.

        Raises:
            InputError: the store has no such batch under way.
        """
        known = self.open_batches()
        if name not in known:
            raise InputError(
                f"has no batch {name!r} under way",
                path=self.path,
                allowed=", ".join(known) or "nothing to forget: no batch is under way",
                code="unknown-name",
            )
        failure = encode_answer(Failure("refused", "no batch was created"))
        update = "UPDATE kept SET kind = ?, content = ? WHERE kind = ? AND content = ?"
        with self.transaction() as db:
            return db.execute(update, (FAILURE, failure, PENDING, name)).rowcount

    def has_replies(self, model: str) -> bool:
        """Whether any reply of a model is stored."""
        where = "kind = ? AND json_extract(payload, '$.model') = ?"
        return bool(self.rows(f"SELECT 1 FROM kept WHERE {where} LIMIT 1", REPLY, model))

    def stats(self) -> StoreStats:
        """Count the replies, failures and tokens of the whole store."""
        count = "SELECT json_extract({}), count(*) FROM kept WHERE kind = ? GROUP BY 1 ORDER BY 1"
        kinds = dict(self.rows(count.format("content, '$.reason'"), FAILURE))
        models = dict(self.rows(count.format("payload, '$.model'"), REPLY))
        paid = (*self.tokens(), self.tokens(in_batches=True))
        servers = dict(
            self.rows("SELECT server, count(*) FROM kept WHERE server <> '' GROUP BY 1 ORDER BY 1")
        )
        n_replies, n_failures = sum(models.values()), sum(kinds.values())
        return StoreStats(n_replies, n_failures, *paid, kinds, models, servers)

    def export(self) -> Iterator[ExportedRow]:
        """Yield all stored replies (no failures) as rows for ``import_rows``, ordered by hash."""
        select = "SELECT asked, sample, created, server, content, payload, changes FROM kept"
        with store_errors(self.path):
            for key, *row in self._db.execute(f"{select} WHERE kind = ? ORDER BY asked", (REPLY,)):
                yield self._decode(key, row, _exported_row)

    def _decode(self, key: str, content: S, decode: Callable[[S], T]) -> T:
        """Decode a stored row's JSON by ``decode``; raise an error if it is damaged.

        Args:
            key: key of the row, for the error.
            content: stored JSON.
            decode: makes a record of it.
        """
        try:
            return decode(content)
        except (msgspec.MsgspecError, TypeError, ValueError, RecursionError) as error:
            raise InputError(
                f"is damaged: the answer {key} is not JSON ({str(error)[:120]})",
                path=self.path,
                allowed="restore a copy, or name another store; the file was not touched",
                code="bad-store",
            ) from error

    def import_rows(
        self, rows: Iterable[ExportedRow], source: Path | None = None
    ) -> tuple[int, int]:
        """Add exported replies of a source; replace none: (number added, number already stored).

        Returns:
            (rows added, rows that were there).

        Raises:
            InputError: a row of the source is not an exported one, or its key is not that of its
                payload; nothing is taken in.
        """
        checked = []
        for line, row in enumerate(rows, 1):
            try:
                expected = request_key(row.payload, row.sample)
                asked = request_key(patched(row.payload, row.asked), row.sample)
            except ValueError as error:
                message = f"is not an exported answer ({error})"
                raise InputError(message, path=source, line=line, code="bad-store") from error
            if row.key != expected:
                message = "does not match the payload"
                raise InputError(message, path=source, line=line, field="key", code="hash-mismatch")
            sent = SentRequest(asked, row.payload, row.sample, row.asked)
            checked.append((sent, row))
        added = sum(
            self.keep(sent, row.answer, created=row.created, server=row.server)
            for sent, row in checked
        )
        return added, len(checked) - added


def _exported_row(row: Sequence[Any]) -> ExportedRow:
    """Convert a row of the SQLite table of replies to a line of ``llm export``."""
    sample, created, server, answer, *texts = row
    payload, changes = map(_decode_object, texts)
    key = request_key(payload, sample)
    return ExportedRow(key, payload, sample, decode_answer(answer), created, changes, server)


def _make_row(
    request: SentRequest, kind: str, content: str, paid: tuple[int, int] = (0, 0),
    created: float | None = None, server: str = "",
) -> tuple[Any, ...]:  # fmt: skip
    """Make a row of the table of LLM replies, of a kind such as failure, in column order.

    Args:
        request: what was sent.
        kind: reply, failure, pending request or batch.
        content: JSON of what is stored.
        paid: tokens of prompt and answer.
        created: time of an imported row; None for now.
        server: address that the reply came from.
    """
    texts = canonical_json(request.body), canonical_json(request.changes)
    when = time.time() if created is None else created
    return request.asked, kind, content, *texts, request.sample, *paid, when, server


def ask_once(
    requests: Sequence[Request], model: str, store: ReplayStore | None,
    ask: Callable[[dict[str, Request], Take], None], on_result: OnResult | None = None,
    server: Server | None = None,
) -> list[Result]:  # fmt: skip
    """Return one result per request, in order; equal ones are asked once, stored ones never.

    Args:
        requests: what is asked.
        model: name of the model.
        store: replies that are there; None for none.
        ask: asks the requests that are left, by their keys, and hands over each result.
        on_result: gets each result with the index of its request.
        server: endpoint whose replies are taken from the store; None for all.

    Raises:
        InputError: a stored reply is of another server.
    """
    indexes: dict[str, list[int]] = {}
    for index, request in enumerate(requests):
        indexes.setdefault(request.key(model), []).append(index)
    results: dict[int, Result] = {}

    def store_result(key: str, result: Result) -> None:
        """Set a result at the index of every request that has this key, and pass it on."""
        for index in indexes[key]:
            results[index] = result
            if on_result is not None:
                on_result(index, result)

    waiting: dict[str, Request] = {}
    for key, (index, *_) in indexes.items():
        answer = None if store is None else store.get(key, server)
        if store is None or answer is None:
            waiting[key] = requests[index]
        else:
            store.n_replayed += 1
            store_result(key, requests[index].check_reply(answer))
    if waiting:
        ask(waiting, store_result)
    return [results[index] for index in range(len(requests))]


def replayed_note(llm: Llm) -> str:
    """Write the advice, after an error, to remove stored replies; empty if none was used."""
    store: ReplayStore | None = getattr(llm, "store", None)
    if store is None or not store.n_replayed:
        return ""
    count = f"{count_text(store.n_replayed, 'reply')} came from {store.path}"
    return f"; {count}: to ask again, move it away or name another --store"


def export_store(store: Path, out: Path) -> int:
    """Write all replies of a store as JSON Lines; return their number.

    Returns:
        Number of replies.

    Raises:
        InputError: the store cannot be read.
    """
    count = 0
    with ReplayStore(store, readonly=True) as opened, atomic_file(out) as file:
        for row in opened.export():
            file.write(msgspec.json.encode(row, order="sorted") + b"\n")
            count += 1
    return count


def import_store(store: Path, file: Path) -> tuple[int, int]:
    """Add exported replies from a file to a store: (number added, number already stored).

    Returns:
        (replies added, replies that were there).

    Raises:
        InputError: a line is not an exported reply, or its key is not that of its payload.
    """
    with ReplayStore(store) as opened:
        return opened.import_rows((row for _, row in read_rows(file, ExportedRow)), file)


def encode_answer(answer: Result) -> str:
    """Encode a reply or failure as JSON, without empty fields; embeddings are in base64."""
    return msgspec.json.encode(answer, order="sorted").decode()


def decode_answer(text: str) -> LlmReply:
    """Decode the reply that :func:`encode_answer` encoded.

    Raises:
        msgspec.MsgspecError: it is no such JSON, or a field has another type.
    """
    return msgspec.json.decode(text, type=LlmReply)


def redact(result: Result) -> Result:
    """Mask keys in a result, before it is kept or shown; see :mod:`citeforge.engines.keys`."""
    if isinstance(result, Failure):
        return replace(result, message=one_line(result.message), code="", param="")
    text = encode_answer(result)
    if (shown := mask_known_keys(text)) == text:
        return result
    # The tokens of a reply that contains the key would contain its pieces.
    return replace(decode_answer(shown), logprobs=None)
