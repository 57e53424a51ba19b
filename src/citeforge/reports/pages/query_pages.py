"""Data of the viewer's pages, one per query: passages with labels, twins, sub-graphs."""

import difflib
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from citeforge.builders.derive import Base
from citeforge.engines.shown import show_number
from citeforge.engines.tables import rows_of
from citeforge.package.fields import NO_VALUE, makes_slices, read_fields
from citeforge.package.items import name_label
from citeforge.package.package import Package
from citeforge.schemas.kg import Graph, Key
from citeforge.schemas.manifest import Manifest
from citeforge.schemas.tables import CONTEXTS, LABELS, UNJUDGED

_MOST_SPOKES = 18
_MOST_CONTEXTS = 4
_GRAPHS = ("full", "absent_3", "retrieval_20")


@dataclass(frozen=True)
class Piece:
    """A piece of a text, for showing the differences between two texts.

    Attributes:
        text: the words.
        change: ``same``, ``gone`` (only in the human text) or ``new`` (only in the twin).
    """

    text: str
    change: str


@dataclass(frozen=True)
class PassageView:
    """A passage as a page shows it.

    Attributes:
        number: its number in prompts.
        id: its id.
        title: its title.
        text: its text.
        label: its label in words.
        kind: CSS class of its colour.
        note: mining score and rank, if there are any.
        human: pieces of the human text that has a twin; empty for other passages.
        twin: pieces of the twin's text.
    """

    number: int
    id: str
    title: str
    text: str
    label: str
    kind: str
    note: str = ""
    human: tuple[Piece, ...] = ()
    twin: tuple[Piece, ...] = ()


@dataclass(frozen=True)
class Spoke:
    """A triple in the drawing of a sub-graph: position (in units of the drawing) and texts."""

    x: float
    y: float
    anchor: str
    relation: str
    value: str
    gold: bool


@dataclass(frozen=True)
class Star:
    """Drawing of a sub-graph: its entity in the middle, triples around it.

    Attributes:
        qid: id of the entity in the centre.
        name: its label.
        spokes: drawn triples.
        rows: all triples: (relation, value, whether it is minimum knowledge).
        hidden: number of triples that are not drawn.
    """

    qid: str
    name: str
    spokes: tuple[Spoke, ...]
    rows: tuple[tuple[str, str, bool], ...]
    hidden: int


@dataclass
class QueryPage:
    """Data of a query's page.

    Attributes:
        id: id of the query.
        text: text of the query.
        contexts: context set to its passages.
        stars: context set to its sub-graphs.
        removed: context set to texts of the triples that were removed from them.
        gold: gold answers.
        other: the general question of a kalma benchmark.
        left_out: context sets that the page does not show.
        fields: fields of the query's metadata, by which answers can be filtered.
    """

    id: str
    text: str
    contexts: dict[str, list[PassageView]] = field(default_factory=dict)
    stars: dict[str, list[Star]] = field(default_factory=dict)
    removed: dict[str, list[str]] = field(default_factory=dict)
    gold: list[str] = field(default_factory=list)
    other: str = ""
    left_out: list[str] = field(default_factory=list)
    fields: dict[str, str] = field(default_factory=dict)


def query_pages(package: Package, scored_contexts: Collection[str] = ()) -> Iterator[QueryPage]:
    """Make the pages of all queries of a benchmark, with the passages or graphs of their contexts.

    Args:
        package: benchmark.
        scored_contexts: context sets that systems were scored in; they are shown before others.
    """
    first_contexts = [name for name in package.contexts if name in scored_contexts]
    is_labelled = package.kind.facts.tables["contexts"] == CONTEXTS
    passages = passage_pages if is_labelled else item_pages
    columns = read_fields(package.queries)
    rows = {query: row for row, query in enumerate(package.query_ids)}
    for page in (graph_pages if package.has_graphs else passages)(package, first_contexts):
        page.fields = _select_fields(columns, rows[page.id])
        yield page


def query_page(package: Package, query: str) -> QueryPage:
    """Make the page of one query, without LLM rewrites (twins) and retrieval scores of passages.

    Raises:
        UnknownValueError: no such query.
    """
    (page,) = (graph_pages if package.has_graphs else item_pages)(package, (), query)
    page.fields = _select_fields(read_fields(package.queries), package.row_of[query])
    return page


