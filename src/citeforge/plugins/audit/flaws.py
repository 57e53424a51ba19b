"""Flaws of a benchmark, each with the rows that have it."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from citeforge.builders.derive import Base, mapped_negatives
from citeforge.builders.package import WordLengths
from citeforge.engines.judge.records import Pair, Verdict
from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.model_files import find_model
from citeforge.engines.retrieval.reranker import CrossEncoderReranker
from citeforge.engines.shown import show_number
from citeforge.engines.tables import rows_of, rows_with
from citeforge.engines.text.languages import detect_language
from citeforge.package.package import Package
from citeforge.plugins.audit.options import AuditOptions
from citeforge.schemas.audit import Flaw
from citeforge.schemas.errors import require
from citeforge.schemas.text import normalise_passages

LONG = 1000
"""Words from which a passage counts as very long."""

_SAMPLE = 2000
"""Passages, from the first, whose language is detected."""
_PERSONAL = {
    "e-mail addresses": r"[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}",
    "phone numbers": r"(\+\d{1,3}[ .-]?)?(\(\d{2,4}\)[ .-]?|\d{2,4}[ .-])\d{3,4}[ .-]\d{3,4}\b",
}


@dataclass(frozen=True)
class CorpusSurvey:
    """Flaws, languages, personal data and lengths found in a corpus, and texts read from it.

    Attributes:
        flaws: empty and very long passages.
        texts: texts of the requested passages, by id.
        personal_data: kind of personal data (e-mail addresses, phone numbers) to the number of
            passages that match its pattern; empty without a corpus.
        languages: languages of the first passages, the most frequent one first.
        lengths: passages by number of words; empty without a corpus.
    """

    flaws: list[Flaw]
    texts: dict[str, str]
    personal_data: dict[str, int]
    languages: dict[str, int]
    lengths: dict[str, int]


def survey_corpus(package: Package, passages: Iterable[str]) -> CorpusSurvey:
    """Read a corpus once: collect its flaws and statistics, and some passages' texts (by id).

    Args:
        package: the benchmark; its corpus may be empty.
        passages: ids of the passages whose texts are returned; memory grows with them.

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
        flaws += [
            Flaw("long-passage", "", passage, f"{n:,} words")
            if n
            else Flaw("empty-passage", "", passage, "has no text")
            for passage, n in rows_of(odd, "_id", "words")
        ]
        rows = rows_with(batch, "_id", ids)
        texts.update(rows_of(rows, "_id", "text"))
        for what, pattern in _PERSONAL.items():
            personal[what] += pc.sum(pc.match_substring_regex(batch["text"], pattern)).as_py() or 0
        for text in batch["text"][: _SAMPLE - languages.total()].to_pylist():
            languages[detect_language(text) or "not clear"] += 1
    has_corpus = bool(package.corpus)
    return CorpusSurvey(
        flaws,
        texts,
        personal if has_corpus else {},
        dict(languages.most_common()),
        lengths.table() if has_corpus else {},
    )


def judge_negatives(
    negatives: Iterable[tuple[str, str]],
    passage_texts: dict[str, str],
    hypotheses: dict[str, list[str]],
    judge: JudgeSession,
) -> dict[tuple[str, str], list[tuple[str, Verdict]]]:
    """Judge each negative as premise of its query's hypotheses: (hypothesis, verdict) of each.

    Hypotheses on which the judge failed are left out.

    Args:
        negatives: (query, passage) of each.
        passage_texts: passages by id.
        hypotheses: query to statements that a relevant passage would entail.
        judge: decides entailment.
    """
    pairs_of = {
        (query, passage): [
            Pair(passage_texts[passage], h) for h in hypotheses[query] if passage in passage_texts
        ]
        for query, passage in negatives
    }
    decisions = judge.ask(pair for pairs in pairs_of.values() for pair in pairs)
    return {
        negative: [(p.hypothesis, v) for p in pairs if isinstance(v := decisions[p], Verdict)]
        for negative, pairs in pairs_of.items()
    }


