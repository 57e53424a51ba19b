"""BEIR folders: what is read, and every kind of bad input."""

import gzip
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

import citeforge as cf
from citeforge.ir_convert.beir import open_beir
from citeforge.ir_convert.source import ReadOptions
from conftest import refused, write_beir, write_jsonl


def read_everything(folder: Path, split: str | None = None, **options: bool) -> dict[str, object]:
    source = open_beir(str(folder), split, ReadOptions(workdir=folder.parent / "w", **options))
    passages = [row for batch in source.passages() for row in batch.to_pylist()]
    relevant = source.relevant().to_pylist()
    queries = source.queries().to_pylist()
    return {
        "passages": passages,
        "queries": queries,
        "relevant": relevant,
        "counts": source.info().counts,
    }


def test_plain_folder(small_beir: Path) -> None:
    read = read_everything(small_beir)
    assert len(read["passages"]) == 12
    assert read["queries"] == [
        {"_id": "q1", "text": "What is topic 1?", "metadata": None},
        {"_id": "q2", "text": "What is topic 2?", "metadata": None},
    ]
    pairs = [(r["query-id"], r["corpus-id"], r["score"]) for r in read["relevant"]]
    assert pairs == [("q1", "p1", 1.0), ("q1", "p5", 2.0), ("q2", "p2", 1.0)]
    assert read["counts"] == {"judgements_of_zero_or_less": 1}


def test_gz_and_zip_give_the_same(small_beir: Path, tmp_path: Path) -> None:
    zipped = tmp_path / "small.zip"
    packed = tmp_path / "packed"
    (packed / "qrels").mkdir(parents=True)
    with zipfile.ZipFile(zipped, "w") as archive:
        for path in small_beir.rglob("*"):
            if path.is_file():
                name = path.relative_to(small_beir)
                archive.write(path, f"small/{name}")
                (packed / f"{name}.gz").write_bytes(gzip.compress(path.read_bytes()))
    expected = read_everything(small_beir)
    assert read_everything(zipped) == expected
    assert read_everything(packed) == expected


def test_metadata_is_kept_byte_for_byte(small_beir: Path) -> None:
    line = '{"_id": "x", "title": "T", "text": "t", "metadata": {"b": 1.0, "a": ["é", {}]}}\n'
    with (small_beir / "corpus.jsonl").open("a") as file:
        file.write(line)
    last = read_everything(small_beir)["passages"][-1]
    assert last["metadata"] == '{"b": 1.0, "a": ["é", {}]}'
    assert last["title"] == "T"


def test_any_split(small_beir: Path) -> None:
    # Scores of the Hub are often written as decimals.
    (small_beir / "qrels" / "dev.tsv").write_text("query-id\tcorpus-id\tscore\nq2\tp7\t1.0\n")
    assert [q["_id"] for q in read_everything(small_beir, "dev")["queries"]] == ["q2"]
    with refused("unknown-name", value="train", known=["dev", "test"]):
        read_everything(small_beir, "train")


def append(name: str, content: bytes) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        with (folder / name).open("ab") as file:
            file.write(content)

    return change


def replace(name: str, content: bytes) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        (folder / name).write_bytes(content)

    return change


QRELS = "qrels/test.tsv"
PASSAGE = b'{"_id":"z","text":"text"}\n'

CORPUS, QUERIES = "corpus.jsonl", "queries.jsonl"

