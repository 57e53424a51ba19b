"""The explorer: its data by hand, and what one does with it in headless Chromium."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from citeforge.reports.pages import page as report
from citeforge.reports.pages.explorer import explain_value, make_chunks
from citeforge.reports.pages.markup import PlotPart
from citeforge.schemas.scores import CitedWords, ScoreFile, Slice
from conftest_pages import expect, opened, serious_faults
from conftest_plots import HOSTILE, answer, scored

N = 250
"""Queries: three chunks of answers."""


def test_chunks_by_hand() -> None:
    answers = [answer("q0", [[0], [1]], 0), answer("q1", [[], []], 0, supported=False)]
    other = [answer("q0", [[2]], 0), answer("q1", [[1]], 0)]
    answers[0].statements[1].wrong = 1
    other[1].statements[0].text = "Das kann ich anhand der Dokumente nicht beantworten"
    wordless = answer("q2", [], 0)
    wordless.cited, wordless.wrong = [0, 3], 1
    index, pieces = make_chunks(
        [scored("a", {"CiteP": [0.5, 0.25, 0.0]}, answers),
         scored("b", {"CiteP": [0.0, None, 1.0]}, other),
         scored("c", {"CiteP": [0.0, 0.0, 1 / 3]}, [wordless])], "CiteP", 1,
    )  # fmt: skip
    assert pieces["v-0-0"] == [5000, 2500, 0]
    assert pieces["v-1-0"] == [0, None, 10000]
    # Out of range; cites nothing and is unsupported; missing.
    assert pieces["f-0"] == [4, 2 | 8, 1]
    assert pieces["f-1"] == [0, 16, 1]  # the second refuses
    assert pieces["f-2"] == [1, 1, 4]  # citations without a word are citations
    assert pieces["a-2-0"][2] == [[], [[0, "1 relevant of 3 cited = 1/3"]], [0, 3], 1, []]
    # Both were shown the same passages, which stand there once.
    assert [s["passages"] for s in index["systems"]] == [["p-0"], ["p-0"], ["p-1"]]
    assert pieces["q"] == [
        ["q0", "q1", "q2"], ["What of q0?", "What of q1?", "What of q2?"],
    ]  # fmt: skip


def test_slices_by_hand() -> None:
    file = scored("a", {"CiteP": [0.5, 0.25, 0.0]})
    parts = [Slice(field="type", value=v, rows=r, measures=[]) for v, r in (("x", [2]), ("y", [0]))]
    index, pieces = make_chunks([file.model_copy(update={"slices": parts})], "CiteP", 1)
    assert index["fields"] == [["type", ["x", "y"]]]
    assert pieces["s"] == [[1, -1, 0]]  # the second query is in no slice


def test_arithmetic_is_that_of_the_value_or_none() -> None:
    result = answer("q", [[0], [1], [2]], 1)
    assert explain_value("CiteP", result, 1 / 3) == "1 relevant of 3 cited = 1/3"
    assert explain_value("CiteR", result, 1.0) == "1 cited of 1 relevant = 1/1"
    assert explain_value("CiteF1@query", result, 0.5) == "2 · 0.333 · 1.000 / (0.333 + 1.000)"
    assert explain_value("ALCE.CitRec", result, 1.0) == "3 supported of 3 statements = 3/3"
    assert explain_value("CiteP", result, 0.5) is None  # another rule made that number
    assert explain_value("BLEU", result, 0.5) is None
    nothing = answer("q", [[3]], 1)
    told = explain_value("CiteF1@query", nothing, 0.0)
    assert told == "precision and recall are 0, and so is their harmonic mean"


def systems() -> list[ScoreFile]:
    result = []
    for s, name in enumerate((HOSTILE, "plain")):
        answers = [answer(f"q{i}", [[i % 5], []], (i + s) % 5, i % 2 == 0) for i in range(N)]
        answers[0].statements, answers[0].cited = [], [0]
        answers[7].statements[0].text = f"{HOSTILE} zanzibar"
        answers[7].passages[4].label = "seemingly_relevant"
        answers[7].passages[3].label = None
        if s == 0:  # "zanzibar" is cited for, and the passage's "of q7" quoted
            first = len(HOSTILE) + 1
            answers[7].said = [
                CitedWords(statement=0, start=first, end=first + 8, passage=2, quoted=[(9, 14)])
            ]
        for i, a in enumerate(answers):
            a.gold = [f"Gold of {i}"]
        values = [((i * 37 + s * 11) % 100) / 100 for i in range(N)]
        file = scored(name, {"CiteP": values, "CiteR": values[::-1]}, answers)
        parts = [Slice(field="type", value=v, rows=[*range(r, N, 5)], measures=[])
                 for r, v in enumerate(("a", HOSTILE))]  # fmt: skip
        result.append(file.model_copy(update={"slices": parts}))
    return result


@pytest.fixture(scope="module", params=["inside", "beside"])
def page(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report that carries its data, and one that loads them from the folder beside it."""
    out = tmp_path_factory.mktemp("explorer") / "my report.html"
    patch = pytest.MonkeyPatch()
    patch.setattr(report, "plots_part", lambda *_: PlotPart("", "", {}))
    if request.param == "beside":
        patch.setattr(report, "MOST_INLINE", 0)
    content, n = report.page_report(systems(), None, out)
    out.write_bytes(content)
    patch.undo()
    assert (n > 10) == (request.param == "beside")
    assert out.with_suffix(".data").is_dir() == (request.param == "beside")
    return out


