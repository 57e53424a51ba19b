"""Records of a benchmark's queries: passages or triples shown, and gold answers."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from textwrap import shorten
from typing import Any

from citeforge.engines.report_table import Displayed, Table
from citeforge.schemas.kg import Graph, Triple
from citeforge.schemas.manifest import Manifest
from citeforge.schemas.tables import RELEVANT, UNJUDGED


@dataclass(frozen=True)
class Passage:
    """A passage in a context.

    Attributes:
        id: its id in the corpus; an empty string where a system's own passage has none.
        title: its title, or an empty string.
        text: its text.
        label: relevant, irrelevant, seemingly_relevant or unjudged; None for a system's own.
        url: where a system's own passage was found.
    """

    id: str
    title: str
    text: str
    label: str | None = None
    url: str = ""

    @property
    def is_relevant(self) -> bool:
        """Whether the passage was judged relevant to its query."""
        return self.label == RELEVANT


@dataclass(frozen=True)
class Gold:
    """One row of the gold table.

    Attributes:
        kind: ``answer``, ``long_answer``, ``qa_pair``, ``answer_list`` or ``claim``.
        text: its text, where it has one.
        aliases: accepted short forms.
        informative: HAGRID's label (1, 0), or None.
        attributable: likewise.
        citations: ids of the passages that it cites.
        extra: what else the source says.
        answer_type: HAGRID's kind of answer.
    """

    kind: str
    text: str | None
    aliases: tuple[str, ...]
    informative: int | None
    attributable: int | None
    citations: tuple[str, ...]
    extra: dict[str, object] = field(default_factory=dict)
    answer_type: str | None = None

    @staticmethod
    def from_row(row: dict[str, Any]) -> "Gold":
        """Make a gold record from a row of the gold table (schema GOLD)."""
        return Gold(
            kind=row["kind"],
            text=row["text"],
            aliases=tuple(row["aliases"] or ()),
            informative=row["informative"],
            attributable=row["attributable"],
            citations=tuple(row["citations"] or ()),
            extra=json.loads(row["metadata"]) if row["metadata"] else {},
            answer_type=row["answer_type"],
        )


class GoldRows(tuple[Gold, ...]):
    """Gold rows of a query, in order, and those of each kind."""

    def _of_kind(self, name: str) -> tuple[Gold, ...]:
        """Select the query's gold rows of one kind, such as ``claim``."""
        return tuple(row for row in self if name == row.kind)

    @property
    def answers(self) -> tuple[Gold, ...]:
        """Gold rows that are complete answers (HAGRID)."""
        return self._of_kind("answer")

    @property
    def single(self) -> Gold | None:
        """Best complete gold answer, by attributability, then informativeness; None if none."""
        return max(
            self.answers, key=lambda g: (g.attributable == 1, g.informative == 1), default=None
        )

    @property
    def long_answers(self) -> tuple[Gold, ...]:
        """Gold rows that are annotated long answers (ASQA)."""
        return self._of_kind("long_answer")

    @property
    def qa_pairs(self) -> tuple[Gold, ...]:
        """Gold rows that are sub-questions with the short answers a long answer needs (ASQA)."""
        return self._of_kind("qa_pair")

    @property
    def answer_lists(self) -> tuple[Gold, ...]:
        """Gold rows that are items of a list answer, each with accepted variants (QAMPARI)."""
        return self._of_kind("answer_list")

    @property
    def claims(self) -> tuple[Gold, ...]:
        """Gold rows that are claims which an answer should entail (ELI5)."""
        return self._of_kind("claim")


