"""Statistics of rows that a table of anybody prints."""

import json
from pathlib import Path

import pytest

from citeforge.plugins.reproduce.read_lists import ListOptions, compute_statistic, read_fields
from conftest import refused


def test_statistics_of_rows() -> None:
    rows = [{"a": "1", "b": "x", "c": [True, False]}, {"a": "3", "b": "x", "c": [True, True]}]
    assert compute_statistic("count", rows) == 2
    assert compute_statistic("mean a", rows) == (1 + 3) / 2
    assert compute_statistic("distinct b", rows) == 1
    assert (
        compute_statistic("mean words d", [{"d": "one two"}, {"d": "one two\nthree "}])
        == (2 + 3) / 2
    )
    assert compute_statistic("distinct a+b per distinct b", rows) == 2 / 1
    assert compute_statistic("mean share c", rows) == (1 / 2 + 2 / 2) / 2
    assert compute_statistic("share all c", rows) == 1 / 2
    for name in ("mean d", "mean words c"):
        with refused("missing-field"):
            compute_statistic(name, rows)


@pytest.mark.parametrize(
    ("content", "count"),
    [
        ([{"a": 1}, {"a": 2}], 2),
        ({"x": {"a": 1}, "y": {"a": 2}}, 2),
        ([7, 8, 9], 3),
        ({"x": "text", "y": "text"}, 2),
        ({"x": [{"a": 1}, {"a": 2}], "y": [{"a": 3}]}, 2 + 1),
    ],
)
def test_rows_of_a_document(tmp_path: Path, content: object, count: int) -> None:
    path = tmp_path / "rows.json"
    path.write_text(json.dumps(content))
    assert len(list(read_fields(path, ListOptions()))) == count


def test_what_is_no_object_is_a_row_of_its_key_and_its_value(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    path.write_text('{"x": 1, "y": [2, {"a": 3}]}')
    assert list(read_fields(path, ListOptions())) == [
        {"key": "x", "value": 1}, {"key": "y", "value": 2}, {"a": 3},
    ]  # fmt: skip


def test_a_document_without_rows(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    path.write_text("3")
    with refused("wrong-type", path=path):
        list(read_fields(path, ListOptions()))
