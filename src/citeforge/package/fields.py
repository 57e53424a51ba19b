"""Extra fields of a benchmark's queries, by whose values scores can be split."""

import json
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

NO_VALUE = "(none)"
"""Value of a query without the field."""
MOST_VALUES = 50
"""Most values of a field by which scores can be split; more would make slices of a few queries."""
LONGEST_VALUE = 100
"""Most characters of a value, which becomes a title."""
_MOST_SHOWN = 8
"""Values of a field that a description names."""


def read_fields(queries: pa.Table) -> dict[str, list[str]]:
    """Read the metadata of queries as text: field name to one value per query.

    Args:
        queries: table of queries, in the order of the benchmark.
    """
    column = queries["metadata"].to_pylist()
    parsed: dict[str, Any] = {text: json.loads(text) for text in set(column) if text}
    rows = [row if isinstance(row := parsed.get(text), dict) else {} for text in column]
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [_as_text(row.get(name)) for row in rows] for name in names}


def _as_text(value: Any) -> str:
    """Format a metadata value as text; a missing one as ``(none)``."""
    if value is None or value == "":
        return NO_VALUE
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


@dataclass(frozen=True)
class FieldValues:
    """Values of a field of the queries.

    Attributes:
        n: number of different values.
        counts: value to its number of queries; None where values are too many or too long for
            slices.
    """

    n: int
    counts: dict[str, int] | None

    def describe(self) -> str:
        """Describe the metadata values: the most frequent ones, with their numbers of queries."""
        if self.counts is None:
            return f"{self.n:,} values, too many or too long for slices"
        ordered = sorted(self.counts.items(), key=lambda one: (-one[1], one[0]))
        texts = [f"{value} {n:,}" for value, n in ordered[:_MOST_SHOWN]]
        more = len(ordered) - _MOST_SHOWN
        return ", ".join(texts) + (f" and {more:,} more" if more > 0 else "")


def count_values(queries: pa.Table) -> dict[str, FieldValues]:
    """Count the queries per value of each metadata field: field name to its values."""
    counts = {name: Counter(values) for name, values in read_fields(queries).items()}
    return {
        name: FieldValues(len(c), dict(c) if makes_slices(c) else None)
        for name, c in counts.items()
    }


def makes_slices(values: Collection[str]) -> bool:
    """Whether a metadata field has few and short values, so that scores can be split by it."""
    return len(values) <= MOST_VALUES and max(map(len, values), default=0) <= LONGEST_VALUE


def slice_columns(queries: pa.Table) -> dict[str, list[str]]:
    """Read the metadata fields by which scores can be split: name to one value per query.

    Fields whose values are all the same, too many, or too long are left out.
    """
    columns = read_fields(queries).items()
    return {n: v for n, v in columns if len(values := set(v)) > 1 and makes_slices(values)}


def describe_fields(queries: pa.Table) -> dict[str, str]:
    """Describe each metadata field of queries by its most frequent values and their counts."""
    return {name: values.describe() for name, values in count_values(queries).items()}
