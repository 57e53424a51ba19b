"""The site in headless Chromium: ranking, keyboard, phone, dark, accessibility, size."""

import csv
import gzip
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import citeforge as cf
from citeforge.evaluator.compare import load_scores
from citeforge.evaluator.withhold import withhold_scores
from citeforge.package.package import Package
from citeforge.plugins.leaderboard.build import build_site
from citeforge.plugins.leaderboard.views import slug
from citeforge.publishing.hidden import split_package
from citeforge.reports.pages.query_pages import text_differences
from citeforge.schemas.scores import About, Figures, MeasureScore, ScoreFile
from conftest import Inline, content, refused
from conftest_boards import entry, scored
from conftest_pages import expect, opened, serious_faults
from conftest_plots import answer


def test_ranking_sorting_and_pages(browser: Any, site: Path) -> None:
    page = opened(browser, site / "index.html")
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(50)
    expect(page.locator("#count")).to_have_text("Systems 1 to 50 of 150")
    ranks = [page.locator("tbody tr").nth(i).locator("td").nth(0).inner_text() for i in range(3)]
    assert ranks == ["1", "2", "3"]
    shown = [r.locator("td").nth(1).inner_text().split("–") for r in rows.all()]
    ends = [(int(words[0]), int(words[-1])) for words in shown]
    assert all(low <= place <= high for place, (low, high) in enumerate(ends, 1))
    assert ends[0][0] == 1
    assert ends[-1][0] > 3
    page.get_by_role("button", name="Later systems").click()
    expect(page.locator("tbody tr")).to_have_count(50)
    page.locator("#find").fill("system 14")
    expect(page.locator("tbody tr")).to_have_count(10)
    expect(page.get_by_role("button", name="Later systems")).to_be_hidden()
    page.locator("#find").fill("")
    expect(page.get_by_role("button", name="Later systems")).to_be_visible()
    # Another measure: its intervals and groups are loaded from the file beside the page.
    page.locator("#measure").select_option(label="CiteP")
    page.wait_for_selector("tbody tr td small:not(.phone)")
    values = [float(r.locator("td").nth(3).inner_text().split()[0]) for r in rows.all()[:20]]
    assert values == sorted(values, reverse=True)
    page.get_by_role("button", name="System", exact=True).click()
    expect(page.locator("th[aria-sort]")).to_contain_text("System")
    assert page.problems == []


def test_a_column_is_explained_to_pointer_and_keyboard(browser: Any, site: Path) -> None:
    page = opened(browser, site / "index.html")
    column = page.locator("thead").get_by_role("button", name="CiteP", exact=True)
    column.hover()
    expect(page.locator("#about")).to_contain_text("CiteP: ")
    expect(page.locator("#about")).to_contain_text("higher is better.")
    page.locator("thead").get_by_role("button", name="Distinct", exact=True).focus()
    expect(page.locator("#about")).to_contain_text("Distinct: ")
    expect(page.locator("#about")).to_contain_text("neither direction is better.")


def test_the_table_is_downloaded(browser: Any, site: Path) -> None:
    page = opened(browser, site / "index.html")
    page.locator("#find").fill("system 14")
    texts = {}
    for name in ("CSV", "JSON"):
        with page.expect_download() as download:
            page.get_by_role("button", name=f"Download {name}").click()
        assert download.value.suggested_filename == f"ranking.{name.lower()}"
        texts[name] = Path(download.value.path()).read_text(encoding="utf-8")
    rows = json.loads(texts["JSON"])
    assert sorted(r["system"] for r in rows) == [f"system {n}" for n in range(140, 150)]
    assert [r["CiteF1"] for r in rows] == sorted((r["CiteF1"] for r in rows), reverse=True)
    assert all(r["rank"] > 100 and r["control"] is False for r in rows)
    lines = list(csv.DictReader(io.StringIO(texts["CSV"])))
    assert [(r["system"], float(r["CiteP"])) for r in lines] == [
        (r["system"], r["CiteP"]) for r in rows
    ]
    page.locator("#find").fill("")
    fields = page.evaluate("""['=1+1', 'a "b", c', -1.5, null].map(field)""")
    assert fields == ["'=1+1", '"a ""b"", c"', "-1.5", ""]


