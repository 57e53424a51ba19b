"""What was not computed is said once a reason."""

import csv
import json
from pathlib import Path

import citeforge as cf
from citeforge.evaluator.compare import compare_many
from citeforge.reports.comparison import describe_comparison
from citeforge.reports.notes import caution_lines, missing_lines, trivial_lines
from citeforge.reports.pages.formats import COMPARISONS
from citeforge.reports.terminal import render_scores
from citeforge.schemas.recipes.command_options import TableOptions
from citeforge.schemas.scores import Counts, NotComputed, ScoreFile
from conftest import Inline
from conftest_builders import hagrid
from conftest_plots import scored, trivial_files
from conftest_reports import report_text


def scores(system: str, *missing: tuple[str, str]) -> ScoreFile:
    counts = dict.fromkeys(Counts.model_fields, 0)
    return ScoreFile(
        system=system, submission=f"{system}.jsonl", submission_format="citeforge",
        submission_sha256="0" * 64, benchmark="b", benchmark_hash="1" * 64, protocol="strict",
        context="full", counts=Counts(**counts), query_ids=[], measures=[],
        not_computed=[NotComputed(name=n, reason=r) for n, r in missing], answers=[],
    )  # fmt: skip


def test_measures_with_one_reason_share_a_line() -> None:
    result = missing_lines([scores("a", ("M", "needs x"), ("N", "needs x"), ("O", "needs y"))])
    assert result == ["M, N: needs x", "O: needs y"]


def test_a_line_names_the_systems_unless_it_concerns_all() -> None:
    first = scores("a", ("M", "needs x"), ("N", "no query defines it"))
    second = scores("b", ("M", "needs x"))
    assert missing_lines([first, second]) == ["M: needs x", "N: no query defines it (a)"]
    assert missing_lines([]) == []


def test_a_measure_that_any_citation_satisfies_is_called_trivial() -> None:
    plain = scored("one", {"CiteP": [1.0, 1.0, 0.0], "CiteR": [0.5, 1.0, 0.0]})
    assert caution_lines([plain]) == []

    def shown(n_all_relevant: int) -> ScoreFile:
        counts = plain.counts.model_copy(update={"n_all_relevant": n_all_relevant})
        return plain.model_copy(update={"counts": counts})

    assert caution_lines([shown(2)]) == []  # one of three queries shows something else
    (line,) = caution_lines([shown(3), shown(3)])
    assert line.startswith("CiteP is trivial on x, mix: every passage shown is relevant")
    for ending in ("md", "latex", "html"):
        assert line in report_text([shown(3)], ending)
    text = render_scores([shown(3)])
    assert line in text
    assert "CiteP (trivial)" in text


def test_comparisons_mark_trivial_measures() -> None:
    result = describe_comparison(compare_many(trivial_files()))
    assert [(d.measure, d.is_trivial) for d in result.differences] == [
        ("CiteP", True), ("CiteR", False),
    ]  # fmt: skip
    (line,) = trivial_lines(trivial_files())
    assert result.cautions == [line]
    for ending in ("html", "md", "latex"):
        text = COMPARISONS[ending](result)
        assert text.count("CiteP (trivial)") == 1
        assert line in text
        assert "CiteR (trivial)" not in text
    rows = csv.DictReader(COMPARISONS["csv"](result).splitlines())
    assert [(r["measure"], r["trivial"]) for r in rows] == [("CiteP", "True"), ("CiteR", "False")]
    data = json.loads(COMPARISONS["json"](result))
    assert data["cautions"] == [line]
    assert [d["is_trivial"] for d in data["differences"]] == [True, False]
    assert describe_comparison(compare_many(trivial_files(), ["CiteR"])).cautions == []


def test_the_command_says_that_a_measure_is_trivial(inline: Inline, tmp_path: Path) -> None:
    for file in trivial_files():
        (tmp_path / f"{file.system}.json").write_text(file.model_dump_json())
    done = inline.ok("compare", "one.json", "two.json")
    (line,) = trivial_lines(trivial_files())
    assert line in " ".join(done.stdout.split())
    assert "CiteP (trivial)" in done.stdout
    assert line not in " ".join(
        inline("compare", "one.json", "two.json", "--measures", "CiteR").stdout.split()
    )


def test_tables_of_reports_mark_trivial_measures() -> None:
    files = trivial_files()
    rows = csv.DictReader(report_text(files, "csv").splitlines())
    assert {(r["measure"], r["trivial"]) for r in rows} == {("CiteP", "1"), ("CiteR", "0")}
    chosen = TableOptions(measures=("CiteR", "CiteP"), best="bold")
    rows = csv.DictReader(report_text(files, "csv", chosen).splitlines())
    assert {(r["measure"], r["trivial"]) for r in rows} == {("CiteP", "1"), ("CiteR", "0")}
    (line,) = trivial_lines(files)
    for ending in ("md", "latex"):
        text = report_text(files, ending, chosen)
        assert "CiteP (trivial)" in text
        assert line in text
        alone = report_text(files, ending, TableOptions(measures=("CiteR",)))
        assert "trivial" not in alone
    assert "| CiteP (trivial) ↑ |" in report_text(files, "md")
    assert [f["trivial"] for f in json.loads(report_text(files, "json"))] == [["CiteP"]] * 2


def test_a_column_that_is_trivial_in_one_context_set_alone_is_marked_there() -> None:
    one, two = trivial_files()
    other = two.model_copy(update={"context": "few", "counts": two.counts.model_copy()})
    other.counts.n_all_relevant = 1
    table = TableOptions(measures=("CiteP",), per_context=True)
    text = report_text([one, other], "md", table)
    assert text.startswith("| system | CiteP (trivial) (mix) | CiteP (few) |")
    rows = csv.DictReader(report_text([one, other], "csv", table).splitlines())
    assert [(r["context"], r["trivial"]) for r in rows] == [("mix", "1"), ("few", "0")]


def test_hagrid_shows_relevant_passages_alone(tmp_path: Path) -> None:
    manifest = hagrid(tmp_path / "h")
    answers = [{"query_id": q, "output": "One [1]."} for q in cf.load(tmp_path / "h").query_ids]
    scores = cf.score(answers, tmp_path / "h", ["CiteP"])
    assert scores.counts.n_all_relevant == scores.counts.n_queries == 5, manifest.counts
    assert scores["CiteP"].value == 100.0
    assert len(caution_lines([scores.file])) == 1
