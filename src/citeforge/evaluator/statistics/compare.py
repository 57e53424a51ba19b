"""Comparing score files pairwise (docs/definitions.md#comparisons)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from citeforge.engines.io.files import read_json
from citeforge.engines.io.textfiles import validated
from citeforge.evaluator.labels.differences import CorrectedDifference, corrected_difference
from citeforge.evaluator.measures.registry import find_measure
from citeforge.evaluator.reports.rows import named_rows
from citeforge.evaluator.reports.withhold import require_values
from citeforge.evaluator.statistics.estimates import Floats, estimate_all, mean_sample
from citeforge.evaluator.statistics.jackknife import change, is_displayed, jackknife_pseudovalues
from citeforge.evaluator.statistics.significance import (
    holm,
    paired_t,
    permutation_tests,
    permutations_of,
)
from citeforge.schemas.benchmarks.authorship import PLACEBO
from citeforge.schemas.errors import InputError, UnknownValueError
from citeforge.schemas.scores import SCORES_VERSION, MeasureScore, ScoreFile
from citeforge.schemas.signature import differing_parts

ACROSS = {"contexts": "ctx", "benchmarks": "bench", "judges": "judge", "segmenters": "seg",
          "grammars": "gram", "gold": "gold", "options": "opt", "versions": "v"}  # fmt: skip
"""What a comparison may reach across when it is named, and the part of signatures that it is; what
a measure means (protocol, plugin) is not among them."""
_HINT = "scores whose signatures differ in nothing, or in what --across names"
# Quantiles of the normal distribution: two-sided 5 %, and 80 % power.
_ALPHA, _POWER = 1.959963984540054, 0.8416212335729143


BY_QUERY = "(by query)"
BY_QUERY_NOTE = (
    f"{BY_QUERY}: the mean difference of the queries' own values; the measure's value is made of "
    "sums over all queries, and differs otherwise."
)


@dataclass(frozen=True)
class Difference:
    """Second minus first system on one measure, as displayed.

    Attributes:
        measure: name.
        first: name of the first system.
        second: name of the second.
        n: queries that both define.
        difference: mean paired difference.
        low: lower end of its 95 % interval (over queries; Student's t).
        high: upper end.
        p_t: two-sided paired t-test.
        p_permutation: two-sided paired permutation test (signs flipped).
        p_holm: ``p_permutation`` adjusted by Holm over the measures of one pair of systems; NaN for
            those of the placebo, which is a control.
        detectable: smallest difference found with 80 % power at p < .05.
        also: measures of the same cell with the same values, for which this row stands too.
        across: parts of the signature in which the two differ, with both values; allowed by name.
        corrected: the difference with the judge's errors taken out; None without labels of both.
        corrected_holm: p of ``corrected``, adjusted by Holm over the corrected rows of the pair.
        by_query: of the measures of the row, those whose value is no mean over queries, and whose
            files do not say what each query does to it (MAUVE): what is compared
            are the queries' own values.
        signature: recipe of the first system's value.
    """

    measure: str
    first: str
    second: str
    n: int
    difference: float
    low: float
    high: float
    p_t: float
    p_permutation: float
    p_holm: float
    detectable: float
    also: tuple[str, ...] = ()
    across: tuple[str, ...] = ()
    corrected: CorrectedDifference | None = None
    corrected_holm: float = math.nan
    by_query: tuple[str, ...] = ()
    signature: str = ""

    @property
    def names(self) -> str:
        """All measures of the row; those of :attr:`by_query` say so."""
        mark = f" {BY_QUERY}"
        return " = ".join(n + mark * (n in self.by_query) for n in (self.measure, *self.also))


@dataclass(frozen=True)
class Comparison:
    """Comparisons of several systems.

    Attributes:
        differences: in the order of the pairs.
        left_out: pairs that cannot be compared, each with the reason.
    """

    differences: list[Difference]
    left_out: list[str]


def load_scores(path: Path) -> ScoreFile:
    """Read a score file.

    Raises:
        InputError: not one.
    """
    version = ("scores_version", SCORES_VERSION)
    return validated(ScoreFile, read_json(path), path, allowed="a score file", version=version)


def compare(files: Sequence[ScoreFile], measures: Sequence[str] = ()) -> list[Difference]:
    """All pairs of systems on all measures that they share.

    Holm's family is what is compared here: the rows of one pair of systems, each once where several
    measures have the same values, without the placebo. So many signs are drawn that the smallest
    possible p stays below .01 after the adjustment (at most 200,000).

    Args:
        files: score files.
        measures: names, names without their cell, or families; all when empty.

    Raises:
        InputError: signatures of a measure differ in anything but the system; names the parts.
        UnknownValueError: the files have no measure of a name.
    """
    require_values(files, "compare")
    found: list[Difference] = []
    wanted = wanted_measures(files, measures)
    for first, second in itertools.combinations(files, 2):
        found += _differences(first, second, _shared(first, second, wanted, ()))
    return found


def compare_many(
    files: Sequence[ScoreFile],
    measures: Sequence[str] = (),
    against: str | None = None,
    across: Sequence[str] = (),
) -> Comparison:
    """Pairs of systems; a pair that cannot be compared is told and does not stop the others.

    Args:
        files: score files.
        measures: names, names without their cell, or families; all when empty.
        against: system that all others are compared with, each in its own context set where it has
            scores of several; None for all pairs.
        across: parts of signatures (keys of :data:`ACROSS`) in which two may differ.

    Raises:
        UsageError: two of the files cannot be told apart, or ``across`` names no part.
        UnknownValueError: no such system or measure.
        InputError: no pair can be compared; with the first reason.
    """
    for name in across:
        if name not in ACROSS:
            raise UnknownValueError("part of signatures", name, ACROSS)
    require_values(files, "compare")
    allowed = tuple(ACROSS[name] for name in across)
    wanted = wanted_measures(files, measures)
    shown = dict(zip(map(id, files), named_rows(files), strict=True))
    found, left_out = list[Difference](), list[str]()
    for first, second in _pairs(files, against):
        one, two = shown[id(first)], shown[id(second)]
        try:
            found += _differences(one, two, _shared(one, two, wanted, allowed))
        except InputError as error:
            left_out.append(error.message)
    if not found:
        reason = left_out[0] if left_out else "there is no pair"
        raise InputError(reason, allowed=_HINT if not across else None)
    return Comparison(found, left_out)


def _pairs(
    files: Sequence[ScoreFile], against: str | None
) -> Iterator[tuple[ScoreFile, ScoreFile]]:
    if against is None:
        yield from itertools.combinations(files, 2)
        return
    for file in files:
        if file.system != against:
            yield baseline_of(file, files, against), file


def baseline_of(file: ScoreFile, files: Sequence[ScoreFile], against: str) -> ScoreFile:
    """The baseline's scores that a system is compared with: in its context set, else the first.

    Raises:
        UnknownValueError: no system of that name.
    """
    known = [f for f in files if f.system == against]
    if not known:
        raise UnknownValueError("system", against, {f.system for f in files})
    return next((f for f in known if f.context == file.context), known[0])


def wanted_measures(files: Sequence[ScoreFile], asked: Sequence[str]) -> set[str]:
    """Names of measures in the files that were asked for."""
    known = list(dict.fromkeys(m.name for f in files for m in f.measures))
    if not asked:
        return set(known)
    names: dict[str, list[str]] = {}
    for name in known:
        bare = name.partition("[")[0]
        declared = find_measure(bare)
        for key in {name, bare, *([declared.family] if declared else [])}:
            names.setdefault(key, []).append(name)
    for name in asked:
        if name not in names:
            raise UnknownValueError("measure", name, names)
    return {found for name in asked for found in names[name]}


def _differences(
    first: ScoreFile, second: ScoreFile, pairs: Sequence[tuple[MeasureScore, MeasureScore]]
) -> list[Difference]:
    """Rows of one pair of systems."""
    alike: dict[tuple[object, ...], list[tuple[MeasureScore, MeasureScore]]] = {}
    for a, b in pairs:
        place = a.name.partition("[")[2]
        people = [tuple(m.corrected.human) if m.corrected else () for m in (a, b)]
        values = (*jackknife_pseudovalues(a).tolist(), None, *jackknife_pseudovalues(b).tolist())
        alike.setdefault((place, str(values), *people), []).append((a, b))
    groups = list(alike.values())
    controls = _controls(first)
    names = [group[0][0].name for group in groups]
    family = [i for i, name in enumerate(names) if name.partition("[")[2] not in controls]
    changes = [change(*group[0]) for group in groups]
    clusters = np.array(first.clusters) if first.clusters else None
    tested = changes if clusters is None else [_together(d, clusters) for d in changes]
    p_values = permutation_tests(tested, permutations_of(len(family)))
    adjusted = dict(zip(family, holm([p_values[i] for i in family]), strict=True))
    samples = [mean_sample(n, d[None]) for n, d in zip(names, changes, strict=True)]
    estimates = estimate_all(samples, clusters=clusters)
    right = [corrected_difference(*group[0], clusters) for group in groups]
    right_holm = holm([math.nan if c is None else c.p for c in right])
    rows = []
    for i, (estimate, d) in enumerate(zip(estimates, changes, strict=True)):
        n = int((~np.isnan(d)).sum())
        known = tested[i][~np.isnan(tested[i])]
        rows.append(
            Difference(
                names[i],
                first.system,
                second.system,
                n,
                estimate.value,
                estimate.low,
                estimate.high,
                paired_t(known),
                p_values[i],
                adjusted.get(i, math.nan),
                (_ALPHA + _POWER) * (_stderr(d) if clusters is None else estimate.stderr),
                tuple(a.name for a, _ in groups[i][1:]),
                tuple(differing_parts(groups[i][0][0].signature, groups[i][0][1].signature)),
                right[i],
                right_holm[i],
                tuple(a.name for a, b in groups[i] if not is_displayed(a, b)),
                groups[i][0][0].signature,
            )
        )
    return rows


def _controls(file: ScoreFile) -> set[str]:
    """Ends of names (``cell]``) of the placebo's measures."""
    if file.design is None:
        return set()
    cells = [c for c in file.design.cells if c.labels == PLACEBO]
    return {f"{name}]" for c in cells for name in (c.context, f"{c.origins}_{PLACEBO}")}


