"""Pages of reports: nothing from outside runs, nothing is fetched, everything is there."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from citeforge.evaluator.compare import load_scores
from citeforge.reports.pages.markup import script_json
from citeforge.schemas.scores import ScoreFile
from conftest_pages import expect, opened
from conftest_plots import page_text


@pytest.fixture(scope="module")
def page(scored: Path) -> str:
    return page_text([load_scores(scored / f"{name}.json") for name in ("evil", "echo")])


def test_the_page_refers_to_nothing_outside(page: str) -> None:
    without_data = re.sub(r'<script type="application/json".*?</script>', "", page, flags=re.DOTALL)
    allowed = {"http://www.w3.org/2000/svg"}
    assert set(re.findall(r"https?://[^\s\"'<>]+", without_data)) <= allowed
    assert not re.search(r"\b(fetch|XMLHttpRequest|import)\s*\(", without_data)
    assert not re.search(r"<(link|img|iframe|object)\b|\bsrc=", without_data)


def test_embedded_data_cannot_leave_its_element(files: list[ScoreFile], page: str) -> None:
    assert "<" not in script_json([f.model_dump(mode="json") for f in files])
    assert json.loads(script_json({"a": "</script>&<!--"})) == {"a": "</script>&<!--"}
    assert page.count("<script") == 6  # data, index, chunks; three of ours


def test_hostile_text_is_shown_and_never_run(
    browser: Any, files: list[ScoreFile], tmp_path: Path
) -> None:
    path = tmp_path / "report.html"
    path.write_text(page_text(files, title="Safe <title>"), encoding="utf-8")
    page = opened(browser, path)
    assert page.title() == "Safe <title>"
    assert page.get_by_text("<b>evil</b>").count()
    for heading in ("Scores", "Where systems fail", "Signatures"):
        expect(page.get_by_role("heading", name=heading, exact=True)).to_have_count(1)
    assert page.locator(".plot").count() > 6
    assert page.locator(".x-row").count()
    assert page.problems == []


def test_unlike_signatures_are_pointed_out(files: list[ScoreFile]) -> None:
    other = files[1].model_copy(deep=True)
    for measure in other.measures:
        measure.signature = measure.signature.replace("ctx:mix", "ctx:hard")
    page = page_text([files[0], other])
    assert "ctx: mix / hard" in page
