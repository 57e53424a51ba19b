"""The small tables of a source, cut to the queries of one build."""

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from citeforge.engines.draws import sample_ids
from citeforge.engines.io.tables import rows_with
from citeforge.ir_convert.source import Source
from citeforge.schemas.errors import InputError
from citeforge.schemas.recipes.records import RageRecipe


@dataclass
class Records:
    """Queries, judgements and gold.

    Attributes:
        queries: schema QUERIES.
        relevant: judgements above zero, schema MAPPING.
        gold: schema GOLD.
        counts: numbers of what was kept, skipped or excluded.
    """

    queries: pa.Table
    relevant: pa.Table
    gold: pa.Table
    counts: dict[str, int]

    @property
    def ids(self) -> list[str]:
        """Queries in order."""
        ids: list[str] = self.queries["_id"].to_pylist()
        return ids


def read_records(source: Source, recipe: RageRecipe) -> Records:
    """Read a source and sample its queries.

    Raises:
        InputError: no queries, or some without a relevant passage.
    """
    relevant = source.relevant()
    queries = source.queries()
    if queries.num_rows == 0:
        raise InputError("has no queries", path=recipe.source)
    counts = {"queries in the source": queries.num_rows}
    require_relevant(queries, relevant, counts, recipe)
    if recipe.limit and recipe.limit < queries.num_rows:
        sample = sample_ids(queries["_id"].to_pylist(), recipe.limit, recipe.seed, "limit")
        queries = rows_with(queries, "_id", sample)
    ids = queries["_id"]
    return Records(
        queries.combine_chunks(),
        rows_with(relevant, "query-id", ids).combine_chunks(),
        rows_with(source.gold(), "query_id", ids).combine_chunks(),
        counts,
    )


def require_relevant(
    queries: pa.Table, relevant: pa.Table, counts: dict[str, int], recipe: RageRecipe
) -> None:
    """Count queries without a relevant passage.

    Raises:
        InputError: there are some, and nobody allowed them.
    """
    has = pc.is_in(queries["_id"], value_set=relevant["query-id"])
    without = queries.filter(pc.invert(has))["_id"]
    if len(without) == 0:
        return
    counts["queries without a relevant passage"] = len(without)
    if recipe.allow_no_relevant:
        return
    names = ", ".join(repr(n) for n in without.slice(0, 3).to_pylist())
    raise InputError(
        f"{len(without)} queries have no relevant passage (first: {names})",
        path=recipe.source,
        allowed="judge them, or pass --allow-no-relevant to keep them (they have no recall)",
    )