def counted(shown: Any, start: str) -> None:
    """The line over the list starts so, as soon as the data are there."""
    expect(shown.locator("#x-count")).to_have_text(re.compile(f"^{re.escape(start)}"))


def ready(shown: Any) -> Any:
    """With the list, and with the first answer beside it."""
    counted(shown, "250 of 250 queries")
    shown.wait_for_selector("#x-detail h3")
    return shown


def test_sorted_filtered_searched_and_kept_in_the_address(browser: Any, page: Path) -> None:
    shown = ready(opened(browser, page))
    counted(shown, f"250 of 250 queries, lowest CiteP of {HOSTILE} first")
    assert shown.locator(".x-row").count() < 30  # of 250: only what is seen is there
    # Before one is chosen, the first of the list is shown.
    text = shown.locator(".x-row span").first.inner_text()
    expect(shown.locator("#x-detail h3")).to_have_text(text)
    assert "q=" not in shown.url
    values = [float(t.split()[0]) for t in shown.locator(".x-row b").all_inner_texts()]
    assert values == sorted(values)
    shown.get_by_label("have an unsupported statement").check()
    counted(shown, "125 of 250")
    shown.get_by_label("Value from").fill("50")
    n = sum(i % 2 == 1 and (i * 37) % 100 >= 50 for i in range(N))
    counted(shown, f"{n} of 250")
    shown.get_by_role("button", name="Clear filters").click()
    counted(shown, "250 of 250")
    shown.get_by_label("Slice").select_option(f"type={HOSTILE}")
    counted(shown, "50 of 250")  # 1, 6, 11, …
    shown.reload()
    counted(shown, "50 of 250")
    shown.get_by_role("button", name="Clear filters").click()
    counted(shown, "250 of 250")
    shown.get_by_label("Search").fill("ZANZIBAR")
    counted(shown, "1 of 250")
    shown.locator(".x-row").click()
    expect(shown).to_have_url(re.compile("q=q7"))
    again = opened(browser, page)
    again.goto(shown.url)
    counted(again, "1 of 250")
    expect(again.locator("#x-detail .statement").first).to_contain_text("onerror")
    assert again.title() != "owned"
    expect(again.locator("#x-detail mark.x-said")).to_have_text("zanzibar")
    expect(again.locator("#x-detail mark.x-quote")).to_have_text("of q7")
    expect(again.locator("#x-detail")).to_contain_text("dotted: what it quotes")
    assert shown.problems == again.problems == []


def test_answers_with_one_class_of_wrong_citations(browser: Any, tmp_path: Path) -> None:
    """Every third answer cites badly in one way, every fourth in another."""
    n = 12
    values: dict[str, Sequence[float | None]] = {
        "CiteP": [1.0] * n,
        "Wrong.Corpus": [0.5 if i % 3 == 0 else 0.0 for i in range(n)],
        "Wrong.Absent": [0.25 if i % 4 == 1 else 0.0 for i in range(n)],
    }
    answers = [answer(f"q{i}", [[0], [1]], 0) for i in range(n)]
    out = tmp_path / "wrong.html"
    content, _ = report.page_report([scored("a", values, answers)], None, out)
    out.write_bytes(content)
    shown = opened(browser, out)
    counted(shown, "12 of 12 queries")
    for name, rows in (("Wrong.Corpus", {0, 3, 6, 9}), ("Wrong.Absent", {1, 5, 9})):
        shown.locator("#x-m").select_option(label=name)
        shown.get_by_label("Value from").fill("1")
        counted(shown, f"{len(rows)} of 12")
        queries = set(shown.locator(".x-row span:first-of-type").all_inner_texts())
        assert queries == {f"What of q{i}?" for i in rows}
    again = opened(browser, out)
    again.goto(shown.url)  # the address keeps the class
    counted(again, "3 of 12")
    assert shown.problems == again.problems == []


