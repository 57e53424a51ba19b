"""The list of a site's queries in headless Chromium."""

import json
from pathlib import Path
from typing import Any

from conftest_pages import expect, opened


def test_all_queries_are_listed_page_by_page(browser: Any, tmp_path: Path) -> None:
    from citeforge.plugins.leaderboard.pages import TEMPLATES

    rows = [[f"q-{i}", f"q{i}", f"Query {i}"] for i in range(230)]
    script = (TEMPLATES / "viewer.js").read_text()
    body = "".join(f"<button id={i}>{i}</button>" for i in ("back", "next"))
    (tmp_path / "x.html").write_text(
        f"<input id=find><p id=count></p><ul id=found></ul>{body}"
        f"<script type=application/json id=data>{json.dumps(rows)}</script>"
        f"<script>{script}</script>"
    )
    page = opened(browser, tmp_path / "x.html")
    page.locator("#next").click()
    page.locator("#next").click()
    expect(page.locator("#count")).to_have_text("230 of 230 queries, 201 to 230 shown")
    expect(page.locator("#found li")).to_have_count(30)
    expect(page.locator("#next")).to_be_disabled()
    page.locator("#find").fill("Query 1")
    expect(page.locator("#next")).to_be_visible()
    page.locator("#find").fill("Query 229")
    expect(page.locator("#next")).to_be_hidden()
