"""Reports as tables, and the command that writes any."""

import csv
import io
import json
from pathlib import Path

from citeforge.evaluator.reports.report import TABLES
from citeforge.schemas.scores import ScoreFile
from conftest import Inline


def test_tables_for_papers(files: list[ScoreFile]) -> None:
    markdown = TABLES["md"](files, ())
    assert markdown.startswith("| system | CiteP |")
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
    result = inline("report", "evil.json", "echo.json", "--out", "report.html")
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "report.html").read_text().startswith("<!doctype html>")
    assert inline("report", "echo.json").stdout.startswith("| system |")
    assert inline("report", "evil.jsonl").returncode == 1
    for ending, start in (("svg", b"<svg "), ("png", b"\x89PNG"), ("pdf", b"%PDF-")):
        plot = ("report", "echo.json", "--out", f"p.{ending}")
        assert inline(*plot, "--plot", "distribution").returncode == 0
        assert (tmp_path / f"p.{ending}").read_bytes().startswith(start)
    for words in (
        ("--out", "p.docx"), ("--out", "p.svg", "--plot", "pie"), ("--format", "png"),
        ("--out", "p.md", "--plot", "cost"), ("--out", "p.svg", "--measure", "CiteZ"),
    ):  # fmt: skip
        assert inline("report", "echo.json", *words).returncode == 2, words
