"""What plots show, by hand; their bytes; their colours."""

import csv
import io
import itertools
import math
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.stats import binomtest

from citeforge.evaluator.statistics.intervals import wilson_interval
from citeforge.reports.pages import palette
from citeforge.reports.pages import scatter_chart as scatter
from citeforge.reports.pages.choose import page_figures, plot
from citeforge.reports.pages.names import PLOTS
from citeforge.schemas.authorship import PLACEBO, Design, LabelSet, make_cells
from citeforge.schemas.scores import Corrected, ScoreFile, Slice
from conftest import refused
from conftest_plots import many, scored


def table(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_intervals_are_sorted_with_ranks() -> None:
    """B differs from A by noise around 0; C lies below both in every query; D has other queries."""
    a = [0.9, 0.8, 0.9, 0.8, 0.9, 0.8]
    b = [0.8, 0.9, 0.8, 0.9, 0.8, 0.89]
    c = [0.4, 0.3, 0.45, 0.3, 0.4, 0.35]
    values = {"c": c, "a": a, "b": b, "d": [0.1, 0.2]}
    result = plot([scored(n, {"CiteP": v}) for n, v in values.items()], "intervals")
    rows = table(result.csv)
    assert [(r["system"], r["ranks, 95 %"]) for r in rows] == [
        ("a", "1–2"), ("b", "1–2"), ("c", "3"), ("d", "–"),
    ]  # fmt: skip
    assert float(rows[0]["CiteP (%)"]) == pytest.approx(100 * sum(a) / 6)
    assert result.title == ("a has the highest CiteP, 85.0; 1 of 3 others may be first, too")
    assert ">1–2</text>" in result.svg
    assert "No ranks: scored on other queries" in result.note
    alone = plot([scored("a", {"CiteP": a}), scored("c", {"CiteP": c})], "intervals")
    assert alone.title.endswith("and is first with 95 % confidence")


def test_a_title_calls_no_system_the_highest_of_all_below_a_reference() -> None:
    """Means: a 30 and 20, b 20 and 10, the control 35 and 15."""
    files = [
        scored("a", {"CiteP": [0.3] * 4, "CiteR": [0.2] * 4}),
        scored("b", {"CiteP": [0.2] * 4, "CiteR": [0.1] * 4}),
        scored("random", {"CiteP": [0.35] * 4, "CiteR": [0.15] * 4}),
    ]
    files[2].is_control = True
    above = plot(files, "intervals", "CiteP").title
    assert above.startswith("a has the highest CiteP of the ranked systems, 30.0")
    assert plot(files, "intervals", "CiteR").title.startswith("a has the highest CiteR, 20.0")
    both = plot(files, "precision-recall").title
    assert both == "a is highest of the ranked systems in both CiteP and CiteR"


def test_a_system_that_names_no_cost_may_be_the_best() -> None:
    """The best of those with a cost has 30, and the one without 50."""
    costs = [("a", 0.3, 1.0), ("b", 0.2, 2.0), ("c", 0.5, None)]
    files = [scored(name, {"CiteP": [value] * 4}, cost=cost) for name, value, cost in costs]
    assert plot(files, "cost", "CiteP").title.startswith("CiteP of a is 30.0 at $1.00")
    assert plot(files[:2], "cost", "CiteP").title.startswith("a has the highest CiteP at $1.00")
    alike = [scored(name, {"CiteP": [0.2] * 4}, cost=1.0) for name in "ab"]
    assert plot(alike, "cost", "CiteP").title.endswith("; all cost the same, $1.00")


def looks(spec: Any) -> Iterator[tuple[dict[str, str], dict[str, str]]]:
    """(colour, shape) of the systems of each layer with shapes."""
    if isinstance(spec, dict):
        if {"color", "shape"} <= set(spec) and "scale" in spec["shape"]:
            scales = [spec[channel]["scale"] for channel in ("color", "shape")]
            colours, shapes = (dict(zip(s["domain"], s["range"], strict=True)) for s in scales)
            yield colours, shapes
        spec = list(spec.values())
    if isinstance(spec, list):
        for part in spec:
            yield from looks(part)


def test_a_system_looks_the_same_in_all_plots_of_a_page() -> None:
    """Whatever the order of the files; the best six, which most plots are of, differ in colour."""
    files = many(8)
    result: dict[str, set[tuple[str, str]]] = {}
    drawn = 0
    for figure in page_figures(files[4:] + files[:4]):
        for colours, shapes in looks(figure.spec):
            drawn += 1
            for system, colour in colours.items():
                result.setdefault(system, set()).add((colour, shapes[system]))
    assert drawn >= 4  # precision against recall, position, citations, cost
    assert {len(seen) for seen in result.values()} == {1}
    assert len({colour for s in range(2, 8) for colour, _ in result[f"system {s}"]}) == 6


def labelled() -> ScoreFile:
    """Of ten answers the judge finds all of five, half of three and nothing of two."""
    judge = [1.0] * 5 + [0.5] * 3 + [0.0] * 2
    people = [1.0, 1.0, 0.5, 0.5, None, 0.5, 0.5, 1.0, 0.0, 0.5]
    file = scored("one", {"ALCE.CitRec": judge, "CiteP": judge})
    file.measures[0].corrected = Corrected(
        value=61.0, low=50.0, high=72.0, stderr=5.0, method="ppi++", n_labels=9,
        signature="ALCE.CitRec|v:1|corr:ppi++,n=9", tuning=0.4, labels_value=60.0, labels_low=45.0,
        labels_high=75.0, human=people, labelled=[0, 1, 2, 3, 5, 6, 7, 8, 9],
    )  # fmt: skip
    return file


def test_a_judge_beside_people() -> None:
    """Whoever asks for a measure without labels sees the one that has them."""
    result = plot([labelled(), scored("two", {"ALCE.CitRec": [0.5] * 10})], "calibration", "CiteP")
    rows = table(result.csv)
    assert [(r["system"], r["judge from"], r["answers"]) for r in rows] == [
        ("one", "0.0", "2"), ("one", "40.0", "3"), ("one", "80.0", "4"),
    ]  # fmt: skip
    assert [float(r["judge, mean (%)"]) for r in rows] == [0, 50, 100]
    means = [(0 + 50) / 2, (50 + 50 + 100) / 3, (100 + 100 + 50 + 50) / 4]
    assert [float(r["people, mean (%)"]) for r in rows] == pytest.approx(means)
    ends = binomtest(3, 4).proportion_ci(method="wilson")  # 75 % of four answers
    assert (float(rows[2]["low"]), float(rows[2]["high"])) == pytest.approx(
        (100 * ends.low, 100 * ends.high)
    )
    # The judge (4 · 100 + 3 · 50) / 9, people (25 · 2 + 200 + 300) / 9.
    assert result.title == (
        "ALCE.CitRec: the judge beside people, one: 61.1 against 61.1 on average"
    )
    with refused("not-computed"):
        plot([scored("two", {"ALCE.CitRec": [0.5] * 10})], "calibration")


@given(st.integers(0, 50), st.integers(1, 50))
def test_wilson_is_scipy_s(hits: int, n: int) -> None:
    theirs = binomtest(min(hits, n), n).proportion_ci(method="wilson")
    assert wilson_interval(min(hits, n) / n, n) == pytest.approx(
        (theirs.low, theirs.high), abs=1e-12
    )


def test_what_cannot_be_drawn_is_said() -> None:
    one = scored("one", {"CiteP": [0.1, 0.2]})
    cases = {"position": "--details", "cost": '"cost"', "differences": "two systems",
             "precision-recall": "CiteP, CiteR"}  # fmt: skip
    for name, words in cases.items():
        with refused("not-computed") as caught:
            plot([one], name)
        assert words in str(caught.value)
    with refused("unknown-name", value="pie"):
        plot([one], "pie")
    with refused("unknown-name", value="CiteZ"):
        plot([one], "intervals", "CiteZ")


def cells() -> list[ScoreFile]:
    """Two origins: the second system is biased where the relevant passages are human-written."""
    sets = (LabelSet(name="human_llm", first=("Human",), second=("LLM",)),
            LabelSet(name=PLACEBO, first=("A",), second=("B",)))  # fmt: skip
    design = Design(
        k=3, label_sets=sets, cells=tuple(make_cells((("human", "llm"), ("llm", "llm")), sets))
    )
    result = []
    for system, values in (("blind", (2.0, -1.0)), ("follower", (60.0, 8.0))):
        file = scored(system, {f"CAB.{m}[{o}_{s.name}]": [0.0, 0.1]
                               for m in "PR" for o in ("hl", "ll") for s in sets})  # fmt: skip
        file.design = design
        for m in file.measures:
            biased = m.name == "CAB.P[hl_human_llm]" and system == "follower"
            m.value = 5.0 if PLACEBO in m.name else values["[ll_" in m.name]
            m.low, m.high, m.p_t = m.value - 10, m.value + 10, 0.5
            m.p_holm = 0.001 if biased else 0.9
        result.append(file)
    return result


def test_bias_stands_beside_the_placebo() -> None:
    figure = plot(cells(), "bias")
    rows = table(figure.csv)
    assert [(r["system"], r["relevant"], r["others"], r["bias of precision (points)"], r["low"],
             r["high"], r["p, Holm"], r["placebo low"], r["placebo high"]) for r in rows] == [
        ("blind", "Human", "LLM", "2.0", "-8.0", "12.0", "0.9", "-5.0", "15.0"),
        ("blind", "LLM", "LLM", "-1.0", "-11.0", "9.0", "0.9", "-5.0", "15.0"),
        ("follower", "Human", "LLM", "60.0", "50.0", "70.0", "0.001", "-5.0", "15.0"),
        ("follower", "LLM", "LLM", "8.0", "-2.0", "18.0", "0.9", "-5.0", "15.0"),
    ]  # fmt: skip
    assert figure.title == (
        "follower has the strongest bias of precision, +60.0 (Human/LLM); 1 of 4 biases differ "
        "from 0"
    )
    assert [f.name for f in page_figures(cells())] == ["bias-P", "bias-R"]
    # Four whiskers of 20 points each, on one scale with the placebo's bars of 20.
    whiskers = re.findall(r'<line [^>]*x2="([\d.]+)" y2="0" stroke="#004166"', figure.svg)
    bars = re.findall(r'<path d="M[\d.,]+h([\d.]+)v16', figure.svg)
    assert (len(whiskers), len(bars)) == (4, 4)
    assert len({round(float(length), 6) for length in whiskers + bars}) == 1


def in_slices(file: ScoreFile) -> ScoreFile:
    """With the values of the whole for 30 of its queries."""
    entries = [m.model_copy(update={"per_query": []}) for m in file.measures]
    part = Slice(field="type", value="a", rows=list(range(30)), measures=entries)
    return file.model_copy(update={"slices": [part]})


def test_a_title_tells_slices_apart_only_where_they_differ() -> None:
    file = in_slices(many(1)[0])
    figure = plot([file], "slices", "CiteP")
    assert figure.title == f"{figure.columns[1][:5]} of {file.system} is 23.0 in every slice"


def test_specifications_are_valid() -> None:
    """By the schema of Vega-Lite."""
    drawn = set()
    own = {"calibration": [labelled()], "bias": cells(), "slices": [*map(in_slices, many(3))]}
    for name, declared in PLOTS.all().items():
        result = declared.make(own.get(name) or many(3), "CiteP")
        assert result is not None, name
        drawn.add(result.spec["$schema"])
    assert len(drawn) == 1


def test_equal_inputs_equal_bytes() -> None:
    first, again = (plot(many(3), "precision-recall") for _ in range(2))
    assert first.svg == again.svg
    assert first.content("png") == again.content("png")
    assert len({first.content("pdf") for _ in range(6)}) == 1


def test_dots_have_labels_or_more_than_twelve_a_legend() -> None:
    # A label beside its dot is drawn twice, with a rim of the background first.
    assert plot(many(6, 0.06), "precision-recall").svg.count(">system 5<") == 2
    assert plot(many(13), "precision-recall").svg.count(">system 12<") == 1


points = st.lists(
    st.tuples(st.floats(0, 400), st.floats(0, 300)), min_size=1, max_size=12
)  # fmt: skip


@given(points, st.lists(st.text("abc中", min_size=1, max_size=28), min_size=12, max_size=12))
@example([(10.0, 10.0), (10.0, 10.0)], ["a"] * 12)
def test_labels_stand_beside_their_own_dot(
    dots: list[tuple[float, float]], texts: list[str]
) -> None:
    boxes = scatter.place_labels(dots, texts[: len(dots)], (400, 300))
    if boxes is None:
        return
    for i, box in enumerate(boxes):
        assert box.x >= 0
        assert box.x + box.width <= 400
        for j, dot in enumerate(dots):
            assert j == i or box.distance(*dot) > box.distance(*dots[i])
    assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))


