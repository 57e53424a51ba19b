"""Values of a measure with their intervals: a forest plot."""

from collections.abc import Sequence
from typing import Any

from citeforge.evaluator.measures.registry import direction
from citeforge.evaluator.statistics.ranks import rank_text, ranks_of
from citeforge.plugins.plots.charts import palette
from citeforge.plugins.plots.charts.common import (
    are_comparable,
    entries,
    measure_and_unit,
    with_ends,
)
from citeforge.plugins.plots.charts.forest import forest
from citeforge.plugins.plots.figure import BESIDE_NAMES, Figure, Rows, altair, figure_of, values
from citeforge.schemas.scores import ScoreFile

MOST = 60
"""Systems that are drawn: the best ones."""
_AT_RANKS = {"value": BESIDE_NAMES + 48}
"""Where the column of ranks ends."""


def intervals(files: Sequence[ScoreFile], measure: str) -> Figure | None:
    """Systems from the best down with the ranks that they may have; those that may be first shaded.

    Returns:
        None where no system has a value.
    """
    alt = altair()
    everybody = entries(files, measure)
    if not everybody:
        return None
    pairs = everybody[:MOST]
    ranks = ranks_of([f for f, _ in everybody], [e for _, e in everybody])[:MOST]
    scale = pairs[0][1].scale
    rows: list[dict[str, Any]] = []
    for (file, e), rank in zip(pairs, ranks, strict=True):
        value, low, high = with_ends(e)
        rows.append({"system": file.system, "value": value, "low": low, "high": high,
                     "ranks": rank_text(rank), "n": e.n,
                     "reference": file.is_control,
                     "band": len(pairs) > 1 and rank is not None and rank[0] == 1})  # fmt: skip
    plot = forest(rows, "system", f"{measure_and_unit(measure, scale)}, 95 % interval",
                  100 if scale == 100 else None)  # fmt: skip
    bands = (
        plot.base.transform_filter("datum.band")
        .mark_rect(color=palette.BAND)
        .encode(y=plot.y, x=alt.XValue(0), x2=alt.X2Value(BESIDE_NAMES))
    )  # fmt: skip
    layers = [bands, plot.whiskers(), plot.dots()]
    if len(pairs) > 1:
        ranked = plot.base.mark_text(color=palette.SOFT, align="right", fontSize=12)
        layers += [ranked.encode(y=plot.y, x=_AT_RANKS, text=alt.Text("ranks:N")), _head_of_ranks()]
    title = _title(
        measure, [r for r in rows if not r["reference"]] or rows, are_comparable(everybody)
    )
    left_out = len(everybody) - len(pairs)
    note = "Sorted by the value." if len(pairs) > 1 else "One system."
    if all(file.is_control for file, _ in pairs):
        note = "Not sorted: references are not ranked."
    elif not are_comparable(everybody)[0]:
        note = "Not sorted: these systems were scored on other queries, or by other recipes."
    if sum(rank is not None for rank in ranks) > 1:
        note += (
            " On the right the ranks that a system may have: with 95 % confidence all of them hold "
            "at once (paired t-tests over queries, Holm over all pairs). Shaded: may be first."
        )
    if direction(measure) is None and len(pairs) > 1:
        note += " Neither more nor less is better."
    elif len(pairs) > 1 and any(
        rank is None and not file.is_control for (file, _), rank in zip(pairs, ranks, strict=True)
    ):
        note += " No ranks: scored on other queries, or by another recipe, than most."
    note += f" The best {MOST} of {len(everybody)} systems." if left_out else ""
    words = "; ".join(
        f"{r['system']} {r['value']:.1f} ({r['low']:.1f} to {r['high']:.1f})" for r in rows[:12]
    )
    return figure_of(
        f"intervals-{measure}", title, f"{words}{'; …' if len(rows) > 12 else ''}.", note,
        {"system": "system", measure_and_unit(measure, scale): "value", "low": "low",
         "high": "high", "ranks, 95 %": "ranks", "queries": "n"},
        rows, plot.drawn(*layers),
    )  # fmt: skip


def _head_of_ranks() -> Any:
    """The word above the column of ranks."""
    alt = altair()
    return alt.Chart(values([{"text": "ranks"}])).mark_text(
        color=palette.SOFT, align="right", baseline="bottom", fontSize=12, dy=-3
    ).encode(x=_AT_RANKS, y=alt.YValue(0), text=alt.Text("text:N"))  # fmt: skip


def _title(measure: str, rows: Rows, comparable: Sequence[bool]) -> str:
    best = rows[0]
    value = f"{best['value']:.1f}"
    if len(rows) == 1:
        return f"{measure} of {best['system']} is {value}"
    if all(r["reference"] for r in rows):
        return f"{measure}: {len(rows)} scores of references"
    if not comparable[0]:
        return f"{measure}: {len(rows)} scores that cannot be compared"
    if direction(measure) is None:
        return f"{measure} of {len(rows)} systems, from {value} down"
    extreme = "lowest" if direction(measure) is False else "highest"
    text = f"{best['system']} has the {extreme} {measure}, {value}"
    beside = sum(bool(r["band"]) for r in rows[1:])
    if not best["band"]:
        return text
    if not beside:
        return f"{text}, and is first with 95 % confidence"
    return f"{text}; {beside} of {len(rows) - 1} others may be first, too"