@dataclass(frozen=True, repr=False)
class Item(Displayed):
    """One query in one context set.

    Attributes:
        query_id: its id.
        query: its text.
        context: name of the context set.
        passages: what systems are shown, in order; empty where they are shown triples.
        graphs: sub-graphs that systems are shown; empty where they are shown passages.
        gold: gold rows, in order.
        knowledge: minimum knowledge set (KaLMA): the triples that an answer should cite.
        equivalents: triples that state one of these in other words, to the one that they state.
        removed: triples that the context set lacks, each with the reason: ``gold``, or ``inverse``
            for one that would give a removed one away.
    """

    query_id: str
    query: str
    context: str
    passages: tuple[Passage, ...] = ()
    graphs: tuple[Graph, ...] = ()
    gold: GoldRows = field(default_factory=GoldRows)
    knowledge: tuple[Triple, ...] = ()
    equivalents: Mapping[Triple, Triple] = field(default_factory=dict)
    removed: tuple[tuple[Triple, str], ...] = ()

    @property
    def relevant(self) -> tuple[int, ...]:
        """Positions of the relevant passages among those shown, from 0."""
        return tuple(i for i, p in enumerate(self.passages) if p.is_relevant)

    @property
    def evidence(self) -> tuple[Passage | Triple, ...]:
        """Passages or triples that a system is shown for the query, in order."""
        return self.passages or tuple(t for graph in self.graphs for t in graph.triples)

    def gold_label(self, triple: Triple) -> str:
        """Describe whether a shown triple is gold or restates a gold one; "" if neither."""
        if triple in self.knowledge:
            return "gold"
        if (same := self.equivalents.get(triple)) is None:
            return ""
        return f"gold, as {same.name}, {same.relation}: {same.value}"

    def describe_removed(self) -> list[str]:
        """Describe each gold triple (or its inverse) that was removed from the query's context."""
        reasons = {"gold": "gold", "inverse": "would give a removed one away"}
        return [f"{t.name}, {t.relation}: {t.value} ({reasons[why]})" for t, why in self.removed]

    def _headline(self) -> str:
        """Summarise the query in one line: id, text, and how many passages or triples it shows."""
        kind = f"{len(self.relevant)} relevant" if self.passages else "triples"
        return (
            f"query {self.query_id} {shorten(self.query, 80)!r}: shows {len(self.evidence)}, {kind}"
        )

    def _tables(self) -> Iterator[Table]:
        """Yield a table of the passages or triples shown for the query."""
        rows = [
            (n, x.title, shorten(x.text, 200), x.label or "")
            if isinstance(x, Passage)
            else (n, x.name, f"{x.relation}: {x.value}", self.gold_label(x))
            for n, x in enumerate(self.evidence, 1)
        ]
        yield Table(["number", "title", "text", "label"], rows, left=3)


def replace_texts(
    items: Iterable[Item], shorter_texts: Mapping[tuple[str, str], str]
) -> Iterator[Item]:
    """Yield the queries with shorter texts (summaries or snippets) for the shown passages.

    Args:
        items: what is shown in full.
        shorter_texts: (query id, passage id) to a text; a passage without one keeps its own.
    """
    for item in items:
        texts = (shorter_texts.get((item.query_id, p.id), p.text) for p in item.passages)
        passages = [replace(p, text=text) for p, text in zip(item.passages, texts, strict=True)]
        yield replace(item, passages=tuple(passages))


def by_query(rows: Iterable[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Group a table's rows by ``query_id``; their order is kept."""
    rows_of: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        rows_of.setdefault(row["query_id"], []).append(row)
    return rows_of


@dataclass(frozen=True)
class Labelling:
    """Labels that the prompts of a context set put on passages, with a note on them.

    Attributes:
        note: what they say of the labels; an empty string for nothing.
        labels: query id to one label per passage, in order; empty without labels.
        own: finds such labels in the passages' own texts, which must not pass for real ones.
    """

    note: str = ""
    labels: Mapping[str, Sequence[str]] = field(default_factory=dict)
    own: re.Pattern[str] | None = None

    def get_label(self, query: str, position: int) -> str:
        """Get the author label of a passage by query and position; "" if there is none."""
        return self.labels[query][position] if self.labels else ""

    def bracket_labels(self, text: str) -> str:
        """Put words in round brackets where a passage's own text imitates an author label."""
        return text if self.own is None else self.own.sub(r"(\1)", text)


def name_label(label: str | None, manifest: Manifest) -> str:
    """Get the relevance label to display for a passage: its label, ``hidden`` or ``unjudged``.

    Args:
        label: its label; None or ``unjudged`` where the tables have none.
        manifest: of the benchmark: where its labels are hidden, passages are judged all the same.
    """
    if label is not None and label != UNJUDGED:
        return label
    return "hidden" if manifest.config.get("hidden_gold") else UNJUDGED
