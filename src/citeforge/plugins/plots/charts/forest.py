"""Forest plots: names on the left, values with intervals on one axis below."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from citeforge.plugins.plots.charts import labels, palette
from citeforge.plugins.plots.charts.common import domain
from citeforge.plugins.plots.figure import BESIDE_NAMES, Rows, altair, values

_LINE = 14
"""Pixels from line to line of a name."""


@dataclass(frozen=True)
class Forest:
    """What the layers of a forest plot share.

    Attributes:
        base: chart of the rows.
        y: encoding of the names.
        step: height of a row.
        across: options of the axis below.
    """

    base: Any
    y: Any
    step: int
    across: dict[str, Any]

    def at(self, mark: Any, field: str = "value") -> Any:
        """A mark at a value of each row."""
        return mark.encode(y=self.y, x=altair().X(f"{field}:Q", **self.across))

    def span(self, mark: Any, low: str = "low", high: str = "high") -> Any:
        """A mark from one value of each row to another."""
        return self.at(mark, low).encode(x2=altair().X2(high))

    def whiskers(self) -> Any:
        """Intervals, as lines."""
        return self.span(self.base.mark_rule(color=palette.colour(0), strokeWidth=2))

    def dots(self) -> Any:
        """Values."""
        ink = palette.colour(0)
        return self.at(self.base.mark_point(color=ink, fill=ink, size=50, opacity=1))

    def drawn(self, *layers: Any) -> Any:
        """The plot."""
        chart = altair().layer(*layers)
        return chart.properties(width=BESIDE_NAMES, height=altair().Step(self.step))


def forest(
    rows: Rows, field: str, title: str, most: float | None,
    also: Sequence[float] = (),
) -> Forest:  # fmt: skip
    """Lay out a forest plot; a name has room in any font, as the page's may be wide.

    Args:
        rows: ``value``, ``low`` and ``high`` of a name.
        field: where the name is.
        title: of the axis below.
        most: largest value that there can be; None without one.
        also: further values that the axis reaches.
    """
    alt = altair()
    lines = labels.name_lines([str(r[field]) for r in rows])
    room = max(labels.width_of(line) for cut in lines.values() for line in cut)
    up = f"-{_LINE // 2} * (length({labels.lookup(lines)}) - 1)"  # the middle line at the row
    axis = alt.Axis(grid=False, minExtent=min(room, labels.ROOM) + 8, labelLineHeight=_LINE,
                    labelOffset={"condition": {"test": "true", "expr": up}, "value": 0},
                    labelLimit=labels.ROOM, labelExpr=labels.lookup(lines))  # fmt: skip
    lows, highs = ([r[end] for r in rows] + list(also) for end in ("low", "high"))
    scale = alt.Scale(domain=domain(lows, highs, most), nice=False, zero=False)
    y = alt.Y(f"{field}:N", sort=list(lines), title=None, axis=axis)
    step = 8 + _LINE * max(map(len, lines.values()))
    return Forest(alt.Chart(values(rows)), y, step, {"title": title, "scale": scale})
