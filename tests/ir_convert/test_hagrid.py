"""HAGRID rows."""

from pathlib import Path
from typing import Any

import pytest

import citeforge as cf
from citeforge.ir_convert.hagrid import open_hagrid
from citeforge.ir_convert.source import ReadOptions
from conftest import refused, write_jsonl


def question(number: int, **changes: Any) -> dict[str, Any]:
    return {
        "query_id": number,
        "query": f"Question {number}?",
        "quotes": [
            {"idx": 1, "docid": f"{number}#0", "text": f"First quote of {number}."},
            {"idx": 2, "docid": f"{number}#1", "text": f"Second quote of {number}."},
        ],
        "answers": [
            {
                "answer": "It is so [2]. And so [1, 2]. And not [7].",
                "answer_type": "long",
                "informative": 1,
                "attributable": None,
                "sentences": [
                    {
                        "text": "It is so [2].",
                        "index": 0,
                        "answer_type": "long",
                        "informative": 1,
                        "attributable": 0,
                    }
                ],
            }
        ],
        **changes,
    }


def open_rows(tmp_path: Path, rows: list[dict[str, Any]]) -> Any:
    path = write_jsonl(tmp_path / "dev.jsonl", rows)
    return open_hagrid(str(path), None, ReadOptions())


def test_quotes_become_the_relevant_passages(tmp_path: Path) -> None:
    source = open_rows(tmp_path, [question(7), question(8)])
    ids = [name for batch in source.passages() for name in batch["_id"].to_pylist()]
    assert ids == ["7#0", "7#1", "8#0", "8#1"]
    assert source.queries()["_id"].to_pylist() == ["7", "8"]
    pairs = source.relevant().select(["query-id", "corpus-id"]).to_pylist()
    assert pairs[0] == {"query-id": "7", "corpus-id": "7#0"}
    assert len(pairs) == 4
    assert source.info().split == "dev"


@pytest.mark.parametrize("first_idx", [0, 1])
def test_citations_are_positions_whatever_idx_says(tmp_path: Path, first_idx: int) -> None:
    row = question(7)
    for offset, quote in enumerate(row["quotes"]):
        quote["idx"] = first_idx + offset
    source = open_rows(tmp_path, [row])
    (gold,) = source.gold().to_pylist()
    assert gold["citations"] == ["7#0", "7#1"]
    assert gold["sentences"][0]["citations"] == ["7#1"]
    assert source.info().counts["answer_citations_outside_quotes"] == 1


def test_labels_stay_null(tmp_path: Path) -> None:
    (gold,) = open_rows(tmp_path, [question(7)]).gold().to_pylist()
    assert gold["attributable"] is None
    assert gold["informative"] == 1
    assert gold["sentences"][0]["attributable"] == 0
    assert gold["kind"] == "answer"


def test_the_same_quote_twice_is_one_passage(tmp_path: Path) -> None:
    second = question(8)
    second["quotes"][0] = {"idx": 1, "docid": "7#0", "text": "first  QUOTE of 7."}
    source = open_rows(tmp_path, [question(7), second])
    assert sum(batch.num_rows for batch in source.passages()) == 3
    assert source.info().counts == {"repeated_rows[passages]": 1}


def test_the_same_id_with_another_text_is_an_error(tmp_path: Path) -> None:
    second = question(8)
    second["quotes"][0] = {"idx": 1, "docid": "7#0", "text": "Something else."}
    source = open_rows(tmp_path, [question(7), second])
    with refused("duplicate-id", path=tmp_path / "dev.jsonl", line=2):
        list(source.passages())


@pytest.mark.parametrize(
    ("row", "code", "field"),
    [
        ({"query_id": 1}, "missing-field", "query"),
        (question(1, quotes="x"), "wrong-type", "quotes"),
        (question(1, query=" "), "empty-text", "text"),
        (question(1, query_id=1.5), "wrong-type", "query_id"),
        (
            question(1, answers=[{"answer": "a", "informative": 2**70}]),
            *("wrong-value", "answers[0].informative"),
        ),
        (question(7, query="Other?"), "duplicate-id", "_id"),
    ],
)
def test_bad_rows(tmp_path: Path, row: dict[str, Any], code: str, field: str) -> None:
    source = open_rows(tmp_path, [question(7), row])
    with refused(code, path=tmp_path / "dev.jsonl", line=2, field=field):
        source.queries()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of the Hub, with the layout that `huggingface_hub` reads offline."""
    import huggingface_hub.constants as constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    return tmp_path / "hub"


def test_the_hub_file_is_found_in_the_cache(tmp_path: Path, cache: Path) -> None:
    commit = "a" * 40
    repo = cache / "datasets--miracl--hagrid"
    write_jsonl(
        repo / "snapshots" / commit / "hagrid-v1.0-en" / "dev.jsonl",
        [question(n) for n in range(30)],
    )
    (repo / "refs").mkdir()
    (repo / "refs" / "main").write_text(commit)
    recipe = cf.RageRecipe(source="hagrid-hub:dev", mining={"seemingly_relevant": 0})
    (source,) = cf.build(recipe, tmp_path / "out").manifest.sources
    assert source.revision == commit
    assert source.licence == "cc-by-sa-3.0"


def test_the_hub_file_without_network_or_cache(tmp_path: Path, cache: Path) -> None:
    with refused("hub-failed", cf.InputError):
        cf.build(cf.RageRecipe(source="hagrid-hub:dev", candidates="bm25"), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_blank_question_is_skipped_and_counted(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "dev.jsonl", [question(7), question(8, query=" ")])
    with refused("empty-text", path=path, line=2):
        open_hagrid(str(path), None, ReadOptions()).queries()
    source = open_hagrid(str(path), None, ReadOptions(skip_empty=True))
    assert source.queries()["_id"].to_pylist() == ["7"]
    assert set(source.relevant()["query-id"].to_pylist()) == {"7"}
    assert set(source.gold()["query_id"].to_pylist()) == {"7"}
    # Its quotes stay passages of the corpus.
    assert sum(batch.num_rows for batch in source.passages()) == 4
    assert source.info().counts["rows_without_text[queries]"] == 1
