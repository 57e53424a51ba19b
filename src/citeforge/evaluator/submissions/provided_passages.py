"""Passages that submissions supply themselves, matched with the benchmark's corpus."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from citeforge.engines.tables import rows_with
from citeforge.engines.textfiles import count_text
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.evaluator.submissions.finding import Finding
from citeforge.package.items import Passage
from citeforge.schemas.citations.grammar import without_markers
from citeforge.schemas.submission import OwnPassage, SubmissionLine
from citeforge.schemas.text import normalise_answer, normalise_passages

_MOST_IDS_NAMED = 3
"""Ids that a warning names."""
_LEAST_WORDS = 3
"""Words of a passage from which on its standing in the answer is no accident."""


@dataclass(frozen=True, slots=True)
class _Key:
    """A passage: its docid, and hashes of its text and title; empty where there is none."""

    name: str
    text: bytes
    title: bytes = b""

    def differs(self, other: "_Key | None") -> bool:
        """Whether another passage's text or title differs where both have one; False for None."""
        return other is not None and any(
            mine and theirs and mine != theirs
            for mine, theirs in ((self.text, other.text), (self.title, other.title))
        )


class ProvidedPassages:
    """Counts the passages of a submission's lines by their ids and texts.

    A docid says something of a passage only where the words are the corpus's, too; else a system
    could give any text the id of a relevant passage. ``reference`` believes every docid, as the
    papers' code does.
    """

    def __init__(self, benchmark: Benchmark, is_strict: bool = True) -> None:
        """Prepare to count passages that answers bring, compared to the corpus if ``is_strict``.

        Args:
            benchmark: whose corpus knows ids, and whose judgements say what is relevant.
            is_strict: whether texts are compared with the corpus.
        """
        self._benchmark, self._is_strict = benchmark, is_strict
        self._passages: Counter[_Key] = Counter()
        self._repeated: dict[_Key, list[str]] = {}
        self._nameless = self._empty = 0

    def add(self, answer: SubmissionLine) -> None:
        """Count the passages that an answer brings; record those that it repeats verbatim."""
        if not (passages := answer.passages):
            return
        output = f" {self._words(answer.output)} "
        # The same words differ in length by punctuation, spaces and articles alone.
        longest = 2 * len(answer.output) + 100
        for passage, key in zip(passages, _make_keys(passages), strict=True):
            if passage.docid is None:
                self._nameless += 1
                self._empty += not key.text
            else:
                self._passages[key] += 1
            words = self._words(passage.text) if len(passage.text) <= longest else ""
            if words.count(" ") + 1 >= _LEAST_WORDS and f" {words} " in output:
                self._repeated.setdefault(key, []).append(answer.query_id)

    def _words(self, text: str) -> str:
        """Normalise a text without citation marks, to find it in an answer."""
        marks = self._benchmark.grammar.parse(text, 1 << 30).markers
        return normalise_answer(without_markers(text, marks))

    def docids(self, answer: SubmissionLine) -> list[str | None]:
        """List an answer's docids; in ``strict``, None for a relevant docid with another text."""
        passages = answer.passages or ()
        return [
            None if self._is_strict and key.differs(self._judged.get(key.name)) else passage.docid
            for passage, key in zip(passages, _make_keys(passages), strict=True)
        ]

    @cached_property
    def _judged(self) -> dict[str, _Key]:
        """Hashes of text and title of the relevant passages in the corpus, by docid."""
        return self._keys_in_corpus(
            {name for names in self._benchmark.relevant_ids for name in names}
        )

    @cached_property
    def _corpus_keys(self) -> dict[str, _Key]:
        """Keys of the corpus passages that answers name, by docid; the corpus is read once."""
        return self._keys_in_corpus({key.name for key in self._passages})

    @cached_property
    def _altered(self) -> dict[_Key, int]:
        """Counts of answers' own passages whose text or title differs from the corpus."""
        return {k: n for k, n in self._passages.items() if k.differs(self._corpus_keys.get(k.name))}

    def _keys_in_corpus(self, docids: set[str]) -> dict[str, _Key]:
        """Compute keys (docid, hashes of text and title) of corpus passages, by docid."""
        ids = pa.array(sorted(docids), pa.string())
        keys: dict[str, _Key] = {}
        for batch in self._benchmark.passages(["_id", "title", "text"]) if docids else ():
            here = rows_with(batch, "_id", ids)
            columns = here["_id"].to_pylist(), _hash_texts(here["text"]), _hash_texts(here["title"])
            keys.update((key[0], _Key(*key)) for key in zip(*columns, strict=True))
        return keys

    def has_other_text(self, passage: Passage) -> bool:
        """Whether a passage has another text or title than the corpus has for its docid."""
        if not self._is_strict or not self._altered:
            return False
        own = OwnPassage(passage.text, passage.id, passage.title)
        return _make_keys([own])[0] in self._altered

    def why_unlabelled(self) -> str:
        """Explain why relevance of the passages is unknown; empty where it is known."""
        if not any(self._benchmark.relevant_ids):
            return self._benchmark.why_no_labels
        if not any(k.name in self._corpus_keys and k not in self._altered for k in self._passages):
            return "no passage has a docid that the benchmark knows, so that none has a label"
        return ""

    def warnings(self) -> Iterator[Finding]:
        """Warn of answers' own passages with wrong docids, no text, or text that answers repeat."""
        unknown = {k: n for k, n in self._passages.items() if k.name not in self._corpus_keys}
        n_all = self._passages.total() + self._nameless
        if unknown and self._corpus_keys:
            yield Finding(
                "unknown-id",
                f"{sum(unknown.values()):,} of {n_all:,} passages have docids that the benchmark "
                f"does not know ({_list_docids(unknown)}): they count as not relevant",
            )
        if self._altered:
            yield Finding(
                "text-mismatch",
                f"{sum(self._altered.values()):,} of {n_all:,} passages have another text or title "
                f"than the benchmark has for their docid ({_list_docids(self._altered)}): "
                + (
                    "they count as unknown, and as not relevant"
                    if self._is_strict
                    else "reference believes their docids"
                ),
            )
        if self._nameless and self._corpus_keys:
            yield Finding(
                "missing-field",
                f"no docid in {count_text(self._nameless, 'passage')}, which count as not relevant",
            )
        bare = {key.name: n for key, n in unknown.items() if not key.text}
        if n_bare := sum(bare.values()) + self._empty:
            first = f" (first: {min(bare)})" if bare else ""
            yield Finding(
                "empty-text",
                f"{count_text(n_bare, 'passage')} with neither a text nor a docid that the "
                f"benchmark knows{first}: they support nothing",
            )
        queries = [
            query
            for key, names in self._repeated.items()
            if key.name not in self._corpus_keys or key in self._altered
            for query in names
        ]
        if queries:
            yield Finding(
                "self-support",
                f"{count_text(len(queries), 'passage')} of the system's own repeated word for "
                f"word in the answer (first: query {queries[0]!r}): a judge finds such statements "
                "supported by themselves",
            )


