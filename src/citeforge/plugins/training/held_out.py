"""Held-out questions, which training data must leave out, such as those of other benchmarks."""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from citeforge.engines.files import sha256_file
from citeforge.engines.jsonlines import read_rows
from citeforge.library.benchmarks import package_folder
from citeforge.package.manifest import MANIFEST
from citeforge.package.package import Package
from citeforge.schemas.errors import InputError
from citeforge.schemas.text import match_form

_ALLOWED = 'a benchmark, or JSON Lines with "_id" and "text" (or "query_id" and "query")'


class _QuestionRow(msgspec.Struct):
    """A line of a question in JSON Lines, with the field names of BEIR, citeforge and others."""

    beir_id: str | None = msgspec.field(default=None, name="_id")
    query_id: str | None = None
    text: str | None = None
    query: str | None = None


def normalise_question(text: str) -> str:
    """Normalise a question (NFKC, lower case, words only) to find equal ones."""
    return match_form(unicodedata.normalize("NFKC", text))


@dataclass(frozen=True)
class HeldOut:
    """Held-out questions.

    Attributes:
        ids: their ids.
        texts: their texts, normalised by :func:`normalise_question`.
        inputs: file or package to its hash and number of questions, for the manifest.
    """

    ids: frozenset[str]
    texts: frozenset[str]
    inputs: dict[str, dict[str, str | int]]

    def find_reason(self, query_id: str, text: str) -> str | None:
        """Get the reason (id or text) why a question is held out; None if it is not."""
        if query_id in self.ids:
            return "held out by id"
        return "held out by text" if normalise_question(text) in self.texts else None


def read_held_out(paths: Sequence[Path]) -> HeldOut:
    """Read questions to hold out of training from packages and JSON Lines files.

    Raises:
        InputError: one cannot be read, or contains no questions.
    """
    ids: set[str] = set()
    texts: set[str] = set()
    inputs: dict[str, dict[str, str | int]] = {}
    for path in paths:
        label, sha256, rows = _open_questions(path)
        n = 0
        for query_id, text in rows:
            n += 1
            ids.update([query_id] if query_id else [])
            texts.update([normalise_question(text)] if text and normalise_question(text) else [])
        if not n:
            raise InputError(
                "contains no questions", path=path, allowed=_ALLOWED, code="no-queries"
            )
        inputs[label] = {"hash": sha256, "questions": n}
    return HeldOut(frozenset(ids), frozenset(texts), inputs)


def _open_questions(path: Path) -> tuple[str, str, Iterable[tuple[str | None, str | None]]]:
    """Open a package or file: (name, hash, (id, text) of each question; either may be None)."""
    path = package_folder(path)
    if (path / MANIFEST).is_file():
        package = Package(path)
        rows = ((r["_id"], r["text"]) for form in package.forms.values() for r in form.to_pylist())
        return package.label, package.hash, rows
    if path.is_dir():
        raise InputError("is not a package", path=path, allowed=_ALLOWED, code="not-a-package")
    return path.name, sha256_file(path), _read_jsonl_questions(path)


def _read_jsonl_questions(path: Path) -> Iterator[tuple[str | None, str | None]]:
    """Yield (id, text) of each question in a JSON Lines file; either may be None."""
    for line, row in read_rows(path, _QuestionRow):
        name, text = row.beir_id or row.query_id, row.text or row.query
        if name is None and text is None:
            raise InputError(
                "has neither id nor text", path=path, line=line, allowed=_ALLOWED,
                code="missing-field"
            )  # fmt: skip
        yield name, text