BAD: list[tuple[str, Callable[[Path], None], str, str, int | None, str | None]] = [
    ("malformed JSON", append(CORPUS, b'{"_id":\n'), "bad-json", CORPUS, 13, None),
    ("missing _id", append(CORPUS, b'{"text":"x"}\n'), "missing-field", CORPUS, 13, "_id"),
    ("empty _id", append(CORPUS, b'{"_id":"","text":"x"}\n'), "missing-field", CORPUS, 13, "_id"),
    ("no whole _id", append(QUERIES, b'{"_id":7.0,"text":"x"}\n'), "wrong-type", QUERIES, 3, "_id"),
    (
        "duplicate passage",
        append(CORPUS, PASSAGE + PASSAGE.replace(b'text"}', b'word"}')),
        *("duplicate-id", CORPUS, 14, "_id"),
    ),
    (
        "duplicate query",
        append(QUERIES, b'{"_id":"q1","text":"x"}\n'),
        *("duplicate-id", QUERIES, 3, "_id"),
    ),
    (
        "unknown field",
        append(CORPUS, b'{"_id":"z","text":"x","u":1}\n'),
        *("unknown-field", CORPUS, 13, "u"),
    ),
    (
        "empty text",
        append(CORPUS, b'{"_id":"z","text":" \\n"}\n'),
        *("empty-text", CORPUS, 13, "text"),
    ),
    ("not UTF-8", append(CORPUS, b'{"_id":"z","text":"\xe9"}\n'), "bad-encoding", CORPUS, 13, None),
    (
        "metadata not UTF-8",
        append(CORPUS, b'{"_id":"z","text":"x","metadata":{"a":"\xe9"}}\n'),
        *("bad-encoding", CORPUS, 13, None),
    ),
    (
        "metadata of a query not UTF-8",
        replace(QUERIES, b'{"_id":"q1","text":"x","metadata":"\xe9"}\n'),
        *("bad-encoding", QUERIES, 1, "metadata"),
    ),
    (
        "cut gzip",
        replace(CORPUS, gzip.compress(PASSAGE * 99)[:-20]),
        "bad-archive",
        CORPUS,
        None,
        None,
    ),
    ("qrels: unknown query", append(QRELS, b"q9\tp1\t1\n"), "unknown-query", QRELS, 6, "query-id"),
    ("qrels: unknown passage", append(QRELS, b"q1\tp99\t1\n"), "unknown-id", QRELS, 6, "corpus-id"),
    ("qrels: no header", replace(QRELS, b"q1\tp1\t1\n"), "wrong-type", QRELS, 1, None),
    ("qrels: columns", append(QRELS, b"q1\tp1\n"), "wrong-type", QRELS, 6, None),
    ("qrels: score", append(QRELS, b"q1\tp7\t0.5\n"), "wrong-type", QRELS, 6, "score"),
    ("qrels: two scores", append(QRELS, b"q1\tp1\t2\n"), "duplicate-id", QRELS, 6, None),
    ("qrels: not UTF-8", append(QRELS, b"q\xff\tp1\t2\n"), "bad-encoding", QRELS, 6, None),
]


@pytest.mark.parametrize(
    ("change", "code", "name", "line", "field"), [b[1:] for b in BAD], ids=[b[0] for b in BAD]
)
def test_bad_input_is_one_clear_line_and_leaves_nothing(
    small_beir: Path,
    tmp_path: Path,
    change: Callable[[Path], None],
    code: str,
    name: str,
    line: int | None,
    field: str | None,
) -> None:
    change(small_beir)
    before = sorted(tmp_path.rglob("*"))
    config = cf.RageRecipe(source=f"beir:{small_beir}", candidates="bm25")
    with refused(code, path=small_beir / name, line=line, field=field) as caught:
        cf.build(config, tmp_path / "out")
    assert "\n" not in str(caught.value)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_corpus_without_passages_is_refused(small_beir: Path, tmp_path: Path) -> None:
    (small_beir / "corpus.jsonl").write_bytes(b"")
    source = f"beir:{small_beir}"
    with refused("empty-file", path=source):
        cf.build(cf.RageRecipe(source=source, candidates="bm25"), tmp_path / "out")


def test_explicit_skipping_is_counted(small_beir: Path) -> None:
    append("corpus.jsonl", b'{"_id":"z","text":""}\n')(small_beir)
    append(QRELS, b"q9\tp1\t1\n")(small_beir)
    read = read_everything(small_beir, skip_empty=True, skip_dangling=True)
    assert len(read["passages"]) == 12
    assert read["counts"] == {
        "judgements_of_unknown_queries": 1,
        "judgements_of_zero_or_less": 1,
        "rows_without_text[passages]": 1,
    }


