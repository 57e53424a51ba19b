"""Saved data sets and MS MARCO's rows: declared types, damaged files, lists that do not fit."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from citeforge.ir_convert.registry import open_source
from citeforge.ir_convert.saved import read_saved
from citeforge.ir_convert.source import ReadOptions
from citeforge.schemas.errors import InputError
from conftest import write_jsonl


class Row(msgspec.Struct):
    query: str
    n: int | None = None


def save(folder: Path, rows: list[dict[str, Any]]) -> Path:
    import datasets

    datasets.Dataset.from_list(rows).save_to_disk(str(folder))
    return folder


def test_rows_and_their_types(tmp_path: Path) -> None:
    folder = save(tmp_path / "a", [{"query": "x", "n": 1, "more": 0.5}, {"query": None, "n": 2}])
    rows = read_saved(folder, Row)
    assert next(rows) == (1, Row("x", 1))
    with pytest.raises(InputError, match=r"a row 2: Expected `str`, got `null` - at `\$.query`"):
        next(rows)


def test_damaged_files_are_named(tmp_path: Path) -> None:
    folder = save(tmp_path / "a", [{"query": "é" * 40}, {"query": "x"}])
    (data,) = folder.glob("*.arrow")
    whole = data.read_bytes()
    for at in range(0, len(whole), 29):
        changed = bytearray(whole)
        changed[at] ^= 0xFF
        data.write_bytes(changed)
        try:
            list(read_saved(folder, Row))
        except InputError as error:
            assert str(error.path) == str(folder)
    data.write_bytes(whole)
    for name in ("state.json", "dataset_info.json"):
        (folder / name).write_text("[]")
        with pytest.raises(InputError, match="is not a readable saved data set"):
            list(read_saved(folder, Row))


GOOD = {"query": "q", "passages": {"passage_text": ["a", "b"], "is_selected": [1, 0]}}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"passages": {"passage_text": ["a"], "is_selected": [1, 0]}}, "has 1 passage_text and 2"),
        ({"passages": {"passage_text": 5, "is_selected": []}}, "passages.passage_text: Expected"),
        ({"passages": {"passage_text": [None], "is_selected": [1]}}, "passages.passage_text"),
        ({"passages": []}, "passages: Expected `object`"),
        ({"query": None}, "query: Expected `str`"),
        ({"query_id": [1]}, "query_id: Expected"),
        ({"org_answers": 7}, "org_answers: Expected"),
    ],
)
def test_rows_of_other_types(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    path = write_jsonl(tmp_path / "rows.jsonl", [{**GOOD, "query_id": 1}, {**GOOD, **change}])
    with pytest.raises(InputError, match=rf"rows\.jsonl:2.*{message}"):
        open_source(f"attrieval:{path}", None, ReadOptions())
