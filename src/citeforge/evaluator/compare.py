"""Compare score files pairwise (docs/definitions.md#comparisons)."""

import itertools
import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from citeforge.engines.files import read_json
from citeforge.engines.jsonlines import read_start
from citeforge.engines.textfiles import validated
from citeforge.evaluator.corrected_ranks import CorrectedDifference, corrected_difference
from citeforge.evaluator.measures.registry import find_measure
from citeforge.evaluator.rows import TRIVIAL, is_trivial, named_rows
from citeforge.evaluator.slices import slice_pairs
from citeforge.evaluator.statistics.changes import jackknife_pseudovalues, matches_display
from citeforge.evaluator.statistics.estimates import Floats
from citeforge.evaluator.statistics.intervals import ANYTHING
from citeforge.evaluator.statistics.paired import PairedChange, paired_change
from citeforge.evaluator.statistics.significance import (
    count_permutations,
    holm,
    paired_t,
    permutation_tests,
)
from citeforge.evaluator.versions import explain_parts
from citeforge.evaluator.withhold import require_values
from citeforge.package.manifest import is_manifest
from citeforge.schemas.authorship import PLACEBO
from citeforge.schemas.errors import CiteforgeError, InputError, UnknownValueError
from citeforge.schemas.outputs import UndefinedNumber
from citeforge.schemas.scores import SCORES_VERSION, MeasureScore, ScoreFile
from citeforge.schemas.signature import differing_parts

ACROSS = {"contexts": "ctx", "benchmarks": "bench", "judges": "judge", "segmenters": "seg",
          "grammars": "gram", "gold": "gold", "options": "opt", "versions": "v"}  # fmt: skip
"""Values of ``--across`` to the parts of signatures in which compared scores may then differ. Parts
that change a measure's meaning (protocol, plugin) are not among them."""


def _advise(parts: Iterable[str]) -> str | None:
    """Write how to make scores with differing signatures comparable; None if versions differ.

    Args:
        parts: signature parts that differ, such as ``ctx:a / b``.

    Returns:
        The advice; None where versions of a measure differ, since that message has its own.
    """
    names = {part: name for name, part in ACROSS.items()}
    differing = [part.partition(":")[0] for part in parts]
    if "def" in differing:
        return None
    if all(part in names for part in differing):
        return f"equal signatures, or --across {','.join(names[part] for part in differing)}"
    return "scores of one protocol, made in the same way: nothing else can be compared"


_MOST_NAMED = 5
"""Measures of a score file that an error names."""
_NO_SPREAD = 1e-9
"""Points below which changes of queries are the same."""
HEADER_OR_ANSWER = re.compile(
    rb'\s*\{\s*"(?:submission"\s*:\s*\{|output"|query_id"[^\n]*"output"\s*:)'
)
"""Pattern of the start of a submission, which no score file and no data set of queries matches."""
_OUTPUT = re.compile(rb'\s*\{\s*"command"\s*:')
"""Pattern of the start of an object of ``--json``."""
BY_QUERY = "(by query)"
BY_QUERY_NOTE = (
    f"{BY_QUERY}: the mean difference of the queries' own values; the measure's value is made of "
    "sums over all queries, and differs otherwise."
)


@dataclass(frozen=True)
class Difference:
    """Second minus first system on one measure, as displayed.

    Attributes:
        measure: name of the measure.
        first: name of the first system.
        second: name of the second.
        n: number of queries for which both have a value.
        difference: mean paired difference.
        low: lower end of its 95 % interval (over queries, and over runs and verdicts where a system
            has several), which holds however few queries differ.
        high: upper end.
        p_t: two-sided paired t-test.
        p_permutation: two-sided paired permutation test (signs flipped).
        p_holm: ``p_permutation`` adjusted by Holm over all pairs and measures of the table
            (docs/definitions.md#comparisons); NaN for those of the placebo, which is a control.
        detectable: smallest difference whose interval leaves out 0 in 80 of 100 benchmarks.
        same_as: measure of the same cell with the same values, with which this one counts as one
            test; empty without.
        across: parts of the signature in which the two differ, with both values (``--across``).
        corrected: the difference corrected for the judge's errors; None without labels of both.
        corrected_holm: p of ``corrected``, adjusted by Holm over all corrected rows of the table.
        by_query: whether the value is not a mean over queries, and the files have no influence per
            query (MAUVE): values per query are compared.
        is_trivial: whether any citation satisfies the measure on the passages shown.
        is_constant: whether all queries differ by the same.
        signature: signature of the first system's value.
        slice: slice of the queries, such as ``type=bridge``; empty for all queries.
    """

    measure: str
    first: str
    second: str
    n: int
    difference: UndefinedNumber
    low: UndefinedNumber
    high: UndefinedNumber
    p_t: UndefinedNumber
    p_permutation: UndefinedNumber
    p_holm: UndefinedNumber
    detectable: UndefinedNumber
    same_as: str = ""
    across: tuple[str, ...] = ()
    corrected: CorrectedDifference | None = None
    corrected_holm: UndefinedNumber = math.nan
    by_query: bool = False
    is_trivial: bool = False
    is_constant: bool = False
    signature: str = ""
    slice: str = ""

    @property
    def name(self) -> str:
        """Name of the measure, marked if compared per query or trivial (all passages relevant)."""
        marks = {BY_QUERY: self.by_query, TRIVIAL: self.is_trivial}
        return " ".join([self.measure, *(mark for mark, applies in marks.items() if applies)])


