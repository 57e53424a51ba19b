"""Prompts, cards, checks, reports and publishing from Python."""

import json
import shutil
from pathlib import Path

import pytest

import citeforge as cf
from conftest import Inline, content, refused, write_jsonl

ANSWERS = [{"query_id": "q01", "output": "One [1]."}, {"query_id": "q99", "output": "Two [2]."}]


def test_prompts_are_those_of_the_command(inline: Inline, package: Path, tmp_path: Path) -> None:
    inline.ok("export", "prompts", package, "--out", "c.jsonl")
    rows = cf.export_prompts(package, tmp_path / "p.jsonl")
    assert (tmp_path / "p.jsonl").read_bytes() == (tmp_path / "c.jsonl").read_bytes()
    assert rows == [json.loads(line) for line in (tmp_path / "c.jsonl").read_text().splitlines()]
    assert cf.export_prompts(cf.load(package), context="mix") == rows
    with refused("unknown-name", cf.UnknownValueError, noun="context"):
        cf.export_prompts(package, context="gone")


def test_cards_are_those_of_the_command(inline: Inline, package: Path, tmp_path: Path) -> None:
    scores = cf.score(ANSWERS[:1], package, ["CiteP"], system="one")
    scores.save(tmp_path / "one.json")
    for name in ("c", "p"):
        shutil.copytree(package, tmp_path / name)
    words = ("--scores", "one.json", "--version", "1.2.3")
    inline.ok("export", "card", "c", *words)
    assert cf.card(tmp_path / "p", [scores], "1.2.3").version == "1.2.3"
    assert content(tmp_path / "p") == content(tmp_path / "c")
    with refused("bad-option", cf.UsageError):
        cf.card(tmp_path / "p", version="1")
    scores.file.benchmark_hash = "0" * 64
    with refused("wrong-benchmark", cf.InputError, path="answers.jsonl"):
        cf.card(tmp_path / "p", [scores])


def test_an_opened_benchmark_stands_for_its_folder(package: Path, tmp_path: Path) -> None:
    folder = tmp_path / "p"
    shutil.copytree(package, folder)
    opened = cf.load(folder)
    assert cf.load(opened) is opened
    scores = cf.score(ANSWERS[:1], opened, ["CiteP"], system="one")
    scores.save(tmp_path / "scores" / "one.json")
    # A folder stands for the score files in it, as for the gate.
    assert cf.card(opened, tmp_path / "scores", "1.2.3").version == "1.2.3"
    assert "| measure | one, mix |" in (folder / "README.md").read_text()
    assert cf.audit(opened).result.checks
    assert cf.report(tmp_path / "scores", benchmark=cf.load(folder)).text
    assert cf.export("beir", cf.load(folder), tmp_path / "beir") == cf.export(
        "beir", folder, tmp_path / "again"
    )
    options = cf.ScoreOptions(measures=("CiteP",))
    path = write_jsonl(tmp_path / "s.jsonl", ANSWERS[:1])
    assert cf.score_files([path], opened, options).scores[0]["CiteP"] == scores["CiteP"]
    with refused("bad-option", cf.UsageError):
        cf.publish(opened, "facts")
    for wrong in (None, 7):
        for function in (cf.card, cf.audit, cf.export_prompts):
            with refused("wrong-type", cf.UsageError):
                function(wrong)  # type: ignore[operator]


def test_nothing_is_written_into_copies(package: Path, tmp_path: Path) -> None:
    cached, own = tmp_path / "datasets--org--facts/snapshots/0123", tmp_path / "snapshots/v1"
    for folder in (cached, own):
        shutil.copytree(package, folder)
    assert cf.card(own)  # a folder of one's own may be called so
    for copy in ("hub:org/facts", cached, cf.load(cached)):
        for function in (cf.card, cf.audit):
            with refused("wrong-type", cf.UsageError) as caught:
                function(copy)
            assert "give the folder that `citeforge build` made" in str(caught.value)


def test_answers_in_memory_are_checked(package: Path, tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "s.jsonl", [*ANSWERS])
    (in_file,) = cf.check(path, package).errors
    for answers in (ANSWERS, iter(ANSWERS)):
        (error,) = cf.check(answers, cf.load(package)).errors
        # The second line of the file, and the second of the answers.
        assert (error.line, error) == (2, in_file)
    pandas = pytest.importorskip("pandas")
    assert cf.check(pandas.DataFrame(ANSWERS), package).errors == [in_file]
    with refused("unknown-name", cf.UnknownValueError, noun="context"):
        cf.check(ANSWERS, package, context="gone")
    with refused("wrong-type", cf.UsageError):
        cf.check(7, package)


def test_a_report_is_a_small_object(package: Path, tmp_path: Path) -> None:
    scores = cf.score(ANSWERS[:1], package, ["CiteP"], system="<b>one</b>")
    made = cf.report([scores], tmp_path / "r.html", title="One")
    assert repr(made).startswith("<report on 1 system: html, ")
    assert (tmp_path / "r.html").read_text() == made.text
    shown = made._repr_html_()
    assert "CiteP" in shown and "<b>one" not in shown
    assert len(shown) < len(made.text) / 10
    plain = cf.report([scores])
    plain.save(tmp_path / "r.md")
    plain.save(tmp_path / "r.csv")
    assert (tmp_path / "r.md").read_text() == plain.text
    assert (tmp_path / "r.csv").read_text().startswith("system,measure,")
    with refused("bad-option", cf.UsageError):
        plain.save(tmp_path / "r.doc")
    with refused("option-without-effect", cf.UsageError):
        made.save(tmp_path / "r.csv")  # which has no title


def test_publishing_refuses_what_the_command_refuses(package: Path) -> None:
    with refused("bad-option", cf.UsageError):
        cf.publish(package, "facts")
    with refused("option-without-effect", cf.UsageError):
        cf.publish(package, "org/facts", metadata=["type"])
