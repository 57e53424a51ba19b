"""BioKaLMA's published JSON: ``[question, [graph, …]]``, and its gold, read and written."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from citeforge.engines.files import read_json, write_text
from citeforge.ir_convert.source import ReadOptions, Source
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.kg import Graph, Triple

RELATIONS = {
    "date_of_birth": "date of birth",
    "date_of_death": "date of death",
    "surname": "family name",
    "alma mater": "educated at",
    "notable works": "notable work",
    "languages spoken": "languages spoken, written or signed",
}
"""Relation names of BioKaLMA that differ from Wikidata's labels, to those."""

_OWN = {wikidata: own for own, wikidata in RELATIONS.items()}
_DATES = ("date of birth", "date of death")
_META = ("name", "qid")


@dataclass(frozen=True)
class Item:
    """One entry.

    Attributes:
        question: text, a leading ``question:`` taken away.
        graphs: published sub-graphs; one value a relation.
        empty: values that are empty strings, left out.
    """

    question: str
    graphs: tuple[Graph, ...]
    empty: int = 0


def open_kalma(argument: str, split: str | None, options: ReadOptions) -> Source:
    """Say which command reads it: it has sub-graphs and no passages.

    Raises:
        UsageError: always.
    """
    raise UsageError(
        f"kalma:{argument} has knowledge graphs, not passages; "
        f"give it to `citeforge build kalma --source kalma:{argument}`"
    )


def read_items(path: Path) -> list[Item]:
    """All entries of a published file, relation names mapped to Wikidata's.

    Raises:
        InputError: another layout; names the entry.
    """
    content = read_json(path)
    if not isinstance(content, list) or not content:
        raise InputError("is no list of [question, [graph, …]]", path=path)
    return [_item(path, number, row) for number, row in enumerate(content, 1)]


def _item(path: Path, number: int, row: Any) -> Item:
    shape = isinstance(row, list) and len(row) == 2 and isinstance(row[0], str)
    if not shape or not isinstance(row[1], list):
        raise InputError(
            "is not [question, [graph, …]]", path=path, field=f"entry {number}",
            allowed="BioKaLMA's layout",
        )  # fmt: skip
    question = row[0].strip()
    if question.lower().startswith("question:"):
        question = question[len("question:") :].strip()
    graphs, empty = [], 0
    for graph in row[1]:
        if not isinstance(graph, dict) or not all(isinstance(graph.get(k), str) for k in _META):
            raise InputError(
                "has a graph without name and qid", path=path, field=f"entry {number}"
            )  # fmt: skip
        triples = []
        for relation, value in graph.items():
            relation = str(relation)
            if relation in _META:
                continue
            if not isinstance(value, str):
                raise InputError(
                    f"{relation!r} is no text", path=path, field=f"entry {number}"
                )  # fmt: skip
            if not value.strip():
                empty += 1
                continue
            label: str = RELATIONS.get(relation, relation)
            precision = "unknown" if label in _DATES else ""
            triples.append(
                Triple(graph["qid"], graph["name"], "", label, value.strip(), "", precision)
            )
        graphs.append(Graph(graph["qid"], graph["name"], tuple(triples)))
    return Item(question, tuple(graphs), empty)


def read_gold(path: Path) -> list[list[tuple[str, str, str]]]:
    """Minimum knowledge sets: ``[question, [[qid, relation, value], …]]``.

    Raises:
        InputError: another layout.
    """
    content = read_json(path)
    found = []
    try:
        for _, triples in content:
            found.append(
                [(str(q), RELATIONS.get(r, str(r)), str(v)) for q, r, v in triples]
            )  # fmt: skip
    except (TypeError, ValueError) as error:
        raise InputError(
            "is no list of [question, [[qid, relation, value], …]]", path=path,
            field=f"entry {len(found) + 1}",
        ) from error  # fmt: skip
    return found


def write_items(questions: Sequence[str], graphs: Sequence[Sequence[Graph]], path: Path) -> int:
    """Write entries in the published layout.

    Returns:
        Values that the layout cannot carry: it has one value a relation.
    """
    lost = 0
    rows = []
    for question, mine in zip(questions, graphs, strict=True):
        shown = []
        for graph in mine:
            entry: dict[str, str] = {}
            for triple in graph.triples:
                name = _OWN.get(triple.relation, triple.relation)
                lost += name in entry
                entry.setdefault(name, triple.value)
            shown.append({**entry, "name": graph.name, "qid": graph.qid})
        rows.append([question, shown])
    write_text(path, json.dumps(rows, ensure_ascii=False, indent=1) + "\n")
    return lost


def write_gold(questions: Sequence[str], gold: Sequence[Sequence[Triple]], path: Path) -> None:
    """Write minimum knowledge sets in the layout of BioKaLMA's code."""
    rows = [
        [q, [[t.qid, _OWN.get(t.relation, t.relation), t.value] for t in mine]]
        for q, mine in zip(questions, gold, strict=True)
    ]
    write_text(path, json.dumps(rows, ensure_ascii=False, indent=1) + "\n")