def _select_fields(columns: Mapping[str, Sequence[str]], row: int) -> dict[str, str]:
    """Select a query's metadata fields whose value is present and not too long."""
    values = {name: column[row] for name, column in columns.items()}
    return {n: value for n, value in values.items() if value != NO_VALUE and makes_slices([value])}


def passage_pages(package: Package, contexts_shown_first: Sequence[str]) -> Iterator[QueryPage]:
    """Yield pages of queries with labelled passages, and how LLM rewrites (twins) differ.

    Args:
        package: a benchmark of passages.
        contexts_shown_first: context sets that are shown before others.
    """
    base = Base(package.folder, package.manifest)
    names = list(dict.fromkeys([*contexts_shown_first, *package.contexts]))[:_MOST_CONTEXTS]
    contexts = {n: base.shown_passages(n) for n in package.contexts if n in names}
    left_out = [n for n in package.contexts if n not in names]
    twin_of = {r["twin_id"]: r["_id"] for r in base.twins.to_pylist() if r["twin_id"]}
    ids = {d["corpus-id"] for c in contexts.values() for docs in c.values() for d in docs}
    texts = base.texts(ids | {twin_of[i] for i in ids if i in twin_of} | set(twin_of))
    twin_of_human = {human: twin for twin, human in twin_of.items()}
    notes = _mining_notes(base)
    gold: dict[str, list[str]] = {}
    for row in base.gold.to_pylist():
        if row["text"]:
            gold.setdefault(row["query_id"], []).append(row["text"])
    for row in base.queries.to_pylist():
        page = QueryPage(row["_id"], row["text"], left_out=left_out)
        page.gold = (gold.get(row["_id"], []) + base.answers[row["_id"]])[:10]
        for name, docs in contexts.items():
            page.contexts[name] = [
                _passage_view(
                    base.grammar.base + i, row["_id"], d, texts, notes, twin_of_human, base.manifest
                )
                for i, d in enumerate(docs[row["_id"]])
            ]
        yield page


def item_pages(
    package: Package, contexts_shown_first: Sequence[str], query: str | None = None
) -> Iterator[QueryPage]:
    """Yield pages of queries with passages but no LLM rewrites, for benchmarks of any kind.

    Args:
        package: benchmark whose contexts may be in tables of any kind.
        contexts_shown_first: context sets that are shown before others.
        query: only this query; None for all.
    """
    names = list(dict.fromkeys([*contexts_shown_first, *package.contexts]))
    contexts, left_out = names[:_MOST_CONTEXTS], names[_MOST_CONTEXTS:]
    for items in zip(*(package.items(name, query) for name in contexts), strict=True):
        gold = [row.text for row in items[0].gold if row.text]
        page = QueryPage(items[0].query_id, items[0].query, gold=gold[:10], left_out=left_out)
        for item in items:
            page.contexts[item.context] = [
                PassageView(number, p.id, p.title, p.text, *_label_texts(p.label, package.manifest))
                for number, p in enumerate(item.passages, package.grammar.base)
            ]
        yield page


def _mining_notes(package: Base) -> dict[tuple[str, str], str]:
    """Map (query id, passage id) of mined negatives to a text: retrieval score and rank."""
    notes = {}
    rows = [row for label in LABELS[1:] for row in package.mappings[label].to_pylist()]
    for row in rows:
        if row["score"] is not None and row["rank"] is not None:
            pair = row["query-id"], row["corpus-id"]
            notes[pair] = f"score {show_number(row['score'], 3)}, rank {row['rank']}"
    for row in Package(package.folder, package.manifest).cosines.to_pylist():
        pair = row["query-id"], row["corpus-id"]
        notes[pair] = f"cosine {show_number(row['cosine'], 3)}, rank {row['rank']}"
    return notes


