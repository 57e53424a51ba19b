"""JSON Lines: exact lines for every fault, and the same rows at every block size."""

import gzip
import json
import sys
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from citeforge import InputError
from citeforge.engines import jsonlines
from citeforge.engines.jsonlines import (
    read_all,
    read_rows,
    read_start,
    require_unique_names,
)
from citeforge.schemas.submission import SubmissionLine
from conftest import refused


class Row(msgspec.Struct, forbid_unknown_fields=True):
    id: str = msgspec.field(name="_id")
    text: str = msgspec.field()


GOOD = b'{"_id":"a","text":"x"}\n'


def rows_of(path: Path) -> list[tuple[int, str, str]]:
    return [(line, row.id, row.text) for line, row in read_rows(path, Row)]


@pytest.mark.parametrize(
    ("bad", "code", "field", "words"),
    [
        (b'{"_id":"a","text":"x"\n', "bad-json", None, ""),
        (b'{"_id":"a","text":"x"}{"_id":"b","text":"y"}\n', "bad-json", None, ""),
        (b'{"_id":"a",\n"text":"x"}\n', "bad-json", None, ""),
        (b'{"_id":"a"}\n{"_id":"b",\n"text":"x"}\n', "missing-field", "text", "fields: _id, text"),
        (b'{"text":"x"}\n', "missing-field", "_id", ""),
        (b'{"_id":5,"text":"x"}\n', "wrong-type", "_id", "Expected `str`, got `int`"),
        (b'{"_id":"a","text":null}\n', "wrong-type", "text", ""),
        (b'{"_id":"a","text":"x","url":"u"}\n', "unknown-field", "url", ""),
        (b'{"_id":"a","text":NaN}\n', "bad-json", None, "NaN is not JSON; write null"),
        (
            b'{"_id":"NaN","text":-Infinity}\n',
            "bad-json",
            None,
            "-Infinity is not JSON; write null",
        ),
        (b'{"_id":"a","text":None}\n', "bad-json", None, "None is not JSON; write null"),
        (b'{"_id":"a","text":True}\n', "bad-json", None, "True is not JSON; write true"),
        (b'{"_id":"NaN",,"text":"x"}\n', "bad-json", None, "is not one JSON object"),
        (b'data: {"_id":"a","text":"x"}\n', "bad-json", None, "ask without stream"),
        (b'{"_id":"a","text":"\xff"}\n', "bad-encoding", None, "byte 20 of the line"),
        (
            b'{"_id":"a","text":"\\ud800"}\n',
            "bad-json",
            None,
            r"\ud800 is half of a surrogate pair",
        ),
        (b'{"_id":"a","text":"\\ud83d\\ude00 \\\\ud8 \\uDC00x"}\n', "bad-json", None, r"\uDC00 is"),
        (b'{"_id":"\\ud83d\\ude00","text":"\\\\ud800\n', "bad-json", None, "truncated"),
        ('{"_id":"a"}\n'.encode("utf-16"), "bad-encoding", None, "byte 1 of the line"),
        (b'{"_id":"a","text":"x","text":"y"}\n', "duplicate-key", None, "'text'"),
        (b'{"_id":"a","\\u0074ext":"x","text":"y"}\n', "duplicate-key", None, "'text'"),
        (b'{"_id":"a","text":"x","_id":"a"} \n', "duplicate-key", None, "'_id'"),
        (b'["a"]\n', "wrong-type", None, "one object on each line: jq -c '.[]' rows.jsonl"),
        (b"[" * 100_000 + b"\n", "wrong-type", None, ""),
    ],
)
def test_errors_name_the_line(
    tmp_path: Path, bad: bytes, code: str, field: str | None, words: str
) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(GOOD * 20 + b"\n" + bad + GOOD)
    with refused(code, path=path, line=22, field=field) as caught:
        rows_of(path)
    assert words in str(caught.value)


def test_two_objects_and_a_split_one_do_not_cancel_out(tmp_path: Path) -> None:
    # Three rows on three lines, and still no line holds exactly one object.
    path = tmp_path / "rows.jsonl"
    path.write_bytes(GOOD.strip() + GOOD + b'{"_id":"a",\n"text":"x"}\n')
    with refused("bad-json", line=1):
        rows_of(path)


@pytest.mark.parametrize("packed", [False, True])
def test_a_byte_order_mark_and_cr_lf_are_no_part_of_a_line(tmp_path: Path, packed: bool) -> None:
    path = tmp_path / "rows.jsonl"
    content = b"\xef\xbb\xbf" + (GOOD + b" \n" + GOOD).replace(b"\n", b"\r\n")
    path.write_bytes(gzip.compress(content) if packed else content)
    plain = tmp_path / "plain.jsonl"
    plain.write_bytes(GOOD + b"\n" + GOOD)
    assert rows_of(path) == rows_of(plain)
    assert read_start(path, 5)[:1] == GOOD[:1]
    assert read_all(path) == content[3:]


