"""One pass over a corpus: everything that an audit learns from it."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from citeforge.builders.packaging.package import WordLengths
from citeforge.builders.twins.facts import language_of
from citeforge.engines.io.tables import rows_of, rows_with
from citeforge.package.package import Package
from citeforge.schemas.benchmarks.audit import Flaw

LONG = 1000
"""Words from which a passage counts as very long."""

_LANGUAGE_SAMPLE = 2000
"""Passages whose language is looked at: the first ones."""
_PERSONAL = {
    "e-mail addresses": r"[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}",
    "phone numbers": r"(\+\d{1,3}[ .-]?)?(\(\d{2,4}\)[ .-]?|\d{2,4}[ .-])\d{3,4}[ .-]\d{3,4}\b",
}


@dataclass(frozen=True)
class Survey:
    """What a corpus holds.

    Attributes:
        flaws: empty and very long passages.
        texts: texts of the passages that were asked for, by id.
        personal_data: what is shaped like an address or a number of a person, to the passages that
            hold it; empty without a corpus.
        languages: languages of the first passages, the most frequent one first.
        lengths: passages by number of words; empty without a corpus.
    """

    flaws: list[Flaw]
    texts: dict[str, str]
    personal_data: dict[str, int]
    languages: dict[str, int]
    lengths: dict[str, int]


def survey(package: Package, passages: Iterable[str]) -> Survey:
    """Stream the corpus once.

    Args:
        package: what is looked at; its corpus may be empty.
        passages: ids of those whose texts are needed; memory grows with them.

    Raises:
        InputError: a file is damaged.
    """
    ids = pa.array(sorted(set(passages)), pa.string())
    lengths = WordLengths()
    flaws: list[Flaw] = []
    texts: dict[str, str] = {}
    personal = dict.fromkeys(_PERSONAL, 0)
    languages: Counter[str] = Counter()
    for batch in package.passages(["_id", "text"]):
        words = lengths.add(batch["text"])
        odd = batch.append_column("words", words).filter(
            pc.or_(pc.equal(words, 0), pc.greater(words, LONG))
        )
        flaws += map(_odd, odd["_id"].to_pylist(), odd["words"].to_pylist())
        rows = rows_with(batch, "_id", ids)
        texts.update(rows_of(rows, "_id", "text"))
        for what, pattern in _PERSONAL.items():
            personal[what] += pc.sum(pc.match_substring_regex(batch["text"], pattern)).as_py() or 0
        for text in batch["text"][: _LANGUAGE_SAMPLE - languages.total()].to_pylist():
            languages[language_of(text) or "not clear"] += 1
    has_corpus = bool(package.corpus)
    return Survey(
        flaws,
        texts,
        personal if has_corpus else {},
        dict(languages.most_common()),
        lengths.table() if has_corpus else {},
    )


def _odd(passage: str, words: int) -> Flaw:
    if words == 0:
        return Flaw("empty-passage", "", passage, "has no text")
    return Flaw("long-passage", "", passage, f"{words:,} words")