def _passage_view(
    number: int,
    query: str,
    doc: dict[str, str],
    texts: dict[str, tuple[str, str]],
    mining_notes: dict[tuple[str, str], str],
    twin_ids: dict[str, str],
    manifest: Manifest,
) -> PassageView:
    """Make a page's view of a passage: label, note, and differences from its LLM rewrite (twin).

    Args:
        number: number that a citation of the passage has.
        query: id of the query.
        doc: id and label of the passage.
        texts: (title, text) by passage.
        mining_notes: score and rank of mined negatives, by (query, passage).
        twin_ids: ids of LLM rewrites by those of the human passages.
        manifest: explains the labels.
    """
    name = doc["corpus-id"]
    title, text = texts[name]
    human: tuple[Piece, ...] = ()
    twin: tuple[Piece, ...] = ()
    if name in twin_ids and twin_ids[name] in texts:
        human, twin = text_differences(text, texts[twin_ids[name]][1])
    note = mining_notes.get((query, name), "")
    return PassageView(
        number, name, title, text, *_label_texts(doc["label"], manifest), note, human, twin
    )


def _label_texts(label: str | None, manifest: Manifest) -> tuple[str, str]:
    """Convert a relevance label to (its name for readers, CSS class of its colour)."""
    return name_label(label, manifest).replace("_", " "), (label or UNJUDGED).replace("_", "-")


def text_differences(first: str, second: str) -> tuple[tuple[Piece, ...], tuple[Piece, ...]]:
    """Compare two texts by words: (pieces of the first, of the second), marked if unshared.

    Args:
        first: human text.
        second: its rewrite.
    """
    a, b = first.split(), second.split()
    matcher = difflib.SequenceMatcher(None, a, b, autojunk=False)
    left, right = [], []
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if i2 > i1:
            left.append(Piece(" ".join(a[i1:i2]), "same" if tag == "equal" else "gone"))
        if j2 > j1:
            right.append(Piece(" ".join(b[j1:j2]), "same" if tag == "equal" else "new"))
    return tuple(left), tuple(right)


def graph_pages(
    package: Package, contexts_shown_first: Sequence[str], query: str | None = None
) -> Iterator[QueryPage]:
    """Yield pages of queries with sub-graphs of the knowledge graph, each drawn as a star.

    Args:
        package: a kalma benchmark.
        contexts_shown_first: context sets that are shown before others.
        query: only this query; None for all.
    """
    usual = [n for n in package.contexts if n in _GRAPHS]
    contexts = list(dict.fromkeys([*contexts_shown_first, *usual]))[
        : max(len(usual), _MOST_CONTEXTS)
    ]
    left_out = [n for n in package.contexts if n not in contexts]
    questions, *further = package.forms.values()
    others = dict(rows_of(further[0], "_id", "text")) if further else {}
    texts = dict(rows_of(questions, "_id", "text"))
    for items in zip(*(package.items(name, query) for name in contexts), strict=True):
        asked = items[0].query_id
        other = others.get(asked, "")
        page = QueryPage(asked, texts[asked], other=other, left_out=left_out)
        gold = {t.key for t in items[0].knowledge}
        for item in items:
            page.stars[item.context] = [_lay_out_star(g, gold) for g in item.graphs]
            page.removed[item.context] = item.describe_removed()
        yield page


def _lay_out_star(graph: Graph, gold: set[Key]) -> Star:
    """Lay out a sub-graph as a star: its entity in the middle, triples around it."""
    rows = [(t.relation, t.value, t.key in gold) for t in graph.triples]
    ordered = sorted(rows, key=lambda r: not r[2])[:_MOST_SPOKES]
    spokes = []
    for i, (relation, value, is_gold) in enumerate(ordered):
        angle = 2 * math.pi * i / max(len(ordered), 1) - math.pi / 2
        x = 400 + 190 * math.cos(angle)
        y = 260 + 215 * math.sin(angle)  # room for 18: neighbours are two lines apart
        # Only the very top and bottom: two neighbours in the middle would cover each other.
        anchor = "start" if math.cos(angle) > 0.1 else "end" if math.cos(angle) < -0.1 else "middle"
        spokes.append(Spoke(round(x, 1), round(y, 1), anchor, relation, value, is_gold))
    hidden = len(rows) - len(ordered)
    return Star(graph.qid, graph.name, tuple(spokes), tuple(rows), hidden)
