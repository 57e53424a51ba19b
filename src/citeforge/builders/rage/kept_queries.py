"""Queries that a build keeps from an earlier package, as nothing that they depend on changed."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from citeforge.builders.changes import list_differences, open_earlier
from citeforge.builders.rage.material import Material
from citeforge.builders.rage.mixture import Contexts, Mappings
from citeforge.builders.rage.relevance_labels import LocatedLabel, read_relevance_labels
from citeforge.engines.tables import iter_batches, rows_of, rows_with
from citeforge.ir_convert.judged import JudgedSource
from citeforge.package.package import Package
from citeforge.package.row_digests import RowDigests, compare_rows, digest_rows
from citeforge.schemas.counts import count_key
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.recipes.rage import RageRecipe
from citeforge.schemas.tables import (
    COSINES,
    GOLD,
    LABELS,
    MAPPING,
    RELEVANT,
    UNSURE,
)

_NEW = "a new query"
_QUESTION = "another question"
_GOLD = "other gold answers"
_JUDGEMENTS = "other judgements"
_PASSAGES = "a passage changed or is missing"
_MAY_DIFFER = frozenset({
    "recipe", "source", "extra_corpus", "extra_licence", "vectors", "query_vectors", "labels",
    "corpus", "skip_empty", "skip_dangling", "skip_contradictions", "extra_fields",
    "allow_no_relevant", "keep_from",
})  # fmt: skip
"""Settings on which labels and contexts of a kept query do not depend."""


@dataclass(frozen=True)
class KeptQueries:
    """Queries of an earlier package that the build takes over with their labelled passages.

    Attributes:
        old: the earlier package.
        ids: the queries.
        made_anew: other queries of the build.
        changed: passages of the earlier package that changed or are missing, of those that it or
            people label.
        tables: label to the rows of these queries in the earlier package, schema MAPPING.
    """

    old: Package
    ids: frozenset[str]
    made_anew: frozenset[str]
    changed: frozenset[str]
    tables: Mappings

    @cached_property
    def cosines(self) -> pa.Table:
        """Cosines of mined passages for the queries kept from an earlier package."""
        return rows_with(self.old.cosines, "query-id", self.ids).cast(COSINES)

    def leave_out(self, material: Material) -> Material:
        """Return a build's queries, gold and judgements without queries kept from a package."""
        others = [query for query in material.ids if query not in self.ids]
        return replace(
            material,
            queries=rows_with(material.queries, "_id", others).combine_chunks(),
            relevant=rows_with(material.relevant, "query-id", others).combine_chunks(),
            gold=rows_with(material.gold, "query_id", others).combine_chunks(),
        )

    def join_mappings(self, query_ids: Sequence[str], new_mappings: Mappings) -> Mappings:
        """Join the rows kept from an earlier package with new ones, by relevance label.

        Negatives are in the order of the queries. Judgements have no such order: kept ones come
        first, so that a build which keeps all queries equals the earlier one.

        Args:
            query_ids: all queries of the build, in order.
            new_mappings: label to the rows of the other queries.
        """
        row_of = {name: row for row, name in enumerate(query_ids)}
        joined = {}
        for label in dict.fromkeys([*new_mappings, *self.tables]):
            parts = [t[label].cast(MAPPING) for t in (self.tables, new_mappings) if label in t]
            table = pa.concat_tables(parts)
            if label not in (RELEVANT, UNSURE):
                rows = pa.array([row_of[q] for q in table["query-id"].to_pylist()], pa.int64())
                table = table.take(pc.sort_indices(rows))  # equal rows keep their order
            joined[label] = table.combine_chunks()
        return joined

    def select_labels(
        self, labels: Iterable[LocatedLabel], counts: dict[str, int]
    ) -> Iterator[LocatedLabel]:
        """Yield human labels that are still valid for queries to judge anew; count the others.

        Those of kept queries are in the earlier package. Those of passages that changed, and of
        queries that are gone, are left out and counted.

        Args:
            labels: labels of people.
            counts: counts of the build.
        """
        n_outdated = 0
        known = self.old.row_of
        for label in labels:
            query = label.row.query_id
            if query in self.ids:
                continue
            is_gone = query in known and query not in self.made_anew
            if is_gone or label.row.passage in self.changed:
                n_outdated += 1
            else:
                yield label
        if n_outdated:
            counts["labels_of_changed_passages"] = n_outdated

    def require_same_contexts(self, contexts: Mapping[str, Contexts]) -> None:
        """Raise an error if a kept query's new context differs from the old package's.

        Args:
            contexts: context set to the passages of each query.

        Raises:
            InputError: names the first such query.
        """
        for name, docs in contexts.items():
            for query, old in rows_of(self.old.context_table(name), "query_id", "docs"):
                if query in self.ids and docs[query] != old:
                    raise InputError(
                        f"shows query {query!r} another context in the set {name} than this "
                        "version of citeforge draws from the same passages",
                        path=self.old.folder,
                        allowed="a package built by this version, or no --keep-from",
                        code="wrong-version",
                    )