@dataclass(frozen=True)
class Comparison:
    """Comparisons of several systems.

    Attributes:
        differences: in the order of the pairs.
        left_out: reasons why pairs cannot be compared.
        files: the score files.
        measures: names of the measures that were compared.
        small_slices: slices of few queries, with their numbers of queries.
    """

    differences: list[Difference]
    left_out: list[str]
    files: Sequence[ScoreFile] = ()
    measures: Collection[str] = ()
    small_slices: Mapping[str, int] = field(default_factory=dict)


def list_json_files(folder: Path) -> list[Path]:
    """List a folder's JSON files by name; of a package first its manifest, which tells it."""
    return sorted(folder.glob("*.json"), key=lambda path: (not is_manifest(path), path))


def load_scores(path: Path) -> ScoreFile:
    """Read and validate a score file, which ``citeforge score --out`` wrote.

    Raises:
        InputError: the file is not a score file.
    """
    allowed = "expected a file that `citeforge score --out` wrote"
    try:
        start = read_start(path, 1 << 10)
    except InputError as error:
        if error.code != "missing-file":
            raise
        raise InputError(error.message, path=path, allowed=allowed, code=error.code) from error
    if is_manifest(path):
        raise InputError(
            "is the manifest of a package, not a score file", path=path, allowed=allowed,
            code="wrong-kind",
        )  # fmt: skip
    if HEADER_OR_ANSWER.match(start):
        raise InputError(
            "is a submission, not a score file", path=path,
            allowed=f"score it first: citeforge score {path} --benchmark DIR --out SCORES.json",
            code="wrong-kind",
        )  # fmt: skip
    if _OUTPUT.match(start):
        raise InputError(
            "is the object that `score --json` prints, not a score file", path=path,
            allowed="a file of `citeforge score --out`, or one of the objects in its result",
            code="wrong-kind",
        )  # fmt: skip
    version = ("scores_version", SCORES_VERSION)
    return validated(ScoreFile, read_json(path), path, allowed=allowed, version=version)


def compare_many(
    files: Sequence[ScoreFile],
    measures: Sequence[str] = (),
    against: str | None = None,
    across: Sequence[str] = (),
    slice_fields: Sequence[str] = (),
) -> Comparison:
    """Compare pairs of systems, ``across`` judges, …; list pairs that cannot be compared.

    Args:
        files: score files.
        measures: names, names without their cell, or families; empty for all.
        against: baseline that all others are compared with, each in its own context set if the
            baseline has scores there; None for all pairs.
        across: parts of signatures (keys of :data:`ACROSS`) in which two may differ.
        slice_fields: fields whose slices are compared, too.

    Raises:
        UsageError: two files have the same name, ``across`` names no part, or a file was not
            scored by one of the fields.
        UnknownValueError: no such system or measure.
        InputError: no pair can be compared; gives the first reason.
    """
    allowed = parts_across(across)
    require_values(files, "compare")
    names = wanted_measures(files, measures)
    renamed = dict(zip(map(id, files), named_rows(files), strict=True))
    pairs = [(renamed[id(a)], renamed[id(b)]) for a, b in _pairs(files, against)]
    pairs.sort(key=lambda pair: pair[0].is_control or pair[1].is_control)
    errors: list[InputError] = []
    parts, small = slice_pairs(pairs, slice_fields)
    every = [("", *pair) for pair in pairs] + parts
    results = compare_pairs([(a, b) for _, a, b in every], names, allowed, errors.append)
    differences = [
        replace(d, slice=label)
        for (label, _, _), found in zip(every, results, strict=True)
        for d in found
    ]
    left_out = list(dict.fromkeys(error.message for error in errors))
    if not differences:
        if errors:
            raise errors[0]
        raise InputError("there is no pair of systems", code="not-comparable")
    return Comparison(differences, left_out, files, names, small)


