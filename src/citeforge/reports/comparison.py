"""Comparison of systems with what people are told beside it: scope, cautions, signatures."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from citeforge.evaluator.compare import BY_QUERY_NOTE, Comparison, Difference
from citeforge.evaluator.rows import named_rows
from citeforge.reports.notes import limit_lines, scope_lines, small_slice_lines
from citeforge.schemas.signature import joined_signatures

_NOTE = (
    "Second minus first system; 95 % intervals; p of paired t and permutation tests, the latter "
    "adjusted by Holm over all pairs and measures of this table; the smallest difference that 80 % "
    "power finds; n: queries that both define, for quotients of sums those that enter either."
)


@dataclass(frozen=True)
class ComparisonReport:
    """Differences of systems, and the notes that belong beside them.

    Attributes:
        differences: in the order of the pairs.
        left_out: reasons why pairs cannot be compared.
        cautions: notes that limit the differences.
        scope: benchmark, context set, protocol and number of queries.
        signatures: signatures of the values.
    """

    differences: Sequence[Difference]
    left_out: Sequence[str] = ()
    cautions: list[str] = field(default_factory=list)
    scope: list[str] = field(default_factory=list)
    signatures: list[str] = field(default_factory=list)

    @property
    def explanation(self) -> str:
        """Note that explains the columns in tables of differences between systems."""
        marked = any(d.by_query for d in self.differences)
        return " ".join([_NOTE, *[BY_QUERY_NOTE] * marked])

    @property
    def notes(self) -> list[str]:
        """Notes below tables of differences between systems: scope, cautions, pairs left out."""
        apart = [f"not compared: {line}" for line in self.left_out]
        return [*self.scope, *self.cautions, *apart]


def describe_comparison(comparison: Comparison) -> ComparisonReport:
    """Convert score differences to a report that adds scope, cautions and score signatures."""
    files, names = comparison.files, comparison.measures
    cautions = limit_lines(named_rows(files), names) + small_slice_lines(comparison.small_slices)
    signatures = [m.signature for f in files for m in f.measures if m.name in names]
    return ComparisonReport(
        comparison.differences, comparison.left_out, cautions, scope_lines(files),
        joined_signatures(signatures),
    )  # fmt: skip