def test_keyboard_alone(browser: Any, page: Path) -> None:
    shown = ready(opened(browser, page))
    shown.locator("#x-list").focus()
    for key in ("ArrowDown", "ArrowDown", "End", "Home", "PageDown"):
        shown.keyboard.press(key)
    selected = shown.locator(".x-row[aria-selected=true]")
    expect(selected).to_have_attribute("aria-posinset", re.compile(r"^([6-9]|\d\d+)$"))
    name = selected.get_attribute("id")
    expect(shown.locator("#x-list")).to_have_attribute("aria-activedescendant", name)
    # Another answer would replace what has the focus.
    expect(shown.locator("#x-detail h3")).to_have_text(selected.locator("span").first.inner_text())
    shown.keyboard.press("Enter")
    expect(shown.locator("#x-detail")).to_be_focused()
    shown.keyboard.press("Tab")
    shown.keyboard.press("Enter")  # a citation
    hit = shown.locator(".passage.hit")
    expect(hit).to_be_focused()
    expect(hit.locator("mark")).to_have_count(1)  # the words of the statement
    expect(shown.locator("#x-detail .x-gold")).to_contain_text("Gold of")
    assert shown.problems == []


def test_two_systems_and_the_brush(browser: Any, page: Path) -> None:
    shown = ready(opened(browser, page, viewport={"width": 1200, "height": 1400}))
    shown.get_by_label("against").select_option(label="plain")
    counted(shown, "250 of 250 queries, largest difference")
    first = shown.locator(".x-row b").first.inner_text().split(" against ")
    assert abs(float(first[0]) - float(first[1])) == pytest.approx(89)  # 0 against 11, else
    canvas = shown.locator("#x-scatter")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    shown.mouse.move(box["x"] + 5, box["y"] + box["height"] - 5)
    shown.mouse.down()
    shown.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=4)
    shown.mouse.up()
    ends = [shown.get_by_label("to", exact=True).nth(i) for i in (0, 1)]
    for end in ends:  # the middle, to a point
        expect(end).to_have_value(re.compile(r"^(49|50|51)(\.\d+)?$"))
    low, high = (float(end.input_value()) for end in ends)
    n = sum((i * 37) % 100 <= low and (i * 37 + 11) % 100 <= high for i in range(N))
    counted(shown, f"{n} of 250")
    expect(shown).to_have_url(re.compile("high2="))
    shown.locator(".x-row").first.click()
    expect(shown.locator(".x-side")).to_have_count(2)
    assert shown.problems == []


def test_passages_look_like_their_labels(browser: Any, page: Path) -> None:
    shown = opened(browser, page)
    shown.goto(f"{page.as_uri()}#a=0&q=q7")
    shown.reload()
    expect(shown.locator("#x-detail .passage")).to_have_count(5)
    for scheme in ("light", "dark"):
        shown.emulate_media(color_scheme=scheme)
        looks = shown.evaluate(LOOKS)
        # Of q7 the third is relevant; the fifth only seems so, and of the fourth nothing is said.
        labels = [look[0] for look in looks]
        assert labels == ["irrelevant", "irrelevant", "relevant", None, "seemingly relevant"]
        assert looks[0] == looks[1]
        for part in (1, 2):  # the ground; the edge, for those who do not tell the grounds apart
            assert len({looks[i][part] for i in (0, 2, 4)}) == 3
        assert len({look[1] for look in looks}) == 4


LOOKS = """() => [...document.querySelectorAll("#x-detail .passage")].map(e => {
  const style = getComputedStyle(e), tag = e.querySelector(".tag");
  return [tag && tag.textContent, style.backgroundColor, style.borderLeftStyle];
})"""


def test_phone_and_accessibility(browser: Any, page: Path) -> None:
    shown = opened(browser, page, viewport={"width": 390, "height": 844})
    shown.goto(f"{page.as_uri()}#a=0&b=1&q=q7")
    shown.reload()
    shown.wait_for_selector("#x-detail h3")
    expect(shown.locator(".x-row[aria-selected=true]")).to_be_visible()  # far down the list
    assert shown.evaluate("document.documentElement.scrollWidth") <= 390
    assert serious_faults(shown) == []
    assert shown.problems == []
