"""Columns of outside tables: found by their usual names; what is left over is counted or kept."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from citeforge.ir_convert.registry import open_source
from citeforge.ir_convert.source import ReadOptions, Source
from citeforge.schemas.recipes.base import ExtraFields
from conftest import refused, write_jsonl

Rows = list[dict[str, Any]]

CORPUS: Rows = [{"_id": "1", "title": "T", "text": "a"}, {"_id": "2", "title": "", "text": "b"}]
QUERIES: Rows = [{"_id": "q1", "text": "what?"}, {"_id": "q2", "text": "why?"}]
QRELS: Rows = [
    {"query-id": "q1", "corpus-id": "1", "score": 1},
    {"query-id": "q2", "corpus-id": "2", "score": 1},
]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import datasets.config

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))


def renamed(rows: Rows, **names: str) -> Rows:
    """The rows with other names of columns."""
    return [{names.get(k.replace("-", "_"), k): v for k, v in row.items()} for row in rows]


def repo(
    folder: Path, corpus: Rows = CORPUS, queries: Rows = QUERIES, qrels: Rows = QRELS,
    option: ExtraFields = "refuse",
) -> Source:  # fmt: skip
    """A data set in MTEB's layout, opened."""
    folder.mkdir()
    card = "---\nconfigs:\n"
    for name, split, rows in (
        ("corpus", "corpus", corpus), ("queries", "queries", queries), ("default", "test", qrels)
    ):  # fmt: skip
        pq.write_table(pa.Table.from_pylist(rows), folder / f"{name}.parquet")
        card += f"- config_name: {name}\n  data_files:\n"
        card += f"  - split: {split}\n    path: {name}.parquet\n"
    (folder / "README.md").write_text(f"{card}---\n")
    return open_source(f"mteb:{folder}", "test", ReadOptions(extra_fields=option))


def content(source: Source) -> tuple[Rows, Rows, list[tuple[str, str]]]:
    """Passages, queries and relevant pairs of a source."""
    passages = [row for batch in source.passages() for row in batch.to_pylist()]
    pairs = source.relevant().to_pylist()
    asked = source.queries().to_pylist()
    return passages, asked, [(pair["query-id"], pair["corpus-id"]) for pair in pairs]


def test_ids_have_any_of_their_usual_names_everywhere(tmp_path: Path) -> None:
    usual = content(repo(tmp_path / "usual"))
    for number, (of_corpus, of_queries, of_qrels) in enumerate((
        ({"_id": "id"}, {"_id": "id"}, {}),
        ({"_id": "docid", "text": "contents"}, {"_id": "query_id", "text": "query"},
         {"query_id": "query_id", "corpus_id": "corpus_id"}),
        ({"_id": "doc_id", "text": "passage"}, {"_id": "qid", "text": "question"},
         {"query_id": "qid", "corpus_id": "docid", "score": "relevance"}),
    )):  # fmt: skip
        source = repo(
            tmp_path / str(number), renamed(CORPUS, **of_corpus), renamed(QUERIES, **of_queries),
            renamed(QRELS, **of_qrels),
        )  # fmt: skip
        assert content(source) == usual
        assert source.info().counts == {}


def test_a_missing_column_is_named_beside_those_that_there_are(tmp_path: Path) -> None:
    strange = renamed(QUERIES, _id="number")
    source = repo(tmp_path / "a", queries=strange)
    with refused("missing-field", path=tmp_path / "a", field="_id") as caught:
        source.queries()
    assert "a column _id or id or query-id" in str(caught.value)
    assert "the columns are number, text" in str(caught.value)
    with refused("missing-field", path=tmp_path / "b", field="corpus-id") as caught:
        repo(tmp_path / "b", qrels=renamed(QRELS, corpus_id="passage"))
    assert "the columns are query-id, passage, score" in str(caught.value)


def test_an_instruction_belongs_to_the_question(tmp_path: Path) -> None:
    queries: Rows = [
        {**QUERIES[0], "instruction": "Find a definition.", "metadata": '{"a": 1}'},
        {**QUERIES[1], "instruction": "", "metadata": None},
    ]
    source = repo(tmp_path / "a", queries=queries)
    first, second = source.queries().to_pylist()
    assert first["text"] == "what? Find a definition."
    assert json.loads(first["metadata"]) == {"a": 1, "instruction": "Find a definition."}
    assert (second["text"], second["metadata"]) == ("why?", None)
    assert source.info().counts == {"rows_with_an_instruction[queries]": 1}


@pytest.mark.parametrize("option", ["refuse", "keep"])
def test_further_columns_are_counted_or_kept(tmp_path: Path, option: ExtraFields) -> None:
    corpus: Rows = [{**CORPUS[0], "url": "u", "views": 3}, {**CORPUS[1], "url": "", "views": None}]
    queries: Rows = [{**row, "title": "", "lang": "en"} for row in QUERIES]
    qrels: Rows = [{**row, "iteration": 0} for row in QRELS]
    source = repo(tmp_path / "a", corpus, queries, qrels, option)
    passages, asked, _ = content(source)
    done = "kept" if option == "keep" else "ignored"
    assert source.info().counts == {
        f"extra_fields_{done}[passages][url, views]": 1,
        f"extra_fields_{done}[queries][lang]": 2,
        "extra_fields_ignored[relevant pairs][iteration]": 2,
    }
    metadata = [None if (text := r["metadata"]) is None else json.loads(text) for r in passages]
    assert metadata == ([{"url": "u", "views": 3}, None] if option == "keep" else [None, None])
    assert asked[0]["metadata"] == ('{"lang":"en"}' if option == "keep" else None)


def test_metadata_that_have_the_column_or_are_no_object_are_refused(tmp_path: Path) -> None:
    for name, metadata, code in (("a", '{"url": 1}', "duplicate-key"), ("b", "[1]", "wrong-type")):
        corpus: Rows = [{**row, "url": "u", "metadata": metadata} for row in CORPUS]
        source = repo(tmp_path / name, corpus, option="keep")
        with refused(code, path=tmp_path / name, line=1):
            content(source)


@pytest.mark.parametrize("option", ["refuse", "keep"])
def test_files_of_passages(tmp_path: Path, option: ExtraFields) -> None:
    """The count is over all files; vectors are not read only to be counted."""
    rows: Rows = [{"docid": "1", "contents": "a", "url": "u"}, {"docid": "2", "contents": "b"}]
    write_jsonl(tmp_path / "a.jsonl", rows)
    write_jsonl(tmp_path / "b.jsonl", [{"id": 3, "text": "c", "url": "v", "metadata": {"k": 1}}])
    pq.write_table(
        pa.table({"_id": ["4"], "text": ["d"], "url": ["w"], "emb": [[0.5, 1.0]]}),
        tmp_path / "c.parquet",
    )
    source = open_source(f"corpus:{tmp_path}", None, ReadOptions(extra_fields=option))
    found = [row for batch in source.passages() for row in batch.to_pylist()]
    assert [row["_id"] for row in found] == ["1", "2", "3", "4"]
    metadata = [None if (text := row["metadata"]) is None else json.loads(text) for row in found]
    is_kept = option == "keep"
    assert metadata == [
        {"url": "u"} if is_kept else None,
        None,
        {"k": 1} | ({"url": "v"} if is_kept else {}),
        {"url": "w", "emb": [0.5, 1.0]} if is_kept else None,
    ]
    done = "kept" if is_kept else "ignored"
    assert source.info().counts == {
        f"extra_fields_{done}[passages][url]": 2,
        f"extra_fields_{done}[passages][emb, url]": 1,
    }