def open_kept(recipe: RageRecipe, config: Mapping[str, object]) -> Package | None:
    """Open the earlier package whose unchanged queries a build keeps; None without one.

    Args:
        recipe: recipe of the build.
        config: ``config`` of the manifest that the build drafts.

    Raises:
        InputError: it is damaged, of another kind, or was built with other options.
    """
    old = open_earlier(recipe, recipe.keep_from)
    if old is None:
        return None
    if old.manifest.config.get("hidden"):
        raise InputError(
            "has hidden labels: its contexts are drawn together, and none can be kept",
            path=old.folder, code="hidden-gold", allowed="a build without --keep-from",
        )  # fmt: skip
    names = (set(RageRecipe.model_fields) | {"decided_sha256"}) - _MAY_DIFFER
    mine, theirs = (
        {name: _without_file(c.get(name)) for name in names} for c in (config, old.manifest.config)
    )
    if differing := list(list_differences("", theirs, mine)):
        raise InputError(
            f"was built with other options ({'; '.join(sorted(differing))}), on which negatives "
            "and contexts depend",
            path=old.folder,
            allowed=f"the same options (citeforge build --from {old.folder} --keep takes them), or "
            "no --keep-from",
            code="recipe-changed",
        )
    return old


def _without_file(value: object) -> object:
    """Replace a ``run:FILE`` value by ``run:`` (rankings belong to one corpus); return others."""
    return "run:" if isinstance(value, str) and value.startswith("run:") else value


def find_kept(material: Material, old: Package, source_judgements: pa.Table) -> KeptQueries:
    """Find queries unchanged since an earlier package, and count the others by reason.

    A query is kept if its text, gold and judgements, and title and text of all its labelled
    passages, are equal.

    Args:
        material: material of the build.
        old: the earlier package.
        source_judgements: relevant passages, then unsure ones (schema MAPPING).

    Raises:
        UsageError: the source brings negatives of its own.
    """
    if material.sources.source.mined() and not material.recipe.remine:
        raise UsageError(
            f"--keep-from: {material.recipe.source} brings negatives of its own; there is nothing "
            "to keep",
            code="option-without-effect",
        )
    tables = {label: old.mapping(label) for label in (*LABELS, UNSURE)}
    changed = _find_changed_passages(material, old, tables)
    questions = dict(rows_of(old.queries, "_id", "text"))
    others: dict[str, set[str]] = {
        _NEW: {query for query in material.ids if query not in questions},
        _QUESTION: {
            query for query, text in rows_of(material.queries, "_id", "text")
            if questions.get(query, text) != text
        },
        _PASSAGES: {
            query
            for table in tables.values()
            for query, passage in rows_of(table, "query-id", "corpus-id")
            if passage in changed
        },
        _GOLD: _find_changed_gold(material, old),
        _JUDGEMENTS: _find_changed_judgements(material, tables, source_judgements),
    }  # fmt: skip
    reasons = {
        query: next((why for why, names in others.items() if query in names), None)
        for query in material.ids
    }
    ids = frozenset(query for query, why in reasons.items() if why is None)
    counts = material.counts
    counts["queries_kept"] = len(ids)
    for why, n in Counter(why for why in reasons.values() if why is not None).items():
        counts[count_key("queries_made_anew", why)] = n
    counts["queries_of_the_earlier_package_gone"] = len(questions.keys() - reasons.keys())
    kept = {
        label: rows_with(table, "query-id", ids)
        for label, table in tables.items()
        if label != UNSURE or table.num_rows
    }
    return KeptQueries(old, ids, frozenset(reasons.keys() - ids), changed, kept)


