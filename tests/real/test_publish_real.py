"""The whole path on HAGRID without a network, from the build to the leaderboard."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import Cli, real_data
from conftest_pages import expect
from patience import patience
from servers.hub import hub_server

pytestmark = pytest.mark.slow

REPO = "org/hagrid-gold"


def test_from_hagrid_to_a_leaderboard(cli: Cli, tmp_path: Path) -> None:
    data = real_data()
    for args in (
        ("build", "hagrid", "--source", f"hagrid:{data / 'hagrid' / 'dev.jsonl'}", "--out", "h"),
        ("audit", "h"),
        ("export", "card", "h"),
        ("verify", "h"),
    ):
        result = cli(*args)
        assert result.returncode == 0, (args, result.stderr)
    card = (tmp_path / "h" / "README.md").read_text()
    assert "cc-by-sa-3.0" in card
    assert "| long-passage |" in card or "| found | rows |" in card
    with hub_server() as hub:
        env = {
            "HF_ENDPOINT": hub.url, "HF_TOKEN": hub.token, "HF_HUB_OFFLINE": "0",
            "HF_HUB_DISABLE_XET": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1",
            "HF_DATASETS_OFFLINE": "0",
        }  # fmt: skip
        result = cli("publish", "h", "--repo-id", REPO, **env)
        assert result.returncode == 0, result.stderr
        assert hub.repos[REPO].history() == ["h 1.0.0", "initial commit"]
        script = (
            "import datasets\n"
            f"g = datasets.load_dataset({REPO!r}, 'gold')['gold']\n"
            f"q = datasets.load_dataset({REPO!r}, 'queries')['queries']\n"
            "print(g.num_rows, q.num_rows)\n"
        )
        result = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True,
            env={**os.environ, **env, "HF_HOME": str(tmp_path / "fresh")},
        )  # fmt: skip
        assert result.returncode == 0, result.stderr
        assert result.stdout.split() == ["1318", "716"]  # Table 1 of the HAGRID paper
        (tmp_path / "scores").mkdir()
        for name in ("zephyr_G", "zephyr_RTG_vanilla"):
            result = cli(
                *("score", data / "attributed_ir" / f"{name}.jsonl", "--format", "attributed-ir"),
                *("--benchmark", f"hub:{REPO}@v1.0.0", "--judge", "lexical", "--no-details"),
                *("--measures", "ALCE.CitRec,ALCE.CitPrec,ALCE.CitF1,BLEU,ROUGE-Lsum.F"),
                *("--out", f"scores/{name}.json"),
                **env,
            )
            assert result.returncode == 0, result.stderr
        result = cli(
            *("leaderboard", "build", "--benchmark", f"hub:{REPO}@v1.0.0", "--scores", "scores"),
            *("--out", "site"),
            **env,
        )
        assert result.returncode == 0, result.stderr
    chromium = shutil.which("chromium")
    if chromium is None:
        if os.environ.get("CITEFORGE_REQUIRE_BROWSER"):
            pytest.fail("CITEFORGE_REQUIRE_BROWSER is set and there is no chromium")
        return
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        page.set_default_timeout(1000 * patience(30))
        page.goto((tmp_path / "site" / "index.html").as_uri())
        # The one was shown passages and the other was not: they never stand in one table.
        views = page.locator("#view option").all_inner_texts()
        assert len(views) == 2
        names = []
        for title in views:
            page.locator("#view").select_option(label=title)
            names += page.locator("tbody tr td.left a").all_inner_texts()
        assert sorted(names) == ["zephyr_G", "zephyr_RTG_vanilla"]
        page.locator("tbody td a").first.click()
        page.locator("ul.found a").first.click()
        expect(page.locator("article.passage")).not_to_have_count(0)
        browser.close()
