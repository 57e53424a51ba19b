"""Replay stores: round trips, two processes, and everything that can be wrong with the file."""

import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from citeforge.engines.llm.records import Failure, LlmReply, Request, Token
from citeforge.engines.llm.replay import ReplayStore, SentRequest, decode_answer, encode_answer
from conftest import refused

tokens = st.tuples(st.text(st.characters(codec="utf-8")), st.floats(-50, 0))
answers = st.builds(
    LlmReply,
    st.text(st.characters(codec="utf-8"), min_size=1),
    st.integers(0, 10**6),
    st.integers(0, 10**6),
    st.text(st.characters(codec="utf-8")),
    st.none()
    | st.lists(tokens, max_size=4).map(lambda pairs: tuple(Token(t, p) for t, p in pairs)),
)


@given(answers)
def test_answers_come_back_as_they_were(answer: LlmReply) -> None:
    assert decode_answer(encode_answer(answer)) == answer


def request(text: str) -> Request:
    return Request((("user", text),))


def sent(request: Request) -> SentRequest:
    return SentRequest(request.key("m"), request.payload("m"), request.sample)


def fill(path: Path, n: int = 3) -> None:
    with ReplayStore(path) as store:
        for i in range(n):
            r = request(f"r{i}")
            store.keep(sent(r), LlmReply(f"a{i}", 10, 2, "m"))


def test_export_and_import(tmp_path: Path) -> None:
    fill(tmp_path / "a.db")
    with ReplayStore(tmp_path / "a.db") as a, ReplayStore(tmp_path / "b.db") as b:
        rows = list(a.export())
        assert b.import_rows(iter(rows)) == (3, 0)
        assert b.import_rows(iter(rows)) == (0, 3)
        assert list(b.export()) == rows
        # What others paid is not our bill.
        assert b.tokens() == (0, 0)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"key": "0" * 64}, "hash-mismatch"),
        ({"sample": 3}, "hash-mismatch"),
        ({"payload": {"model": "x"}}, "bad-store"),
    ],
)
def test_rows_that_do_not_fit_are_refused_as_a_whole(
    tmp_path: Path, change: dict[str, object], code: str
) -> None:
    fill(tmp_path / "a.db")
    with ReplayStore(tmp_path / "a.db") as a, ReplayStore(tmp_path / "b.db") as b:
        rows = list(a.export())
        rows[1] = msgspec.structs.replace(rows[1], **change)
        with refused(code, line=2):
            b.import_rows(iter(rows))
        assert b.stats().answers == 0


def test_an_answer_ends_a_failure_and_is_never_undone(tmp_path: Path) -> None:
    r = request("x")
    with ReplayStore(tmp_path / "a.db") as store:
        store.keep(sent(r), Failure("truncated", "cut", 200, 5, 6))
        assert store.get(r.key("m")) is None
        assert store.stats().kinds == {"truncated": 1}
        store.keep(sent(r), LlmReply("whole", 5, 9))
        assert store.stats().failures == 0
        store.keep(sent(r), Failure("exhausted", "later"))
        assert store.stats().failures == 0
        assert store.get(r.key("m")) == LlmReply("whole", 5, 9)
        assert store.tokens() == (5 + 5, 6 + 9)


def damaged(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[4096:8192] = b"\xaa" * 4096
    path.write_bytes(content)


def other_database(path: Path) -> None:
    path.unlink()
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE mine (x)")
    connection.commit()
    connection.close()


def newer(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version=99")
    connection.commit()
    connection.close()


@pytest.mark.parametrize(
    ("spoil", "code"),
    [
        (lambda p: p.write_bytes(b"not a database at all" * 99), "bad-store"),
        (damaged, "bad-store"),
        (other_database, "bad-store"),
        (newer, "wrong-version"),
    ],
    ids=["text", "damaged", "other", "newer"],
)
@pytest.mark.parametrize("readonly", [False, True])
def test_a_bad_file_is_named_and_not_touched(
    tmp_path: Path, spoil: object, code: str, readonly: bool
) -> None:
    path = tmp_path / "a.db"
    fill(path, 200)
    spoil(path)  # type: ignore[operator]
    before = path.read_bytes()
    with refused(code, path=path):
        ReplayStore(path, readonly=readonly)
    assert path.read_bytes() == before


def test_a_missing_store_is_not_made_by_reading(tmp_path: Path) -> None:
    with refused("missing-file", path=tmp_path / "a.db"):
        ReplayStore(tmp_path / "a.db", readonly=True)
    assert list(tmp_path.iterdir()) == []


def test_a_read_only_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    fill(tmp_path / "a.db")
    # The tests may run as root, whom permissions do not stop: ask as anybody else would.
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    with refused("storage", path=tmp_path / "a.db"):
        ReplayStore(tmp_path / "a.db")
    with ReplayStore(tmp_path / "a.db", readonly=True) as store:
        assert store.stats().answers == 3


@pytest.mark.parametrize("value", [b"{\xff}", b"{", b"[]", b'{"text": 7}'])
def test_an_answer_that_is_damaged_within_a_sound_database(tmp_path: Path, value: bytes) -> None:
    """SQLite checks its pages, not what they hold."""
    path = tmp_path / "s.db"
    ReplayStore(path).close()
    with closing(sqlite3.connect(path)) as db:
        row = (
            "INSERT INTO kept VALUES ('k', 'reply', CAST(? AS TEXT), '{}', '{}', 0, 0, 0, 0.0, '')"
        )
        db.execute(row, (value,))
        db.commit()
    with ReplayStore(path) as store, refused("bad-store", path=path):
        store.get("k")