def find_entailing(
    benchmark: Base, passage_texts: dict[str, str], judge: JudgeSession
) -> Iterator[Flaw]:
    """Find negatives that entail a gold answer of their query, according to a judge."""
    verdicts_of = judge_negatives(
        mapped_negatives(benchmark.negatives), passage_texts, gold_texts(benchmark), judge
    )
    for (query, passage), answers in verdicts_of.items():
        if (text := next((text for text, v in answers if v.entailed), None)) is not None:
            yield Flaw("judged-relevant", query, passage, f"entails {text[:60]!r}")


def gold_texts(benchmark: Base) -> dict[str, list[str]]:
    """List each query's gold answers as hypotheses; the question is put before short answers.

    Returns:
        By query: its long answers, and each short answer behind the question.
    """
    texts_of: dict[str, list[str]] = {q: [] for q in benchmark.query_ids}
    for query, text in rows_of(benchmark.gold, "query_id", "text"):
        if text:
            texts_of[query].append(text)
    questions = dict(rows_of(benchmark.queries, "_id", "text"))
    for query, answers in benchmark.answers.items():
        texts_of[query] += [f"{questions[query]} {a}" for a in answers if a not in texts_of[query]]
    return texts_of


def find_by_cross_encoder(
    benchmark: Base, passage_texts: dict[str, str], options: AuditOptions, device: str
) -> list[Flaw]:
    """Find negatives that a cross-encoder scores as relevant to their query.

    Args:
        benchmark: the benchmark.
        passage_texts: texts of passages, by id.
        options: name of the model, and the least score of a flaw.
        device: where the model runs.

    Raises:
        InputError: the model cannot be loaded, or does not return one score per pair.
    """
    require("sentence_transformers")
    model = options.cross_encoder
    assert model is not None
    located = find_model(model, None, "audit without --cross-encoder")
    encoder = CrossEncoderReranker(model, located, device, options.runtime)
    questions = dict(rows_of(benchmark.queries, "_id", "text"))
    rows = [(q, p) for q, p in mapped_negatives(benchmark.negatives) if p in passage_texts]
    scores = encoder.scores([(questions[q], passage_texts[p]) for q, p in rows])
    return [
        Flaw("cross-encoder-relevant", q, p, f"score {show_number(s, 3)}")
        for (q, p), s in zip(rows, scores, strict=True)
        if s >= options.least_score
    ]


def find_leaks(benchmark: Base, passage_texts: dict[str, str], other_split: Base) -> list[Flaw]:
    """Find queries and relevant passages whose text is also in another split.

    Args:
        benchmark: the split that is audited.
        passage_texts: texts of its relevant passages (others are ignored), by id.
        other_split: the split that may have the same texts.
    """
    flaws = []
    other_queries = set(_normalise_texts(other_split.queries["text"].to_pylist()))
    for query, form in zip(
        benchmark.query_ids, _normalise_texts(benchmark.queries["text"].to_pylist()), strict=True
    ):
        if form in other_queries:
            flaws.append(Flaw("leaked-query", query, "", f"also in {other_split.manifest.name}"))
    mine = {
        i: passage_texts[i] for i in set().union(*benchmark.relevant.values()) if i in passage_texts
    }
    relevant: set[str] = set().union(*other_split.relevant.values())
    forms = set(_normalise_texts(text for _, text in other_split.texts(relevant).values()))
    for passage, form in zip(mine, _normalise_texts(mine.values()), strict=True):
        if form in forms:
            flaws.append(
                Flaw("leaked-passage", "", passage, f"also in {other_split.manifest.name}")
            )
    return flaws


def _normalise_texts(texts: Iterable[str]) -> list[str]:
    """Normalise case, white space and Unicode characters of texts, to find equal ones."""
    forms: list[str] = normalise_passages(pa.array(list(texts), pa.string())).to_pylist()
    return forms


def find_odd_queries(package: Package) -> list[Flaw]:
    """Find empty and repeated queries in each of a package's tables of queries.

    A package may have two tables, with two wordings of each query.
    """
    flaws = []
    for split, table in package.forms.items():
        forms = _normalise_texts(table["text"].to_pylist())
        repeated = {f for f, n in Counter(forms).items() if n > 1}
        for name, form in zip(table["_id"].to_pylist(), forms, strict=True):
            if not form:
                flaws.append(Flaw("empty-query", name, "", "has no text"))
            elif form in repeated:
                flaws.append(Flaw("repeated-query", name, "", f"another {split} query is the same"))
    return flaws
