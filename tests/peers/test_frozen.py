"""Stored numbers: what is compared, what is refused, and what is written."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from peers.frozen import FOLDER, FrozenNumbers, Program, find_differences, read_commit

PROGRAM = Program("sums", "somebody/adder", "adder.py", "test_frozen.py")


def add(checkout: Path, numbers: list[float], step: float) -> dict[str, Any]:
    numbers.append(step)  # programs may change what they are given
    return {"sum": sum(numbers)}


@pytest.fixture
def checkouts(tmp_path: Path) -> Path:
    """A folder with one checkout."""
    repository = tmp_path / "checkouts" / "adder"
    git = ("git", "-C", str(repository), "-c", "user.name=x", "-c", "user.email=x@y.z")
    subprocess.run(["git", "init", "-q", repository], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    return repository.parent


@pytest.fixture
def made(checkouts: Path, tmp_path: Path) -> FrozenNumbers:
    """Numbers that were just made and stored."""
    numbers = FrozenNumbers(checkouts, tmp_path)
    assert numbers(PROGRAM, "two", add, [0.1, 0.2], 1) == {"sum": 0.1 + 0.2 + 1}
    assert numbers(PROGRAM, "“none”", add, [], 0) == {"sum": 0}
    numbers.write()
    return numbers


def test_stored_numbers_need_no_checkout(made: FrozenNumbers, checkouts: Path) -> None:
    stored = FrozenNumbers(None, made.folder)
    assert stored(PROGRAM, "two", add, [0.1, 0.2], 1) == {"sum": 0.1 + 0.2 + 1}
    content = json.loads((made.folder / "sums.json").read_text())
    assert content["commits"] == {"somebody/adder": read_commit(checkouts / "adder")}
    assert list(content["cases"]) == ["two", "“none”"]


def test_other_inputs_than_those_stored_are_refused(made: FrozenNumbers) -> None:
    stored = FrozenNumbers(None, made.folder)
    with pytest.raises(AssertionError, match="other inputs"):
        stored(PROGRAM, "two", add, [0.1, 0.3], 1)
    with pytest.raises(AssertionError, match="not stored"):
        stored(PROGRAM, "three", add, [0.1, 0.2], 1)
    with pytest.raises(AssertionError, match="two inputs"):
        made(PROGRAM, "two", add, [0.1, 0.3], 1)


def test_what_is_made_anew_is_compared_with_what_is_stored(
    made: FrozenNumbers, checkouts: Path
) -> None:
    def broken(checkout: Path, *inputs: Any) -> dict[str, Any]:
        return {"sum": 7.5}

    anew = FrozenNumbers(checkouts, made.folder)
    anew(PROGRAM, "two", add, [0.1, 0.2], 1)
    assert anew.differences() == []
    anew(PROGRAM, "“none”", broken, [], 0)
    anew(PROGRAM, "new", add, [], 0)
    assert anew.differences() == [
        "sums.json: cases “none” printed sum: stored 0, now 7.5",
        "sums.json: cases new: not stored",
    ]


@pytest.mark.parametrize(
    ("stored", "made", "expected"),
    [
        (1.0, 1.0 + 1e-15, []),
        (1.0, 1.0 + 1e-9, [": stored 1.0, now 1.000000001"]),
        (float("nan"), float("nan"), []),
        ({"a": [1, 2]}, {"a": [1, 3]}, ["a [1]: stored 2, now 3"]),
        ({"a": [1, 2]}, {"a": [1]}, ["a: stored [1, 2], now [1]"]),
        ({"a": 1}, {}, ["a: no longer printed"]),
    ],
)
def test_differences(stored: Any, made: Any, expected: list[str]) -> None:
    assert list(find_differences(stored, made)) == expected


def test_a_repository_that_is_not_checked_out_skips(checkouts: Path) -> None:
    other = Program("other", "somebody/other", "x.py", "test_frozen.py")
    for numbers in (FrozenNumbers(checkouts), FrozenNumbers(None)):
        with pytest.raises(pytest.skip.Exception):
            numbers.find_checkout(other.repository)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.json")), ids=lambda path: path.stem)
def test_files_name_their_origin(path: Path) -> None:
    content = json.loads(path.read_text(encoding="utf-8"))
    assert list(content) == ["commits", "ran", "drawn_by", "cases"]
    assert all(len(commit) == 40 for commit in content["commits"].values())
    assert (Path(__file__).parents[2] / content["drawn_by"]).is_file()
    assert path.stat().st_size < 100_000
