"""Corpora as people have them: titles without texts, repeated rows, numbers as ids, line ends."""

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pytest

import citeforge as cf
from citeforge.engines.retrieval.certain import join_titles
from citeforge.ir_convert.registry import open_source
from citeforge.ir_convert.source import DuplicateFinder, ReadOptions, Source
from conftest import refused, write_beir, write_jsonl

TITLE = {"_id": "d1", "title": "Masks and spread", "text": ""}
BARE = {"_id": "d2", "title": " ", "text": "\n"}
ROWS = [{"_id": f"p{i}", "title": "", "text": f"Word {i}."} for i in range(4)]


def folder(tmp_path: Path, kind: str, rows: list[dict[str, Any]]) -> tuple[str, Path]:
    """A source of each kind with these passages, the first of which is relevant to q1."""
    first = rows[0]["_id"]
    at = tmp_path / kind
    query = {"_id": "q1", "text": "Do masks stop it?"}
    if kind == "beir":
        write_beir(at, {}, {"q1": query["text"]}, [("q1", str(first), 1)])
        return f"beir:{at}", write_jsonl(at / "corpus.jsonl", rows)
    if kind == "trec":
        at.mkdir()
        (at / "topics.tsv").write_text(f"q1\t{query['text']}\n")
        (at / "qrels").write_text(f"q1 0 {first} 1\n")
        return f"trec:{at}", write_jsonl(at / "corpus.jsonl", rows)
    judged = {"query-id": "q1", "corpus-id": str(first), "score": 1}
    for config, content in (("corpus", rows), ("queries", [query]), ("default", [judged])):
        write_jsonl(at / f"{config}.jsonl", content)
    files = "".join(
        f"- config_name: {c}\n  data_files:\n  - split: {s}\n    path: {c}.jsonl\n"
        for c, s in (("corpus", "corpus"), ("queries", "queries"), ("default", "test"))
    )
    (at / "README.md").write_text(f"---\nconfigs:\n{files}---\n")
    return f"mteb:{at}", at


def passages(source: Source) -> dict[str, tuple[str, str]]:
    rows = [row for batch in source.passages() for row in batch.to_pylist()]
    assert len({row["_id"] for row in rows}) == len(rows)
    return {row["_id"]: (row["title"], row["text"]) for row in rows}


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))


@pytest.mark.parametrize("kind", ["beir", "trec", "mteb"])
def test_the_text_of_a_title_alone_is_the_title(tmp_path: Path, kind: str) -> None:
    spec, _ = folder(tmp_path, kind, [TITLE, *ROWS, BARE])
    with refused("empty-text", line=6):
        passages(open_source(spec, None, ReadOptions()))
    source = open_source(spec, None, ReadOptions(skip_empty=True))
    read = passages(source)
    assert read["d1"] == ("Masks and spread", "Masks and spread")
    assert len(read) == 5 and "d2" not in read
    assert source.relevant()["corpus-id"].to_pylist() == ["d1"]
    counts = source.info().counts
    assert counts["rows_with_a_title_alone[passages]"] == 1
    assert counts["rows_without_text[passages]"] == 1
    # An embedder and BM25 read the title once.
    (batch,) = source.passages()
    assert pc.index(join_titles(batch), "Masks and spread").as_py() == 0


def test_a_build_with_a_relevant_title(tmp_path: Path) -> None:
    spec, _ = folder(tmp_path, "beir", [TITLE, *ROWS])
    recipe = cf.RageRecipe(
        source=spec, embedder="nowhere/none", mining={"seemingly_relevant": 0, "irrelevant": 2}
    )
    cf.build(recipe, tmp_path / "out")
    package = cf.load(tmp_path / "out")
    assert package.mappings["relevant"]["corpus-id"].to_pylist() == ["d1"]