def test_a_blank_query_is_skipped_and_counted(small_beir: Path) -> None:
    append("queries.jsonl", b'{"_id":"blank","text":" "}\n')(small_beir)
    append(QRELS, b"blank\tp1\t1\n")(small_beir)
    with refused("empty-text", path=small_beir / "queries.jsonl", line=3, field="text"):
        read_everything(small_beir)
    read = read_everything(small_beir, skip_empty=True)
    assert [q["_id"] for q in read["queries"]] == ["q1", "q2"]
    assert read["counts"]["rows_without_text[queries]"] == 1


def test_a_build_without_blank_queries_says_so(small_beir: Path, tmp_path: Path) -> None:
    append("queries.jsonl", b'{"_id":"blank","text":" "}\n')(small_beir)
    append(QRELS, b"blank\tp1\t1\n")(small_beir)

    config = cf.RageRecipe(
        source=f"beir:{small_beir}", embedder="nowhere/none", skip_empty=True,
        mining={"seemingly_relevant": 0, "irrelevant": 2},
    )  # fmt: skip
    manifest = cf.build(config, tmp_path / "out").manifest
    assert manifest.sources[0].counts["rows_without_text[queries]"] == 1
    assert json.loads((tmp_path / "out" / "stats.json").read_text())["queries"] == 2


def test_duplicates_far_apart_are_found_with_both_lines(tmp_path: Path) -> None:
    rows = [{"_id": f"p{i}", "text": "word " * 20} for i in range(100_000)]
    rows.append({"_id": "p17", "text": "again"})
    path = write_jsonl(tmp_path / "big" / "corpus.jsonl", rows)
    folder = write_beir(tmp_path / "big2", {"p": "t"}, {"q": "t"}, [("q", "p", 1)])
    path.replace(folder / "corpus.jsonl")
    path = folder / "corpus.jsonl"
    with refused("duplicate-id", path=path, line=100_001, field="_id") as caught:
        read_everything(folder)
    assert "duplicate id 'p17' with different content (first at line 18)" in str(caught.value)


def test_a_line_of_nearly_four_megabytes(small_beir: Path) -> None:
    text = "long " * 790_000
    line = json.dumps({"_id": "big", "text": text}) + "\n"
    append("corpus.jsonl", line.encode())(small_beir)
    assert read_everything(small_beir)["passages"][-1]["text"] == text


def test_unsafe_zip(tmp_path: Path) -> None:
    path = tmp_path / "bad.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("../corpus.jsonl", "x")
    with refused("link-outside", path=path):
        read_everything(path)


def test_two_archives_of_one_build_stand_side_by_side(tmp_path: Path) -> None:
    """The second used to take the place of the first, which was then read as if it were it."""
    options = ReadOptions(workdir=tmp_path / "w")
    sources = []
    for name in "ab":
        text = f"Only {name} says this."
        folder = write_beir(tmp_path / name, {"p": text}, {"q": "?"}, [("q", "p", 1)])
        with zipfile.ZipFile(tmp_path / f"{name}.zip", "w") as archive:
            for path in folder.rglob("*.*"):
                archive.write(path, path.relative_to(folder))
        sources.append(open_beir(str(tmp_path / f"{name}.zip"), None, options))
    texts = [row["text"] for s in sources for b in s.passages() for row in b.to_pylist()]
    assert texts == ["Only a says this.", "Only b says this."]


def test_a_corpus_of_blank_lines(tmp_path: Path) -> None:
    (tmp_path / "corpus.jsonl").write_bytes(b"\n \n")
    source = open_beir(str(tmp_path), None, ReadOptions(passages_only=True))
    assert list(source.passages()) == []