def _list_docids(keys: Iterable[_Key]) -> str:
    """List the first few docids, separated by commas."""
    distinct = sorted({key.name for key in keys})
    return ", ".join(distinct[:_MOST_IDS_NAMED]) + ", …" * (len(distinct) > _MOST_IDS_NAMED)


def _make_keys(passages: Sequence[OwnPassage]) -> list[_Key]:
    """Make the keys of passages: docid, and hashes of text and title."""
    if not passages:
        return []  # arrow imports pandas, where that is installed, for its first array
    # One call for both columns: its expression is compiled anew each time, which takes longer.
    digests = _hash_texts([*(p.text for p in passages), *(p.title for p in passages)])
    names = [p.docid or "" for p in passages]
    return [_Key(*key) for key in zip(names, digests, digests[len(names) :], strict=False)]


def _hash_texts(texts: pa.Array | Sequence[str]) -> list[bytes]:
    """Hash the letters and digits of each text; empty for an empty text.

    Copies of one corpus differ in quotation marks, dashes and spaces.
    """
    folded = normalise_passages(pa.array(texts, pa.string()))
    letters = pc.replace_substring_regex(folded, r"[^\p{L}\p{M}\p{N}]+", "")
    return [
        hashlib.blake2b(text.encode(), digest_size=16).digest() if text else b""
        for text in letters.to_pylist()
    ]
