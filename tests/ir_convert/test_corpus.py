"""Passages alone: files of anybody's making, and sources without their queries."""

import gzip
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import citeforge as cf
from citeforge.ir_convert.registry import open_corpus, open_source
from citeforge.ir_convert.source import ReadOptions
from conftest import refused, write_beir, write_jsonl

ROWS = [("7", "Tin", "Tin is a metal."), ("x", "", "Zinc is another.")]


def passages(spec: str, **options: Any) -> list[tuple[str, str, str]]:
    source = open_corpus(spec, None, ReadOptions(**options), "--extra-corpus")
    rows = [row for batch in source.passages() for row in batch.to_pylist()]
    assert source.info().files
    return [(row["_id"], row["title"], row["text"]) for row in rows]


def rows_as(id_name: str, text_name: str) -> list[dict[str, object]]:
    return [{id_name: i, "title": title, text_name: text, "n": 1} for i, title, text in ROWS]


@pytest.mark.parametrize(
    ("id_name", "text_name"),
    [
        ("_id", "text"),
        ("id", "contents"),
        ("docid", "passage"),
        ("doc_id", "text"),
        ("pid", "text"),
    ],
)
@pytest.mark.parametrize("ending", [".jsonl", ".jsonl.gz", ".parquet"])
def test_the_usual_names_of_columns(
    tmp_path: Path, id_name: str, text_name: str, ending: str
) -> None:
    rows = rows_as(id_name, text_name)
    path = tmp_path / f"wiki{ending}"
    if ending == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        write_jsonl(path, rows)
    assert passages(f"corpus:{path}") == ROWS


def test_a_folder_in_the_layout_of_the_hub(tmp_path: Path) -> None:
    (tmp_path / "corpus").mkdir()
    for number, row in enumerate(ROWS):
        table = pa.table({"_id": [row[0]], "title": [row[1]], "text": [row[2]]})
        pq.write_table(table, tmp_path / "corpus" / f"train-{number:05d}-of-00002.parquet")
    assert passages(f"corpus:{tmp_path}") == ROWS


def test_numbers_as_ids_become_digits(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "a.jsonl", [{"id": 7, "text": "Tin."}])
    pq.write_table(pa.table({"id": [7], "text": ["Tin."]}), tmp_path / "b.parquet")
    assert passages(f"corpus:{tmp_path / 'a.jsonl'}") == [("7", "", "Tin.")]
    assert passages(f"corpus:{tmp_path / 'b.parquet'}") == [("7", "", "Tin.")]


def test_passages_on_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder in the Hub's place: `datasets` reads both alike."""
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    for repo, config in (("named", "corpus"), ("only", "default")):
        folder = tmp_path / repo
        write_jsonl(folder / "data.jsonl", rows_as("docid", "contents"))
        card = f"---\nconfigs:\n- config_name: {config}\n  data_files: data.jsonl\n---\n"
        (folder / "README.md").write_text(card)
        assert passages(f"corpus-hub:{folder}") == ROWS
    with refused("no-queries", path=f"corpus-hub:{tmp_path / 'only'}"):
        open_source(f"corpus-hub:{tmp_path / 'only'}", None, ReadOptions()).queries()


def test_sources_need_no_queries_when_passages_are_wanted(tmp_path: Path) -> None:
    rows = rows_as("_id", "text")
    write_jsonl(tmp_path / "beir" / "corpus.jsonl", [{k: r[k] for k in ("_id", "title", "text")}
                                                     for r in rows])  # fmt: skip
    write_jsonl(tmp_path / "trec" / "corpus.jsonl", rows_as("docid", "text"))
    write_jsonl(tmp_path / "miracl" / "docs-0.jsonl", rows_as("docid", "text"))
    for kind in ("beir", "trec", "miracl"):
        assert passages(f"{kind}:{tmp_path / kind}") == ROWS
        with pytest.raises(cf.CiteforgeError):
            open_source(f"{kind}:{tmp_path / kind}", None, ReadOptions())


def test_a_beir_folder_is_no_pile_of_passages(tmp_path: Path) -> None:
    folder = write_beir(tmp_path / "b", {"p": "Tin."}, {"q": "What is tin?"}, [("q", "p", 1)])
    assert passages(f"corpus:{folder}") == [("p", "", "Tin.")]


@pytest.mark.parametrize(
    ("rows", "code", "field"),
    [
        ([{"id": "a", "text": "x"}, {"id": "a", "text": "y"}], "duplicate-id", "_id"),
        ([{"id": "a", "text": "x"}, {"text": "y"}], "missing-field", "_id"),
        ([{"id": "a", "text": "x"}, {"id": "b", "text": " "}], "empty-text", "text"),
        ([{"id": "a", "body": "x"}], "empty-text", "text"),
        ([{"id": ["a"], "text": "x"}], "wrong-type", "id"),
    ],
)
def test_flawed_passages(
    tmp_path: Path, rows: list[dict[str, object]], code: str, field: str
) -> None:
    path = write_jsonl(tmp_path / "c.jsonl", rows)
    with refused(code, path=path, line=len(rows), field=field):
        passages(f"corpus:{path}")


def test_blank_passages_are_skipped_and_counted(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "c.jsonl", [{"id": "a", "text": ""}, {"id": "b", "text": "x"}])
    source = open_corpus(f"corpus:{path}", None, ReadOptions(skip_empty=True), "--corpus")
    assert [row["_id"] for b in source.passages() for row in b.to_pylist()] == ["b"]
    assert source.info().counts == {"rows_without_text[passages]": 1}


def test_files_that_are_none(tmp_path: Path) -> None:
    with refused("empty-file", path=tmp_path):
        passages(f"corpus:{tmp_path}")
    with refused("missing-file", path=tmp_path / "nothing"):
        passages(f"corpus:{tmp_path / 'nothing'}")
    (tmp_path / "c.jsonl.gz").write_bytes(gzip.compress(b'{"id": 1}')[:-4])
    with refused("bad-archive", path=tmp_path / "c.jsonl.gz"):
        passages(f"corpus:{tmp_path}")
    pq.write_table(pa.table({"id": ["a"]}), tmp_path / "d.parquet")
    with refused("missing-field", path=tmp_path / "d.parquet", field="text"):
        passages(f"corpus:{tmp_path / 'd.parquet'}")


def test_messages_name_the_option() -> None:
    for spec, code in (("wiki", "bad-option"), ("beri:x", "unknown-name")):
        with refused(code, cf.UsageError) as caught:
            passages(spec)
        assert f"--extra-corpus {spec!r}" in str(caught.value)
