"""Values of a measure with their intervals: a forest plot."""

from __future__ import annotations

from collections.abc import Sequence

from citeforge.evaluator.groups import significance_groups
from citeforge.evaluator.plots import palette
from citeforge.evaluator.plots.common import domain, entries, shown, unit
from citeforge.evaluator.plots.figure import WIDTH, Figure, altair, finished, values
from citeforge.schemas.scores import ScoreFile

MOST = 60
"""Systems that are drawn: the best ones."""
_ROW = 22


def intervals(files: Sequence[ScoreFile], measure: str) -> Figure | None:
    """Systems from the best down, every second significance group shaded.

    Returns:
        None where no system has a value.
    """
    alt = altair()
    everybody = entries(files, measure)
    if not everybody:
        return None
    found = everybody[:MOST]
    groups = significance_groups([e for _, e in found])
    scale = found[0][1].scale
    rows: list[dict[str, object]] = []
    for (file, e), group in zip(found, groups, strict=True):
        value = e.value or 0.0
        low, high = (value, value) if e.low is None or e.high is None else (e.low, e.high)
        rows.append({"system": file.system, "value": value, "low": low, "high": high,
                     "group": group, "n": e.n, "band": group % 2 == 0})  # fmt: skip
    names = [str(r["system"]) for r in rows]
    y = alt.Y("system:N", sort=names, title=None, axis=alt.Axis(grid=False, labelLimit=160))
    ends = domain([float(str(r["low"])) for r in rows], [float(str(r["high"])) for r in rows],
                  100 if scale == 100 else None)  # fmt: skip
    across = {"title": f"{unit(measure, scale)}, 95 % interval",
              "scale": alt.Scale(domain=ends, nice=False, zero=False)}  # fmt: skip
    base = alt.Chart(values(rows))
    bands = (
        base.transform_filter("datum.band")
        .mark_rect(color=palette.BAND)
        .encode(y=y, x=alt.value(0), x2=alt.value(WIDTH))
    )  # fmt: skip
    whiskers = base.mark_rule(color=palette.colour(0), strokeWidth=2).encode(
        y=y, x=alt.X("low:Q", **across), x2="high:Q"
    )
    dots = base.mark_point(color=palette.colour(0), fill=palette.colour(0), size=50).encode(
        y=y, x=alt.X("value:Q", **across)
    )
    chart = alt.layer(bands, whiskers, dots).properties(width=WIDTH, height=alt.Step(_ROW))
    title = _title(measure, rows)
    left_out = len(everybody) - len(found)
    note = (
        "Sorted; shaded and plain rows in turn are groups of systems that do not differ "
        "significantly from the best of their group (paired t-test over queries, p < .05)."
    ) + (f" The best {MOST} of {len(everybody)} systems." if left_out else "")
    told = "; ".join(
        f"{r['system']} {shown(float(str(r['value'])))} "
        f"({shown(float(str(r['low'])))} to {shown(float(str(r['high'])))})"
        for r in rows[:12]
    )
    return Figure(
        f"intervals-{measure}", title, f"{title}. {told}{'; …' if len(rows) > 12 else ''}.", note,
        ("system", unit(measure, scale), "low", "high", "group", "queries"),
        tuple((r["system"], r["value"], r["low"], r["high"], r["group"], r["n"]) for r in rows),
        finished(chart, title),
    )  # fmt: skip


def _title(measure: str, rows: Sequence[dict[str, object]]) -> str:
    best = rows[0]
    value = shown(float(str(best["value"])))
    if len(rows) == 1:
        return f"{measure} of {best['system']} is {value}"
    beside = sum(r["group"] == 1 for r in rows) - 1
    return f"{best['system']} has the highest {measure}, {value}; " + (
        "all others differ significantly from it" if beside == 0
        else f"{beside} of {len(rows) - 1} others do not differ significantly from it"
    )  # fmt: skip