def _find_changed_passages(
    material: Material, old: Package, labelled_rows: Mappings
) -> frozenset[str]:
    """Find labelled passages of an earlier package that the new corpus lacks or changes.

    Args:
        material: material of the build.
        old: the earlier package.
        labelled_rows: its rows by label, whose passages are compared; so are those that people
            labelled.
    """
    names = {i for t in labelled_rows.values() for i in t["corpus-id"].to_pylist()}
    names.update(label.row.passage for label in read_relevance_labels(material.recipe.labels))
    ids = pa.array(sorted(names), pa.string())
    columns, parts = ["_id", "title", "text"], {"content": ["title", "text"]}
    before, after = (
        digest_rows(
            (rows_with(batch, "_id", ids) for batch in iter_batches(corpus, columns)),
            ["_id"], parts,
        )
        for corpus in (old.corpus, material.corpus)
    )  # fmt: skip
    changes = compare_rows("passages", before, after)
    return frozenset([*changes.removed, *changes.changed.get("content", ())])


def _list_changes(old: RowDigests, new: RowDigests) -> set[str]:
    """List the keys of rows that differ between two tables or are only in one of them."""
    changes = compare_rows("rows", old, new)
    differing = [name for names in changes.changed.values() for name in names]
    return {*changes.added, *changes.removed, *differing}


def _digest_by_query(table: pa.Table, column: str) -> RowDigests:
    """Compute one digest per query over all its rows of a table, in order."""
    rest = [name for name in table.schema.names if name != column]
    return digest_rows(table.to_batches(), [column], {"rows": rest})


def _find_changed_gold(material: Material, old: Package) -> set[str]:
    """Find the ids of queries whose gold rows changed since an earlier package."""
    tables = (old.gold, material.gold.cast(GOLD))
    return _list_changes(*(_digest_by_query(table, "query_id") for table in tables))


def _find_changed_judgements(
    material: Material, labelled_rows: Mappings, source_judgements: pa.Table
) -> set[str]:
    """Find the ids of queries whose human judgements changed since an earlier package.

    With a judge of the pool, its judgements are in the package, too: what people judge must agree
    with it. Without one, the judgements must be the same.

    Args:
        material: material of the build.
        labelled_rows: label to the earlier package's rows.
        source_judgements: judgements of the source.
    """
    if material.recipe.pool.judge is None:
        before = pa.concat_tables([labelled_rows[RELEVANT], labelled_rows[UNSURE]])
        both = (before, source_judgements.cast(MAPPING))
        return _list_changes(*(_digest_by_query(table, "query-id") for table in both))
    source = material.sources.source
    assert isinstance(source, JudgedSource)
    relevant = set(rows_of(labelled_rows[RELEVANT], "query-id", "corpus-id"))
    unsure = set(rows_of(labelled_rows[UNSURE], "query-id", "corpus-id"))
    by_people = {pair: score > 0 for pair, score in source.judged.scores.items()}
    for label in read_relevance_labels(material.recipe.labels):
        if label.row.label is not None:
            by_people[(label.row.query_id, label.row.passage)] = label.is_relevant
    return {
        pair[0]
        for pair, is_relevant in by_people.items()
        if is_relevant != (pair in relevant) or pair in unsure
    }