def _shared(
    first: ScoreFile, second: ScoreFile, wanted: set[str], across: Sequence[str]
) -> list[tuple[MeasureScore, MeasureScore]]:
    """Measures that both have.

    Raises:
        InputError: they have none, or cannot be compared; names the differing parts.
    """
    others = {m.name: m for m in second.measures}
    pairs = []
    for mine in first.measures:
        other = others.get(mine.name)
        if other is None or mine.name not in wanted:
            continue
        parts = differing_parts(mine.signature, other.signature)
        if any(part.partition(":")[0] not in across for part in parts):
            raise InputError(
                f"{first.system} and {second.system} are not comparable on {mine.name}: "
                + "; ".join(parts),
                allowed=_HINT,
            )
        if first.query_ids != second.query_ids:
            raise InputError(f"{first.system} and {second.system} list other queries")
        pairs.append((mine, other))
    if not pairs:
        raise InputError(f"{first.system} and {second.system} share no measure")
    return pairs


def _together(d: Floats, clusters: npt.NDArray[np.int64]) -> Floats:
    """Sums over the queries of each cluster: what signs are flipped of; NaN where none is defined.

    Under no difference a cluster's sum has mean 0, too.
    """
    known = ~np.isnan(d)
    n = int(clusters.max()) + 1
    sums: Floats = np.bincount(clusters[known], d[known], n).astype(np.float64)
    sums[np.bincount(clusters[known], minlength=n) == 0] = np.nan
    return sums


def _stderr(d: Floats) -> float:
    """Standard error of a mean difference; NaN below two."""
    known = d[~np.isnan(d)]
    return float(np.std(known, ddof=1)) / math.sqrt(len(known)) if len(known) > 1 else math.nan