def parts_across(names: Sequence[str]) -> tuple[str, ...]:
    """Convert names of settings (``judges``, …) to signature parts in which scores may differ.

    Raises:
        UnknownValueError: a name is not in :data:`ACROSS`.
    """
    for name in names:
        if name not in ACROSS:
            raise UnknownValueError("part of signatures", name, ACROSS)
    return tuple(ACROSS[name] for name in names)


def compare_pairs(
    pairs: Sequence[tuple[ScoreFile, ScoreFile]],
    measures: Collection[str],
    allowed_parts: Sequence[str] = (),
    on_error: Callable[[InputError], None] | None = None,
) -> list[list[Difference]]:
    """Compare systems pairwise; p-values are Holm-adjusted; pair errors go to ``on_error``.

    The family of tests is all pairs on all measures, without the placebo, and once for measures
    with the same values. The number of permutations (at most 200,000) is such that the smallest
    possible p-value stays below .01 after the adjustment.

    Args:
        pairs: score files.
        measures: names of the measures that are compared.
        allowed_parts: parts of signatures in which two may differ.
        on_error: called with the error of a pair that cannot be compared, which then has no rows;
            None to raise it.

    Returns:
        One list of differences per pair.

    Raises:
        InputError: a pair cannot be compared.
    """
    by_pair: list[list[_Row]] = []
    for first, second in pairs:
        try:
            by_pair.append(
                _compare(first, second, _pair_scores(first, second, measures, allowed_parts))
            )
        except InputError as error:
            if on_error is None:
                raise
            on_error(error)
            by_pair.append([])
    rows = list(itertools.chain.from_iterable(by_pair))
    patterns = count_permutations(sum(r.is_counted for r in rows))
    p_values = permutation_tests([r.change for r in rows], [r.n_moved for r in rows], patterns)
    holm_values = holm(
        [p if r.is_counted else math.nan for r, p in zip(rows, p_values, strict=True)]
    )
    corrected = [r.difference.corrected for r in rows]
    corrected_holm = holm([math.nan if c is None else c.p for c in corrected])
    adjusted = (
        replace(row.difference, p_permutation=p, p_holm=q, corrected_holm=c)
        for row, p, q, c in zip(rows, p_values, holm_values, corrected_holm, strict=True)
    )
    return [_copy_repeated_p(list(itertools.islice(adjusted, len(rows)))) for rows in by_pair]


def _copy_repeated_p(differences: list[Difference]) -> list[Difference]:
    """Copy Holm's p-value from a measure to those that have the same values for every query."""
    of_measure = {d.measure: d.p_holm for d in differences}
    return [replace(d, p_holm=of_measure[d.same_as]) if d.same_as else d for d in differences]


def find_parts_across(files: Sequence[ScoreFile]) -> list[str]:
    """List the parts of signatures (keys of :data:`ACROSS`) across which files can be compared.

    Empty if they cannot be compared at all, or without any.
    """
    try:
        differences = compare_many(files, across=[*ACROSS]).differences
    except CiteforgeError:
        return []
    differing = {part.partition(":")[0] for d in differences for part in d.across}
    return [name for name, part in ACROSS.items() if part in differing]


def _pairs(
    files: Sequence[ScoreFile], baseline: str | None
) -> Iterator[tuple[ScoreFile, ScoreFile]]:
    """Yield pairs of score files to compare: all pairs, or the baseline with each other system."""
    if baseline is None:
        yield from itertools.combinations(files, 2)
        return
    for file in files:
        if file.system != baseline:
            yield find_baseline(file, files, baseline), file


def find_baseline(file: ScoreFile, files: Sequence[ScoreFile], baseline: str) -> ScoreFile:
    """Find a score file of the baseline system, if possible on the context set of ``file``.

    Raises:
        UnknownValueError: no system of that name.
    """
    matches = [f for f in files if f.system == baseline]
    if not matches:
        raise UnknownValueError("system", baseline, {f.system for f in files})
    return next((f for f in matches if f.context == file.context), matches[0])


def wanted_measures(files: Sequence[ScoreFile], choices: Sequence[str]) -> set[str]:
    """Expand chosen names and families to full names of measures; no choice selects all.

    Args:
        files: score files.
        choices: names, names without their cell (``CAB.R``), or families; empty for all.
    """
    every = list(dict.fromkeys(m.name for f in files for m in f.measures))
    if not choices:
        return set(every)
    names: dict[str, list[str]] = {}
    for name in every:
        bare = name.partition("[")[0]
        declared = find_measure(bare)
        for key in {name, bare, *([declared.family] if declared else [])}:
            names.setdefault(key, []).append(name)
    for name in choices:
        if name not in names:
            raise UnknownValueError("measure", name, names)
    return {one for name in choices for one in names[name]}


