"""Overviews of a package, and of one query in its contexts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from citeforge.package.fields import FieldValues, count_values
from citeforge.package.manifest import read_stats
from citeforge.package.package import Package
from citeforge.schemas.counts import EXTRA_FIELDS, count_line, count_name
from citeforge.schemas.kg import Triple
from citeforge.schemas.manifest import Manifest


@dataclass(frozen=True)
class Summary:
    """Summary of a package.

    Attributes:
        folder: its folder.
        manifest: its manifest.
        statistics: content of ``stats.json``.
        warnings: what users and builders must know of it.
    """

    folder: Path
    manifest: Manifest
    statistics: dict[str, Any]
    warnings: list[str]


@dataclass(frozen=True)
class Rejection:
    """Passage without an accepted twin (LLM-written version).

    Attributes:
        passage: id of the passage.
        attempts: how often the LLM was asked.
        notes: why the last attempts were rejected.
    """

    passage: str
    attempts: int
    notes: list[str]

    def describe(self) -> str:
        """Describe the rejected twin: number of attempts, and reasons."""
        return f"rejected (attempts: {self.attempts}): {'; '.join(self.notes)}"


@dataclass(frozen=True)
class GraphQuestion:
    """Question about a knowledge graph.

    Attributes:
        query_id: id of the query.
        text: its main wording.
        other_forms: form to the query's wording in that form.
        gold: triples that an answer should cite.
    """

    query_id: str
    text: str
    other_forms: dict[str, str]
    gold: list[Triple]


@dataclass(frozen=True)
class Overview:
    """Summary of a package, with its fields, rejected twins and questions about graphs.

    Attributes:
        summary: of the package.
        fields: field of the queries to its values.
        rejections: passages without an accepted twin.
        questions: of packages with graphs.
    """

    summary: Summary
    fields: dict[str, FieldValues]
    rejections: list[Rejection]
    questions: list[GraphQuestion]


@dataclass(frozen=True)
class ShownTwin:
    """LLM-written version of a passage.

    Attributes:
        id: its passage id; empty for one that is in no context.
        text: its text; None where the corpus lacks it.
        rejection: why it was rejected; None for an accepted one.
    """

    id: str
    text: str | None
    rejection: Rejection | None


@dataclass(frozen=True)
class ShownPassage:
    """Passage in a context set of a query.

    Attributes:
        number: number by which answers cite it.
        id: passage id.
        title: its title.
        text: its text.
        label: its label in the context set.
        author_label: what the prompt says of its author; empty for nothing.
        twin: its LLM-written version; None without one.
    """

    number: int
    id: str
    title: str
    text: str
    label: str | None
    author_label: str
    twin: ShownTwin | None


@dataclass(frozen=True)
class ShownTriple:
    """Triple of a graph that a query shows, with its gold label, empty for none."""

    triple: Triple
    gold: str


@dataclass(frozen=True)
class ShownGraph:
    """Sub-graph that a query shows: id and label of its centre, and its triples."""

    qid: str
    name: str
    triples: list[ShownTriple]


@dataclass(frozen=True)
class ShownContext:
    """What a context set shows for a query.

    Attributes:
        context: name of the context set.
        passages: passages, in order.
        graphs: graphs, in order.
        removed: triples that the context set lacks, in words, with the reasons.
    """

    context: str
    passages: list[ShownPassage]
    graphs: list[ShownGraph]
    removed: list[str]


@dataclass(frozen=True)
class ShownQuery:
    """A query with what each context set shows for it."""

    query_id: str
    query: str
    contexts: list[ShownContext]


def summarise(folder: Path, manifest: Manifest) -> Summary:
    """Summarise a package: its manifest, statistics and warnings.

    Raises:
        InputError: its statistics cannot be read.
    """
    unread = [
        f"{source.spec}: {count_line(key, count)}"
        for source in manifest.sources
        for key, count in source.counts.items()
        if count_name(key) in EXTRA_FIELDS
    ]
    return Summary(folder, manifest, read_stats(folder), [*unread, *manifest.warnings])


def describe_package(package: Package, most_questions: int | None = None) -> Overview:
    """Summarise a package, its metadata, rejected twins (rewritten passages) and questions.

    Args:
        package: the package.
        most_questions: largest number of questions to list; None for all.
    """
    rejections = [_read_rejection(row) for row in package.twins.to_pylist() if not row["accepted"]]
    return Overview(
        summarise(package.folder, package.manifest),
        count_values(package.queries),
        rejections,
        [*_list_questions(package, most_questions)] if package.has_graphs else [],
    )


def _read_rejection(row: dict[str, Any]) -> Rejection:
    """Read why a twin (rewritten passage) was rejected, from its row of the table of twins."""
    return Rejection(row["_id"], row["attempts"], list(row["notes"]))


def _list_questions(package: Package, limit: int | None) -> Iterator[GraphQuestion]:
    """Yield a graph benchmark's questions, each in all its wordings, with the triples to cite.

    Args:
        package: package with graphs.
        limit: largest number of questions; None for all.
    """
    others = {name: form["text"] for name, form in list(package.forms.items())[1:]}
    for row, item in enumerate(islice(package.items(), limit)):
        forms = {name: texts[row].as_py() for name, texts in others.items()}
        yield GraphQuestion(item.query_id, item.query, forms, list(item.knowledge))


def read_query(package: Package, query: str, contexts: Sequence[str]) -> ShownQuery:
    """Read a query, and the passages or triples that context sets show for it.

    Args:
        package: the package.
        query: id of the query.
        contexts: names of the context sets.

    Raises:
        UnknownValueError: no such query or context set.
    """
    is_design = package.kind.facts.is_design
    twins = {} if is_design else {row["_id"]: row for row in package.twins.to_pylist()}
    shown, text = [], ""
    for name in contexts:
        labels = package.kind.labelling(package, name)
        (item,) = package.items(name, query)
        text = item.query
        rows = [twins[p.id] for p in item.passages if p.id in twins]
        texts = package.texts(row["twin_id"] for row in rows) if rows else {}
        passages = [
            ShownPassage(
                index + package.grammar.base, passage.id, passage.title, passage.text,
                passage.label, labels.get_label(query, index) if labels else "",
                _read_twin(row, texts) if (row := twins.get(passage.id)) is not None else None,
            )
            for index, passage in enumerate(item.passages)
        ]  # fmt: skip
        graphs = [
            ShownGraph(g.qid, g.name, [ShownTriple(t, item.gold_label(t)) for t in g.triples])
            for g in item.graphs
        ]
        shown.append(ShownContext(name, passages, graphs, item.describe_removed()))
    return ShownQuery(query, text, shown)


def _read_twin(row: dict[str, Any], texts: dict[str, tuple[str, str]]) -> ShownTwin:
    """Read a twin, the LLM-written version of a passage, from its row and the texts.

    Args:
        row: row of the table of twins.
        texts: title and text of twins, by passage id.
    """
    _, text = texts.get(row["twin_id"], (None, None))
    return ShownTwin(row["twin_id"], text, None if row["accepted"] else _read_rejection(row))