def test_columns_can_be_picked(browser: Any, site: Path) -> None:
    page = opened(browser, site / "index.html")
    before = page.locator("thead th").count()
    page.locator("summary", has_text="Columns").click()
    page.get_by_role("checkbox", name="Distinct").uncheck()
    expect(page.locator("thead th")).to_have_count(before - 1)


def test_keyboard_alone(browser: Any, site: Path) -> None:
    """From the address bar to another order and to a system's recipe, without a mouse."""
    page = opened(browser, site / "index.html")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.closest('th') !== null"):
            break
    assert page.evaluate("document.activeElement.textContent") == "System"
    page.keyboard.press("Enter")
    expect(page.locator("th[aria-sort]")).to_contain_text("System")
    assert page.evaluate("document.activeElement.textContent") == "System"  # the focus stays
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline != "none"
    for _ in range(12):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.closest('td') !== null"):
            break
    page.keyboard.press("Enter")
    page.wait_for_url("**/systems/*.html*")


def test_every_number_leads_to_its_recipe(browser: Any, site: Path) -> None:
    page = opened(browser, site / "index.html")
    cell = page.locator("tbody tr").first.locator("td").nth(4).locator("a")
    number = cell.inner_text()
    cell.click()
    page.wait_for_url("**#m*")
    target = page.locator(":target")
    expect(target).to_contain_text(number)
    expect(target).to_contain_text("|p:strict|")
    page.locator("ul.found a").first.click()
    expect(page.locator("article.passage")).not_to_have_count(0)


def test_hostile_names_stay_text(browser: Any, site: Path) -> None:
    page = opened(browser, site / "index.html")
    link = page.get_by_role("link", name="onerror").first
    assert "<img" in link.inner_text()
    link.click()
    page.wait_for_url("**/systems/*.html")
    expect(page.locator("h1")).to_contain_text("onerror")
    assert page.title() != "owned"
    assert page.problems == []


def test_phone_and_dark(browser: Any, site: Path) -> None:
    for name in ("index.html", "queries.html", "queries/q09.html"):
        page = opened(
            browser, site / name, viewport={"width": 360, "height": 740}, color_scheme="dark"
        )
        width = page.evaluate("document.documentElement.scrollWidth")
        assert width <= 360, name  # tables scroll in their own box
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert background == "rgb(13, 17, 23)"


def test_wide_tables_say_that_they_scroll(browser: Any, site: Path) -> None:
    for name in ("index.html", f"systems/{next((site / 'systems').glob('*.html')).name}"):
        page = opened(browser, site / name, viewport={"width": 390, "height": 844})
        expect(page.locator(".scroll:visible").first).to_be_visible()
        frames = page.locator(".scroll:visible").all()
        for frame in frames:
            is_wide = frame.evaluate("f => f.scrollWidth > f.clientWidth")
            note = frame.locator("xpath=preceding-sibling::*[1]")
            assert note.evaluate("n => n.matches('.wide') && !n.hidden") == is_wide, name
        for table in page.locator("table").all():
            heads = table.locator("thead th").all_text_contents()
            assert len(heads) == len({*heads}), name


def test_no_serious_accessibility_fault(
    browser: Any, site: Path, other_sites: dict[str, Path]
) -> None:
    """axe-core on every page type."""
    system = next((site / "systems").glob("*.html"))
    pages = [site / "index.html", site / "queries.html", site / "queries" / "q09.html", system]
    pages += [next((s / "queries").glob("*.html")) for s in other_sites.values()]
    for path in pages:
        page = opened(browser, path)
        page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
        assert serious_faults(page) == [], path.name


