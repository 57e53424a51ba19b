"""Score slices: queries with the same value of a field (``--by``)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from citeforge.evaluator.measures.declared import Measure
from citeforge.evaluator.measures.results import make_entry
from citeforge.evaluator.statistics.estimates import Sample
from citeforge.evaluator.statistics.intervals import COVERAGE, sidak_level
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.package.fields import (
    MOST_VALUES,
    NO_VALUE,
    makes_slices,
    read_fields,
    slice_columns,
)
from citeforge.schemas.errors import UnknownValueError, UsageError
from citeforge.schemas.recipes.gate import FEWEST_QUERIES
from citeforge.schemas.scores import MeasureScore, ScoreFile, Slice
from citeforge.schemas.signature import Signature

OF_CONTEXT = ("n_relevant", "n_shown")
"""Fields that every package has: numbers of relevant passages and of passages shown."""


def query_labels(benchmark: Benchmark, context: str, fields: Sequence[str]) -> dict[str, list[str]]:
    """Read each field's values as texts: field name to one value per query.

    Args:
        benchmark: the benchmark.
        context: the context set that was scored.
        fields: names of fields.

    Raises:
        UnknownValueError: no query has such a field.
        UsageError: a field has too many or too long values, or does not apply to the context set.
    """
    known = read_fields(benchmark.queries)
    labels = {}
    for name in dict.fromkeys(fields):
        if name in OF_CONTEXT:
            labels[name] = _count_passages(benchmark, context, name)
        elif name in known:
            labels[name] = known[name]
        else:
            raise UnknownValueError("field of the queries", name, {*known, *OF_CONTEXT})
        _check_values(name, set(labels[name]))
    return labels


def _count_passages(benchmark: Benchmark, context: str, name: str) -> list[str]:
    """Count the passages shown with each query (or only the relevant ones), as texts."""
    if benchmark.has_graphs or context not in benchmark.manifest.contexts:
        raise UsageError(
            f"--by {name}: the passages of context {context} are not the benchmark's",
            code="wrong-kind",
        )
    table = benchmark.context(context)
    if name == "n_shown":
        return [str(n) for n in table.sizes]
    return [str(len(positions)) for positions in table.relevant]


def _check_values(name: str, values: set[str]) -> None:
    """Raise an error if a field has too many values, or too long ones."""
    if not makes_slices(values):
        raise UsageError(
            f"--by {name}: has {len(values):,} values of up to {max(map(len, values)):,} "
            f"characters; a field with at most {MOST_VALUES} short ones makes slices",
            code="out-of-range",
        )


def make_slices(
    samples: Sequence[tuple[Measure, Sample]], signatures: Sequence[Signature],
    labels: Mapping[str, Sequence[str]], clusters: npt.NDArray[np.int64] | None,
) -> list[Slice]:  # fmt: skip
    """Score slices by query fields (field to value per query); intervals are joint (Šidák).

    Args:
        samples: measures with their values.
        signatures: signatures of the values.
        labels: field to the value of each query, in the order of the benchmark.
        clusters: cluster of each query, if questions repeat.
    """
    slices = _group_rows(labels)
    level = sidak_level(COVERAGE, len(slices))
    return [
        Slice(
            field=name, value=value, rows=rows.tolist(),
            measures=_score_slice(samples, signatures, rows, clusters, level),
        )
        for name, value, rows in slices
    ]  # fmt: skip


def label_slices(benchmark: Benchmark, excluded_fields: Sequence[str] = ()) -> list[Slice]:
    """List slices of queries, without scores: one per value of each usable metadata field.

    Pages filter answers by them.

    Args:
        benchmark: the benchmark.
        excluded_fields: fields to leave out, such as those whose slices are scored.
    """
    columns = slice_columns(benchmark.queries)
    labels = {name: values for name, values in columns.items() if name not in excluded_fields}
    return [Slice(field=name, value=v, rows=r.tolist()) for name, v, r in _group_rows(labels)]


def _group_rows(
    labels: Mapping[str, Sequence[str]],
) -> list[tuple[str, str, npt.NDArray[np.int64]]]:
    """List (field, value, rows of the queries with it) from one value per query and field."""
    groups = []
    for name, of_queries in labels.items():
        values, numbers = np.unique(np.array(of_queries, dtype=object), return_inverse=True)
        order = np.argsort(numbers, kind="stable")
        ends = np.cumsum(np.bincount(numbers, minlength=len(values)))
        rows_by_value = dict(zip(values.tolist(), np.split(order, ends[:-1]), strict=True))
        groups += [
            (name, value, rows_by_value[value]) for value in sorted(rows_by_value, key=_sort_key)
        ]
    return groups


def _sort_key(value: str) -> tuple[bool, float, str]:
    """Make a sort key of a field's value: numbers first, then texts, a missing value last."""
    try:
        return False, float(value), ""
    except ValueError:
        return True, float(value == NO_VALUE), value


