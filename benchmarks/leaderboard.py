"""The leaderboard of 1,000 systems and 30 measures in headless Chromium: size, paint, sorting."""

import gzip
import shutil
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

_SORT = """() => {
  const buttons = [...document.querySelectorAll('th button')], times = [];
  for (let i = 0; i < 40; i++) {
    const button = document.querySelectorAll('th button')[i % buttons.length];
    const start = performance.now();
    button.click();
    document.body.offsetHeight;  // layout included
    times.push(performance.now() - start);
  }
  return times.sort((a, b) => a - b);
}"""


def main() -> None:
    """Print the figures."""
    from playwright.sync_api import sync_playwright

    from citeforge.builders.rage.build import build_rage
    from citeforge.engines.models.embed import EmbedderSettings
    from citeforge.engines.running.names import make_embedder
    from citeforge.evaluator.measures.registry import measures
    from citeforge.plugins.leaderboard.build import build_site
    from citeforge.schemas.recipes.base import RunOptions
    from citeforge.schemas.recipes.rage import RageRecipe
    from plugins.leaderboard.test_leaderboard import entry, scored

    with tempfile.TemporaryDirectory() as work:
        folder = Path(work) / "facts"
        config = RageRecipe(source="beir:examples/facts", embedder="offline")
        manifest = build_rage(
            config,
            RunOptions(out=folder),
            make_embedder("offline", EmbedderSettings(device="cpu")),
        )
        names, rng = list(measures())[:30], np.random.default_rng(1)
        queries = [f"q{i:02d}" for i in range(1, 31)]
        files = [
            scored(manifest.benchmark_hash, f"organisation/model-{i:04d}",
                   [entry(n, rng.random(30).tolist()) for n in names], queries)
            for i in range(1000)
        ]  # fmt: skip
        start = time.perf_counter()
        build_site(folder, files, Path(work) / "site")
        print(f"built in {time.perf_counter() - start:.1f} s")
        first = [Path(work) / "site" / n for n in ("index.html", "site.css", "ranking.js")]
        size = sum(len(gzip.compress(p.read_bytes())) for p in first)
        print(f"first page, compressed: {size / 1e3:.1f} kB")
        with sync_playwright() as driver:
            browser = driver.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox"]
            )
            paints = []
            for _ in range(5):
                page = browser.new_page()
                page.goto(first[0].as_uri())
                page.wait_for_selector("tbody tr")
                paints.append(
                    page.evaluate(
                        "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
                    )
                )
            times = page.evaluate(_SORT)
            browser.close()
        print(f"first contentful paint: {sorted(paints)[2]:.0f} ms (median of 5)")
        print(f"sort, layout included: median {times[20]:.1f} ms, worst of 40 {times[-1]:.1f} ms")


if __name__ == "__main__":
    main()
