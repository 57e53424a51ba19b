"""``--extra-fields``: fields of rows that the format does not know."""

import json
from pathlib import Path
from typing import Any

import pytest

from citeforge.ir_convert.beir import open_beir
from citeforge.ir_convert.hagrid import open_hagrid
from citeforge.ir_convert.registry import require_strict
from citeforge.ir_convert.source import ReadOptions
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.recipes.base import ExtraFields
from conftest import CliRunner, write_beir, write_jsonl

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
        "passages with extra fields (lang, url), kept as metadata": 2,
        "queries with extra fields (lang), kept as metadata": 1,
    }


def test_ignored_and_counted(beir: Path) -> None:
    kept, of_query, counts = read(beir, "ignore")
    assert kept == ['{"b":1.0}', None, None]
    assert of_query is None
    assert counts == {
        "passages with extra fields (lang, url), ignored": 2,
        "queries with extra fields (lang), ignored": 1,
    }


def test_refused_with_file_and_line_unless_asked(beir: Path) -> None:
    with pytest.raises(InputError, match=r"corpus\.jsonl:1 url: is not a field") as error:
        read(beir, "refuse")
    assert "--extra-fields keep" in str(error.value)
    (beir / "corpus.jsonl").write_bytes(b'{"_id":"p1","text":"x","titel":"y"}\n')
    with pytest.raises(InputError, match=r"did you mean 'title'"):
        read(beir, "refuse")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"_id":"p1","text":"x","u":1,"metadata":[1]}\n', "1 metadata: is no object"),
        (b'{"_id":"p1","text":"x","u":1,"metadata":{"u":2}}\n', "1 u: stands in metadata, too"),
        (b'{"_id":"p1","text":"x","u":1,"u":2}\n', "1: the name 'u' stands twice"),
        (b'{"_id":"p1","text":"x","u":1}\r\n', "1: the line ends with CR LF"),
        (b'{"_id":"p1","text":7,"u":1}\n', "1 text: "),
        (b'{"_id":"p1","u":1}\n', "1: .*`text`"),
    ],
)
def test_what_is_wrong_besides_is_refused_all_the_same(
    beir: Path, line: bytes, message: str
) -> None:
    (beir / "corpus.jsonl").write_bytes(line)
    with pytest.raises(InputError, match=rf"corpus\.jsonl:{message}"):
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
    assert name.startswith("questions with extra fields (answers.sentences.note, quotes.rank)")
    with pytest.raises(InputError, match=r"dev\.jsonl:1 quotes\[0\]\.rank: is not a field"):
        open_hagrid(str(path), None, ReadOptions()).queries()


def test_hostile_names_do_not_reach_the_card_as_they_are(beir: Path) -> None:
    (beir / "corpus.jsonl").write_bytes(b'{"_id":"p1","text":"x","<b>](x)\\n":1}\n')
    assert "passages with extra fields (_b___x__), ignored" in read(beir, "ignore")[2]


def test_a_source_that_reads_its_own_columns_alone_refuses_the_option() -> None:
    require_strict("refuse", "trec:x")
    require_strict("keep", "trec:x", "beir:y")
    with pytest.raises(UsageError, match=r"--extra-fields keep: it is for beir:, .*; from trec:"):
        require_strict("keep", "trec:x", None)


def test_a_build_tells_the_count_in_the_manifest_and_on_standard_error(
    beir: Path, tmp_path: Path, cli: CliRunner
) -> None:
    words = ["build", "rage", "--source", f"beir:{beir}", "--n-seemingly", "0", "--out"]
    words += [str(tmp_path / "out"), "--licence", "mit", "--extra-fields"]
    refused = cli(*words, "refuse")
    assert refused.returncode == 1
    assert "queries.jsonl:1 lang: is not a field of this file" in refused.stderr
    done = cli(*words, "ignore")
    assert done.returncode == 0, done.stderr
    count = "2 passages with extra fields (lang, url), ignored"
    assert f"warning: beir:{beir}: {count}" in done.stderr
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["config"]["extra_fields"] == "ignore"
    assert manifest["sources"][0]["counts"][count.removeprefix("2 ")] == 2
    again = cli("build", "--print-recipe", "--from", str(tmp_path / "out"))
    assert "extra_fields: ignore" in again.stdout
