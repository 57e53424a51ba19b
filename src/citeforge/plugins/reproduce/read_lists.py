"""Readers that count what files contain: rows of lists, and BioKaLMA's questions and graphs."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

from citeforge.engines.files import read_json
from citeforge.engines.jsonlines import read_rows
from citeforge.engines.textfiles import read_csv, text_lines
from citeforge.ir_convert.kalma import read_entries
from citeforge.plugins.reproduce.reader import FileGroups, ReaderTools, Values, only_file
from citeforge.schemas.errors import InputError, UnknownValueError, UsageError
from citeforge.schemas.recipes.base import Part, make_record

_FIELDS: Any = dict[str, Any]
"""Type of a line of JSON Lines, with any fields."""
Rows = Sequence[Mapping[str, Any]]
_STATISTICS: dict[str, Callable[[Rows, str], float]] = {
    "count": lambda rows, _: len(rows),
    "distinct FIELD": lambda rows, field: len(
        {tuple(str(row[f]) for f in field.split("+")) for row in rows}
    ),
    "mean FIELD": lambda rows, field: sum(float(row[field]) for row in rows) / len(rows),
    "mean words FIELD": lambda rows, field: (
        sum(len(row[field].split()) for row in rows) / len(rows)
    ),
    "mean share FIELD": lambda rows, field: (
        sum(sum(row[field]) / len(row[field]) for row in rows) / len(rows)
    ),
    "share all FIELD": lambda rows, field: sum(all(row[field]) for row in rows) / len(rows),
}
"""Names of statistics to functions of rows and the field that takes the place of FIELD."""


class ListOptions(Part):
    """Options of the reader ``rows``: position of the rows in a file, and which of them count."""

    under: tuple[str, ...] = ()
    """Names that lead from a JSON document to the rows: a list or object of rows, or of lists of
    rows. Any other value is a row with the fields ``key`` and ``value``."""
    besides: tuple[str, ...] = ()
    """Names in that object that are not rows."""
    columns: tuple[str, ...] = ()
    """Names of the columns of a .tsv file, which has no header."""
    where: dict[str, str] = Field(default_factory=dict)
    """Fields and the values that rows must have in them."""


def read_list(
    files: FileGroups, options: dict[str, Any], value_names: Sequence[str], tools: ReaderTools
) -> Values:
    """Compute named statistics of the rows of published files that match the options.

    See :func:`compute_statistic`.

    Args:
        files: groups of files that a row of the table names.
        options: options of this reader that the table declares.
        value_names: names of the values to compute.
        tools: folder, judge and models that readers share.
    """
    choices = make_record(ListOptions, **options)
    rows = [
        row
        for group in files
        for paths in group
        for row in read_fields(paths[0], choices)
        if all(str(row.get(name)) == value for name, value in choices.where.items())
    ]
    if not rows:
        raise UsageError(
            f"options: no row of {files[0][0][0].name} matches `where`", code="empty-file"
        )
    return {name: compute_statistic(name, rows) for name in value_names}


def read_fields(path: Path, options: ListOptions) -> Iterable[Mapping[str, Any]]:
    """Yield the rows of a CSV, TSV, JSON or JSON Lines file as mappings of fields.

    Raises:
        InputError: there are no rows where the options say.
    """
    if path.suffix == ".csv":
        yield from (row for _, row in read_csv(path))
    elif path.suffix == ".tsv":
        for number, line in text_lines(path):
            cells = line.split("\t")
            if len(cells) != len(options.columns):
                raise InputError(
                    f"has {len(cells)} cells", path=path, line=number,
                    allowed=f"as many as options.columns lists: {len(options.columns)}",
                    code="wrong-type"
                )  # fmt: skip
            yield dict(zip(options.columns, cells, strict=True))
    elif path.suffix == ".jsonl":
        yield from (row for _, row in read_rows(path, _FIELDS))
    else:
        content = read_json(path)
        for name in options.under:
            if not isinstance(content, dict) or name not in content:
                raise InputError("is missing", path=path, field=name, code="missing-field")
            content = content[name]
        if isinstance(content, dict):
            content = [(name, row) for name, row in content.items() if name not in options.besides]
        elif isinstance(content, list):
            content = list(enumerate(content))
        else:
            raise InputError(
                "contains no rows", path=path, field=".".join(options.under), code="wrong-type"
            )
        for key, value in content:
            for row in value if isinstance(value, list) else [value]:
                yield row if isinstance(row, dict) else {"key": key, "value": row}


def compute_statistic(name: str, rows: Rows) -> float:
    """Compute a statistic of rows, named as ``count`` or ``mean FIELD``.

    Args:
        name: ``count``; ``distinct FIELD`` (or ``A+B``, of both together); ``mean FIELD``;
            ``mean words FIELD``; ``mean share FIELD`` and ``share all FIELD`` of lists of
            decisions; or two of these with `` per `` between them.
        rows: at least one.

    Raises:
        UsageError: no such statistic, or a row without the field.
    """
    first, _, second = name.partition(" per ")
    if second:
        return compute_statistic(first, rows) / compute_statistic(second, rows)
    what, _, field = name.rpartition(" ")
    compute = _STATISTICS.get(f"{what} FIELD" if what else name)
    if compute is None:
        raise UnknownValueError("statistic", name, [*_STATISTICS, "two of them with per"])
    try:
        return float(compute(rows, field))
    except (KeyError, TypeError, AttributeError, ValueError, ZeroDivisionError) as error:
        raise UsageError(
            f"{name}: a row has no such {field!r} ({error!r})", code="missing-field"
        ) from error


def read_graphs(
    files: FileGroups, options: dict[str, Any], value_names: Sequence[str], tools: ReaderTools
) -> Values:
    """Count a BioKaLMA file's entries, people, or distinct values of a relation, as named.

    Args:
        files: groups of files that a row of the table names.
        options: options of this reader that the table declares.
        value_names: names of the values to compute.
        tools: folder, judge and models that readers share.
    """
    make_record(Part, **options)
    paths = only_file(files, "kalma")
    entries = read_entries(paths[0])
    graphs = {graph.qid: graph for entry in entries for graph in entry.graphs}
    counts: dict[str, float] = {"entries": len(entries), "people": len(graphs)}
    for name in value_names:
        relation = name.removeprefix("values of ")
        if name not in counts and relation == name:
            raise UnknownValueError("statistic", name, ("entries", "people", "values of RELATION"))
        if relation != name:
            triples = (t for graph in graphs.values() for t in graph.triples)
            counts[name] = len({t.value for t in triples if t.relation == relation})
    return {name: counts[name] for name in value_names}
