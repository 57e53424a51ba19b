"""Pages in headless Chromium: what they ask for, what goes wrong in them, axe-core."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from patience import patience

ROOT = Path(__file__).resolve().parent.parent


def required(what: str) -> None:
    """Skip without a tool, except where CI insists on it."""
    if os.environ.get("CITEFORGE_REQUIRE_BROWSER"):
        pytest.fail(f"CITEFORGE_REQUIRE_BROWSER is set and there is no {what}")
    pytest.skip(f"no {what} on this machine")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    result = shutil.which("chromium") or shutil.which("chromium-browser")
    if result is None:
        required("chromium")
    flags = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
             "--disable-background-networking", "--disable-component-update",
             "--disable-sync"]  # fmt: skip
    with sync_playwright() as driver:
        launched = driver.chromium.launch(
            executable_path=result, args=flags, timeout=1000 * patience(180)
        )
        yield launched
        launched.close()


@pytest.fixture
def browser(chromium: Any) -> Iterator[Any]:
    """Chromium, whose pages are closed when a test ends."""
    yield chromium
    for context in chromium.contexts:
        context.close()


def expect(what: Any) -> Any:
    """Playwright's assertions on a page or an element, which wait until they hold.

    What a script changes is read by these: a look right after a click may see what stood there
    before, on a busy machine.
    """
    from playwright.sync_api import expect as found

    found.set_options(timeout=1000 * patience(30))
    return found(what)


def opened(browser: Any, page: Path, **options: Any) -> Any:
    """A page with every error and outside request noted."""
    context = browser.new_context(**options)
    context.set_default_timeout(1000 * patience(30))
    result = context.new_page()
    result.problems = []
    result.on("pageerror", lambda e: result.problems.append(f"error: {e}"))
    result.on("console", lambda m: m.type == "error" and result.problems.append(m.text))
    result.on(
        "request",
        lambda r: (
            r.url.startswith(("file:", "data:", "blob:")) or result.problems.append(f"asks {r.url}")
        ),
    )
    result.goto(page.as_uri())
    return result


_SETTLED = """async () => {
  for (let i = 0; i < 2; i++) await new Promise(requestAnimationFrame);
  const moving = document.getAnimations().filter(a => a instanceof CSSTransition);
  await Promise.allSettled(moving.map(a => a.finished));
}"""
"""Waits until colours have changed: a page may fade from one scheme to the other."""


def serious_faults(page: Any) -> list[tuple[str, str]]:
    """Serious and critical findings of axe-core in light and in dark colours, with their places.

    All rules run on the light page, and those about colours on the dark one; it stays dark.
    """
    folder = os.environ.get("CITEFORGE_AXE", str(ROOT / "build" / "axe"))
    script = Path(folder) / "node_modules" / "axe-core" / "axe.min.js"
    if not script.is_file():
        required("axe-core (npm install --prefix build/axe axe-core)")
    page.evaluate(script.read_text())
    found = []
    of_colours = {"runOnly": ["color-contrast", "link-in-text-block"]}
    for scheme, rules in (("light", {}), ("dark", of_colours)):
        page.emulate_media(color_scheme=scheme)
        page.evaluate(_SETTLED)
        options = {"resultTypes": ["violations"], **rules}
        result = page.evaluate("options => axe.run(options)", options)
        assert result["passes"]  # one element of each; all of those at fault
        found += [
            (f"{scheme}: {v['id']}", v["nodes"][0]["html"][:200])
            for v in result["violations"]
            if v["impact"] in ("serious", "critical")
        ]
    return found
