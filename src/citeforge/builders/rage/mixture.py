"""Frozen contexts: the passages, in order, that systems are shown (RAGE, section 3.2)."""

from dataclasses import dataclass
from typing import Self

import pyarrow as pa

from citeforge.engines.draws import generator
from citeforge.engines.tables import rows_of
from citeforge.schemas.errors import InputError
from citeforge.schemas.manifest import ContextSet
from citeforge.schemas.recipes.rage import Mining, Mixture
from citeforge.schemas.tables import IRRELEVANT, LABELS, MAPPING, RELEVANT, SEEMINGLY_RELEVANT

Mappings = dict[str, pa.Table]
"""Label to the rows of that label, schema MAPPING."""
Contexts = dict[str, list[dict[str, str]]]
"""Query to ``corpus-id`` and ``label`` of the passages that it is shown, in order."""


@dataclass(frozen=True)
class Pools:
    """Passages of each query by label, each list in mapping order.

    Attributes:
        query_ids: queries in the order of the benchmark.
        by_label: label to query id to passage ids.
    """

    query_ids: list[str]
    by_label: dict[str, dict[str, list[str]]]

    @classmethod
    def from_mappings(cls, query_ids: list[str], mappings: Mappings) -> Self:
        """Group (query, passage) pairs by label and query; empty lists for labels without pairs."""
        by_label: dict[str, dict[str, list[str]]] = {}
        for label in LABELS:
            pool = by_label[label] = {name: [] for name in query_ids}
            rows = mappings.get(label, MAPPING.empty_table())
            for query, passage in rows_of(rows, "query-id", "corpus-id"):
                pool[query].append(passage)
        return cls(query_ids, by_label)

    def smallest_pool(self, mixture: Mixture) -> int:
        """Compute the fewest passages that any query has: the largest context size all can fill."""

        def count_usable(label: str, query: str) -> int:
            """Count a query's passages with a label; relevant ones up to the mixture's maximum."""
            n = len(self.by_label[label][query])
            return min(n, mixture.relevant) if label == RELEVANT else n

        return min(sum(count_usable(label, q) for label in self.by_label) for q in self.query_ids)


@dataclass(frozen=True)
class OneSize:
    """Common size of all contexts, for unequal sizes reveal how many passages are relevant.

    Attributes:
        size: passages per context.
        labels: that take the places where others have too few, those of the mixture first.
    """

    size: int
    labels: tuple[str, ...] = (IRRELEVANT, SEEMINGLY_RELEVANT)


def freeze(
    pools: Pools, mixture: Mixture, seed: int, common_size: OneSize | None = None
) -> tuple[Contexts, ContextSet]:
    """Draw queries' contexts by numbers per label (mixture): (contexts, manifest's description).

    Passages are drawn uniformly without replacement and shuffled, both keyed by (seed, mixture,
    query id). Too few of a label is recorded, and filled from another label for ``common_size``
    alone; fewer relevant ones than the maximum is what the mixture allows and is not recorded.

    Args:
        pools: passages by label.
        mixture: how many of each.
        seed: seed of the draws.
        common_size: common size of all contexts; None for as many as the pools have.

    Returns:
        (query to ``corpus-id`` and ``label`` of its passages, what the manifest says of them).

    Raises:
        InputError: a query has fewer passages than ``common_size`` asks for.
    """
    contexts: Contexts = {}
    short: dict[str, dict[str, int]] = {}
    for query in pools.query_ids:
        docs: list[dict[str, str]] = []
        for label, size in mixture.sizes.items():
            pool = pools.by_label[label][query]
            rng = generator(seed, "mixture", mixture.name, query, label)
            docs.extend(
                {"corpus-id": passage, "label": label}
                for passage in rng.sample(pool, min(size, len(pool)))
            )
            if len(pool) < size and label != RELEVANT:
                short.setdefault(query, {})[label] = len(pool)
        if common_size is not None:
            docs += _draw_filling(pools, mixture, query, docs, seed, common_size)
            del docs[common_size.size :]
        generator(seed, "order", mixture.name, query).shuffle(docs)
        contexts[query] = docs
    description = (
        f"up to {mixture.relevant} relevant, {mixture.irrelevant} irrelevant and "
        f"{mixture.seemingly_relevant} seemingly relevant passages, in random order"
    )
    if common_size is not None:
        description += f"; always {common_size.size}: negatives take the places of missing ones"
    relevant = pools.by_label[RELEVANT]
    n_few = sum(len(relevant[query]) < mixture.relevant for query in pools.query_ids)
    if n_few:
        description += (
            f"; {n_few:,} of {len(pools.query_ids):,} queries have fewer than {mixture.relevant} "
            "relevant passages"
        )
    info = ContextSet(description=description, sizes=mixture.sizes, short=short)
    return contexts, info


def _draw_filling(
    pools: Pools,
    mixture: Mixture,
    query: str,
    docs: list[dict[str, str]],
    seed: int,
    common_size: OneSize,
) -> list[dict[str, str]]:
    """Draw negatives to fill up a query's context, preferring labels that the mixture has.

    Args:
        pools: passages of all queries by label.
        mixture: how many of each label; its name keys the draws.
        query: id of the query.
        docs: ``corpus-id`` and ``label`` of the passages drawn so far.
        seed: seed of the draws.
        common_size: common size of all contexts.

    Raises:
        InputError: the query has too few.
    """
    ids = {doc["corpus-id"] for doc in docs}
    filling: list[dict[str, str]] = []
    for label in sorted(common_size.labels, key=lambda n: not mixture.sizes[n]):
        rest = [p for p in pools.by_label[label][query] if p not in ids]
        rng = generator(seed, "filling", mixture.name, query, label)
        n_missing = max(0, common_size.size - len(docs) - len(filling))
        drawn = rng.sample(rest, min(n_missing, len(rest)))
        filling += [{"corpus-id": passage, "label": label} for passage in drawn]
    n_found = len(docs) + len(filling)
    if n_found < common_size.size:
        raise too_few_error(query, n_found, mixture, common_size.size)
    return filling


def too_few_error(query: str, n_found: int, mixture: Mixture, size: int) -> InputError:
    """Make the error for a query that has too few passages for a hidden context.

    Args:
        query: id of the query.
        n_found: passages that it has.
        mixture: mixture of the context.
        size: passages that the context must have.
    """
    return InputError(
        f"--hidden: query {query!r} has {n_found} passages, mixture {mixture.name} needs {size}; "
        "contexts of unequal size would reveal how many are relevant",
        allowed="a larger --n-irrelevant or --n-seemingly, a larger corpus, or a smaller --mixture",
        code="too-few",
    )


def short_mappings(pools: Pools, mining: Mining) -> dict[str, dict[str, int]]:
    """Find queries with fewer negatives than configured: query to label to number found."""
    short: dict[str, dict[str, int]] = {}
    sizes = {IRRELEVANT: mining.irrelevant, SEEMINGLY_RELEVANT: mining.seemingly_relevant}
    for label, number in sizes.items():
        for query, pool in pools.by_label[label].items():
            if len(pool) < number:
                short.setdefault(query, {})[label] = len(pool)
    return short