def _score_slice(
    samples: Sequence[tuple[Measure, Sample]], signatures: Sequence[Signature],
    rows: npt.NDArray[np.int64], clusters: npt.NDArray[np.int64] | None, level: float,
) -> list[MeasureScore]:  # fmt: skip
    """Score all measures on the queries of one slice: an entry per measure.

    Args:
        samples: measures with their values on all queries.
        signatures: signatures of the values.
        rows: rows of the slice's queries in the benchmark.
        clusters: cluster of each query of the benchmark, if questions repeat.
        level: probability that an interval covers its value.
    """
    slice_clusters = None if clusters is None else np.unique(clusters[rows], return_inverse=True)[1]
    entries = []
    for (measure, sample), signature in zip(samples, signatures, strict=True):
        part = replace(
            sample,
            sums=sample.sums[:, rows],
            per_query=sample.per_query[:, rows],
            upper=None,
            p_t=None,
        )
        entry = make_entry(measure, part, signature, slice_clusters, level)
        entry.per_query = []
        entries.append(entry)
    return entries


def slice_fields(files: Sequence[ScoreFile], fields: Sequence[str] = ()) -> list[str]:
    """List the query fields (``--by``) on which all score files have scored slices.

    Args:
        files: score files.
        fields: fields to choose; empty for all.

    Raises:
        UsageError: a file was not scored by a chosen one.
    """
    for file in files:
        there = {part.field for part in file.slices if part.measures}
        if missing := [name for name in fields if name not in there]:
            raise UsageError(
                f"--by {missing[0]}: {file.system} was not scored by it; add --by "
                f"{','.join(fields)} to citeforge score",
                code="not-computed",
            )
    scored = [{p.field: None for p in file.slices if p.measures} for file in files]
    every = dict.fromkeys(name for fields_of_file in scored for name in fields_of_file)
    shared = [n for n in every if all(n in fields_of_file for fields_of_file in scored)]
    return list(fields) or shared


def with_slices(files: Sequence[ScoreFile], fields: Sequence[str]) -> list[ScoreFile]:
    """Copy score files, keeping only the scored slices by ``fields``; all slices if empty.

    Raises:
        UsageError: a file was not scored by one of them.
    """
    if not fields:
        return list(files)
    wanted = slice_fields(files, fields)
    parts = ([p for p in f.slices if p.field in wanted or not p.measures] for f in files)
    return [f.model_copy(update={"slices": p}) for f, p in zip(files, parts, strict=True)]


def make_slice_file(file: ScoreFile, name: str, value: str) -> ScoreFile | None:
    """Make the score file of one slice; None if the slice does not exist or was not scored."""
    part = next((p for p in file.slices if (p.field, p.value) == (name, value)), None)
    if part is None or not part.measures:
        return None
    values = {m.name: m.per_query for m in file.measures}
    measures = [
        m.model_copy(update={"per_query": [values[m.name][r] for r in part.rows]})
        if values[m.name] else m
        for m in part.measures
    ]  # fmt: skip
    clusters = [file.clusters[r] for r in part.rows] if file.clusters else []
    numbers = {old: new for new, old in enumerate(dict.fromkeys(clusters))}
    return file.model_copy(
        update={
            "query_ids": [file.query_ids[r] for r in part.rows], "measures": measures,
            "clusters": [numbers[c] for c in clusters], "slices": [], "answers": [],
        }
    )  # fmt: skip


def list_slices(files: Sequence[ScoreFile], name: str) -> list[tuple[str, int]]:
    """List (value, number of queries) of a field's slices, in the order of the files."""
    sizes: dict[str, int] = {}
    for file in files:
        for part in file.slices:
            if part.field == name:
                sizes.setdefault(part.value, len(part.rows))
    return list(sizes.items())


def slice_pairs(
    pairs: Sequence[tuple[ScoreFile, ScoreFile]], fields: Sequence[str]
) -> tuple[list[tuple[str, ScoreFile, ScoreFile]], dict[str, int]]:
    """Pair systems' score files by slice: (name and two files per slice, sizes of small slices).

    Args:
        pairs: score files of two systems each.
        fields: fields whose values make slices; empty for no slices.

    Raises:
        UsageError: a file was not scored by one of the fields.
    """
    found, small = [], dict[str, int]()
    for first, second in pairs if fields else ():
        for name in slice_fields([first, second], fields):
            for value, n in list_slices([first, second], name):
                a, b = make_slice_file(first, name, value), make_slice_file(second, name, value)
                if a is None or b is None:
                    continue
                found.append((f"{name}={value}", a, b))
                if n < FEWEST_QUERIES:
                    small[f"{name}={value}"] = n
    return found, small
