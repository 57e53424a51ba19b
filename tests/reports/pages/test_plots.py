"""Plots of single queries and answers, by hand."""

import csv
import io

import pytest

from citeforge.reports.notes import trivial_lines
from citeforge.reports.pages.choose import page_figures, plot
from citeforge.reports.pages.names import PLOTS
from conftest import refused
from conftest_plots import answer, many, scored, trivial_files


def table(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_a_page_shows_them_after_the_core_s_but_length_after_cost() -> None:
    assert list(PLOTS.all())[-7:] == [
        "differences", "distribution", "position", "citations", "cost", "length", "robustness",
    ]  # fmt: skip
    names = [figure.name.partition("-")[0] for figure in page_figures(many(3))]
    assert names[-6:] == [
        "differences", "distribution", "position", "citations", "cost", "distribution",
    ]  # fmt: skip


def test_differences_are_counted() -> None:
    one = scored("one", {"CiteP": [0.2, 0.4, 0.5, None, 0.1]})
    two = scored("two", {"CiteP": [0.5, 0.4, 0.4, 1.0, 0.3]})
    result = plot([one, two], "differences")
    assert result.title == "CiteP: two is better than one on 2 queries, worse on 1, equal on 1"
    rows = [(r["query"], float(r["two − one, CiteP (%)"])) for r in table(result.csv)]
    assert [q for q, _ in rows] == ["q2", "q1", "q4", "q0"]
    assert [d for _, d in rows] == pytest.approx([-10, 0, 20, 30])


def test_a_single_system_is_compared_with_a_reference() -> None:
    one = scored("one", {"CiteP": [0.2, 0.4, 0.5]})
    gold = scored("gold", {"CiteP": [1.0, 0.4, 0.6]})
    gold.is_control = True
    title = plot([gold, one], "differences").title
    assert title == "CiteP: one is better than gold on 0 queries, worse on 2, equal on 1"
    one.is_control = True
    with refused("not-computed"):
        plot([gold, one], "differences")


def test_plots_mark_trivial_measures() -> None:
    files = trivial_files()
    drawn = {figure.name: figure for figure in page_figures(files)}
    marked, other = drawn["intervals-CiteP"], drawn["intervals-CiteR"]
    assert marked.title.startswith("two has the highest CiteP (trivial), 100.0")
    assert marked.columns[1] == "CiteP (trivial) (%)"
    (line,) = trivial_lines(files)
    assert line in marked.note
    assert ">CiteP (trivial) (%), 95 % interval</text>" in marked.svg
    pair = drawn["precision-recall-CiteP"].svg
    assert ">CiteP (trivial) (%), 95 % interval</text>" in pair
    assert ">CiteR (%), 95 % interval</text>" in pair
    assert "trivial" not in other.svg + other.title + other.note


def test_means_by_position_and_by_citations() -> None:
    answers = [
        answer("q0", [[0], [0]], 0), answer("q1", [[1], [2]], 0), answer("q2", [[3], []], 2),
        answer("q3", [[]], 2),
    ]  # fmt: skip
    file = scored("one", {"CiteP": [1.0, 0.5, 0.2, 0.0]}, answers)
    position = table(plot([file], "position").csv)
    at = "position of the first relevant passage"
    assert [(r[at], float(r["CiteP (%)"]), r["queries"]) for r in position] == [
        ("1", pytest.approx((100 + 50) / 2), "2"), ("3", pytest.approx((20 + 0) / 2), "2"),
    ]  # fmt: skip
    # The best one brought its own passages: none of them is known to be relevant.
    own = scored("own", {"CiteP": [1.0] * 4}, [answer(f"q{i}", [[0]], 9) for i in range(4)])
    both = plot([own, file], "position")
    assert {r["system"] for r in table(both.csv)} == {"one"}
    assert both.title == "CiteP of one is 75.0 at position 1, 10.0 at position 3"
    assert "The best 1 of 2 systems" in both.note
    wordless = answer("q3", [], 2)
    wordless.cited = [0, 4]
    file.answers[3] = wordless
    assert {r["queries"] for r in table(plot([file], "citations").csv)} == {"2"}
    file.answers[3] = answer("q3", [[]], 2)
    cited = table(plot([file], "citations").csv)
    at = "distinct passages or triples that an answer cites"
    assert [(r[at], float(r["CiteP (%)"])) for r in cited] == [
        ("0", 0.0), ("1", pytest.approx((100 + 20) / 2)), ("2", 50.0),
    ]  # fmt: skip


def test_histogram_shares_add_up() -> None:
    result = plot([scored("one", {"CiteP": [0.0, 0.5, 0.5, 1.0]})], "distribution")
    rows = table(result.csv)
    assert len(rows) == 20
    assert {r["from"]: r["queries"] for r in rows if r["queries"] != "0"} == {
        "0.0": "1", "50.0": "2", "95.0": "1",
    }  # fmt: skip
