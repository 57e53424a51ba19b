"""Files and folders that are no submissions are refused by what they are."""

import json
import shutil
from pathlib import Path

import pytest

import citeforge as cf
from citeforge.ir_convert.recognition import recognise_source
from conftest import EXAMPLES, Inline, refused, write_jsonl

PASSAGE = {"_id": "a", "title": "A", "text": "Text."}
HAGRID = {"query_id": 1, "query": "Who?", "quotes": [], "answers": []}
FILES = {
    "corpus.jsonl": (json.dumps(PASSAGE), "a BEIR corpus"),
    "queries.jsonl": ('{"_id": "q", "text": "Who?"}', "a file of BEIR's queries"),
    "test.tsv": ("query-id\tcorpus-id\tscore\nq\ta\t1", "a file of BEIR's judgements"),
    "dev.jsonl": (json.dumps(HAGRID), "a file of HAGRID's data set"),
    "page.html": ("\n<!DOCTYPE html>\n<p>[1]", "an HTML page"),
    "answers.tsv": ("query_id\toutput\nq01\tSo [1].", "a table with tabs"),
}


@pytest.mark.parametrize("name", FILES)
def test_what_a_file_is_instead(
    name: str, tmp_path: Path, benchmark: cf.Benchmark, inline: Inline
) -> None:
    content, noun = FILES[name]
    (tmp_path / name).write_text(f"{content}\n")
    for read in (cf.check, cf.score):
        with refused("wrong-kind", path=tmp_path / name, line=None) as caught:
            read(tmp_path / name, benchmark)
        assert str(caught.value).startswith(f"{tmp_path / name}: is {noun}, not a submission; ")


def test_a_package_or_its_manifest(package: Path, benchmark: cf.Benchmark) -> None:
    for path in (package, package / "manifest.json"):
        with refused("wrong-kind", path=path) as caught:
            cf.check(path, benchmark)
        assert f"citeforge verify {package}" in str(caught.value)


def test_what_reads_a_source(tmp_path: Path, inline: Inline) -> None:
    shutil.copytree(EXAMPLES / "facts", tmp_path / "facts")
    for path in ("facts", "facts/corpus.jsonl", "facts/queries.jsonl", "facts/qrels/test.tsv"):
        found = recognise_source(tmp_path / path)
        assert found is not None and found.spec == f"beir:{tmp_path / 'facts'}"
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "log.eval").write_bytes(b"PK")
    assert recognise_source(tmp_path / "own") is recognise_source(tmp_path / "own/log.eval") is None
    for words, code, said in (
        (("rage", "--source", "facts", "--out", "o"), "bad-option", "did you mean 'beir:facts'?"),
        (("facts", "--out", "o"), "unknown-name", "citeforge build rage --source beir:facts; "),
        (("own", "--out", "o"), "unknown-name", "own is no recipe file, whose name ends in .yaml"),
    ):
        ran = inline("build", *words)
        assert (ran.returncode, ran.code) == (2, code)
        assert said in ran.stderr


def test_lines_that_have_an_answer_are_read(tmp_path: Path, benchmark: cf.Benchmark) -> None:
    rows = [{"_id": "q01", "text": "Who?", "output": "So [1]."}]
    found = cf.check(write_jsonl(tmp_path / "s.jsonl", rows), benchmark)
    assert [(e.code, e.line) for e in found.errors] == [("unknown-field", 1)]
    # Nothing is said of the build of answers that are not there.
    assert "missing-hash" not in [w.code for w in found.warnings]


def test_an_unknown_query_is_told_with_what_there_is(
    tmp_path: Path, benchmark: cf.Benchmark
) -> None:
    rows = [{"query_id": query, "output": "So [1]."} for query in ("Q01", "0")]
    found = cf.check(write_jsonl(tmp_path / "s.jsonl", rows), benchmark)
    assert [str(e) for e in found.errors] == [
        "query_id: 'Q01' is not in the benchmark (did you mean 'q01'?)",
        "query_id: '0' is not in the benchmark, whose queries are 'q01', 'q02', 'q03', …",
    ]
