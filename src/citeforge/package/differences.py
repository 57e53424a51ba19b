"""Differences between the tables of two packages, and between what their contexts show."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from citeforge.engines.tables import iter_batches
from citeforge.package.items import Item, Labelling, Passage
from citeforge.package.package import Package
from citeforge.package.row_digests import RowDigests, compare_rows, digest_rows, digest_value
from citeforge.schemas.package_changes import TableChanges
from citeforge.schemas.tables import RELEVANT, UNSURE

ANOTHER_QUESTION = "another question"
_PASSAGES = {"text": ["text"], "title": ["title"], "metadata": ["metadata"]}
_QUERIES = {"text": ["text"], "metadata": ["metadata"]}
_JUDGEMENTS = {"relevance": ["label"], "score": ["score"], "short answers": ["short_answers"]}
_IN_CONTEXTS = ("contexts", "authors")
"""Configs that are compared as what a query is shown."""
_MEASURED = ("cosines",)
"""Configs whose digits depend on the processor."""
_NAMES = {"corpus": "passages", "gold": "gold", "queries": "queries"}


def compare_tables(old: Package, new: Package) -> Iterator[TableChanges]:
    """Compare two packages table by table, except context sets and stored cosines.

    Yields:
        Changes of each table, passages, queries, judgements and gold first.
    """
    tables = dict.fromkeys([*old.kind.facts.tables, *new.kind.facts.tables])
    for config in tables:
        if config in (*_IN_CONTEXTS, *_MEASURED):
            continue
        if config == "mapping":
            yield from _compare_judgements(old, new)
            continue
        splits = dict.fromkeys([*old.splits.get(config, []), *new.splits.get(config, [])])
        for split in splits:
            name = _NAMES.get(config, config)
            name = name if len(splits) == 1 else f"{name} {split}"
            yield from _compare_table(name, config, split, old, new)


def _compare_table(
    name: str, config: str, split: str, old: Package, new: Package
) -> Iterator[TableChanges]:
    """Compare a table of two packages; if its columns differ, all rows are removed and added."""
    layouts = [
        _find_layout(config, p.kind.facts.tables[config])
        for p in (old, new) if config in p.kind.facts.tables
    ]  # fmt: skip
    if layouts[0] == layouts[-1]:
        key, parts = layouts[0]
        rows = [digest_rows(_stream_table(p, config, split), [key], parts) for p in (old, new)]
        yield compare_rows(name, *rows)
        return
    for package, (key, parts) in zip((old, new), layouts, strict=True):
        there = digest_rows(_stream_table(package, config, split), [key], parts)
        none = digest_rows([], [key], parts)
        pair = (there, none) if package is old else (none, there)
        yield compare_rows(f"{name} of {package.manifest.kind}", *pair)


def _find_layout(config: str, schema: pa.Schema) -> tuple[str, dict[str, list[str]]]:
    """Choose how a table is compared: (key column, names of compared parts to their columns)."""
    named = {"corpus": _PASSAGES, "queries": _QUERIES}
    return schema.names[0], named.get(config, {"rows": schema.names[1:]})


def _stream_table(package: Package, config: str, split: str) -> Iterator[pa.RecordBatch]:
    """Stream the rows of a package's table; none if the package does not have it."""
    return iter_batches(package.shards(config, split), schema=package.kind.facts.tables.get(config))


def _compare_judgements(old: Package, new: Package) -> Iterator[TableChanges]:
    """Compare the judged (query, passage) pairs of two packages, and their mined negatives."""
    rows, judged = [], []
    for package in (old, new):
        rows.append(_digest_pairs(package, package.splits.get("mapping", [])))
        judged.append(_digest_pairs(package, [RELEVANT, UNSURE]).keys)
    pairs = pc.unique(pa.concat_arrays(judged))
    for name, is_judged in (("judgements", True), ("mined negatives", False)):
        changes = compare_rows(name, *(part.filter(pairs, is_judged) for part in rows))
        if changes.n_old or changes.n_new:
            yield changes


def _digest_pairs(package: Package, labels: list[str]) -> RowDigests:
    """Compute the digests of a package's (query, passage) pairs with certain labels."""

    def stream_pairs() -> Iterator[pa.RecordBatch]:
        """Stream the (query, passage) pairs, with their label as a column."""
        for label in labels:
            for batch in _stream_table(package, "mapping", label):
                yield batch.append_column("label", pa.array([label] * batch.num_rows))

    return digest_rows(stream_pairs(), ["query-id", "corpus-id"], _JUDGEMENTS)


@dataclass(frozen=True)
class ShownQuery:
    """Digests of what a context set shows for one query.

    Attributes:
        question: question, as the context set asks it.
        evidence: passages or triples in order, without the passages' ids.
        labels: author labels beside passages, and the note on them.
        contents: passages or triples in any order.
        ids: ids of the passages in any order.
    """

    question: bytes
    evidence: bytes
    labels: bytes
    contents: bytes
    ids: bytes

    def find_change(self, new: "ShownQuery") -> str | None:
        """Name what changed for the query, such as its order; None if all bytes are equal."""
        if self.question != new.question:
            return ANOTHER_QUESTION
        if self.evidence == new.evidence:
            return None if self.labels == new.labels else "other author labels"
        if self.contents == new.contents:
            return "another order"
        return "other texts" if self.ids == new.ids else "other evidence"


def read_shown(package: Package, context: str) -> dict[str, ShownQuery]:
    """Read what a context set shows for each query, as digests by query id."""
    labelling = package.kind.labelling(package, context) or Labelling()
    condensed_texts = [package.condensed(form) for form in package.splits.get("condensed", [])]
    return {
        item.query_id: _digest_item(item, labelling, condensed_texts)
        for item in package.items(context)
    }


def _digest_item(
    item: Item, labelling: Labelling, condensed_texts: list[dict[tuple[str, str], str]]
) -> ShownQuery:
    """Compute digests of the evidence shown for one query, with its labels and shorter texts.

    Args:
        item: the query with its passages or triples.
        labelling: author labels of the context set.
        condensed_texts: shorter texts of passages by (query, passage), which systems may see.
    """
    contents = [
        digest_value((x.title, x.text, [f.get((item.query_id, x.id)) for f in condensed_texts]))
        if isinstance(x, Passage)
        else digest_value(x)
        for x in item.evidence
    ]
    labels = [labelling.get_label(item.query_id, n) for n, _ in enumerate(item.evidence)]
    ids = sorted(x.id if isinstance(x, Passage) else x.qid for x in item.evidence)
    return ShownQuery(
        digest_value(item.query),
        digest_value(contents),
        digest_value((labelling.note, labels)),
        digest_value(sorted(contents)),
        digest_value(ids),
    )


def compare_shown(
    context: str, old: Mapping[str, ShownQuery], new: Mapping[str, ShownQuery]
) -> TableChanges:
    """Compare what two packages show for each query in a context set.

    Args:
        context: its name.
        old: what the old package shows; nothing if it lacks the set.
        new: what the new package shows; nothing if it lacks the set.
    """
    changed: dict[str, list[str]] = {}
    for query in old:
        if query in new and (change := old[query].find_change(new[query])) is not None:
            changed.setdefault(change, []).append(query)
    n_shared = sum(query in new for query in old)
    return TableChanges(
        name=f"context {context}",
        n_old=len(old),
        n_new=len(new),
        n_same=n_shared - sum(map(len, changed.values())),
        added=tuple(query for query in new if query not in old),
        removed=tuple(query for query in old if query not in new),
        changed={change: tuple(queries) for change, queries in changed.items()},
    )
