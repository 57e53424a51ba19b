"""Lines, CSV and YAML of users: what cannot be meant is refused with file and line."""

import csv
import gzip
from pathlib import Path

import pytest

from citeforge.builders.recipe_files import read_recipe
from citeforge.engines.ledger import Ledger
from citeforge.engines.textfiles import count_text, read_csv, read_yaml, text_lines
from conftest import refused


def test_lines_of_any_end_and_wrapping(tmp_path: Path) -> None:
    plain, packed = tmp_path / "a.txt", tmp_path / "a.txt.gz"
    plain.write_bytes(b"\xef\xbb\xbfa b\r\n\n \nc")
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert list(text_lines(plain)) == list(text_lines(packed)) == [(1, "a b"), (4, "c")]


_ZIPPED = gzip.compress(b"a\n" * 999, mtime=0)  # no time: it stands in the names of tests


@pytest.mark.parametrize(
    ("data", "code", "line"),
    [
        (b"a\nb\xff\n", "bad-encoding", 2),
        (_ZIPPED[:20], "bad-archive", None),
        (b"\x1f\x8b\x08\x04" + _ZIPPED[4:], "bad-archive", None),
    ],
)
def test_damaged_lines(tmp_path: Path, data: bytes, code: str, line: int | None) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(data)
    with refused(code, path=path, line=line):
        list(text_lines(path))


def test_a_table(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('a,b\n1,"x\ny"\n\n2,\n')
    assert list(read_csv(path)) == [(3, {"a": "1", "b": "x\ny"}), (5, {"a": "2", "b": ""})]


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("a,b\n1\n", "bad-csv", 2),
        ("a,b\n1,2\n1,2,3\n", "bad-csv", 3),
        ("a,a\n1,2\n", "duplicate-key", 1),
        ("b\n1\n", "missing-field", 1),
        ('a,b\n1,"x\n', "bad-csv", 2),
        ('a,b\n1,"x"y\n', "bad-csv", 2),
        ("", "missing-field", 1),
    ],
)
def test_damaged_tables(tmp_path: Path, text: str, code: str, line: int) -> None:
    """A row too short or long, or a quote that never ends, used to become rows of other columns."""
    path = tmp_path / "a.csv"
    path.write_text(text)
    with refused(code, path=path, line=line):
        list(read_csv(path, ("a",)))


@pytest.mark.parametrize(
    ("text", "code", "line", "words"),
    [
        ("a: 2024-13-45", "bad-yaml", None, "month must be in 1..12"),
        ("a: " + "1" * 5000, "bad-yaml", None, ""),
        ("[" * 3000, "bad-yaml", None, ""),
        ("a: b: c", "bad-yaml", 1, ""),
        ("!!python/object:os.system x", "bad-yaml", 1, ""),
        ("!!python/object/apply:os.system ['id']", "bad-yaml", 1, ""),
        ("a: &a [*a]", "bad-yaml", 1, "*a refers to a list or mapping; write it out"),
        ("a: &a {b: 1}\nc: {<<: *a}", "bad-yaml", 2, "*a refers to a list or mapping"),
        ("a: 1\nb: 2\na: 3", "duplicate-key", 3, ""),
    ],
)
def test_damaged_yaml(tmp_path: Path, text: str, code: str, line: int | None, words: str) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(text)
    with refused(code, path=path, line=line) as caught:
        read_yaml(path)
    assert words in str(caught.value)


def test_ten_lines_of_yaml_that_mean_ten_billion_items(tmp_path: Path) -> None:
    """Each list holds the one before ten times: 10 ** 10 items, were they followed."""
    lists = [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    path = tmp_path / "r.yaml"
    path.write_text("\n".join(["kind: hagrid", f"a0: &a0 [{', '.join('x' * 10)}]", *lists]))
    with refused("bad-yaml", path=path, line=3):
        read_recipe(path)
    path.write_text("a: &name x\nb: *name")
    assert read_yaml(path) == {"a": "x", "b": "x"}


def test_the_largest_cell_is_that_of_this_file_alone(tmp_path: Path) -> None:
    """Also while two are read in turn, and afterwards."""
    cell = "x" * 200_000
    assert csv.field_size_limit() < len(cell)
    for name in "ab":
        (tmp_path / f"{name}.csv").write_text(f"c\n{name}\n{cell}\n")
    both = zip(read_csv(tmp_path / "a.csv"), read_csv(tmp_path / "b.csv"), strict=True)
    assert [(a["c"], b["c"]) for (_, a), (_, b) in both] == [("a", "b"), (cell, cell)]
    assert csv.field_size_limit() < len(cell)


def test_a_count_with_its_noun() -> None:
    nouns = ["finished stage", "query", "reply", "key", "batch", "class"]
    assert [count_text(1, noun) for noun in nouns] == [f"1 {noun}" for noun in nouns]
    many = ["finished stages", "queries", "replies", "keys", "batches", "classes"]
    assert [count_text(2_000, noun) for noun in nouns] == [f"2,000 {noun}" for noun in many]
    ledger = Ledger()
    ledger.keep("finished stage", "out.partial")
    ledger.keep("reply", "r.db", 2)
    assert ledger.kept_line() == "kept: 1 finished stage in out.partial, 2 replies in r.db"
