"""Plots in a report, in headless Chromium."""

import csv
import itertools
import math
import re
from pathlib import Path
from typing import Any

import pytest

from citeforge.evaluator.compare import compare_many
from citeforge.reports.comparison import describe_comparison
from citeforge.reports.pages.comparison import comparison_page
from conftest_pages import expect, opened, serious_faults
from conftest_plots import many, page_text


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    page = tmp_path_factory.mktemp("report") / "report.html"
    page.write_text(page_text(many(6, 0.06)), encoding="utf-8")
    return page


CENTRES = """() => {
  const figure = document.getElementById("plot-precision-recall-CiteP");
  const box = e => {
    const r = e.getBoundingClientRect();
    return [r.left, r.top, r.right, r.bottom];
  };
  const frame = figure.querySelector("svg").getBoundingClientRect();
  // Dots are the small filled shapes.
  const small = p => [p.getBBox().width, p.getBBox().height].every(x => x > 4 && x < 14);
  const dots = [...figure.querySelectorAll("path")]
    .filter(p => small(p) && (p.getAttribute("fill") || "").startsWith("var(--c"))
    .map(box).map(r => [(r[0] + r[2]) / 2, (r[1] + r[3]) / 2]);
  const names = new Map();
  for (const t of figure.querySelectorAll("text")) names.set(t.textContent, box(t));
  return [dots, [...names], [frame.width, frame.height]];
}"""


def test_a_label_is_nearest_to_its_own_dot(browser: Any, report: Path) -> None:
    """As the browser draws it, with its own font; the more recall, the farther right a dot is."""
    page = opened(browser, report)
    dots, names, _ = page.evaluate(CENTRES)
    known = dict(names)
    recalls = {
        f.system: next(m.value or 0.0 for m in f.measures if m.name == "CiteR")
        for f in many(6, 0.06)
    }
    dots = sorted(dots)
    systems = [
        next(t for t in known if t.startswith("<img")) if s.startswith("<img") else s
        for s in sorted(recalls, key=recalls.__getitem__)
    ]
    assert len(dots) == len(systems) == len(set(recalls.values()))

    def distance(box: list[float], dot: list[float]) -> float:
        left, top, right, bottom = box
        return math.hypot(
            max(left - dot[0], 0, dot[0] - right), max(top - dot[1], 0, dot[1] - bottom)
        )

    for own, name in enumerate(systems):
        result = [distance(known[name], dot) for dot in dots]
        assert min(result) == result[own], name
    for a in systems:
        for b in systems:
            if a < b:
                one, two = known[a], known[b]
                assert one[2] <= two[0] or two[2] <= one[0] or one[3] <= two[1] or two[3] <= one[1]
    assert page.problems == []


def test_plots_are_saved_as_seen(browser: Any, report: Path, tmp_path: Path) -> None:
    page = opened(browser, report, color_scheme="dark")
    for kind in ("svg", "csv"):
        with page.expect_download() as waiting:
            page.locator(f"#plot-intervals-CiteP button[data-save={kind}]").focus()
            page.keyboard.press("Enter")
        waiting.value.save_as(tmp_path / f"x.{kind}")
        assert waiting.value.suggested_filename == f"intervals-CiteP.{kind}"
    svg = (tmp_path / "x.svg").read_text()
    assert "var(" not in svg
    assert "#0aa7ff" in svg  # the first colour of the dark page
    rows = list(csv.DictReader((tmp_path / "x.csv").open()))
    assert rows[0]["system"] == "system 5"
    assert page.problems == []


