"""The pages of queries: passages by label, twins, sub-graphs, scores."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa

import citeforge as cf
from citeforge.package.package import Package
from citeforge.plugins.leaderboard.pages import TEMPLATES, environment
from citeforge.plugins.leaderboard.views import make_views
from citeforge.reports.pages.query_pages import query_pages
from conftest import EXAMPLES
from conftest_pages import expect, opened
from conftest_plots import answer, scored


def test_viewer(browser: Any, site: Path, other_sites: dict[str, Path]) -> None:
    page = opened(browser, site / "queries.html")
    expect(page.locator("#found li")).to_have_count(30)
    page.locator("#find").fill("CASPIAN sea")
    expect(page.locator("#count")).to_have_text("1 of 30 queries")
    page.locator("#found a").click()
    page.wait_for_url("**/queries/*.html")
    kinds = {a.get_attribute("class") for a in page.locator("article.passage").all()}
    assert kinds == {
        "passage relevant", "passage irrelevant", "passage seemingly-relevant",
    }  # fmt: skip
    assert "cosine" in page.locator("article.seemingly-relevant").first.inner_text()
    colours = {
        page.evaluate(f"getComputedStyle(document.querySelector('.{k}')).backgroundColor")
        for k in ("relevant", "irrelevant", "seemingly-relevant")
    }
    assert len(colours) == 3
    twins = opened(browser, next((other_sites["twins"] / "queries").glob("*.html")))
    twins.locator("summary").first.click()
    expect(twins.locator("del").first).to_be_visible()
    expect(twins.locator("ins").first).to_be_visible()
    kalma = opened(browser, next((other_sites["kalma"] / "queries").glob("*.html")))
    assert kalma.locator("svg line.gold").count() >= 1
    assert kalma.locator("svg circle").count() > 5
    assert kalma.locator("p", has_text="Removed:").count() == 1
    for result in (page, twins, kalma):
        assert result.problems == []


def test_all_queries_are_listed_page_by_page(browser: Any, tmp_path: Path) -> None:
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


def test_a_graph_is_read_on_a_phone(browser: Any, other_sites: dict[str, Path]) -> None:
    """No label is small or cut, and all of the drawing is there as on a wide screen."""
    path = next((other_sites["kalma"] / "queries").glob("*.html"))
    wide = opened(browser, path)
    expect(wide.locator("svg.star").first).to_be_visible()
    expect(wide.locator(".tree").first).to_be_hidden()
    spokes = wide.locator("svg.star line").count()
    page = opened(browser, path, viewport={"width": 390, "height": 844})
    expect(page.locator("svg.star").first).to_be_hidden()
    expect(page.locator(".tree li")).to_have_count(spokes)
    expect(page.locator(".tree li.gold")).to_have_count(wide.locator("svg.star line.gold").count())
    expect(page.locator(".tree li.gold").first).to_contain_text("minimum knowledge")
    sizes = page.evaluate(SIZES)
    assert min(size for size, _ in sizes) >= 12
    assert max(right for _, right in sizes) <= 390
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.problems == wide.problems == []


SIZES = """() => [...document.querySelectorAll(".tree li, .tree small")].map(
  e => [parseFloat(getComputedStyle(e).fontSize), e.getBoundingClientRect().right])"""


def test_the_scores_of_a_query_fit_a_phone(browser: Any, site: Path) -> None:
    page = opened(browser, site / "queries/q09.html", viewport={"width": 390, "height": 844})
    cells = page.locator("table tbody tr").nth(3).locator("td")
    for place in (0, 1):  # the system, whose name is long, and its score
        box = cells.nth(place).bounding_box()
        assert box["x"] + box["width"] <= 390, place


def test_query_pages_show_what_was_scored_and_name_the_rest(tmp_path: Path) -> None:
    sets = tuple(f"s{i}=1,{i},1" for i in range(6))
    source = f"beir:{EXAMPLES / 'facts'}"
    cf.build(cf.RageRecipe(source=source, candidates="bm25", mixtures=sets), tmp_path / "p")
    first = next(query_pages(Package(tmp_path / "p")))
    assert (list(first.contexts), first.left_out) == (["s0", "s1", "s2", "s3"], ["s4", "s5"])
    # s5 comes last in the manifest; a system was scored in it, so that it is shown.
    first = next(query_pages(Package(tmp_path / "p"), {"s5"}))
    assert (list(first.contexts), first.left_out) == (["s0", "s1", "s2", "s5"], ["s3", "s4"])


def test_labels_below_a_star_stand_beside_their_dots(people: Path) -> None:
    """Two that were centred covered each other; one may stand at the top, and one at the bottom."""
    stars = [s for page in query_pages(Package(people)) for s in page.stars["full"]]
    assert 17 in {len(s.spokes) for s in stars}  # the lowest two are 180 / 17° from the middle
    assert all(sum(spoke.anchor == "middle" for spoke in s.spokes) <= 2 for s in stars)
    for star in stars:  # a label is two lines: 10 above its dot's height, 13 + 3 below
        for side in ("start", "end"):
            heights = sorted(spoke.y for spoke in star.spokes if spoke.anchor == side)
            assert all(below - above >= 10 + 13 + 3 for above, below in pairwise(heights))


def test_a_query_page_shows_its_metadata(package: Path, tmp_path: Path) -> None:
    """With values that could be code, and without those that are too long to filter by."""
    rows = [{"kind": "<b>place</b>", "long": "x" * 101}, {"kind": "moon"}, {}]

    class Labelled(Package):
        queries = Package(package).queries
        queries = queries.set_column(
            queries.column_names.index("metadata"), "metadata",
            pa.array([json.dumps(rows[n % 3]) for n in range(len(queries))]),
        )  # fmt: skip

    pages = [*query_pages(Labelled(package))]
    assert [p.fields for p in pages[:3]] == [{"kind": "<b>place</b>"}, {"kind": "moon"}, {}]
    template = environment().get_template("query.html.j2")
    site = {"title": "t", "others": [], "answers": False, "benchmark": "b", "version": "1",
            "hash": "h", "public_hash": "h"}  # fmt: skip
    text = template.render(site=site, page=pages[0], scores=[], before=None, after=None)
    assert "<dt><bdi>kind</bdi></dt><dd><bdi>&lt;b&gt;place&lt;/b&gt;</bdi></dd>" in text


def test_missing_answers_are_marked_where_queries_are_listed() -> None:
    """A missing answer has the worst value, as a wrong one has."""
    values = {"CiteF1": [0.0, 0.0, 0.5, 1.0]}
    whole = scored("whole", values)
    lacks = scored("lacks", values)
    lacks.counts.n_missing = 1
    answers = [answer(f"q{i}", [[0]], 0) for i in range(4)]
    answers[0] = answers[0].model_copy(update={"is_missing": True})
    detailed = lacks.model_copy(update={"system": "detailed", "answers": answers})
    (view,) = make_views([whole, lacks, detailed])
    gaps = {s.system: s.gap for s in view.query_scores()["q0"]}
    assert gaps == {"whole": "", "lacks": "1 answer missing", "detailed": "missing"}
    assert {s.gap for s in view.query_scores()["q1"]} == {"", "1 answer missing"}
    names = [file.system for file in view.files]
    hardest = view.list_hardest_queries(names.index("detailed"), [f"q{i}" for i in range(4)])
    # One whose value is the best possible is not hard.
    assert hardest == [("q0", 0.0, True), ("q1", 0.0, False), ("q2", 50.0, False)]
