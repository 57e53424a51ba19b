"""The first page of a benchmark: what it is, by whom, how large, and what its columns show."""

import re
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import citeforge as cf
from citeforge.evaluator.measures.definitions import built_in_families
from citeforge.evaluator.measures.registry import measures
from citeforge.package.package import Package
from citeforge.plugins.leaderboard.about import (
    Presentation,
    definition_link,
    definitions,
    introduction,
    paragraph,
)
from citeforge.plugins.leaderboard.build import build_leaderboard, build_site
from citeforge.schemas.scores import About
from conftest import ROOT
from conftest_boards import entry, scored
from conftest_pages import expect, opened, serious_faults

PAPER = "https://example.org/paper"
NAME = "organisation/a-model-with-a-name-of-many-words, prompted in five ways"


@pytest.fixture(scope="module")
def site(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two systems that say much of themselves, and one of a single word."""
    queries = [f"q{i:02d}" for i in range(1, 31)]
    rng = np.random.default_rng(3)
    files = [
        scored(Package(package).hash, name,
               [entry(m, rng.random(30).tolist()) for m in ("CiteP", "CiteF1", "Distinct")],
               queries).model_copy(update={"about": About(organisation=f"{name} Ltd", model="m")})
        for name in (NAME, "zephyr", "vanilla")
    ]  # fmt: skip
    about = Presentation(
        description="Facts with *look-alikes*, and <b>no</b> ![p](https://x.example/p.png).",
        organisation="Example University", date="2026-11-23", links={"Paper": PAPER},
    )  # fmt: skip
    out = tmp_path_factory.mktemp("landing") / "site"
    build_site(package, files, out, "Facts", about=about)
    return out


def facts_of(page: str) -> dict[str, str]:
    return dict(re.findall(r"<div><dt>([^<]*)</dt><dd>([^<]*)</dd></div>", page))


def test_it_says_what_the_benchmark_is(site: Path, package: Path) -> None:
    page = (site / "index.html").read_text()
    assert "<h1>Facts</h1>" in page
    # Markdown is read; HTML is text; and no picture is loaded.
    assert '<p class="intro">Facts with <em>look-alikes</em>, and &lt;b&gt;no&lt;/b&gt;' in page
    assert "<img" not in page
    # 30 queries and 84 passages are in examples/facts; the package has the context set `mix`.
    facts = facts_of(page)
    assert {k: facts[k] for k in ("Queries", "Passages", "Context sets", "Systems")} == {
        "Queries": "30", "Passages": "84", "Context sets": "1", "Systems": "3",
    }  # fmt: skip
    assert (facts["Date"], facts["Organisation"]) == ("2026-11-23", "Example University")
    assert f'<a href="{PAPER}" rel="noreferrer">Paper</a>' in page
    description = Package(package).manifest.contexts["mix"].description
    assert f"<dt><code>mix</code></dt><dd>{escape(description)}</dd>" in page
    for name in ("CiteP", "CiteF1", "Distinct"):
        assert f'<dt><a href="definitions.html#m-{name}">{name}</a></dt>' in page


def test_every_number_of_a_system_has_its_recipe(site: Path) -> None:
    pages = list((site / "systems").glob("*.html"))
    assert len(pages) == 3
    for page in pages:
        text = page.read_text()
        for name in ("CiteP", "CiteF1", "Distinct"):
            assert f'<a href="../definitions.html#m-{name}">{name}</a>' in text
            assert f"{name}|p:strict|" in text


def test_without_a_word_of_the_maintainer_the_card_speaks(package: Path) -> None:
    card = (package / "README.md").read_text()
    result = introduction(Package(package), Presentation(), [])
    assert result.html.startswith("A benchmark for cited generation: ")
    assert re.sub(r"</?code>", "`", result.html) in card
    assert result.links == ()
    assert "Organisation" not in dict(result.facts)
    hub = Presentation(links={"Code": PAPER}).with_hub_links("hub:some-org/facts@v1")
    assert hub.organisation == "some-org"
    assert hub.links == {
        "Code": PAPER, "Hugging Face Hub": "https://huggingface.co/datasets/some-org/facts",
    }  # fmt: skip
    assert Presentation().with_hub_links("../facts") == Presentation()
    assert "<a" not in paragraph("[x](javascript:alert(1))")


def test_how_to_submit_is_a_link_or_a_text(package: Path) -> None:
    for told in ("", "write to us", PAPER):
        made = introduction(Package(package), Presentation(submit=told), [])
        facts, links = (dict(x).get("How to submit") for x in (made.facts, made.links))
        assert (facts or None, links) == {
            "": (None, None), "write to us": ("write to us", None), PAPER: (None, PAPER),
        }[told]  # fmt: skip


def test_the_axis_of_the_bars_is_the_range_of_the_measure(browser: Any, site: Path) -> None:
    page = opened(browser, site / "index.html")
    bars = []
    for row in page.locator("tbody tr").all():
        low, high = map(float, row.locator("td small:not(.phone)").first.inner_text().split(" – "))
        style = row.locator(".bar i").get_attribute("style")
        left, width = map(float, re.findall(r"([\d.]+)%", style))
        bars.append((low, high, left, left + width))
    assert len(bars) == 3
    for low, high, left, right in bars:
        assert left == pytest.approx(low, abs=0.01)  # per cent of 0 to 100
        assert right == pytest.approx(high, abs=0.01)
    assert page.locator("thead .scale span").all_inner_texts() == ["0", "100"]


def test_missing_answers_and_what_is_needed_to_take_part_are_on_the_first_page(
    browser: Any, package: Path, tmp_path: Path
) -> None:
    queries = [f"q{i:02d}" for i in range(1, 31)]
    rows = [entry("CiteF1", [0.5] * 30)]
    file = scored(Package(package).hash, "half" * 40, rows, queries)
    file.counts.n_missing = 12
    build_site(package, [file], tmp_path / "site", "Title" * 40)
    page = opened(browser, tmp_path / "site" / "index.html")
    expect(page.locator("tbody .missing")).to_have_text("12 answers missing")
    meaning = page.locator("#meaning")
    expect(meaning).to_contain_text("strict: corrected definitions")
    top = page.locator("#table").bounding_box()["y"]
    assert meaning.bounding_box()["y"] < top  # explained where the words are
    expect(page.get_by_text("How to take part")).to_contain_text("citeforge check")
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_every_column_leads_to_its_definition(browser: Any, site: Path) -> None:
    page = opened(browser, site / "index.html")
    # The column that ranks is explained before anybody asks; others when they are pointed at.
    expect(page.locator("#about")).to_contain_text("CiteF1: ")
    page.locator("thead").get_by_role("button", name="CiteP", exact=True).hover()
    link = page.locator("#about").get_by_role("link", name="Definition")
    expect(link).to_have_attribute("href", "definitions.html#m-CiteP")
    listed = {
        e.locator("dt").inner_text(): e.locator("dd").inner_text()
        for e in page.locator(".measures > div").all()
    }
    assert list(listed) == ["CiteP", "CiteF1", "Distinct"]
    assert listed["CiteP"].endswith("; higher is better")
    assert listed["Distinct"].endswith("; neither direction is better")
    page.locator(".measures").get_by_role("link", name="CiteF1").click()
    page.wait_for_url("**/definitions.html#m-CiteF1")
    expect(page.locator(":target")).to_have_text("CiteF1")
    expect(page.locator("tr", has=page.locator(":target"))).to_contain_text("harmonic mean")
    assert page.problems == []
    page.go_back()
    page.locator("tbody tr td a", has_text=".").first.click()
    page.wait_for_url("**/systems/*.html*")
    cell = page.locator("th[scope=row]").get_by_role("link", name="CiteP")
    expect(cell).to_have_attribute("href", "../definitions.html#m-CiteP")


def test_all_of_our_measures_are_defined_on_the_page() -> None:
    text, anchors = definitions()
    links = {name: definition_link(name) for name in measures()}
    assert all(link.partition("#")[2] in anchors for link in links.values())
    ours = [n for n, m in measures().items() if m.origin is None]
    # A row of its own, but for measures whose name has parts of many values.
    assert sum("#m-" in links[n] for n in ours) > 0.9 * len(ours)
    assert definition_link("P@5") == definition_link("P@20") == "definitions.html#m-P@k"
    assert definition_link("CAB.P[hl_x]") == "definitions.html#m-CAB.P"
    assert definition_link("Somebody.else") == ""
    source = (ROOT / "docs" / "definitions.md").read_text()
    assert {*re.findall(r"^## (\w+)$", source, re.MULTILINE), *built_in_families()} <= anchors
    links = set(re.findall(r'href="#(\w+)"', text))
    assert links <= anchors
    assert {"deflection", "short_answers"} <= links  # from section to family, and back
    assert set(re.findall(r'href="([^"#]*)#?', text)) == {""}  # nothing leads out of the page


def test_on_a_phone_the_first_score_is_read_without_scrolling(browser: Any, site: Path) -> None:
    page = opened(browser, site / "index.html", viewport={"width": 390, "height": 844})
    first = page.locator("tbody tr").first
    expect(first).to_be_visible()
    for place in (0, 2, 3):  # rank and its interval, the name, the score and its interval
        box = first.locator("td").nth(place).bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390, place
        assert box["y"] + box["height"] <= 844, place
    # No name is cut.
    cut = page.evaluate("[...document.querySelectorAll('td.system a')]"
                        ".filter(e => e.scrollHeight > e.clientHeight + 1).length")  # fmt: skip
    assert cut == 0
    expect(page.locator("#filters")).to_be_hidden()
    page.get_by_text("Filters").click()
    page.get_by_role("combobox", name="organisation").select_option("zephyr Ltd")
    expect(page.locator("tbody tr")).to_have_count(1)
    assert serious_faults(page) == []
    page.goto((site / "definitions.html").as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert serious_faults(page) == []


def test_the_file_says_it_for_one_and_for_all(package: Path, tmp_path: Path) -> None:
    boards: list[dict[str, Any]] = [
        {"name": "one", "benchmark": str(package), "about": {"description": "The first."}},
        {"name": "two", "benchmark": str(package)},
    ]
    whole = {"description": "Both.", "date": "2026-11-23", "links": {"Code": PAPER}}
    file = tmp_path / "leaderboard.yaml"
    file.write_text(yaml.safe_dump({"about": whole, "boards": boards}))
    build_leaderboard(tmp_path)
    page = (tmp_path / "site" / "index.html").read_text()
    assert '<p class="intro">Both.</p>' in page
    assert facts_of(page) == {"Queries": "60", "Systems": "0", "Date": "2026-11-23"}
    assert f'<a href="{PAPER}" rel="noreferrer">Code</a>' in page
    one = (tmp_path / "site" / "one" / "index.html").read_text()
    assert '<p class="intro">The first.</p>' in one


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ({"links": {"Code": "javascript:alert(1)"}}, "begin with https://"),
        ({"date": "last week"}, "'last week' is not a date; write it as 2026-11-23"),
        ({"date": 2026}, "2026 is not a date"),
        ({"date": "2026-W10-1"}, "is not a date"),
        ({"date": "20261123"}, "is not a date"),
        ({"licence": "x"}, "licence"),
    ],
)
def test_wrong_words_of_the_maintainer_are_named(
    tmp_path: Path, fault: dict[str, Any], said: str
) -> None:
    file = tmp_path / "leaderboard.yaml"
    boards = [{"name": "one", "benchmark": "x"}]
    file.write_text(yaml.safe_dump({"about": fault, "boards": boards}))
    with pytest.raises(cf.InputError, match=said) as caught:
        build_leaderboard(tmp_path)
    assert caught.value.path == str(file)


def test_controls_are_no_systems(package: Path) -> None:
    ranked = scored("0" * 64, "one", [entry("CiteP", [0.5])], ["q01"])
    control = ranked.model_copy(update={"system": "random", "is_control": True})
    for files, facts in (
        ([], {"Systems": "0"}), ([control], {"Controls": "1"}),
        ([ranked, control], {"Systems": "1", "Controls": "1"}),
    ):  # fmt: skip
        result = dict(introduction(Package(package), Presentation(), files).facts)
        assert {k: v for k, v in result.items() if k in ("Systems", "Controls")} == facts


def test_a_site_without_scores_has_nothing_to_pick(
    browser: Any, package: Path, tmp_path: Path
) -> None:
    build_site(package, [], tmp_path / "site")
    page = opened(browser, tmp_path / "site" / "index.html")
    expect(page.locator("#count")).to_have_text("No system was scored yet.")
    for name in ("#view", "#table", "#csv", "#next"):
        expect(page.locator(name)).to_be_hidden()
    assert page.problems == []


def test_measures_of_many_cells_are_explained_once_and_fit_a_phone(
    browser: Any, package: Path, tmp_path: Path
) -> None:
    cells = [f"Auth.P[{'a_long_name_of_a_cell_' * 3}{n}]" for n in range(3)]
    digest = Package(package).hash
    file = scored(digest, "one", [entry(name, [0.5]) for name in cells], ["q01"])
    build_site(package, [file], tmp_path / "site")
    page = opened(browser, tmp_path / "site/index.html", viewport={"width": 390, "height": 844})
    assert page.locator(".measures dt").all_inner_texts() == ["Auth.P"]
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_rows_of_a_system_are_one_line_on_a_phone(browser: Any, site: Path) -> None:
    path = next((site / "systems").glob("*.html"))
    page = opened(browser, path, viewport={"width": 390, "height": 844})
    heights = page.locator("[aria-label=Scores] tbody tr").evaluate_all(
        "rows => rows.map(row => row.getBoundingClientRect().height)"
    )
    assert max(heights) < 45  # a line of 15 px · 1.5 with its padding is 34 px, two are 56 px
    first = page.locator("ul.found li").first
    expect(first.locator("bdi")).to_contain_text("?")  # the question itself beside its id