def test_size_of_1000_systems_and_30_measures(package: Path, tmp_path: Path, browser: Any) -> None:
    from citeforge.evaluator.measures.registry import measures
    from citeforge.package.manifest import load_intact

    benchmark_hash = load_intact(package).benchmark_hash
    names = list(measures())[:30]
    rng = np.random.default_rng(1)
    queries = ["q01", "q02", "q03"]
    files = [
        scored(benchmark_hash, f"organisation/model-{i:04d}",
               [entry(n, rng.random(3).tolist()) for n in names], queries)
        for i in range(1000)
    ]  # fmt: skip
    build_site(package, files, tmp_path / "big")
    first = [tmp_path / "big" / n for n in ("index.html", "site.css", "ranking.js")]
    compressed = sum(len(gzip.compress(p.read_bytes())) for p in first)
    assert compressed <= 150_000
    page = opened(browser, tmp_path / "big" / "index.html")
    expect(page.locator("#count")).to_have_text("Systems 1 to 50 of 1000")
    assert page.problems == []


def test_differences_and_names() -> None:
    left, right = text_differences(
        "The old bridge opened in 1937.", "In 1937. the old bridge opened"
    )
    assert " ".join(p.text for p in left) == "The old bridge opened in 1937."
    assert " ".join(p.text for p in right) == "In 1937. the old bridge opened"
    assert any(p.change == "gone" for p in left)
    taken: set[str] = set()
    assert slug("../../etc/passwd", taken) == "etc-passwd"
    assert slug("etc/passwd", taken) == "etc-passwd-2"
    assert slug("名前", taken) == "page"


def test_the_command_and_its_refusals(package: Path, inline: Inline, tmp_path: Path) -> None:
    (tmp_path / "scores").mkdir()
    for system in ("random", "echo-relevant"):
        args = ("--benchmark", package, "--out")
        inline.ok("run", system, *args, f"{system}.jsonl")
        inline.ok("score", f"{system}.jsonl", *args, f"scores/{system}.json")
    build = ("leaderboard", "build", "--benchmark", package, "--scores", "scores")
    result = inline.ok(*build, "--out", "site")
    assert "2 controls, 30 queries" in result.stdout
    before = content(tmp_path / "site")
    inline.ok(*build, "--out", "site")  # equal inputs, equal bytes
    assert before == content(tmp_path / "site")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    inline.fails(1, "foreign-file", *build, "--out", "mine")
    assert (tmp_path / "mine" / "thesis.txt").exists()
    record = json.loads((tmp_path / "scores" / "random.json").read_text())
    record["benchmark_hash"] = "f" * 64
    (tmp_path / "scores" / "other.json").write_text(json.dumps(record))
    inline.fails(1, "wrong-benchmark", *build, "--out", "site")
    file = load_scores(tmp_path / "scores" / "random.json")
    with refused("duplicate-id", path="random.jsonl"):
        build_site(package, [file, file], tmp_path / "x")


def with_answers(file: ScoreFile, **about: Any) -> ScoreFile:
    """The same scores with answers of all queries, labels and gold, and a header's words."""
    result = [
        answer(q, [[0], [1]], 0).model_copy(update={"gold": ["SECRET gold"]})
        for q in file.query_ids
    ]
    return file.model_copy(update={"answers": result, "about": About(**about)})


def answering(benchmark_hash: str) -> list[ScoreFile]:
    """Scores of two systems with answers and what their headers say."""
    rng = np.random.default_rng(2)
    queries = [f"q{i:02d}" for i in range(1, 31)]
    return [
        with_answers(
            scored(benchmark_hash, name,
                   [entry(n, rng.random(30).tolist()) for n in ("CiteP", "CiteF1")], queries),
            organisation="<b>Org</b>", model="m-8B", cost=1.5 + i, url="https://x.example/y",
        )
        for i, name in enumerate(["organisation/a-rather-long-name-of-a-system-with-options", "b"])
    ]  # fmt: skip