def test_utf16_is_named(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(GOOD.decode().encode("utf-16"))
    with refused("bad-encoding", path=path, line=1) as caught:
        rows_of(path)
    assert "iconv -f UTF-16" in str(caught.value)


def test_truncated_gzip(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl.gz"
    content = gzip.compress(b"".join(b'{"_id":"%d","text":"x"}\n' % i for i in range(5000)))
    path.write_bytes(content[: len(content) // 2])
    with refused("bad-archive", path=path):
        rows_of(path)


def test_missing_file(tmp_path: Path) -> None:
    with refused("missing-file", path=tmp_path / "nothing.jsonl"):
        rows_of(tmp_path / "nothing.jsonl")
    with refused("storage", path=tmp_path):
        rows_of(tmp_path)


def test_errors_can_be_collected(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(GOOD + b"oops\n" + GOOD + b"{}\n")
    errors: list[InputError] = []
    lines = [n for n, _ in read_rows(path, Row, on_error=errors.append)]
    assert lines == [1, 3]
    assert [e.line for e in errors] == [2, 4]


@given(
    st.lists(st.tuples(st.text(), st.text())),
    st.booleans(),
    st.booleans(),
)
def test_round_trip(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[str, str]],
    zipped: bool,
    last_newline: bool,
) -> None:
    clean = [tuple(t.encode("utf-8", "ignore").decode() for t in row) for row in rows]
    text = "\n".join(json.dumps({"_id": i, "text": t}, ensure_ascii=False) for i, t in clean)
    content = (text + ("\n" if last_newline else "")).encode()
    path = tmp_path_factory.mktemp("round") / "rows.jsonl"
    path.write_bytes(gzip.compress(content) if zipped else content)
    assert rows_of(path) == [(n, i, t) for n, (i, t) in enumerate(clean, 1)]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ('{"query_id":"q","output":"x","contxt":"mix"}', "(did you mean 'context'?)"),
        ('{"query_id":"q","output":"x","metadata":{}}', "(did you mean 'meta'?)"),
        ('{"query_id":"q","output":"x","zebra":1}', "benchmark_hash; further data goes into meta"),
    ],
)
def test_unknown_fields_of_answers_say_where_they_belong(
    tmp_path: Path, row: str, said: str
) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(row + "\n")
    with refused("unknown-field") as caught:
        list(read_rows(path, SubmissionLine))
    assert said in str(caught.value)
    assert str(caught.value).endswith("; further data goes into meta")


@pytest.mark.parametrize(
    "row",
    [
        '{"query_id":"q","output":"x","meta":{"a":1,"a":1}}',
        '{"query_id":"q","output":"x","meta":[{"b":{"\\u0061":1,"a":2}}]}',
        '{"query_id":"q","output":"x","meta":[{"text":"t","a":0,"a":"passed over"}]}',
        '{"query_id":"q","output":"x","passages":[{"docid":"a"},{"docid":"b","docid":"a"}]}',
        ' {"query_id":"q","output":"x","run":0,"run":1}',
    ],
)
def test_duplicate_keys_are_refused_at_any_depth(tmp_path: Path, row: str) -> None:
    path = tmp_path / "s.jsonl"
    fine = '{"query_id":"q","output":"\\"a\\": 1, \\"a\\": 2","passages":[{"text":""},{"text":""}]}'
    path.write_text(f"{fine}\n{row}\n{fine}\n")
    errors: list[InputError] = []
    lines = [n for n, _ in read_rows(path, SubmissionLine, on_error=errors.append)]
    assert (lines, [(e.line, e.code) for e in errors]) == ([1, 3], [(2, "duplicate-key")])


NAMES = st.sampled_from(["a", "b", "\\u0061", ":", '\\"a\\":', ", "])
VALUES = st.recursive(
    st.sampled_from(["1", '"a"', '"\\"a\\":"', "-1.5e3", "null"]),
    lambda inner: (
        st.lists(inner).map(lambda v: f"[{','.join(v)}]")
        | st.lists(st.tuples(NAMES, inner)).map(
            lambda m: "{" + " ,".join(f'"{k}" : {v}' for k, v in m) + "}"
        )
    ),
    max_leaves=20,
)


def is_repeated(value: object) -> bool:
    """Whether some object, as a list of its members, has a name twice."""
    if isinstance(value, tuple):
        names = [name for name, _ in value[0]]
        return len(set(names)) < len(names) or any(is_repeated(v) for _, v in value[0])
    return isinstance(value, list) and any(map(is_repeated, value))


@given(VALUES)
def test_repeated_names_are_exactly_those_of_one_object(text: str) -> None:
    members = json.loads(text, object_pairs_hook=lambda pairs: (pairs,))
    for names in ((), (b'"a":', b'"b":', b'":":')):
        try:
            require_unique_names(text.replace(" :", ":").encode(), Path("f"), expected_names=names)
        except InputError:
            assert is_repeated(members)
        else:
            assert not is_repeated(members)


def test_objects_of_many_names_cost_as_little_as_their_length() -> None:
    """A duplicate key is found by a look-up, not by a search among all before it."""
    names = [f'"{n}":0' for n in range(200_000)]
    with refused("duplicate-key"):
        require_unique_names(("{" + ",".join([*names, names[-1]]) + "}").encode(), Path("f"))


def test_lines_of_the_expected_names_are_passed_without_a_scan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jsonlines._decoder, "raw_decode", lambda *_: pytest.fail("scanned"))
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"_id": "a", "text": "x, \\"y\\""}\n{"text":"x","_id":"a"}\n')
    assert len(rows_of(path)) == 2


def test_an_unknown_field_within_a_field_is_named_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"query_id":"q","output":"x","spans":[{"start":0,"end":1,"cited":[1]}]}\n')
    with refused("unknown-field", line=1, field="spans[0].cited") as caught:
        list(read_rows(path, SubmissionLine))
    assert "the fields are start, end" in str(caught.value)


def test_an_error_costs_as_little_as_the_line(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"query_id": 1}\n' * 100)
    errors: list[InputError] = []
    calls = 0

    def count(_frame: object, event: str, _value: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        assert not list(read_rows(path, SubmissionLine, on_error=errors.append))
    finally:
        sys.setprofile(None)
    assert len(errors) == 100
    assert calls < 100 * 100  # a hundred functions of Python a line; 640 when annotations are read
