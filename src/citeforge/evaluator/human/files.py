"""Files of labels: of ``annotate import``, in ExpertQA's layout, and ALCE's human evaluation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from citeforge.engines.files import read_json
from citeforge.engines.jsonlines import open_bytes, read_errors, read_rows
from citeforge.schemas.errors import InputError

FULL, PARTIAL, NOT = "full", "partial", "not"
LEVELS = {FULL: FULL, PARTIAL: PARTIAL, NOT: NOT, "yes": FULL, "no": NOT}
"""Labels of annotation tasks about support to levels of support."""
EXPERTQA = {"Complete": FULL, "Partial": PARTIAL, "Incomplete": NOT, "Missing": NOT}
"""ExpertQA's words; claims that are N/A or null have no label."""


@dataclass(frozen=True)
class Label:
    """What people say of a statement and all that it cites, or of one citation.

    Attributes:
        path: file that it stands in.
        line: its line; None in a JSON file.
        system: whose answer.
        query: id of the query, or its text.
        level: ``full``, ``partial`` or ``not``; None where people did not decide.
        statement: 0-based place in the answer; None where ``text`` finds it.
        text: the statement.
        citation: 0-based position of the one passage that it is about; None for all together.
        nth: instead, the how manyth citation of the statement, from 0.
        n_statements: statements of the answer, where the file holds all.
    """

    path: Path
    line: int | None
    system: str
    query: str
    level: str | None
    statement: int | None = None
    text: str | None = None
    citation: int | None = None
    nth: int | None = None
    n_statements: int | None = None

    def wrong(self, message: str, allowed: str | None = None) -> InputError:
        """An error about it."""
        return InputError(message, path=self.path, line=self.line, allowed=allowed)


def read_labels(path: Path) -> list[Label]:
    """All labels of a file.

    Args:
        path: JSON Lines of ``annotate import`` or in ExpertQA's layout, or ALCE's JSON.

    Raises:
        InputError: it is none of these, or labels nothing that a statement cites.
    """
    if is_expertqa(path):
        found = list(_expertqa(path))
    elif path.suffix == ".json":
        found = list(_alce(path))
    else:
        found = list(_annotated(path))
    if not any(label.level is not None for label in found):
        raise InputError(
            "labels no statement",
            path=path,
            allowed="labels of statement-support or citation-support from annotate import, "
            "ExpertQA's rows, or ALCE's human_eval_citations_completed.json",
        )
    return found


def is_expertqa(path: Path) -> bool:
    """Whether a file begins with a row in ExpertQA's layout.

    Raises:
        InputError: it cannot be read.
    """
    with open_bytes(path) as file, read_errors(path):
        start = file.read(1 << 12)
    return b'"question"' in start and b'"item"' not in start


class _Annotated(msgspec.Struct):
    """A line of ``annotate import``; items of other units have no statement."""

    system: str = ""
    query_id: str = ""
    label: str | None = None
    statement: int | None = None
    citation: int | None = None


def _annotated(path: Path) -> Iterator[Label]:
    for line, row in read_rows(path, _Annotated):
        if row.statement is None:
            continue
        if row.label is not None and row.label not in LEVELS:
            raise InputError(
                f"{row.label!r} is no level of support",
                path=path,
                line=line,
                field="label",
                allowed=", ".join(LEVELS),
            )
        level = None if row.label is None else LEVELS[row.label]
        yield Label(
            path, line, row.system, row.query_id, level, row.statement, citation=row.citation
        )


class _Claim(msgspec.Struct):
    claim: str
    support: str | None = None


class _ExpertQa(msgspec.Struct):
    """An answer with its claims."""

    question: str
    system: str
    claims: list[_Claim]


def _expertqa(path: Path) -> Iterator[Label]:
    for line, row in read_rows(path, _ExpertQa):
        for claim in row.claims:
            if claim.support not in (*EXPERTQA, "N/A", None):
                raise InputError(
                    f"{claim.support!r} is no support",
                    path=path,
                    line=line,
                    field="claims.support",
                    allowed=", ".join([*EXPERTQA, "N/A"]),
                )
            level = None if claim.support is None else EXPERTQA.get(claim.support)
            yield Label(path, line, row.system, row.question, level, text=claim.claim)


class _AlceCitation(msgspec.Struct):
    citation_precision_score: int


class _AlceSentence(msgspec.Struct):
    sentence_recall_score: int
    citations: list[_AlceCitation] = []


class _AlceItem(msgspec.Struct):
    sentences: list[_AlceSentence]


_ALCE_LEVELS = {2: FULL, 1: PARTIAL, 0: NOT}


def _alce(path: Path) -> Iterator[Label]:
    """``human_eval_citations_completed.json``: data set, model, question to sentences."""
    content = read_json(path)
    try:
        sets = msgspec.convert(content, dict[str, dict[str, dict[str, Any]]])
        for model, items in (m for models in sets.values() for m in models.items()):
            for query, item in items.items():
                if query != "overall_results":
                    yield from _alce_item(path, model, query, item)
    except msgspec.ValidationError as error:
        raise InputError(
            f"is no file of labels ({error})",
            path=path,
            allowed="ALCE's layout: data set, model, question, sentences with "
            "sentence_recall_score and citations with citation_precision_score",
        ) from error


def _alce_item(path: Path, model: str, query: str, content: Mapping[str, Any]) -> Iterator[Label]:
    item = msgspec.convert(content, _AlceItem)
    for at, sentence in enumerate(item.sentences):
        level = FULL if sentence.sentence_recall_score else NOT
        n = len(item.sentences)
        yield Label(path, None, model, query, level, at, n_statements=n)
        for nth, citation in enumerate(sentence.citations):
            found = _ALCE_LEVELS.get(citation.citation_precision_score)
            yield Label(path, None, model, query, found, at, nth=nth, n_statements=n)