@pytest.mark.parametrize("kind", ["beir", "trec", "mteb"])
def test_equal_rows_are_joined_and_counted(tmp_path: Path, kind: str) -> None:
    again = {**ROWS[1], "title": "another title"}
    spec, _ = folder(tmp_path, kind, [*ROWS, ROWS[0], again, TITLE, TITLE])
    source = open_source(spec, None, ReadOptions())
    read = passages(source)
    assert list(read) == ["p0", "p1", "p2", "p3", "d1"] and read["p1"] == ("", "Word 1.")
    assert source.info().counts["repeated_rows[passages]"] == 3
    assert passages(source) == read  # the same again, with the same counts
    assert source.info().counts["repeated_rows[passages]"] == 3


@pytest.mark.parametrize("kind", ["beir", "trec", "mteb"])
def test_one_id_with_two_texts_is_refused(tmp_path: Path, kind: str) -> None:
    spec, path = folder(tmp_path, kind, [*ROWS, {**ROWS[0], "text": "Other."}])
    with refused("duplicate-id", path=path, line=5) as caught:
        passages(open_source(spec, None, ReadOptions()))
    assert "first at line 1" in str(caught.value)


def test_equal_queries_are_joined_and_counted(tmp_path: Path) -> None:
    spec, _ = folder(tmp_path, "beir", ROWS)
    query = {"_id": "q1", "text": "Do masks stop it?"}
    path = write_jsonl(tmp_path / "beir" / "queries.jsonl", [query, query])
    source = open_source(spec, None, ReadOptions())
    assert source.queries()["_id"].to_pylist() == ["q1"]
    assert source.info().counts["repeated_rows[queries]"] == 1
    write_jsonl(path, [query, {**query, "text": "Others?"}])
    with refused("duplicate-id", path=path, line=2):
        open_source(spec, None, ReadOptions()).queries()


@pytest.mark.parametrize("kind", ["beir", "trec", "mteb"])
def test_whole_numbers_as_ids_are_their_digits(tmp_path: Path, kind: str) -> None:
    rows = [{"_id": i, "title": "", "text": f"Word {i}."} for i in (7, 0, 2**40)]
    spec, _ = folder(tmp_path, kind, rows)
    if kind != "trec":
        write_jsonl(tmp_path / kind / "queries.jsonl", [{"_id": 21, "text": "Seven?"}])
        judged = tmp_path / kind / "default.jsonl"
        if kind == "beir":
            judged = tmp_path / kind / "qrels" / "test.tsv"
            judged.write_text("query-id\tcorpus-id\tscore\n21\t7\t1\n")
        else:
            write_jsonl(judged, [{"query-id": 21, "corpus-id": 7, "score": 1}])
    source = open_source(spec, None, ReadOptions())
    assert list(passages(source)) == ["7", "0", str(2**40)]
    pairs = [(r["query-id"], r["corpus-id"]) for r in source.relevant().to_pylist()]
    assert pairs == [("q1" if kind == "trec" else "21", "7")]
    assert source.queries()["_id"].to_pylist() == [pairs[0][0]]


def test_whole_numbers_as_ids_of_hagrid(tmp_path: Path) -> None:
    quote = {"idx": 1, "docid": 7, "text": "A quote."}
    row = {"query_id": 3, "query": "Who?", "quotes": [quote], "answers": [{"answer": "A [1]."}]}
    path = write_jsonl(tmp_path / "dev.jsonl", [row, row])
    source = open_source(f"hagrid:{path}", None, ReadOptions())
    assert list(passages(source)) == ["7"]
    assert source.gold().to_pylist()[0]["citations"] == ["7"]
    assert source.info().counts["repeated_rows[queries]"] == 1


@pytest.mark.parametrize("change", ["bom", "crlf", "both"])
@pytest.mark.parametrize("kind", ["beir", "trec"])
def test_a_byte_order_mark_and_cr_lf_change_nothing(tmp_path: Path, kind: str, change: str) -> None:
    spec, corpus = folder(tmp_path, kind, ROWS)
    expected = open_source(spec, None, ReadOptions())
    before = passages(expected), expected.queries(), expected.relevant()
    for path in corpus.parent.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            if change != "bom":
                content = content.replace(b"\n", b"\r\n")
            path.write_bytes((b"" if change == "crlf" else b"\xef\xbb\xbf") + content)
    source = open_source(spec, None, ReadOptions())
    assert (passages(source), source.queries(), source.relevant()) == before


