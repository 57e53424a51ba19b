"""Citation bias towards an author (CAB) with intervals, beside that of labels that mean nothing."""

from collections.abc import Iterator, Sequence
from typing import Any

from citeforge.plugins.plots.charts import palette
from citeforge.plugins.plots.charts.common import entry, with_ends
from citeforge.plugins.plots.charts.forest import forest
from citeforge.plugins.plots.figure import Figure, Rows, altair, figure_of, values
from citeforge.schemas.benchmarks.authorship import AUTHORS, PLACEBO
from citeforge.schemas.scores import ScoreFile

_WORDS = {"P": "precision", "R": "recall"}
_LEVEL = 0.05


def bias(files: Sequence[ScoreFile], measure: str) -> Figure | None:
    """CAB of every system, label set and pair of origins (Abolghasemi et al. 2025, tables 3, 6, 8).

    Args:
        files: score files.
        measure: of precision, but of recall where it is ``CAB.R`` of any cell.

    Returns:
        None where no file has CAB.
    """
    letter = "R" if measure.startswith("CAB.R") else "P"
    rows = [row for file in files for row in _rows(file, letter)]
    if not rows:
        return None
    word, title = _WORDS[letter], _title(rows, _WORDS[letter])
    several = len({r["labels"] for r in rows}) > 1
    for row in rows:
        row["name"] = f"{row['system']}, {row['relevant']}/{row['others']}" + (
            f", {row['labels']}" if several else ""
        )
    words = "; ".join(f"{r['name']}: {r['value']:+.1f}" for r in rows[:12])
    return figure_of(
        f"bias-{letter}", title, f"{words}{'; …' if len(rows) > 12 else ''}.",
        "Named by the authors of the relevant passages and of the others. To the right: towards "
        "human authorship (the first label of other sets). Grey: the interval of the placebo, "
        "labels that mean nothing, on the same passages. Filled: differs from 0 at p < .05 (paired "
        "t-test, Holm over the cells).",
        {"system": "system", "labels": "labels", "relevant": "relevant", "others": "others",
         f"bias of {word} (points)": "value", "low": "low", "high": "high", "p, Holm": "p",
         "placebo low": "placebo_low", "placebo high": "placebo_high"},
        rows, _chart(rows, word),
    )  # fmt: skip


def _rows(file: ScoreFile, letter: str) -> Iterator[dict[str, Any]]:
    if file.design is None:
        return
    for vanilla in (c for c in file.design.cells if c.labels is None):
        placebo = entry(file, f"CAB.{letter}[{vanilla.origins}_{PLACEBO}]")
        for labels in (s.name for s in file.design.label_sets if s.name != PLACEBO):
            measured = entry(file, f"CAB.{letter}[{vanilla.origins}_{labels}]")
            if measured is None:
                continue
            value, low, high = with_ends(measured)
            p = measured.p_t if measured.p_holm is None else measured.p_holm
            yield {
                "system": file.system, "labels": labels, "value": value, "low": low,
                "high": high, "p": p, "differs": p is not None and p < _LEVEL,
                "relevant": AUTHORS[vanilla.relevant_origin],
                "others": AUTHORS[vanilla.other_origin],
                "placebo_low": None if placebo is None else with_ends(placebo)[1],
                "placebo_high": None if placebo is None else with_ends(placebo)[2],
            }  # fmt: skip


def _title(rows: Rows, word: str) -> str:
    most = max(rows, key=lambda r: abs(r["value"]))
    n = sum(bool(r["differs"]) for r in rows)
    return (
        f"{most['system']} has the strongest bias of {word}, {most['value']:+.1f} "
        f"({most['relevant']}/{most['others']}); {n} of {len(rows)} biases differ from 0"
    )


def _chart(rows: Rows, word: str) -> Any:
    alt = altair()
    keys = ("placebo_low", "placebo_high")
    ends = [r[k] for r in rows for k in keys if r[k] is not None]
    title = f"bias of {word} (points, CAB), 95 % interval"
    plot = forest(rows, "name", title, None, [0.0, *ends])
    placebo = plot.base.transform_filter("datum.placebo_low !== null").mark_bar(
        color=palette.LINE, height=16
    )
    nothing = alt.Chart(values([{"at": 0}])).mark_rule(color=palette.SOFT, strokeDash=[3, 3])
    filled = alt.condition("datum.differs", alt.value(palette.colour(0)), alt.value(palette.GROUND))
    dots = plot.base.mark_point(color=palette.colour(0), size=55, opacity=1, strokeWidth=2)
    return plot.drawn(
        plot.span(placebo, *keys),
        nothing.encode(x=alt.X("at:Q", **plot.across)), plot.whiskers(),
        plot.at(dots).encode(fill=filled),
    )  # fmt: skip
