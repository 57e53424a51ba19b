"""Flaws of a benchmark, each with the rows that have it."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from citeforge.builders.recipes.derive import Base, Docs, mapped_negatives
from citeforge.engines.io.tables import rows_of
from citeforge.engines.judge.records import JudgeFailure, Pair
from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.models.files import find_model
from citeforge.engines.retrieval.reranker import CrossEncoderReranker
from citeforge.engines.text.overlap import Shingles, shared, shingles
from citeforge.package.package import Package
from citeforge.schemas.benchmarks.audit import Flaw
from citeforge.schemas.errors import require
from citeforge.schemas.recipes.base import Runtime
from citeforge.schemas.text import contains_answer, normalise_answer, normalise_passages

NEAR = 0.8
"""Estimated Jaccard similarity of word trigrams from which two passages are near-duplicates."""

_PERMUTATIONS = 128
_SHINGLE_WORDS = 3
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Mapped:
    """Judgements and negatives of a benchmark, finished or not.

    Attributes:
        relevant: query to its relevant passages.
        negatives: query to its negatives.
        answers: query to its gold short answers.
    """

    relevant: dict[str, list[str]]
    negatives: dict[str, Docs]
    answers: dict[str, list[str]]


def near_duplicates(base: Base | Mapped, texts: dict[str, str]) -> list[Flaw]:
    """Negatives that nearly repeat a relevant passage of their query (MinHash)."""
    sketches: dict[str, Any] = {}
    flaws = []
    for query, passage in mapped_negatives(base.negatives):
        for relevant in base.relevant[query]:
            if passage not in texts or relevant not in texts:
                continue
            likeness = _sketch(sketches, passage, texts).jaccard(_sketch(sketches, relevant, texts))
            if likeness >= NEAR:
                flaws.append(
                    Flaw("near-duplicate", query, passage, f"{likeness:.2f} like {relevant}")
                )
                break
    return flaws


def _sketch(sketches: dict[str, Any], name: str, texts: dict[str, str]) -> Any:
    if name not in sketches:
        from datasketch import MinHash

        words = _WORD.findall(texts[name].lower())
        shingles = {
            " ".join(words[i : i + _SHINGLE_WORDS])
            for i in range(max(1, len(words) - _SHINGLE_WORDS + 1))
        }
        sketch = MinHash(num_perm=_PERMUTATIONS, seed=1)
        sketch.update_batch([s.encode() for s in sorted(shingles)])
        sketches[name] = sketch
    return sketches[name]


def overlapping(base: Base | Mapped, texts: dict[str, str], least: float) -> list[Flaw]:
    """Negatives that share text literally with a relevant passage of their query.

    Args:
        base: mappings.
        texts: passages by id.
        least: share of the shorter text's runs of five words; see engines.overlap.
    """
    cut: dict[str, Shingles] = {}
    flaws = []
    for query, passage in mapped_negatives(base.negatives):
        near = [r for r in base.relevant[query] if r in texts] if passage in texts else []
        for name in (passage, *near) if near else ():
            if name not in cut:
                cut[name] = shingles(texts[name])
        share, relevant = max(((shared(cut[passage], cut[r]), r) for r in near), default=(0.0, ""))
        if share >= least:
            flaws.append(Flaw("shared-text", query, passage, f"{share:.2f} shared with {relevant}"))
    return flaws


def answer_carriers(base: Base | Mapped, texts: dict[str, str]) -> list[Flaw]:
    """Negatives that contain a gold short answer."""
    forms: dict[str, str] = {}
    flaws = []
    for query, passage in mapped_negatives(base.negatives):
        answers = base.answers[query]
        if not answers or passage not in texts:
            continue
        if passage not in forms:
            forms[passage] = normalise_answer(texts[passage])
        if contains_answer(forms[passage], answers):
            hit = next(a for a in answers if contains_answer(forms[passage], [a]))
            flaws.append(Flaw("answer-in-negative", query, passage, f"holds {hit!r}"))
    return flaws


def judged_relevant(base: Base, texts: dict[str, str], judge: JudgeSession) -> list[Flaw]:
    """Negatives that entail a gold answer of their query, by a judge."""
    answers = _gold_texts(base)
    pairs = {
        (query, passage): [Pair(texts[passage], a) for a in answers[query]]
        for query, passage in mapped_negatives(base.negatives)
        if passage in texts and answers[query]
    }
    decisions = judge.ask(p for group in pairs.values() for p in group)
    flaws = []
    for (query, passage), group in pairs.items():
        for pair in group:
            decision = decisions[pair]
            if not isinstance(decision, JudgeFailure) and decision.entailed:
                text = pair.hypothesis[:60]
                flaws.append(Flaw("judged-relevant", query, passage, f"entails {text!r}"))
                break
    return flaws


def _gold_texts(base: Base) -> dict[str, list[str]]:
    texts_of: dict[str, list[str]] = {q: [] for q in base.query_ids}
    for query, text in rows_of(base.gold, "query_id", "text"):
        if text:
            texts_of[query].append(text)
    questions = dict(zip(base.query_ids, base.queries["text"].to_pylist(), strict=True))
    for query, answers in base.answers.items():
        texts_of[query] += [f"{questions[query]} {a}" for a in answers if a not in texts_of[query]]
    return texts_of


def texts_to_entail(base: Base) -> dict[str, list[str]]:
    """What a relevant passage entails: a gold answer; without any, that it answers the question."""
    questions = dict(zip(base.query_ids, base.queries["text"].to_pylist(), strict=True))
    return {
        query: texts or [f"This text answers the question: {questions[query]}"]
        for query, texts in _gold_texts(base).items()
    }


def cross_encoded(
    base: Base,
    texts: dict[str, str],
    model: str,
    threshold: float,
    device: str,
    runtime: Runtime = "torch",
) -> list[Flaw]:
    """Negatives that a cross-encoder finds relevant to their query.

    Raises:
        InputError: the model cannot be had, or gives other than one score a pair.
    """
    require("sentence_transformers")
    located = find_model(model, None, "audit without --cross-encoder")
    encoder = CrossEncoderReranker(model, located, device, runtime)
    questions = dict(zip(base.query_ids, base.queries["text"].to_pylist(), strict=True))
    rows = [(q, p) for q, p in mapped_negatives(base.negatives) if p in texts]
    scores = encoder.scores([(questions[q], texts[p]) for q, p in rows])
    return [
        Flaw("cross-encoder-relevant", q, p, f"score {s:.3f}")
        for (q, p), s in zip(rows, scores, strict=True)
        if s >= threshold
    ]


def leaks(base: Base, texts: dict[str, str], other: Base) -> list[Flaw]:
    """Queries and relevant passages whose text also stands in another split.

    Args:
        base: what is looked at.
        texts: its relevant passages, at least.
        other: the other split.
    """
    flaws = []
    theirs = set(_forms(other.queries["text"].to_pylist()))
    for query, form in zip(base.query_ids, _forms(base.queries["text"].to_pylist()), strict=True):
        if form in theirs:
            flaws.append(Flaw("leaked-query", query, "", f"also in {other.manifest.name}"))
    mine = {i: texts[i] for i in _relevant(base) if i in texts}
    forms = set(_forms(text for _, text in other.texts(_relevant(other)).values()))
    for passage, form in zip(mine, _forms(mine.values()), strict=True):
        if form in forms:
            flaws.append(Flaw("leaked-passage", "", passage, f"also in {other.manifest.name}"))
    return flaws


def _relevant(base: Base) -> set[str]:
    return {i for ids in base.relevant.values() for i in ids}


def _forms(texts: Iterable[str]) -> list[str]:
    forms: list[str] = normalise_passages(pa.array(list(texts), pa.string())).to_pylist()
    return forms


def odd_queries(package: Package) -> list[Flaw]:
    """Empty and repeated queries."""
    flaws = []
    for split, table in package.forms.items():
        forms = _forms(table["text"].to_pylist())
        repeated = {f for f, n in Counter(forms).items() if n > 1}
        for name, form in zip(table["_id"].to_pylist(), forms, strict=True):
            if not form:
                flaws.append(Flaw("empty-query", name, "", "has no text"))
            elif form in repeated:
                flaws.append(Flaw("repeated-query", name, "", f"another {split} query is the same"))
    return flaws
