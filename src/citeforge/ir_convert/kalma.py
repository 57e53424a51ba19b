"""Read BioKaLMA's published JSON, ``[question, [graph, …]]``, and its gold."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import msgspec

from citeforge.engines.files import read_json
from citeforge.schemas.errors import InputError
from citeforge.schemas.kg import Graph, Key, Triple, relation_key

_DATES = ("date of birth", "date of death")
_META = ("name", "qid")
_Entry = tuple[str, list[dict[str, str]]]
_Word = Annotated[str, msgspec.Meta(min_length=1)]


@dataclass(frozen=True)
class KalmaItem:
    """One entry of a published file: a question with its sub-graphs.

    Attributes:
        question: text, without a leading ``question:``.
        graphs: published sub-graphs; one value per relation, with the files' names of relations.
        empty: QID to relations with a blank value, with that value; they are not triples.
    """

    question: str
    graphs: tuple[Graph, ...]
    empty: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def n_empty(self) -> int:
        """Number of blank relation values in the graphs of the entry."""
        return sum(map(len, self.empty.values()))


class GoldFact(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A fact of a minimum knowledge set; the round is 0 if the file names none."""

    qid: _Word
    relation: _Word
    value: str
    round: Annotated[int, msgspec.Meta(ge=0, lt=2**31)] = 0

    @property
    def key(self) -> Key:
        """Entity, relation and value: the triple as a citation names it."""
        return Key(self.qid, self.relation, self.value)


def read_entries(path: Path) -> list[KalmaItem]:
    """Read all questions, with their graphs, from a published file in BioKaLMA's layout.

    Raises:
        InputError: the file has another layout; names the entry.
    """
    rows = _read_rows(path, _Entry, "[question, [graph, …]]", "BioKaLMA's layout")
    if not rows:
        raise InputError("is not a list of [question, [graph, …]]", path=path, code="wrong-type")
    return [_make_item(path, number, *row) for number, row in enumerate(rows, 1)]


def _read_rows(path: Path, row_type: Any, expected_layout: str, allowed: str) -> list[Any]:
    """Read a JSON list, each element as ``row_type``; errors say which layout is expected.

    Args:
        path: JSON file.
        row_type: type of an element, as msgspec takes it.
        expected_layout: what an element should be, for messages.
        allowed: what would be right, for messages.

    Raises:
        InputError: it is no list, or an element is something else; names the entry.
    """
    content = read_json(path)
    if not isinstance(content, list):
        raise InputError(f"is not a list of {expected_layout}", path=path, code="wrong-type")
    rows = []
    for number, row in enumerate(content, 1):
        try:
            rows.append(msgspec.convert(row, row_type))
        except msgspec.ValidationError as error:
            raise InputError(
                f"is not {expected_layout} ({error})",
                path=path,
                field=f"entry {number}",
                allowed=allowed,
                code="wrong-type",
            ) from error
    return rows


def _make_item(
    path: Path, number: int, question: str, raw_graphs: list[dict[str, str]]
) -> KalmaItem:
    """Make an item (question, graphs) from an entry of a file in BioKaLMA's layout.

    Args:
        path: the file, for messages.
        number: number of the entry, from 1.
        question: its question.
        raw_graphs: its graphs, each relation to value, with the entity's ``name`` and ``qid``.

    Raises:
        InputError: a graph has no name or qid.
    """
    question = question.strip()
    if question.lower().startswith("question:"):
        question = question[len("question:") :].strip()
    graphs: list[Graph] = []
    empty: dict[str, dict[str, str]] = {}
    for content in raw_graphs:
        if not all(k in content for k in _META):
            raise InputError(
                "has a graph without name and qid",
                path=path,
                field=f"entry {number}",
                code="missing-field",
            )
        name, qid = content["name"], content["qid"]
        triples = []
        for relation, value in content.items():
            if relation in _META:
                continue
            if not value.strip():
                empty.setdefault(qid, {})[relation] = value
                continue
            precision = "unknown" if relation_key(relation) in _DATES else ""
            triples.append(Triple(qid, name, "", relation, value, "", precision))
        graphs.append(Graph(qid, name, tuple(triples)))
    return KalmaItem(question, tuple(graphs), empty)


def read_gold(path: Path, later_rounds_path: Path | None = None) -> list[list[GoldFact]]:
    """Read each question's gold triples; with a file of later rounds, also number the rounds.

    An entry is ``[question, [[qid, relation, value], …]]``; a fourth element is the round. KaLMA's
    code has two such files, with and without the facts of round 1; with both, facts in the first
    alone get round 1, and those in both get round 2 ("2 or later", which is all that its figures
    depend on).

    Args:
        path: facts of all rounds.
        later_rounds_path: facts of rounds 2 and later.

    Raises:
        InputError: a file has another layout, or only the second file has a fact.
    """
    first = _gold_rows(path)
    if later_rounds_path is None:
        return first
    others = _gold_rows(later_rounds_path)
    if len(others) != len(first):
        raise InputError(
            f"has {len(others)} entries and {path.name} has {len(first)}",
            path=later_rounds_path,
            code="wrong-value",
        )
    both = zip(first, others, strict=True)
    return [
        _number_rounds(later_rounds_path, at, mine, rest) for at, (mine, rest) in enumerate(both, 1)
    ]


def _number_rounds(
    path: Path, entry_number: int, facts: Sequence[GoldFact], later: Sequence[GoldFact]
) -> list[GoldFact]:
    """Set the round of a question's facts: 2 or more if ``later`` has the fact, else 1.

    Args:
        path: file of ``later``, for messages.
        entry_number: number of the question, from 1.
        facts: facts of all rounds.
        later: those of rounds 2 and later.

    Raises:
        InputError: ``later`` has a fact that ``facts`` lacks.
    """
    rest = Counter(f.key for f in later)
    numbered = []
    for fact in facts:
        is_later = rest[fact.key] > 0
        rest[fact.key] -= is_later
        number = (fact.round if fact.round > 1 else 2) if is_later else 1
        numbered.append(msgspec.structs.replace(fact, round=number))
    alone = next((key for key, n in rest.items() if n > 0), None)
    if alone is not None:
        raise InputError(
            f"has {alone.qid}, {alone.relation}, {alone.value}, which no round of the gold has",
            path=path,
            field=f"entry {entry_number}",
            allowed="facts of the file given with --gold",
            code="unknown-id",
        )
    return numbered


def _gold_rows(path: Path) -> list[list[GoldFact]]:
    """Read the gold facts of each question from one file."""
    layout = "[question, [[qid, relation, value], …]]"
    allowed = "texts, and perhaps a round from 0 as the fourth element of a fact"
    return [facts for _, facts in _read_rows(path, tuple[Any, list[GoldFact]], layout, allowed)]
