"""``--extra-fields``: fields of rows that the format does not know."""

import json
from pathlib import Path
from typing import Any

import pytest

import citeforge as cf
from citeforge.ir_convert.beir import open_beir
from citeforge.ir_convert.hagrid import open_hagrid
from citeforge.ir_convert.registry import check_extra_fields
from citeforge.ir_convert.source import ReadOptions
from citeforge.schemas.recipes.base import ExtraFields
from conftest import Inline, refused, write_beir, write_jsonl

LINES = (
    b'{"_id":"p1","text":"First.","url":"http://a","metadata":{"b":1.0}}\n'
    b'{"_id":"p2","text":"Second.","url":"http://b","lang":"en"}\n'
    b'{"_id":"p3","text":"Third."}\n'
)


@pytest.fixture
def beir(tmp_path: Path) -> Path:
    folder = write_beir(tmp_path / "beir", {"p": "t"}, {"q1": "Which?"}, [("q1", "p1", 1)])
    (folder / "corpus.jsonl").write_bytes(LINES)
    (folder / "queries.jsonl").write_bytes(b'{"_id":"q1","text":"Which?","lang":"en"}\n')
    return folder


def read(folder: Path, option: ExtraFields) -> tuple[list[str | None], str | None, dict[str, int]]:
    """Metadata of the passages and of the query, and what was counted."""
    source = open_beir(str(folder), None, ReadOptions(workdir=folder, extra_fields=option))
    kept = [m for b in source.passages() for m in b["metadata"].to_pylist()]
    return kept, source.queries()["metadata"][0].as_py(), source.info().counts


def test_kept_as_metadata_with_every_value_as_it_stands(beir: Path) -> None:
    kept, of_query, counts = read(beir, "keep")
    assert kept == ['{"b":1.0,"url":"http://a"}', '{"url":"http://b","lang":"en"}', None]
    assert of_query == '{"lang":"en"}'
    assert counts == {
        "extra_fields_kept[passages][lang, url]": 2,
        "extra_fields_kept[queries][lang]": 1,
    }


def test_ignored_and_counted(beir: Path) -> None:
    kept, of_query, counts = read(beir, "ignore")
    assert kept == ['{"b":1.0}', None, None]
    assert of_query is None
    assert counts == {
        "extra_fields_ignored[passages][lang, url]": 2,
        "extra_fields_ignored[queries][lang]": 1,
    }


def test_refused_with_file_and_line_unless_asked(beir: Path) -> None:
    corpus = beir / "corpus.jsonl"
    with refused("unknown-field", path=corpus, line=1, field="url") as caught:
        read(beir, "refuse")
    assert "--extra-fields keep" in str(caught.value)
    corpus.write_bytes(b'{"_id":"p1","text":"x","titel":"y"}\n')
    with refused("unknown-field", path=corpus, line=1, field="titel") as caught:
        read(beir, "refuse")
    assert "did you mean 'title'" in str(caught.value)


@pytest.mark.parametrize(
    ("line", "code", "field"),
    [
        (b'{"_id":"p1","text":"x","u":1,"metadata":[1]}\n', "wrong-type", "metadata"),
        (b'{"_id":"p1","text":"x","u":1,"metadata":{"u":2}}\n', "duplicate-key", "u"),
        (b'{"_id":"p1","text":"x","u":1,"u":2}\n', "duplicate-key", None),
        (b'{"_id":"p1","text":7,"u":1}\n', "wrong-type", "text"),
        (b'{"_id":"p1","u":1}\n', "missing-field", "text"),
    ],
)
def test_other_faults_are_refused_all_the_same(
    beir: Path, line: bytes, code: str, field: str | None
) -> None:
    (beir / "corpus.jsonl").write_bytes(line)
    with refused(code, path=beir / "corpus.jsonl", line=1, field=field):
        read(beir, "keep")


def test_fields_at_any_depth_of_hagrid(tmp_path: Path) -> None:
    quote = {"idx": 1, "docid": "7#0", "text": "A quote.", "rank": 1}
    answer = {"answer": "So [1].", "sentences": [{"text": "So [1].", "note": "n"}]}
    row: dict[str, Any] = {"query_id": 7, "query": "Q?", "quotes": [quote], "answers": [answer]}
    path = write_jsonl(tmp_path / "dev.jsonl", [row])
    source = open_hagrid(str(path), None, ReadOptions(extra_fields="keep"))
    kept = json.loads(source.queries()["metadata"][0].as_py())
    assert kept == {"quotes[0].rank": 1, "answers[0].sentences[0].note": "n"}
    assert source.gold()["text"].to_pylist() == ["So [1]."]
    (name,) = source.info().counts
    assert name == "extra_fields_kept[questions][answers.sentences.note, quotes.rank]"
    with refused("unknown-field", path=path, line=1, field="quotes[0].rank"):
        open_hagrid(str(path), None, ReadOptions()).queries()


def test_hostile_names_do_not_reach_the_card_as_they_are(beir: Path) -> None:
    (beir / "corpus.jsonl").write_bytes(b'{"_id":"p1","text":"x","<b>](x)\\n":1}\n')
    assert "extra_fields_ignored[passages][_b___x__]" in read(beir, "ignore")[2]


def test_a_source_that_reads_its_own_columns_alone_refuses_the_option() -> None:
    check_extra_fields("refuse", "trec:x")
    check_extra_fields("ignore", "trec:x", "beir:y")
    check_extra_fields("keep", "mteb:x")
    for option, source in (("ignore", "mteb:x"), ("keep", "alce:x"), ("ignore", "alce:x")):
        with refused("option-without-effect", cf.UsageError):
            check_extra_fields(option, source, None)


def test_a_build_tells_the_count_in_the_manifest_and_on_standard_error(
    beir: Path, tmp_path: Path, inline: Inline
) -> None:
    words = ["build", "rage", "--source", f"beir:{beir}", "--n-seemingly", "0", "--out"]
    words += [str(tmp_path / "out"), "--licence", "mit", "--extra-fields"]
    inline.fails(1, "unknown-field", *words, "refuse")
    done = inline.ok(*words, "ignore")
    count = "2 passages with extra fields (lang, url), ignored"
    assert f"warning: beir:{beir}: {count}" in done.stderr
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["config"]["extra_fields"] == "ignore"
    assert manifest["sources"][0]["counts"]["extra_fields_ignored[passages][lang, url]"] == 2
    again = inline("build", "--print-recipe", "--from", str(tmp_path / "out"))
    assert "extra_fields: ignore" in again.stdout
