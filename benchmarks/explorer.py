"""The answers of 2 systems to 10,000 queries in headless Chromium: first page, brush to list."""

import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

_N = 10_000


def main() -> None:
    """Print the figures."""
    from playwright.sync_api import sync_playwright

    from citeforge.reports.pages.page import page_report
    from conftest_plots import answer, scored

    rng = np.random.default_rng(1)
    files = [
        scored(name, {m: rng.random(_N).tolist() for m in ("CiteP", "CiteR", "CiteF1@query")},
               [answer(f"q{i}", [[i % 5], [(i + 1) % 5], []], i % 5) for i in range(_N)])
        for name in ("one", "other")
    ]  # fmt: skip
    with tempfile.TemporaryDirectory() as work:
        out = Path(work) / "report.html"
        start = time.perf_counter()
        content, n = page_report(files, None, out)
        out.write_bytes(content)
        print(f"written in {time.perf_counter() - start:.1f} s, {n} chunks")
        print(f"first page: {out.stat().st_size / 1e3:.0f} kB")
        with sync_playwright() as driver:
            browser = driver.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox"]
            )
            page = browser.new_page(viewport={"width": 1200, "height": 1400})
            page.goto(f"{out.as_uri()}#a=0&b=1&m=CiteP&o=difference")
            page.wait_for_selector(".x-row")
            canvas = page.locator("#x-scatter")
            canvas.scroll_into_view_if_needed()
            box = canvas.bounding_box()
            assert box is not None
            page.evaluate("performance.clearMeasures()")
            page.mouse.move(box["x"] + 20, box["y"] + 20)
            page.mouse.down()
            for step in range(40):
                page.mouse.move(box["x"] + 30 + 7 * step, box["y"] + 30 + 7 * step)
                page.wait_for_timeout(30)
            page.mouse.up()
            times = page.evaluate(
                "performance.getEntriesByName('citeforge-list').map(e => e.duration)"
            )
            browser.close()
    print(
        f"brush to list, scatter drawn again: median {statistics.median(times):.1f} ms, "
        f"worst of {len(times)} {max(times):.1f} ms"
    )


if __name__ == "__main__":
    main()
