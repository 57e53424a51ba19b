"""What a report shows of scores, computed once: its writers only render it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

from citeforge.engines.report_table import Table
from citeforge.evaluator.lines import Lines, is_below
from citeforge.evaluator.ranks import RankInterval, ranks_by_measure
from citeforge.evaluator.rows import (
    controls_last,
    drop_signature_parts,
    is_trivial,
    named_rows,
    of_cells,
)
from citeforge.evaluator.slices import slice_fields
from citeforge.reports.authorship import signature_lines, tables
from citeforge.reports.notes import (
    SLICES_NOTE,
    limit_lines,
    line_notes,
    missing_lines,
    not_comparable,
    scope_lines,
)
from citeforge.reports.tables import line_rows, scores_table, slice_tables
from citeforge.schemas.scores import MeasureScore, ScoreFile


@dataclass(frozen=True)
class ScoreRow:
    """A score of a system with what is shown beside it.

    Attributes:
        file: score file of the system, with its name in the report.
        score: score on all queries, or on those of a slice.
        ranks: ranks that the system may have; None without, as on slices.
        line: value to beat; None without, as on slices.
        is_trivial: whether any citation satisfies the measure.
        is_below: whether the value is at or below its line.
        slice: field and value of the slice; None for all queries.
    """

    file: ScoreFile
    score: MeasureScore
    ranks: RankInterval | None = None
    line: float | None = None
    is_trivial: bool = False
    is_below: bool = False
    slice: tuple[str, str] | None = None


class ScoreReport:
    """Rows, tables, ranks, notes and signatures of score files; each is computed when first asked.

    Attributes:
        given: score files as they were read.
        files: the same with distinct names; controls come last.
        alike: ``files`` without the parts of signatures in which they may differ.
        lines: values to beat.
        is_design: whether all files are of authorship benchmarks, with scores by condition.
    """

    def __init__(
        self, files: Sequence[ScoreFile], across: Sequence[str] = (),
        lines_to_beat: Lines = MappingProxyType({}),
    ):  # fmt: skip
        """Make a report of score files; settings named in ``across`` may differ between systems.

        Args:
            files: score files.
            across: prefixes of signature parts that may differ between ranked systems.
            lines_to_beat: value to beat by signature of the measure.
        """
        self.given, self.lines = files, lines_to_beat
        self.files = named_rows(controls_last(files))
        self.alike = drop_signature_parts(self.files, across)
        self.is_design = of_cells(files)

    @cached_property
    def measures(self) -> list[str]:
        """Names of all measures, each once."""
        return list(dict.fromkeys(m.name for f in self.files for m in f.measures))

    @cached_property
    def ranks(self) -> dict[str, list[RankInterval | None]]:
        """Intervals of each system's rank, by measure; empty for authorship benchmarks."""
        return {} if self.is_design else ranks_by_measure(self.alike)

    @cached_property
    def rows(self) -> list[ScoreRow]:
        """Scores on all queries, one row per system and measure."""
        return [
            ScoreRow(
                file, m, self.ranks[m.name][row] if self.ranks else None,
                line=self.lines.get(m.signature), is_trivial=is_trivial(file, m.name),
                is_below=is_below(file, m, self.lines),
            )
            for row, file in enumerate(self.files)
            for m in file.measures
        ]  # fmt: skip

    @cached_property
    def slice_fields(self) -> list[str]:
        """Fields of the queries (such as ``language``) by which all score files have slices."""
        return slice_fields(self.files)

    def slice_rows(self) -> Iterator[ScoreRow]:
        """Yield scores on slices of the queries, one row per system, slice and measure."""
        for file in self.files:
            for slice_ in (p for p in file.slices if p.field in self.slice_fields):
                for m in slice_.measures:
                    yield ScoreRow(file, m, slice=(slice_.field, slice_.value))

    @cached_property
    def tables(self) -> list[Table]:
        """Tables of scores: a single one, or for authorship benchmarks those of their paper."""
        if self.is_design:
            return tables(self.files)
        return [scores_table(self.files, "system", has_sd=False, lines_to_beat=self.lines)]

    @cached_property
    def slices(self) -> list[Table]:
        """Tables of the main measure by slices of the queries, one per field."""
        return list(slice_tables(self.files))

    @cached_property
    def line_rows(self) -> list[list[object]]:
        """Table rows of the values to beat: the best of trivial systems that copy passages."""
        return line_rows(self.files, self.measures, self.lines)

    @cached_property
    def scope(self) -> list[str]:
        """Lines on the scope of the scores: benchmark, context set, protocol, number of queries."""
        return scope_lines(self.files)

    @cached_property
    def not_computed(self) -> list[str]:
        """Measures that were not computed, with reasons."""
        return missing_lines(self.files)

    @cached_property
    def limits(self) -> list[str]:
        """Cautions on the scores: missing answers, hidden labels, judges, runs, warnings."""
        return limit_lines(self.files)

    @cached_property
    def not_comparable(self) -> list[str]:
        """Systems that must not be compared, with the settings that differ."""
        return not_comparable(self.alike)

    @cached_property
    def line_notes(self) -> list[str]:
        """Notes on systems that are no better than a trivial system that copies passages."""
        return line_notes(self.files, self.lines)

    @cached_property
    def by_measure(self) -> dict[str, list[ScoreRow | None]]:
        """Rows by measure, one per score file; None for a file without the measure."""
        rows = {(id(row.file), row.score.name): row for row in self.rows}
        return {name: [rows.get((id(f), name)) for f in self.files] for name in self.measures}

    @property
    def notes(self) -> list[str]:
        """Sentences to print below a table of scores, without signatures."""
        return [
            *self.scope,
            *(f"not computed: {line}" for line in self.not_computed),
            *self.limits,
            *(f"not comparable: {line}" for line in self.not_comparable),
            *[SLICES_NOTE] * bool(self.slices),
            *self.line_notes,
        ]

    @cached_property
    def signatures(self) -> list[str]:
        """Signatures (settings) of all scores and corrected values, each once."""
        if self.is_design:
            return signature_lines(self.files)
        every = (
            signature
            for f in self.files
            for m in f.measures
            for signature in (m.signature, m.corrected.signature if m.corrected else m.signature)
        )
        return list(dict.fromkeys(every))
