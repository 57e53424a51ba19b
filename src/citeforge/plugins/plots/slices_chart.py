"""Plot of the scores of slices: the queries that share a field's value."""

from collections.abc import Sequence
from typing import Any

from citeforge.evaluator.reports.slices import slice_fields, sliced, slices_of
from citeforge.plugins.plots.charts import entry, measure_and_unit, with_ends
from citeforge.plugins.plots.figure import Figure, figure_of
from citeforge.plugins.plots.forest_chart import MOST_ROWS, forest
from citeforge.schemas.recipes.gate import FEWEST_QUERIES
from citeforge.schemas.scores import ScoreFile


def slices(files: Sequence[ScoreFile], measure: str) -> Figure | None:
    """Draw the scores of all slices of queries, by field; None without slices."""
    rows: list[dict[str, Any]] = []
    n_small = 0
    for name in slice_fields(files):
        for value, n in slices_of(files, name):
            n_small += n < FEWEST_QUERIES
            for file in files:
                part = sliced(file, name, value)
                e = None if part is None else entry(part, measure)
                if e is None or e.n < FEWEST_QUERIES:
                    continue
                middle, low, high = with_ends(e)
                label = f"{name} {value}" + (f" · {file.system}" if len(files) > 1 else "")
                rows.append({"slice": label, "system": file.system, "field": name, "of": value,
                             "value": middle, "low": low, "high": high, "n": e.n,
                             "scale": e.scale})  # fmt: skip
    if not rows:
        return None
    scale = rows[0]["scale"]
    drawn = rows[:MOST_ROWS]
    plot = forest(drawn, "slice", f"{measure_and_unit(measure, scale)}, 95 % intervals",
                  100 if scale == 100 else None)  # fmt: skip
    own = [r for r in rows if r["system"] == rows[0]["system"]]
    least, most = (f(own, key=lambda r: r["value"]) for f in (min, max))
    title = f"{measure} of {least['system']} is {least['value']:.1f}"
    if f"{least['value']:.1f}" == f"{most['value']:.1f}":
        title += " in every slice"
    else:
        title += (
            f" where {least['field']} is {least['of']}, and {most['value']:.1f} where "
            f"{most['field']} is {most['of']}"
        )
    note = "Intervals of a system hold at once for all its slices (Šidák)."
    note += f" Too few queries (below {FEWEST_QUERIES}): {n_small} slices." if n_small else ""
    note += f" The first {MOST_ROWS} of {len(rows)}." if len(rows) > MOST_ROWS else ""
    words = "; ".join(
        f"{r['slice']} {r['value']:.1f} ({r['low']:.1f} to {r['high']:.1f})" for r in rows[:12]
    )
    return figure_of(
        f"slices-{measure}", title, f"{words}{'; …' if len(rows) > 12 else ''}.", note,
        {"slice": "slice", measure_and_unit(measure, scale): "value", "low": "low",
         "high": "high", "queries": "n"},
        drawn, plot.stack(plot.whiskers(), plot.dots()),
    )  # fmt: skip
