"""Reports as tables, and the command that writes any."""

import csv
import io
import json
from pathlib import Path

import citeforge as cf
from citeforge.evaluator.report import TABLES
from citeforge.schemas.scores import ScoreFile
from conftest import Inline, refused


def test_tables_for_papers(files: list[ScoreFile]) -> None:
    markdown = TABLES["md"](files, ())
    assert markdown.startswith("| system | CiteP ↑ |")
    assert "| echo-relevant (reference) | 100.00 [88.65, 100.00] |" in markdown
    assert "- `CiteP|p:strict|gram:1,strict2|ctx:mix|bench:facts@" in markdown
    latex = TABLES["latex"](files, ())
    assert r"\begin{tabular}{lrr" in latex
    assert r"\textless{}b\textgreater{}evil\textless{}/b\textgreater{} &" in latex
    rows = list(csv.DictReader(io.StringIO(TABLES["csv"](files, ()))))
    assert {r["system"] for r in rows} == {"<b>evil</b>", "echo-relevant (reference)"}
    assert all(r["signature"] for r in rows)
    assert [f["system"] for f in json.loads(TABLES["json"](files, ()))] == [
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
    with refused("unknown-name", what="format", value="docx"):
        cf.report([tmp_path / "echo.json"], kind="docx")
