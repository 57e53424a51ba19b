"""Lines, CSV and YAML of users: what cannot be meant is refused with file and line."""

import gzip
from pathlib import Path

import pytest

from citeforge.builders.recipes.files import read_recipe
from citeforge.engines.io.textfiles import read_csv, read_yaml, text_lines
from citeforge.schemas.errors import InputError


def test_lines_of_any_end_and_wrapping(tmp_path: Path) -> None:
    plain, packed = tmp_path / "a.txt", tmp_path / "a.txt.gz"
    plain.write_bytes(b"a b\r\n\n \nc")
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert list(text_lines(plain)) == list(text_lines(packed)) == [(1, "a b"), (4, "c")]


_ZIPPED = gzip.compress(b"a\n" * 999, mtime=0)  # no time: it stands in the names of tests


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"a\nb\xff\n", r"a\.txt:2: is not UTF-8 \(byte 2 of the line\)"),
        (b"\xef\xbb\xbfa\n", r"a\.txt:1: starts with a byte order mark"),
        (
            _ZIPPED[:20],
            r"a\.txt: the gzip data is damaged or cut short",
        ),
        (
            b"\x1f\x8b\x08\x04" + _ZIPPED[4:],
            r"a\.txt: the gzip data is damaged",
        ),
    ],
)
def test_lines_that_are_none(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(data)
    with pytest.raises(InputError, match=message):
        list(text_lines(path))


def test_a_table(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('a,b\n1,"x\ny"\n\n2,\n')
    assert list(read_csv(path)) == [(3, {"a": "1", "b": "x\ny"}), (5, {"a": "2", "b": ""})]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1\n", r"a\.csv:2: has 1 cells, and the header 2"),
        ("a,b\n1,2\n1,2,3\n", r"a\.csv:3: has 3 cells, and the header 2"),
        ("a,a\n1,2\n", r"a\.csv:1: has the column 'a' twice"),
        ("b\n1\n", r"a\.csv:1: lacks the columns a"),
        ('a,b\n1,"x\n', r"a\.csv:2: is not a readable CSV file"),
        ('a,b\n1,"x"y\n', r"a\.csv:2: is not a readable CSV file"),
        ("", r"a\.csv:1: lacks the columns a"),
    ],
)
def test_tables_that_are_none(tmp_path: Path, text: str, message: str) -> None:
    """A row too short or long, or a quote that never ends, used to become rows of other columns."""
    path = tmp_path / "a.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        list(read_csv(path, ("a",)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 2024-13-45", "month must be in 1..12"),
        ("a: " + "1" * 5000, "holds what YAML cannot mean"),
        ("[" * 3000, "holds what YAML cannot mean"),
        ("a: b: c", "a.yaml:1: is not YAML"),
        ("!!python/object:os.system x", "a.yaml:1: is not YAML"),
        ("!!python/object/apply:os.system ['id']", "a.yaml:1: is not YAML"),
        ("a: &a [*a]", "refers to a list or mapping; write it out"),
        ("a: &a {b: 1}\nc: {<<: *a}", r"a.yaml:2: .*\*a refers to a list or mapping"),
    ],
)
def test_yaml_that_is_none(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        read_yaml(path)


def test_ten_lines_of_yaml_that_mean_ten_billion_items(tmp_path: Path) -> None:
    """Each list holds the one before ten times: 10 ** 10 items, were they followed."""
    lists = [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    path = tmp_path / "r.yaml"
    path.write_text("\n".join(["kind: hagrid", f"a0: &a0 [{', '.join('x' * 10)}]", *lists]))
    with pytest.raises(InputError, match=r"r\.yaml:3: .*\*a0 refers to a list"):
        read_recipe(path)
    path.write_text("a: &name x\nb: *name")
    assert read_yaml(path) == {"a": "x", "b": "x"}