def test_phone_and_accessibility(browser: Any, report: Path) -> None:
    page = opened(browser, report, viewport={"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    # The first score of a system with a long name is seen without scrolling.
    box = page.locator("#main tbody tr", has_text="<img").first.locator("td").nth(1).bounding_box()
    assert box["x"] + box["width"] <= 390
    assert serious_faults(page) == []
    assert page.title() != "owned"
    labels = [e.get_attribute("aria-label") for e in page.locator("figure svg[role=img]").all()]
    assert len(labels) >= 8
    assert all(text and len(text) > 40 for text in labels)
    for scheme, colour in (("light", "rgb(255, 255, 255)"), ("dark", "rgb(13, 17, 23)")):
        page.emulate_media(color_scheme=scheme)
        ground = page.evaluate("getComputedStyle(document.querySelector('figure svg rect')).fill")
        assert ground == colour


LONG = "HuggingFaceH4/zephyr-7b-beta, vanilla prompt, five passages"
BOXES = """() => [...document.querySelectorAll("figure .plot")].map(plot => {
  const room = plot.closest("figure").getBoundingClientRect();
  const drawing = plot.querySelector("svg").getBoundingClientRect();
  const scale = drawing.width / plot.querySelector("svg").viewBox.baseVal.width;
  const texts = [...plot.querySelectorAll("text")].map(t => [t.getBoundingClientRect(), t]);
  return {
    name: plot.id, scrolls: plot.scrollWidth - plot.clientWidth,
    spare: [drawing.left - room.left, room.right - drawing.right],
    outside: texts.filter(([r]) => r.left < room.left || r.right > room.right)
      .map(([_, t]) => t.textContent),
    smallest: Math.min(...texts.map(([_, t]) => scale * parseFloat(getComputedStyle(t).fontSize))),
    words: texts.map(([_, t]) => t.textContent).join(" "),
  };
})"""


@pytest.fixture(scope="module")
def long_names(tmp_path_factory: pytest.TempPathFactory) -> Path:
    page = tmp_path_factory.mktemp("long") / "report.html"
    page.write_text(page_text(many(5, 0.06, LONG)), encoding="utf-8")
    return page


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("font", ["Liberation Sans", "DejaVu Sans"])
def test_plots_scale_and_lose_no_letter(
    browser: Any, long_names: Path, width: int, font: str
) -> None:
    """Also in a font that is wider than the one that laid out the drawing."""
    page = opened(browser, long_names, viewport={"width": width, "height": 900})
    page.add_style_tag(content=f'svg text {{ font-family: "{font}" !important }}')
    plots = page.evaluate(BOXES)
    assert len(plots) > 6
    for result in plots:
        assert result["scrolls"] <= 0, result["name"]
        assert min(result["spare"]) >= 0, result["name"]
        assert result["outside"] == [], result["name"]
        assert result["smallest"] >= 9, result["name"]
        if result["name"].startswith("plot-intervals"):  # the whole name, on three lines
            assert "five passages" in result["words"]
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_no_gap_beside_a_tall_plot(browser: Any, report: Path) -> None:
    page = opened(browser, report, viewport={"width": 1280, "height": 900})
    page.locator("[id^=plot-cost] svg").first.evaluate("svg => svg.style.height = '1400px'")
    boxes = page.evaluate(
        "[...document.querySelectorAll('.plots figure')].flatMap(f => [...f.getClientRects()])"
        ".map(r => [r.left, r.top, r.bottom])"
    )
    columns: dict[float, list[tuple[float, float]]] = {}
    for left, top, bottom in boxes:
        columns.setdefault(round(left), []).append((top, bottom))
    assert len(columns) == 2
    for column in columns.values():
        column.sort()
        assert all(b[0] - a[1] < 20 for a, b in itertools.pairwise(column))
    tops, ends = zip(*((c[0][0], c[-1][1]) for c in columns.values()), strict=True)
    assert abs(tops[0] - tops[1]) < 2
    # The columns differ by less than the tallest plot that one of them could take from the other.
    assert abs(ends[0] - ends[1]) < max(bottom - top for _, top, bottom in boxes)


def test_a_comparison_says_that_its_tables_scroll(browser: Any, tmp_path: Path) -> None:
    page = tmp_path / "compare.html"
    page.write_text(comparison_page(describe_comparison(compare_many(many(2)))), encoding="utf-8")
    for width, is_wide in ((390, True), (1280, False)):
        shown = opened(browser, page, viewport={"width": width, "height": 844})
        expect(shown.locator(".wide")).to_be_visible(visible=is_wide)
        assert shown.evaluate("document.documentElement.scrollWidth") <= width
        assert shown.problems == []


def test_plots_of_one_kind_share_a_caption(browser: Any, report: Path) -> None:
    page = opened(browser, report)
    group = page.locator("figure.group", has=page.locator("#plot-intervals-CiteP"))
    names = [p.get_attribute("id") for p in group.locator(".plot").all()]
    assert sorted(names) == [
        "plot-intervals-CiteF1@query",
        "plot-intervals-CiteP",
        "plot-intervals-CiteR",
    ]
    expect(group.locator("figcaption")).to_have_count(1)
    captions = page.locator("figcaption").all_inner_texts()
    assert len(captions) == page.locator("figure").count()
    assert all(one != other for one, other in itertools.pairwise(captions))


def test_ids_of_drawings_do_not_meet(report: Path) -> None:
    ids = re.findall(r' id="([^"]+)"', report.read_text())
    assert len(ids) == len(set(ids))
