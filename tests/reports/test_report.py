"""Reports as tables, and the command that writes any."""

import csv
import io
import json
from pathlib import Path

import citeforge as cf
from citeforge.evaluator.compare import compare_many
from citeforge.reports.comparison import describe_comparison
from citeforge.reports.notes import limit_lines, scored_text
from citeforge.reports.pages.formats import render_table
from citeforge.schemas.scores import ScoreFile, Source, Variance
from conftest import Inline, refused
from conftest_plots import many, page_text


def test_tables_for_papers(files: list[ScoreFile]) -> None:
    markdown = render_table("md", files, ())
    assert markdown.startswith("| system | CiteP ↑ |")
    assert "| echo-relevant (control) | 100.00 [88.65, 100.00] |" in markdown
    assert "- `CiteP|p:strict|gram:1,strict3|ctx:mix|bench:facts@" in markdown
    latex = render_table("latex", files, ())
    assert r"\begin{tabular}{lrr" in latex
    assert r"\textless{}b\textgreater{}evil\textless{}/b\textgreater{} &" in latex
    rows = list(csv.DictReader(io.StringIO(render_table("csv", files, ()))))
    assert {r["system"] for r in rows} == {"<b>evil</b>", "echo-relevant (control)"}
    assert all(r["signature"] for r in rows)
    assert [f["system"] for f in json.loads(render_table("json", files, ()))] == [
        "<b>evil</b>",
        "echo-relevant",
    ]


def test_the_command(inline: Inline, files: list[ScoreFile], tmp_path: Path) -> None:
    inline.ok("report", "evil.json", "echo.json", "--out", "report.html")
    assert (tmp_path / "report.html").read_text().startswith("<!doctype html>")
    assert inline("report", "echo.json").stdout.startswith("| system |")
    assert inline("report", "evil.jsonl").returncode == 1
    for ending, start in (("svg", b"<svg "), ("png", b"\x89PNG"), ("pdf", b"%PDF-")):
        plot = ("report", "echo.json", "--out", f"p.{ending}")
        inline.ok(*plot, "--plot", "distribution")
        assert (tmp_path / f"p.{ending}").read_bytes().startswith(start)
    for code, *words in (
        ("bad-option", "--out", "p.docx"),
        ("unknown-name", "--out", "p.svg", "--plot", "pie"),
        ("missing-option", "--format", "png"),
        ("option-without-effect", "--out", "p.md", "--title", "T"),
        ("unknown-name", "--out", "p.svg", "--measure", "CiteZ"),
    ):
        inline.fails(2, code, "report", "echo.json", *words)
    assert inline("report", "echo.json", "--out", "p.md", "--plot", "cost").returncode == 2
    with refused("unknown-name", noun="format", value="docx"):
        cf.report([tmp_path / "echo.json"], kind="docx")


def run_again(system: str, submission: str, runs: int) -> ScoreFile:
    """Scores of a submission with several runs."""
    file = many(2)[1]
    levels: dict[Source, int] = {"queries": 40, "runs": runs, "judges": 1, "repeats": 1}
    for measure in file.measures:
        measure.variance = Variance(levels=levels, components={}, shares={}) if runs > 1 else None
    update = {"system": system, "submission": submission, "submission_sha256": submission * 8}
    return file.model_copy(update=update)


def test_submissions_of_one_name_are_counted_as_such() -> None:
    two = [run_again("prod", "v1.jsonl", 1), run_again("prod", "v2.jsonl", 1)]
    assert scored_text(two) == "2 submissions"
    assert scored_text(two[:1]) == "1 system"
    # The same answers in two contexts, by two protocols or two judges are of one system.
    for field, value in (
        ("context", "hard"),
        ("protocol", "reference"),
        ("benchmark_hash", "2" * 64),
    ):
        assert scored_text([two[0], two[0].model_copy(update={field: value})]) == "1 system"
    assert scored_text([two[0], two[0]]) == "1 system"
    assert scored_text([*two, run_again("other", "v3.jsonl", 1)]) == "3 submissions"


def test_what_holds_for_these_runs_only_is_in_every_report() -> None:
    names = ("v1.jsonl", "v2.jsonl", "once.jsonl")
    files = [run_again("prod", name, 1 if name.startswith("once") else 3) for name in names]
    page = page_text(files)
    assert "3 submissions on x, context mix" in page
    shown = [page, render_table("md", files, ()), render_table("latex", files, ())]
    for text in shown:
        assert "ranks and detectable differences hold for these runs and verdicts only" in text
        assert "prod · once.jsonl: one run, judged once" in text
    assert any(
        "hold for these runs" in line for line in describe_comparison(compare_many(files)).cautions
    )
    assert not any("these runs" in line for line in limit_lines(files[:1]))
    assert not any("these runs" in line for line in limit_lines(files[2:] * 2))
