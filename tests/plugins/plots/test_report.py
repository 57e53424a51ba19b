"""Pages of reports: nothing from outside runs, nothing is fetched, everything is there."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from citeforge.evaluator.reports.markup import script_json
from citeforge.schemas.scores import ScoreFile
from conftest_plots import page_text
from patience import patience


def test_the_page_refers_to_nothing_outside(files: list[ScoreFile]) -> None:
    page = page_text(files)
    without_data = re.sub(r'<script type="application/json".*?</script>', "", page, flags=re.DOTALL)
    allowed = {"http://www.w3.org/2000/svg"}
    assert set(re.findall(r"https?://[^\s\"'<>]+", without_data)) <= allowed
    assert not re.search(r"\b(fetch|XMLHttpRequest|import)\s*\(", without_data)
    assert not re.search(r"<(link|img|iframe|object)\b|\bsrc=", without_data)


def test_embedded_data_cannot_leave_its_element(files: list[ScoreFile]) -> None:
    assert "<" not in script_json([f.model_dump(mode="json") for f in files])
    assert json.loads(script_json({"a": "</script>&<!--"})) == {"a": "</script>&<!--"}
    assert page_text(files).count("<script") == 5  # data, index, chunks; two of ours


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
    page.write_text(page_text(files, title="Safe <title>"), encoding="utf-8")
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
    page.write_text(page_text(files), encoding="utf-8")
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


def test_unlike_signatures_are_pointed_out(files: list[ScoreFile]) -> None:
    other = files[1].model_copy(deep=True)
    for measure in other.measures:
        measure.signature = measure.signature.replace("ctx:mix", "ctx:hard")
    page = page_text([files[0], other])
    assert "ctx: mix / hard" in page