@pytest.fixture(scope="module")
def answers(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site with a page of answers."""
    out = tmp_path_factory.mktemp("answers") / "site"
    build_site(package, answering(Package(package).hash), out)
    return out


def published(measure: MeasureScore) -> MeasureScore:
    """A measure with figures in whole points, as if they had noise."""
    value, low, high = (round(x or 0) for x in (measure.value, measure.low, measure.high))
    figures = Figures(value=value, low=low, high=high, interval="widest", noise=4.6)
    return measure.model_copy(update={"published": figures})


@pytest.fixture(scope="module")
def hidden(hidden_package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site of a benchmark whose labels are hidden, of scores made with them."""
    root = tmp_path_factory.mktemp("hidden")
    _, whole = split_package(hidden_package, root / "public", root / "gold")
    files = [
        withhold_scores(
            f.model_copy(update={"gold": "private", "measures": [*map(published, f.measures)]})
        )
        for f in answering(whole.benchmark_hash)
    ]
    build_site(root / "public", files, root / "site", gold=root / "gold")
    with refused("wrong-benchmark"):
        build_site(root / "public", files, root / "other")
    with refused("hidden-gold", path=root / "public"):
        build_site(root / "public", files, root / "other", gold=root / "public")
    return root / "site"


def test_no_page_shows_a_hidden_label(hidden: Path) -> None:
    files = [p for p in hidden.rglob("*") if p.is_file()]
    assert len(files) > 35
    assert not (hidden / "answers.html").exists()
    for path in files:
        text = path.read_text()
        assert "SECRET" not in text, path
        assert '"relevant"' not in text, path
        assert 'class="tag">relevant' not in text, path


def test_a_site_of_hidden_labels_says_so(hidden: Path, browser: Any) -> None:
    page = opened(browser, hidden / "index.html")
    expect(page.locator("tbody tr")).to_have_count(2)
    expect(page.get_by_role("link", name="Answers")).to_have_count(0)
    assert page.locator("thead th").all_inner_texts()[:2] == ["Rank", "System"]  # none tested
    noise = page.get_by_text("The gold is hidden: values are in whole points")
    table = page.locator("#table")
    assert noise.bounding_box()["y"] < table.bounding_box()["y"]
    assert page.problems == []


def test_what_submissions_say_and_a_phone(hidden: Path, browser: Any) -> None:
    page = opened(browser, hidden / "index.html", viewport={"width": 390, "height": 844})
    heads = page.locator("thead th").all_inner_texts()
    assert heads[-3:] == ["organisation", "model", "cost"]
    assert "<b>Org</b>" in page.locator("tbody tr").first.inner_text()
    # Rank, system and the ranking score are seen without scrolling.
    for place in (0, 1, 2):
        box = page.locator("tbody tr").first.locator("td").nth(place).bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390, place
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.get_by_label("Find").fill("m-8b")
    expect(page.locator("tbody tr")).to_have_count(2)
    page.locator("tbody tr a").first.click()
    page.wait_for_url("**/systems/*.html*")
    expect(page.locator("dl.about a")).to_have_attribute("href", "https://x.example/y")
    assert page.problems == []


def test_the_page_of_answers_is_accessible(answers: Path, browser: Any) -> None:
    page = opened(browser, answers / "answers.html", viewport={"width": 390, "height": 844})
    page.wait_for_selector(".x-row")
    page.locator(".x-row").first.click()
    page.wait_for_selector("#x-detail .passage")
    assert serious_faults(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_header_comes_along(package: Path, inline: Inline, tmp_path: Path) -> None:
    header = {"submission": {"system": "s", "organisation": "O", "parameters": 8, "cost": 2.5}}
    lines = [header, {"query_id": "q01", "output": "It is [1]."}]
    (tmp_path / "s.jsonl").write_text("".join(json.dumps(x) + "\n" for x in lines))
    there = ("--benchmark", package)
    inline.ok("score", "s.jsonl", *there, "--out", "s.json")
    about = load_scores(tmp_path / "s.json").about
    assert about == About(organisation="O", parameters="8", cost=2.5)
    header["submission"]["cost"] = "much"
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(x) + "\n" for x in lines))
    result = inline.fails(1, "wrong-type", "score", "t.jsonl", *there)
    assert isinstance(result.error, cf.InputError) and result.error.field == "cost"