@dataclass(frozen=True)
class _Row:
    """A difference before p-values are adjusted over all rows.

    Attributes:
        difference: the difference, with NaN for figures that depend on other rows.
        change: paired differences per query, or their sums per cluster, for permutation tests.
        n_moved: queries or clusters whose own values differ.
        is_control: whether it is of the placebo.
    """

    difference: Difference
    change: Floats
    n_moved: int
    is_control: bool

    @property
    def is_counted(self) -> bool:
        """Whether Holm's correction counts the test: no placebo, no repeat of another measure."""
        return not (self.is_control or self.difference.same_as)


def _compare(
    first: ScoreFile, second: ScoreFile, score_pairs: Sequence[tuple[MeasureScore, MeasureScore]]
) -> list[_Row]:
    """Compare two systems: one row per measure, with p-values not yet adjusted by Holm.

    Args:
        first: score file of the first system.
        second: score file of the second system.
        score_pairs: scores of both on each measure.
    """
    seen: dict[tuple[object, ...], str] = {}
    controls = _placebo_endings(first)
    clusters = np.array(first.clusters) if first.clusters else None
    rows = []
    for a, b in score_pairs:
        ending = a.name.partition("[")[2]
        people = [tuple(m.corrected.human) if m.corrected else () for m in (a, b)]
        values = [m.scale * jackknife_pseudovalues(m) for m in (a, b)]
        key = (ending, *(v.tobytes() for v in values), *people)
        paired = measure_change(a, b, clusters)
        row = Difference(
            a.name, first.system, second.system, paired.n, paired.value, *paired.interval,
            paired_t(paired.tested[~np.isnan(paired.tested)]), math.nan, math.nan,
            paired.detectable, seen.get(key, ""),
            tuple(differing_parts(a.signature, b.signature)),
            corrected_difference(a, b, clusters, paired.largest),
            by_query=not matches_display(a, b),
            is_trivial=any(is_trivial(f, a.name) for f in (first, second)),
            is_constant=paired.n > 1 and bool(np.ptp(paired.values) < _NO_SPREAD),
            signature=a.signature,
        )  # fmt: skip
        seen.setdefault(key, a.name)
        rows.append(_Row(row, paired.tested, paired.n_moved, ending in controls))
    return rows


def measure_change(
    a: MeasureScore, b: MeasureScore, clusters: npt.NDArray[np.int64] | None
) -> PairedChange:
    """Compute the mean paired difference of two systems (second minus first) on one measure.

    Args:
        a: score of the first system.
        b: score of the second system.
        clusters: cluster of each query, if questions repeat.
    """
    declared = find_measure(a.name.partition("[")[0])
    return paired_change(a, b, ANYTHING if declared is None else declared.range, clusters)


def _placebo_endings(file: ScoreFile) -> set[str]:
    """Collect endings ``CONDITION]`` of the names of measures in placebo conditions."""
    if file.design is None:
        return set()
    cells = [c for c in file.design.cells if c.labels == PLACEBO]
    return {f"{name}]" for c in cells for name in (c.context, f"{c.origins}_{PLACEBO}")}


def _pair_scores(
    first: ScoreFile, second: ScoreFile, names: Collection[str], allowed_parts: Sequence[str]
) -> list[tuple[MeasureScore, MeasureScore]]:
    """Pair two files' scores of each chosen measure; only some signature parts may differ.

    Args:
        first: score file of the first system.
        second: score file of the second system.
        names: chosen measures.
        allowed_parts: prefixes of signature parts in which the scores may differ.

    Raises:
        InputError: there are none, or they cannot be compared; names the parts that differ.
    """
    others = {m.name: m for m in second.measures}
    pairs = []
    for mine in first.measures:
        other = others.get(mine.name)
        if other is None or mine.name not in names:
            continue
        parts = differing_parts(mine.signature, other.signature)
        if any(part.partition(":")[0] not in allowed_parts for part in parts):
            raise InputError(
                f"{first.system} and {second.system} are not comparable on {mine.name}: "
                + "; ".join(
                    explain_parts(
                        mine.name, (first, second), (mine.signature, other.signature), parts
                    )
                ),
                allowed=_advise(parts),
                code="not-comparable",
            )
        if first.query_ids != second.query_ids:
            raise InputError(
                f"{first.system} and {second.system} were scored on different queries",
                code="not-comparable",
            )
        pairs.append((mine, other))
    if not pairs:
        of_first, of_second = (
            f"{file.system} ({', '.join(m.name for m in file.measures[:_MOST_NAMED])})"
            for file in (first, second)
        )
        raise InputError(
            f"{of_first} and {of_second} have no measure in common", code="not-comparable",
            allowed="score both with the same --measures",
        )  # fmt: skip
    return pairs
