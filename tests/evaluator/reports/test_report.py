"""Reports: nothing from outside runs, nothing is fetched, everything is there."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from citeforge.evaluator.reports.markup import script_json
from citeforge.evaluator.reports.report import RENDERERS, render_html
from citeforge.evaluator.statistics.compare import load_scores
from citeforge.schemas.scores import ScoreFile
from conftest import Cli, write_jsonl
from patience import patience
from servers import zygote

HOSTILE = [
    "<script>document.title = 'owned'</script> [1].",
    "</script><script>document.title = 'owned'</script> [1].",
    "<img src=x onerror=\"document.title='owned'\"> [1][9].",
    "{{ 7 * 7 }} & \u2028 \\u003c <!-- [2].",
]


@pytest.fixture(scope="module")
def scored(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A hostile system and a plain one, with scores and answers."""
    folder = tmp_path_factory.mktemp("scored")
    rows = [
        {"submission": {"system": "<b>evil</b>"}},
        *(
            {"query_id": f"q{i + 1:02d}", "output": f"{HOSTILE[i % 4]} And so on."}
            for i in range(29)
        ),
    ]
    write_jsonl(folder / "evil.jsonl", rows)  # type: ignore[arg-type]
    there = ["--benchmark", str(package)]
    how = ["--judge", "lexical", "--measures", "rage,ALCE.CitRec,ALCE.CitPrec", "--details"]
    for words in (
        ["run", "echo-relevant", *there, "--out", "echo.jsonl"],
        *(["score", f"{s}.jsonl", *there, *how, "--out", f"{s}.json"] for s in ("evil", "echo")),
    ):
        result = zygote.run(words, folder, {**os.environ, "HF_HOME": str(folder / "hf")}, 0)
        assert result.returncode == 0, result.stderr
    return folder


@pytest.fixture
def files(scored: Path, tmp_path: Path) -> list[ScoreFile]:
    """Read anew for each test, beside a copy of the files."""
    shutil.copytree(scored, tmp_path, dirs_exist_ok=True)
    return [load_scores(tmp_path / f"{name}.json") for name in ("evil", "echo")]


def test_the_page_refers_to_nothing_outside(files: list[ScoreFile]) -> None:
    page = render_html(files)
    without_data = re.sub(r'<script type="application/json".*?</script>', "", page, flags=re.DOTALL)
    allowed = {"http://www.w3.org/2000/svg"}
    assert set(re.findall(r"https?://[^\s\"'<>]+", without_data)) <= allowed
    assert not re.search(r"\b(fetch|XMLHttpRequest|import)\s*\(", without_data)
    assert not re.search(r"<(link|img|iframe|object)\b|\bsrc=", without_data)


def test_embedded_data_cannot_leave_its_element(files: list[ScoreFile]) -> None:
    assert "<" not in script_json([f.model_dump(mode="json") for f in files])
    assert json.loads(script_json({"a": "</script>&<!--"})) == {"a": "</script>&<!--"}
    assert render_html(files).count("<script") == 5  # data, index, chunks; two of ours


def browser() -> str:
    """Headless Chromium, or skip; CI insists on it."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        if os.environ.get("CITEFORGE_REQUIRE_BROWSER"):
            pytest.fail("CITEFORGE_REQUIRE_BROWSER is set and there is no chromium")
        pytest.skip("no chromium on this machine")
    return found


def open_page(page: Path, profile: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    command = [
        *(browser(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic"),
        *("--no-first-run", "--disable-background-networking", "--disable-component-update"),
        *("--disable-sync", f"--user-data-dir={profile}", "--enable-logging=stderr", "--v=0"),
        *(*flags, page.as_uri()),
    ]
    return subprocess.run(command, capture_output=True, text=True, timeout=patience(120))


def test_hostile_text_is_shown_and_never_run(files: list[ScoreFile], tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    page.write_text(render_html(files, title="Safe <title>"), encoding="utf-8")
    result = open_page(page, tmp_path / "profile", "--dump-dom")
    dom = result.stdout
    assert "<title>Safe &lt;title&gt;</title>" in dom
    assert "owned</title>" not in dom
    assert "&lt;b&gt;evil&lt;/b&gt;" in dom
    for heading in ("Scores", "Where systems fail", "Signatures"):
        assert f"<h2>{heading}</h2>" in dom
    assert dom.count('class="plot"') > 6
    assert 'class="x-row"' in dom
    assert "CONSOLE" not in result.stderr, result.stderr


def test_the_page_draws_at_phone_width_and_in_the_dark(
    files: list[ScoreFile], tmp_path: Path
) -> None:
    page = tmp_path / "report.html"
    page.write_text(render_html(files), encoding="utf-8")
    sizes = set()
    for name, flags in (
        ("wide", ("--window-size=1200,1600",)),
        ("phone", ("--window-size=500,1600",)),
        ("dark", ("--window-size=1200,1600", "--blink-settings=preferredColorScheme=0")),
    ):
        shot = tmp_path / f"{name}.png"
        open_page(page, tmp_path / f"profile-{name}", f"--screenshot={shot}", *flags)
        assert shot.read_bytes().startswith(b"\x89PNG")
        sizes.add(shot.stat().st_size)
    assert len(sizes) == 3


def test_tables_for_papers(files: list[ScoreFile]) -> None:
    markdown = RENDERERS["md"](files, None)
    assert markdown.startswith("| system | CiteP |")
    assert "| echo-relevant (reference) | 100.00 [88.65, 100.00] |" in markdown
    assert "- `CiteP|p:strict|gram:1,strict2|ctx:mix|bench:facts@" in markdown
    latex = RENDERERS["latex"](files, None)
    assert r"\begin{tabular}{lrr" in latex
    assert r"\textless{}b\textgreater{}evil\textless{}/b\textgreater{} &" in latex
    rows = list(csv.DictReader(io.StringIO(RENDERERS["csv"](files, None))))
    assert {r["system"] for r in rows} == {"<b>evil</b>", "echo-relevant (reference)"}
    assert all(r["signature"] for r in rows)
    assert [f["system"] for f in json.loads(RENDERERS["json"](files, None))] == [
        "<b>evil</b>",
        "echo-relevant",
    ]


def test_unlike_signatures_are_pointed_out(files: list[ScoreFile]) -> None:
    other = files[1].model_copy(deep=True)
    for measure in other.measures:
        measure.signature = measure.signature.replace("ctx:mix", "ctx:hard")
    page = render_html([files[0], other])
    assert "ctx: mix / hard" in page


def test_the_command(cli: Cli, files: list[ScoreFile], tmp_path: Path) -> None:
    result = cli("report", "evil.json", "echo.json", "--out", "report.html")
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "report.html").read_text().startswith("<!doctype html>")
    assert cli("report", "echo.json").stdout.startswith("| system |")
    assert cli("report", "evil.jsonl").returncode == 1
    for ending, start in (("svg", b"<svg "), ("png", b"\x89PNG"), ("pdf", b"%PDF-")):
        plot = ("report", "echo.json", "--out", f"p.{ending}")
        assert cli(*plot, "--plot", "distribution").returncode == 0
        assert (tmp_path / f"p.{ending}").read_bytes().startswith(start)
    for words in (
        ("--out", "p.docx"), ("--out", "p.svg", "--plot", "pie"), ("--format", "png"),
        ("--out", "p.md", "--plot", "cost"), ("--out", "p.svg", "--measure", "CiteZ"),
    ):  # fmt: skip
        assert cli("report", "echo.json", *words).returncode == 2, words
