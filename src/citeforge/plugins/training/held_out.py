"""Questions that training data must leave out, such as other benchmarks', by id and text."""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from citeforge.engines.io.files import sha256_file
from citeforge.engines.io.jsonlines import read_rows
from citeforge.package.manifest import MANIFEST
from citeforge.package.package import Package
from citeforge.schemas.errors import InputError
from citeforge.schemas.text import match_form

_ALLOWED = 'a benchmark, or JSON Lines with "_id" and "text" (or "query_id" and "query")'


class _Row(msgspec.Struct):
    """A question in JSON Lines, by the names that BEIR, ours and others give its fields."""

    beir_id: str | None = msgspec.field(default=None, name="_id")
    query_id: str | None = None
    text: str | None = None
    query: str | None = None


def same_question(text: str) -> str:
    """Normalise a question, so that equal ones match: NFKC, lower case, words alone."""
    return match_form(unicodedata.normalize("NFKC", text))


@dataclass(frozen=True)
class HeldOut:
    """Questions that are left out.

    Attributes:
        ids: their ids.
        texts: their texts, as :func:`same_question` has them.
        named: file or package to its hash and number of questions, for the manifest.
    """

    ids: frozenset[str]
    texts: frozenset[str]
    named: dict[str, dict[str, str | int]]

    def reason(self, query_id: str, text: str) -> str | None:
        """Reason why a question is held out; None where it is not."""
        if query_id in self.ids:
            return "held out by id"
        return "held out by text" if same_question(text) in self.texts else None


def read_held_out(paths: Sequence[Path]) -> HeldOut:
    """Read the questions of packages and files, which training data must leave out.

    Raises:
        InputError: one cannot be read, or holds no question.
    """
    ids: set[str] = set()
    texts: set[str] = set()
    named: dict[str, dict[str, str | int]] = {}
    for path in paths:
        label, sha256, rows = _questions(path)
        n = 0
        for query_id, text in rows:
            n += 1
            ids.update([query_id] if query_id else [])
            texts.update([same_question(text)] if text and same_question(text) else [])
        if not n:
            raise InputError(
                "contains no questions", path=path, allowed=_ALLOWED, code="no-queries"
            )
        named[label] = {"hash": sha256, "questions": n}
    return HeldOut(frozenset(ids), frozenset(texts), named)


def _questions(path: Path) -> tuple[str, str, Iterable[tuple[str | None, str | None]]]:
    """Give name and hash of a package or file, and (id, text) of each of its questions."""
    if (path / MANIFEST).is_file():
        package = Package(path)
        rows = ((r["_id"], r["text"]) for form in package.forms.values() for r in form.to_pylist())
        return package.label, package.hash, rows
    if path.is_dir():
        raise InputError("is not a package", path=path, allowed=_ALLOWED, code="not-a-package")
    return path.name, sha256_file(path), _read_jsonl_questions(path)


def _read_jsonl_questions(path: Path) -> Iterator[tuple[str | None, str | None]]:
    """Yield (id, text) of each question in a JSON Lines file; one of the two may be None."""
    for line, row in read_rows(path, _Row):
        name, text = row.beir_id or row.query_id, row.text or row.query
        if name is None and text is None:
            raise InputError(
                "has neither id nor text", path=path, line=line, allowed=_ALLOWED,
                code="missing-field"
            )  # fmt: skip
        yield name, text
