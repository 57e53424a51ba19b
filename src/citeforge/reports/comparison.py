"""Comparison of systems with what people are told beside it: scope, cautions, signatures."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from citeforge.evaluator.compare import BY_QUERY_NOTE, Comparison, Difference
from citeforge.evaluator.rows import named_rows
from citeforge.reports.notes import limit_lines, scope_lines, small_slice_lines
from citeforge.reports.package_changes import list_names
from citeforge.schemas.scores import ScoreFile
from citeforge.schemas.signature import joined_signatures

_MOST_NAMED = 5
"""Measures that a note names."""

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
    rows = named_rows(files)
    cautions = [*_lacking_lines(rows, names), *limit_lines(rows, names)]
    cautions += small_slice_lines(comparison.small_slices)
    signatures = [m.signature for f in files for m in f.measures if m.name in names]
    return ComparisonReport(
        comparison.differences, comparison.left_out, cautions, scope_lines(files),
        joined_signatures(signatures),
    )  # fmt: skip


def _lacking_lines(files: Sequence[ScoreFile], measures: Collection[str]) -> list[str]:
    """List the compared measures that some files have no score of, with the reason if known.

    Args:
        files: score files with distinct names.
        measures: names of the measures that were to be compared.
    """
    wanted = dict.fromkeys(m.name for f in files for m in f.measures if m.name in measures)
    lines = []
    for file in files:
        reasons = {entry.name: entry.reason for entry in file.not_computed}
        own = {m.name for m in file.measures}
        by_reason: dict[str, list[str]] = {}
        for name in wanted:
            if name not in own:
                reason = reasons.get(name, "score it with the same --measures")
                by_reason.setdefault(reason, []).append(name)
        lines += [
            f"not compared: {file.system} has no {list_names(names, _MOST_NAMED)} ({reason})"
            for reason, names in by_reason.items()
        ]
    return lines