def test_repeats_are_found_wherever_they_are() -> None:
    ids = [f"p{i}" for i in range(20_000)]
    for at in (0, 1, 4095, 4096, 9999, 19_998):
        finder = DuplicateFinder()
        blocks = [ids[i : i + 4096] for i in range(0, len(ids), 4096)]
        assert [finder.add(block) for block in blocks] == [False] * 5
        assert finder.add(["new", ids[at]]) is True
        assert finder.suspects() == {hash(ids[at])}
    assert DuplicateFinder().add(["a", "b", "a"]) is True
    assert np.all([not DuplicateFinder().add(some) for some in ([], ["a"])])


def test_one_of_several_data_sets_in_an_archive(tmp_path: Path) -> None:
    for name in ("android", "gis/small"):
        write_beir(tmp_path / "cq" / name, {"p": f"On {name}."}, {"q": "?"}, [("q", "p", 1)])
    archive = tmp_path / "cq.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for path in (tmp_path / "cq").rglob("*.*"):
            file.write(path, path.relative_to(tmp_path))
    options = ReadOptions(workdir=tmp_path / "w")
    for where in (archive, tmp_path / "cq"):
        with refused("missing-option", path=where) as caught:
            open_source(f"beir:{where}", None, options)
        message = str(caught.value)
        assert "2 data sets: android, gis/small" in message and f"beir:{where}#android" in message
        source = open_source(f"beir:{where}#gis/small", None, options)
        assert passages(source) == {"p": ("", "On gis/small.")}
        assert source.info().spec == f"beir:{where}#gis/small"
        with refused("unknown-name", value="wiki", known=["android", "gis/small"]):
            open_source(f"beir:{where}#wiki", None, options)
    assert passages(open_source(f"beir:{tmp_path / 'cq' / 'android'}", None, options))
    (tmp_path / "none").mkdir()
    with refused("missing-file", path=tmp_path / "none" / "corpus.jsonl"):
        open_source(f"beir:{tmp_path / 'none'}", None, options)


@pytest.mark.parametrize("form", ["{}-{}", "{1}-{0}", "{}_{}"])
def test_configs_of_a_language(tmp_path: Path, form: str) -> None:
    judged = {"query-id": "q1", "corpus-id": "p0", "score": 1}
    files = ""
    for language in ("hi", "ta"):
        rows = [{**row, "text": f"{row['text']} {language}"} for row in ROWS]
        query = {"_id": "q1", "text": f"Word {language}?"}
        for name, content in (("corpus", rows), ("queries", [query]), ("qrels", [judged])):
            config = form.format(language, name)
            write_jsonl(tmp_path / "m" / f"{config}.jsonl", content)
            files += f"- config_name: {config}\n  data_files:\n"
            files += f"  - split: dev\n    path: {config}.jsonl\n"
    (tmp_path / "m" / "README.md").write_text(f"---\nconfigs:\n{files}---\n")
    spec = f"mteb:{tmp_path / 'm'}"
    for wrong in (spec, f"{spec}#de"):
        with refused("missing-field", path=tmp_path / "m") as caught:
            open_source(wrong, "dev", ReadOptions())
        message = str(caught.value)
        assert form.format("hi", "corpus") in message and f"{tmp_path / 'm'}#hi" in message
    source = open_source(f"{spec}#ta", "dev", ReadOptions())
    assert passages(source)["p0"] == ("", "Word 0. ta")
    assert source.queries()["text"].to_pylist() == ["Word ta?"]
    assert source.relevant().num_rows == 1
    alone = open_source(f"{spec}#hi", None, ReadOptions(passages_only=True))
    assert passages(alone)["p0"] == ("", "Word 0. hi")
