"""Table and notes of how many queries a gate needs."""

from collections.abc import Iterator
from dataclasses import dataclass

from citeforge.engines.report_table import Displayed, Table, folded_note
from citeforge.engines.shown import show_number, show_percent
from citeforge.evaluator.gate_plan import PlanDoubt, PlannedQueries


@dataclass(frozen=True, repr=False)
class GatePlan(Displayed):
    """How many queries a gate needs.

    Attributes:
        power: how often it is to pass if nothing was lost.
        rows: a row per measure and assumed share.
        doubts: what more queries cannot make up for, by system.
    """

    power: float
    rows: list[PlannedQueries]
    doubts: list[PlanDoubt]

    @property
    def notes(self) -> list[str]:
        """Notes on a plan's assumptions, and on uncertainty that more queries cannot reduce."""
        has_scores = any(row.measure for row in self.rows)
        return [
            "an answer that changes gets the value of another query's, drawn at random"
            if has_scores else "changed answers go from right to wrong or back",
            "if nothing was lost: as much is gained as lost; plan more where a small loss is "
            "expected",
            "0 of n answers differ: a loss of up to 3.7 / n of the range cannot be excluded, "
            "whatever is planned",
            *(note for doubt in self.doubts for note in _describe_doubt(doubt)),
        ]  # fmt: skip

    def _headline(self) -> str:
        """Write the plan's title: what its numbers of queries mean."""
        runs = f"{show_percent(self.power)} of runs"
        return f"queries with which a gate passes in {runs} if nothing was lost"

    def _tables(self) -> Iterator[Table]:
        """Make the plan's table: queries needed per measure and share of answers that change."""
        head = ["measure", "answers that change", "margin", "queries"]
        cells = [
            [
                r.measure or "right or wrong",
                show_percent(r.share) if r.share is not None
                else f"as here: {r.n_changed:,} of {r.n:,}",
                show_number(r.margin), "no number" if r.needed is None else f"{r.needed:,}",
                *([] if r.power_now is None else [f"{show_percent(r.power_now)} of {r.n:,}"]),
            ]
            for r in self.rows
        ]  # fmt: skip
        if any(r.power_now is not None for r in self.rows):
            head.append("passes now")
        yield Table(head, cells, left=2, notes=self.notes)

    def text(self, width: int | None = None) -> str:
        """Write the plan of queries needed as text, no wider than a terminal."""
        (table,) = self._tables()
        notes = [line for note in self.notes for line in folded_note(f"note: {note}", width)]
        return "\n".join([self._headline(), "", *table.text(width), "", *notes])


def _describe_doubt(doubt: PlanDoubt) -> Iterator[str]:
    """Yield notes on one system's uncertainty (judge, runs) that more queries cannot reduce."""
    name = f"baseline {doubt.system}" if doubt.is_baseline else doubt.system
    if doubt.n_judge_failed:
        yield (
            f"{name}: the judge failed on {doubt.n_judge_failed:,} pairs, and no number of queries "
            "makes up for them: judge these pairs again; only a row `as here` includes them"
        )
    if doubt.varies:
        yield (
            f"{name}: runs and verdicts that differ widen the interval; only a row `as here` "
            "includes them: if it has no number, score more runs"
        )