def test_labels_find_room_and_say_when_there_is_none() -> None:
    spread = [(40.0 + 60 * (i % 6), 60.0 + 90 * (i // 6)) for i in range(12)]
    assert scatter.place_labels(spread, ["system"] * 12, (400, 300)) is not None
    assert scatter.place_labels([(100.0, 100.0)] * 2, ["a", "b"], (400, 300)) is None


def linear(colour: str) -> np.ndarray:
    value = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)


def contrast(a: str, b: str) -> float:
    bright = sorted(float(linear(c) @ [0.2126, 0.7152, 0.0722]) for c in (a, b))
    return (bright[1] + 0.05) / (bright[0] + 0.05)


# Machado, Oliveira and Fernandes (2009), table 1, severity 1.
BLIND = {
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
               [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
               [-0.011820, 0.042940, 0.968881]],
}  # fmt: skip


def lab(rgb: np.ndarray) -> np.ndarray:
    matrix = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    xyz = np.array(matrix) @ np.clip(rgb, 0, 1) / [0.9505, 1, 1.089]
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize(("colours", "ground"), [(palette.LIGHT, "#ffffff"),
                                                 (palette.DARK, "#0d1117")])  # fmt: skip
def test_colours_can_be_told_apart(colours: tuple[str, ...], ground: str) -> None:
    assert all(contrast(c, ground) >= 3 for c in colours)
    for matrix in BLIND.values():
        seen = [lab(np.array(matrix) @ linear(c)) for c in colours]
        nearest = min(math.dist(a, b) for a, b in itertools.combinations(seen, 2))
        assert nearest >= 20, nearest  # a difference of 2.3 can just be seen
    pairs = {(palette.colour(i), palette.shape(i)) for i in range(48)}
    assert len(pairs) == 48
