"""Retrieval: hand-worked scores, ties, empty corpora and runs."""

import math
from pathlib import Path

import pyarrow as pa
import pytest

import citeforge as cf
from citeforge.engines.retrieval.bm25 import Bm25
from citeforge.engines.retrieval.settings import RetrieverSettings
from citeforge.engines.running.names import make_retriever
from citeforge.engines.tables import shard_paths, write_table
from citeforge.plugins.published_systems.interact import make_vector_search
from citeforge.schemas.tables import CORPUS
from conftest import refused
from stand_ins import RuleEmbedder

PASSAGES = {"d": "alpha beta gamma delta", "b": "alpha gamma", "c": "alpha beta", "a": "delta"}


def corpus(folder: Path, passages: dict[str, str]) -> list[Path]:
    rows = [{"_id": i, "title": "", "text": t, "metadata": None} for i, t in passages.items()]
    write_table(folder, "corpus", pa.Table.from_pylist(rows, schema=CORPUS))
    return shard_paths(folder, "corpus")


def test_bm25_scores_are_the_formula(tmp_path: Path) -> None:
    result = Bm25.from_corpus(corpus(tmp_path, PASSAGES)).rank({"q": "Gamma!", "none": "omega"})
    # "gamma" is in 2 of 4 passages; lengths 4, 2, 2, 1 have the mean 9/4.
    idf = math.log(1 + (4 - 2 + 0.5) / (2 + 0.5))
    long = idf / (1 + 1.2 * (1 - 0.75 + 0.75 * 4 / (9 / 4)))
    short = idf / (1 + 1.2 * (1 - 0.75 + 0.75 * 2 / (9 / 4)))
    assert [(r.docid, r.rank) for r in result["q"]] == [("b", 1), ("d", 2)]
    assert [r.score for r in result["q"]] == pytest.approx([short, long], abs=1e-5)
    assert {r.query_id for r in result["q"]} == {"q"}
    assert result["none"] == []


def test_bm25_breaks_ties_by_id_and_fills_up_when_asked() -> None:
    index = Bm25(["z", "y", "x"], ["same words", "same words", "others"])
    assert [r.docid for r in index.rank({"q": "words"})["q"]] == ["y", "z"]
    assert [r.docid for r in index.rank({"q": "words"}, includes_unmatched=True)["q"]] == [
        "y",
        "z",
        "x",
    ]
    assert [r.docid for r in index.rank({"q": "words"}, depth=1)["q"]] == ["y"]


@pytest.mark.parametrize("texts", [["", "  "], ["the", "of and"], []])
def test_passages_without_words_are_never_found(texts: list[str]) -> None:
    ids = [str(i) for i in range(len(texts))]
    assert Bm25(ids, texts).rank({"q": "the words"}) == {"q": []}


def test_a_search_by_vectors_in_memory_finds_the_nearest() -> None:
    letters = RuleEmbedder(lambda text: [text.count("a"), text.count("b")])
    best = make_vector_search(["two", "one", "far", "mid"], ["aa", "a", "b", "ab"], letters)
    assert [best(words) for words in ("a", "b", "ab")] == ["one", "far", "mid"]  # of equals by id


def test_runs_name_the_line_of_an_unknown_passage(tmp_path: Path) -> None:
    run = tmp_path / "run.txt"
    run.write_text("q Q0 a 1 2 t\nother Q0 x 1 9 t\nq Q0 nowhere 2 1 t\n")
    retriever = make_retriever(f"run:{run}", RetrieverSettings(corpus(tmp_path, PASSAGES)))
    with pytest.raises(cf.InputError) as caught:
        retriever.rank({"q": ""})
    assert (caught.value.path, caught.value.line) == (str(run), 3)
    run.write_text("q Q0 a 1 2 t\nq Q0 b 2 2 t\nq Q0 c 3 5 t\n")
    assert [r.docid for r in retriever.rank({"q": "", "silent": ""})["q"]] == ["c", "b", "a"]
    assert retriever.rank({"q": "", "silent": ""}, depth=2)["silent"] == []


def test_unknown_retrievers() -> None:
    with refused("unknown-name") as caught:
        make_retriever("splade", RetrieverSettings([]))
    assert "bm25, dense or run:FILE" in str(caught.value)
    with refused("missing-option"):
        make_retriever("dense", RetrieverSettings([]))
