"""Scoring every cell of the design, and what labels change: CAS, CAB and their significance."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from citeforge.builders.exclusions import short_answers
from citeforge.engines.files import digest_folder, sha256_file
from citeforge.engines.tables import read_table, shard_paths
from citeforge.evaluator.authorship.answers import (
    CellRuns,
    Values,
    measure_reference,
    measure_strict,
    worst,
)
from citeforge.evaluator.benchmark import Benchmark
from citeforge.evaluator.compare import holm, paired_t
from citeforge.evaluator.entries import make_entry
from citeforge.evaluator.formats import answers_of, detect
from citeforge.evaluator.measures.declared import Measure
from citeforge.evaluator.origin import (
    anonymous_warnings,
    is_anonymous,
    require_same_benchmark,
    survey,
)
from citeforge.evaluator.statistics import Floats, Sample, estimate_all, mean_sample, ratio
from citeforge.evaluator.submission import Places, read_answers, system_name
from citeforge.schemas.authorship import PLACEBO, Cell, Design, LabelSet, design_of
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.scores import Counts, MeasureScore, NotComputed, ScoreFile
from citeforge.schemas.signature import Signature
from citeforge.schemas.tables import GOLD, MAPPING, RELEVANT

CONTEXT = "design"
"""``context`` of score files that cover all cells."""

_PER_CELL = {
    "Auth.P": "precision",
    "Auth.R": "recall",
    "Auth.EM": "em",
    "Cited.relevant": "cited_relevant",
    "Cited.total": "cited_total",
}
_CONFIDENCE = {"AC.relevant": "relevant", "AC.other": "other"}


def score_design(
    path: Path,
    benchmark: Benchmark,
    measures: list[Measure],
    protocol: Literal["strict", "reference"],
    context: str | None,
    file_format: str = "auto",
) -> ScoreFile:
    """Score a submission to an authorship benchmark.

    Args:
        path: submission; its lines name cells in ``context``.
        benchmark: the authorship benchmark.
        measures: measures of the family ``authorship``.
        protocol: ``strict`` or ``reference``.
        context: must be None: the measures look at all cells.
        file_format: format of the submission; see :mod:`citeforge.evaluator.formats`.

    Raises:
        UsageError: another kind of benchmark, measures of other families, or a context.
        InputError: an unreadable line, an unknown or duplicate key, or no line of any cell.
    """
    if benchmark.manifest.kind != "authorship":
        raise UsageError(
            f"authorship measures need an authorship benchmark; {benchmark.manifest.name} is "
            f"{benchmark.manifest.kind}"
        )
    others = [m.name for m in measures if m.family != "authorship"]
    if others or context is not None:
        what = f"--measures {','.join(others)}" if others else f"--context {context}"
        raise UsageError(
            f"{what}: authorship measures look at all cells at once; score the family authorship "
            "by itself, and others with --context CELL --measures …"
        )
    if protocol == "reference" and benchmark.manifest.grammar.base != 0:
        raise UsageError(
            "--protocol reference counts passages from 0, as AttriEval does; the prompts of "
            f"{benchmark.manifest.name} count from {benchmark.manifest.grammar.base}"
        )
    chosen = detect(path) if file_format == "auto" else file_format
    warnings: list[str] = []
    if chosen == "citeforge":
        require_same_benchmark(path, benchmark)
        if is_anonymous(path):
            warnings = _warnings(path, benchmark)
    elif chosen == "attrieval" and benchmark.manifest.grammar.base != 0:
        raise UsageError(
            "AttriEval's prompts count passages from 0; those of "
            f"{benchmark.manifest.name} count from {benchmark.manifest.grammar.base}"
        )
    reader = _Reader(path, benchmark, protocol, chosen)
    reader.read()
    scoring = _Scoring(benchmark, reader, protocol, {m.name: m for m in measures})
    entries = scoring.entries()
    return ScoreFile(
        system=system_name(path) if path.is_file() else path.name,
        submission=path.name,
        submission_format=chosen,
        submission_sha256=sha256_file(path) if path.is_file() else digest_folder(path),
        benchmark=benchmark.manifest.name,
        benchmark_hash=benchmark.manifest.benchmark_hash,
        protocol=protocol,
        context=CONTEXT,
        counts=reader.counts(),
        query_ids=benchmark.query_ids,
        measures=entries,
        not_computed=scoring.missing,
        design=reader.design,
        warnings=warnings,
    )


def _warnings(path: Path, benchmark: Benchmark) -> list[str]:
    """What makes it doubtful that the submission answers this benchmark."""
    found = survey(path, read_answers(path), benchmark, None, benchmark.grammar)
    return anonymous_warnings(path, benchmark) + found


class _Reader:
    """Reads a submission cell by cell; only numbers are kept."""

    def __init__(self, path: Path, benchmark: Benchmark, protocol: str, form: str) -> None:
        self.path, self.benchmark, self.protocol, self.form = path, benchmark, protocol, form
        self.design: Design = design_of(benchmark.manifest)
        tables = {c.context: benchmark.context(c.context) for c in self.design.cells}
        first = tables[self.design.cells[0].context]
        self.sizes, self.relevant = first.sizes, first.relevant
        self.gold = _gold(benchmark)
        n = len(benchmark.query_ids)
        self.cells = {name: CellRuns(n) for name in tables}
        self.tally = dict.fromkeys(("unparsed", "empty", "truncated", "uncited", "beyond"), 0)

    def read(self) -> None:
        strict = self.protocol == "strict"
        grammar = self.benchmark.grammar
        measure = measure_strict if strict else measure_reference
        places = Places(self.path, self.benchmark)
        for line, answer in answers_of(self.path, self.benchmark, self.form):
            if answer.context not in self.cells:
                raise InputError(
                    "is missing"
                    if answer.context is None
                    else f"{answer.context!r} is no cell of the benchmark",
                    path=self.path,
                    line=line,
                    field="context",
                    allowed=", ".join(self.cells),
                )
            row = places.row(line, answer, answer.context)
            cell = self.cells[answer.context]
            values = measure(
                answer, grammar, self.sizes[row], self.relevant[row], self.gold[row]
            )  # fmt: skip
            cell.put(answer.run, row, values)
            self._count(answer.output, values)
        if not any(c.runs for c in self.cells.values()):
            raise InputError("holds no answers", path=self.path)
        self.tally["truncated"] = places.n_truncated
        if strict:
            self._fill()

    def _count(self, output: str, values: Values) -> None:
        self.tally["unparsed"] += values.unparsed > 0
        self.tally["empty"] += not output.strip()
        self.tally["uncited"] += values.cited_total == 0
        self.tally["beyond"] += values.out_of_range > 0

    def _fill(self) -> None:
        """Missing answers of cells that were run score the worst value."""
        for cell in self.cells.values():
            for run, seen in list(cell.seen.items()):
                for row in set(range(cell.n_queries)) - seen:
                    cell.put(run, row, worst(self.relevant[row], self.gold[row]))
                    cell.seen[run].discard(row)

    @property
    def absent(self) -> list[str]:
        """Cells without any line."""
        return [name for name, cell in self.cells.items() if not cell.runs]

    def counts(self) -> Counts:
        n = len(self.benchmark.query_ids)
        runs = {run for cell in self.cells.values() for run in cell.runs}
        answered = sum(len(seen) for cell in self.cells.values() for seen in cell.seen.values())
        keys = sum(n * max(len(cell.runs), 1) for cell in self.cells.values())
        return Counts(
            n_queries=n,
            n_runs=len(runs),
            n_answered=answered,
            n_missing=keys - answered,
            n_unparsed=self.tally["unparsed"],
            n_empty=self.tally["empty"],
            n_truncated=self.tally["truncated"],
            n_uncited=self.tally["uncited"],
            n_out_of_range=self.tally["beyond"],
            n_no_relevant=sum(not r for r in self.relevant),
            n_no_gold=sum(not g for g in self.gold),
        )


def _gold(benchmark: Benchmark) -> list[list[str]]:
    mapping = read_table(shard_paths(benchmark.folder / "mapping", RELEVANT), MAPPING)
    gold = read_table(shard_paths(benchmark.folder / "gold", "gold"), GOLD)
    return short_answers(benchmark.queries, mapping, gold)


@dataclass(frozen=True)
class Comparison:
    """Two runs of one pair of origins, whose labels are opposite.

    Attributes:
        first: cell of the first term.
        second: cell of the second term.
        omega: +1 when in the first one the relevant passages carry the human label and the others
            the LLM label, else −1 (equation 3).
    """

    first: Cell
    second: Cell
    omega: int


def comparison(cells: list[Cell]) -> Comparison:
    """The two cells whose difference CAB is, of one label set and pair of origins.

    Informed minus counterfactual (equation 2); in mixed mode, informed/cf minus cf/informed
    (equation 5).

    Raises:
        ValueError: a run in which relevant and other passages carry equal labels.
    """
    by_mode = {c.mode: c for c in cells}
    mixed = cells[0].mixed
    first = by_mode["informed_cf" if mixed else "informed"]
    second = by_mode["cf_informed" if mixed else "cf"]
    for cell in (first, second):
        if cell.side(True) == cell.side(False):
            raise ValueError(f"{cell.context}: relevant and other passages have equal labels")
    return Comparison(first, second, 1 if first.side(True) == "first" else -1)


class _Scoring:
    def __init__(
        self, benchmark: Benchmark, reader: _Reader, protocol: str, measures: dict[str, Measure]
    ) -> None:
        self.reader, self.measures = reader, measures
        self.missing: list[NotComputed] = []
        self.signature = Signature(
            measure="",
            protocol=protocol,
            grammar=benchmark.grammar.signature if protocol == "strict" else "0,authorship",
            context="",
            benchmark=benchmark.label,
        )
        runs = [tuple(sorted(c.runs)) for c in reader.cells.values() if c.runs]
        # Only where all cells were run alike can runs be paired.
        self.runs = runs[0] if len(set(runs)) == 1 else None

    def column(self, cell: str, name: str) -> Floats:
        """Shape (runs, queries); one averaged run where cells differ in their runs."""
        found = self.reader.cells[cell]
        values = found.column(name, sorted(found.runs))
        if self.runs is not None:
            return values
        with np.errstate(invalid="ignore"):
            known = ~np.isnan(values)
            total = np.where(known, values, 0.0).sum(axis=0)
            return ratio(total, known.sum(axis=0).astype(np.float64))[None]

    def entries(self) -> list[MeasureScore]:
        rows = [*self._cells(), *self._differences()]
        estimates = estimate_all([sample for _, _, sample, _, _ in rows])
        found = []
        for (measure, place, sample, p, _), estimate in zip(rows, estimates, strict=True):
            signature = replace(self.signature, measure=measure.name, context=place)
            entry = make_entry(measure, sample, estimate, signature, f"{measure.name}[{place}]")
            entry.p_t = None if p is None or math.isnan(p) else p
            found.append(entry)
        self._adjust(found, [labels for *_, labels in rows])
        return found

    def _adjust(self, entries: list[MeasureScore], labels: list[str | None]) -> None:
        """Holm over the cells of each table; the placebo is a control and stays out."""
        for family in ("CAS", "CAB"):
            table = [
                e
                for e, name in zip(entries, labels, strict=True)
                if e.name.startswith(family) and name != PLACEBO and e.p_t is not None
            ]
            for entry, p in zip(table, holm([e.p_t or 0.0 for e in table]), strict=True):
                entry.p_holm = p

    def _cells(self) -> Iterator[tuple[Measure, str, Sample, float | None, str | None]]:
        for cell in self.reader.design.cells:
            if cell.context in self.reader.absent:
                self.missing.append(
                    NotComputed(
                        name=f"all measures of the cell {cell.context}",
                        reason="the submission has no answers to it",
                    )
                )
                continue
            for name, column in _PER_CELL.items():
                if name in self.measures:
                    if name == "Auth.EM" and not any(self.reader.gold):
                        self._not_computed(name, cell.context, "no gold short answers")
                        continue
                    values = self.column(cell.context, column)
                    sample = mean_sample(name, values)
                    yield self.measures[name], cell.context, sample, None, cell.labels
            for name, side in _CONFIDENCE.items():
                if name in self.measures:
                    sums = np.stack(
                        [self.column(cell.context, f"{side}_{x}") for x in ("sum", "n")], axis=-1
                    )
                    sums = np.nan_to_num(sums)
                    if not sums[..., 1].any():
                        self._not_computed(name, cell.context, "no logprobs of such citations")
                        continue
                    sample = Sample(
                        name, sums, lambda s: ratio(s[..., 0], s[..., 1]),
                        ratio(sums[..., 0], sums[..., 1]),
                    )  # fmt: skip
                    p = self._confidence_test(cell.context) if name == "AC.relevant" else None
                    yield self.measures[name], cell.context, sample, p, cell.labels

    def _confidence_test(self, cell: str) -> float:
        """Relevant against other passages, over queries whose answers cite both."""
        sides = []
        for side in _CONFIDENCE.values():
            total, n = (np.nan_to_num(self.column(cell, f"{side}_{x}")) for x in ("sum", "n"))
            sides.append(ratio(total.sum(axis=0), n.sum(axis=0)))
        difference = sides[0] - sides[1]
        return paired_t(difference[~np.isnan(difference)])

    def _not_computed(self, name: str, cell: str, reason: str) -> None:
        # Said once a measure, not once a cell.
        if not any(m.name == name and m.reason == reason for m in self.missing):
            self.missing.append(NotComputed(name=name, reason=reason))

    def _differences(self) -> Iterator[tuple[Measure, str, Sample, float | None, str | None]]:
        design = self.reader.design
        for origins in dict.fromkeys(c.origins for c in design.cells):
            group = [c for c in design.cells if c.origins == origins]
            vanilla = next(c for c in group if c.labels is None)
            for labels in design.label_sets:
                cells = [c for c in group if c.labels == labels.name]
                yield from self._of_labels(vanilla, cells, labels)

    def _of_labels(
        self, vanilla: Cell, cells: list[Cell], labels: LabelSet
    ) -> Iterator[tuple[Measure, str, Sample, float | None, str | None]]:
        pair = comparison(cells)
        # Both labelled runs of a mixed cell are held against vanilla, else the informed one.
        labelled = [pair.first, pair.second] if vanilla.mixed else [pair.first]
        for cell in labelled:
            yield from self._difference("CAS", cell, vanilla, 0, cell.context, labels)
        place = f"{vanilla.origins}_{labels.name}"
        yield from self._difference("CAB", pair.first, pair.second, pair.omega, place, labels)

    def _difference(
        self, family: str, first: Cell, second: Cell, omega: int, place: str, labels: LabelSet
    ) -> Iterator[tuple[Measure, str, Sample, float | None, str | None]]:
        """CAS when ``omega`` is 0 (absolute values), else CAB."""
        needed = {first.context, second.context}
        absent = sorted(needed & set(self.reader.absent))
        for letter, column in (("P", "precision"), ("R", "recall")):
            name = f"{family}.{letter}"
            if name not in self.measures:
                continue
            if absent:
                self.missing.append(
                    NotComputed(
                        name=f"{name}[{place}]", reason=f"needs the cell {' and '.join(absent)}"
                    )
                )
                continue
            change = self.column(first.context, column) - self.column(second.context, column)
            known = change[:, ~np.isnan(change).any(axis=0)].mean(axis=0)
            sample = mean_sample(name, omega * change if omega else np.abs(change))
            yield self.measures[name], place, sample, paired_t(known), labels.name
