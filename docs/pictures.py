"""Takes README's pictures again, of what `make quickstart` left in `out/`."""

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from click.testing import CliRunner
from playwright.sync_api import sync_playwright

from citeforge.cli.main import cli

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "out"
SUBMISSIONS = ("random", "smollm", "echo-relevant")
QUERY = "q21"


def citeforge(*args: object) -> None:
    """Run a command; what goes wrong is raised."""
    CliRunner().invoke(cli, [str(a) for a in args], catch_exceptions=False)


def pages(folder: Path) -> tuple[Path, Path]:
    """A site and a report of four systems."""
    benchmark, scores = OUT / "quickstart", folder / "scores"
    top = folder / "top-1.jsonl"
    citeforge("run", "top-1", "--benchmark", benchmark, "--out", top)
    files = [OUT / f"{name}.jsonl" for name in SUBMISSIONS]
    citeforge("score", *files, top, "--benchmark", benchmark, "--details", "--out", scores)
    site, report = folder / "site", folder / "report.html"
    citeforge("leaderboard", "build", "--benchmark", benchmark, "--scores", scores, "--out", site)
    citeforge("report", *sorted(scores.glob("*.json")), "--out", report)
    return site, report


def take(site: Path, report: Path, out: Path) -> None:
    """Photograph the ranking and an answer."""
    with sync_playwright() as driver:
        found = shutil.which("chromium") or shutil.which("chromium-browser")
        browser = driver.chromium.launch(executable_path=found, args=["--no-sandbox"])

        def shoot(page: Path, name: str, height: int, at: str = "", place: str = "body") -> None:
            shown: Any = browser.new_page(viewport={"width": 1100, "height": height})
            shown.goto(page.as_uri() + at)
            shown.wait_for_load_state("networkidle")
            box = shown.locator(place).first
            box.wait_for()
            shown.evaluate("e => e.scrollIntoView()", box.element_handle())
            shown.screenshot(path=out / f"{name}.png")

        shoot(site / "index.html", "ranking", 740)
        shoot(report, "answer", 640, f"#a=1&q={QUERY}", "#x-count")
        browser.close()


def main() -> None:
    """Write docs/img."""
    with TemporaryDirectory() as folder:
        take(*pages(Path(folder)), ROOT / "docs" / "img")


if __name__ == "__main__":
    main()
