"""Which queries enter, and which passages each of them is shown, in which order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field

import pyarrow as pa

from citeforge.builders.authorship.candidates import Ranked
from citeforge.builders.recipes.derive import Base, Docs
from citeforge.engines.draws import generator, sample_ids
from citeforge.schemas.benchmarks.tables import RELEVANT, UNJUDGED
from citeforge.schemas.recipes.authorship import Selection
from citeforge.schemas.text import contains_answer, normalise_answer, normalise_passages


@dataclass
class ChosenPassages:
    """What was chosen.

    Attributes:
        docs: query to its ordered human passages, in the order of the benchmark.
        short: queries with fewer than k passages, to the number found.
        counts: why queries and candidates were left out.
    """

    docs: dict[str, Docs] = field(default_factory=dict)
    short: dict[str, dict[str, int]] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)


def choose_contexts(
    base: Base, ranked: Ranked, selection: Selection, usable: Collection[str] | None = None
) -> ChosenPassages:
    """Freeze one ordered list of passages a query.

    Non-relevant passages keep the order of the candidates; the relevant ones are put at positions
    drawn for each query, which all cells of the design share.

    Args:
        base: package that the passages come from.
        ranked: candidates of each query, best first.
        selection: choices.
        usable: passages that may be shown (those with a twin); None for all.
    """
    chosen = ChosenPassages()
    texts = _Texts(base, ranked)
    kept: dict[str, tuple[list[str], list[str]]] = {}
    for query in base.query_ids:
        relevant = _relevant(base, ranked, query, selection, chosen.counts)
        if not relevant:
            continue
        if usable is not None and not set(relevant) <= set(usable):
            chosen.counts["queries left out: the relevant passage has no twin"] += 1
            continue
        others = _others(base, ranked[query], query, usable, texts, selection, chosen.counts)
        relevant = relevant[: selection.k - 1]
        others = others[: selection.k - len(relevant)]
        if not others:
            chosen.counts["queries left out: no non-relevant candidate"] += 1
            continue
        kept[query] = (relevant, others)
    if selection.sample is not None:
        names = sample_ids(list(kept), selection.sample, selection.seed, "authorship sample")
        kept = {q: kept[q] for q in names}
    labels = {
        (q, d["corpus-id"]): d["label"] for q, docs in base.negatives.items() for d in docs
    }  # fmt: skip
    for query, (relevant, others) in kept.items():
        docs = [{"corpus-id": i, "label": labels.get((query, i), UNJUDGED)} for i in others]
        rng = generator(selection.seed, "authorship position", query)
        for passage in relevant:
            docs.insert(rng.randint(0, len(docs)), {"corpus-id": passage, "label": RELEVANT})
        chosen.docs[query] = docs
        if len(docs) < selection.k:
            chosen.short[query] = {"passages": len(docs)}
    return chosen


def _relevant(
    base: Base, ranked: Ranked, query: str, selection: Selection, counts: Counter[str]
) -> list[str]:
    judged = list(dict.fromkeys(base.relevant[query]))
    if selection.rule == "one-in-list":
        first = [i for i in ranked[query][: selection.k] if i not in base.twin_ids]
        judged = [i for i in first if i in set(judged)]
    if not judged:
        counts["queries left out: no relevant passage"] += 1
    elif len(judged) > 1 and selection.rule != "any":
        counts["queries left out: several relevant passages"] += 1
        return []
    return judged


def _others(
    base: Base,
    candidates: list[str],
    query: str,
    usable: Collection[str] | None,
    texts: _Texts,
    selection: Selection,
    counts: Counter[str],
) -> list[str]:
    relevant = set(base.relevant[query])
    same = {texts.normalised.get(i) for i in relevant}
    answers = base.answers[query] if selection.exclude_answers else []
    others: list[str] = []
    for passage in candidates:
        if passage in relevant or passage in base.twin_ids:
            continue
        if usable is not None and passage not in usable:
            continue
        if texts.normalised[passage] in same:
            counts["candidates left out: same text as a relevant passage"] += 1
            continue
        if answers and contains_answer(normalise_answer(texts.plain[passage]), answers):
            counts["candidates left out: hold a gold short answer"] += 1
            continue
        others.append(passage)
        if len(others) == selection.k:
            break
    return others


class _Texts:
    """Texts of all candidates, as they are and in the form under which they count as equal."""

    def __init__(self, base: Base, ranked: Ranked) -> None:
        wanted = {i for ids in ranked.values() for i in ids}
        wanted |= {i for ids in base.relevant.values() for i in ids}
        self.plain = {i: text for i, (_, text) in base.texts(wanted).items()}
        forms = normalise_passages(pa.array(list(self.plain.values()), pa.string()))
        self.normalised: dict[str, str] = dict(zip(self.plain, forms.to_pylist(), strict=True))
