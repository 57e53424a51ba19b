"""FACT of DeepResearch Bench: citation accuracy and effective citations (arXiv 2506.11763).

``strict`` is the paper's appendix: of report t, N_s of its N_u statement–URL pairs are supported by
the text of the page; accuracy is the mean of N_s / N_u, 0 for a report without pairs; effective
citations are the mean of N_s. A page without a text supports nothing. ``reference`` counts as the
authors' code does: such pairs are left out, reports without citations, too, and accuracy is one
share over all pairs.

Pairs are read from the report's markup, not by an LLM, and only statements that are equal are one
(the paper has an LLM extract them, and drop paraphrases).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from citeforge.engines.judge.records import JudgeFailure, Pair
from citeforge.engines.judge.session import JudgeSession
from citeforge.evaluator.inputs import Inputs
from citeforge.evaluator.measures.bounds import Value
from citeforge.evaluator.measures.cannot import CannotError
from citeforge.evaluator.measures.columns import Key, bounded
from citeforge.evaluator.measures.declared import Found, Measure, count, percent
from citeforge.evaluator.measures.judging import render
from citeforge.evaluator.research.markup import has_text
from citeforge.evaluator.research.pairs import KEYS, UrlPair, read_pairs
from citeforge.evaluator.statistics import Measured, Sample, ratio
from citeforge.evaluator.tools import NO_JUDGE
from citeforge.schemas.urls import same_url

PAPER = "Du et al. 2025 (DeepResearch Bench, FACT), section 3.2"


@dataclass(frozen=True)
class Fact:
    """FACT of one report.

    Attributes:
        supported: pairs that the text of their page supports, fully or in part.
        n_pairs: unique pairs.
        n_unread: of these, without a text of the page.
    """

    supported: Value
    n_pairs: int
    n_unread: int


def fact(inputs: Inputs, wanted: Sequence[Measure]) -> Found:
    """All of them, from one round of questions to the judge.

    Raises:
        CannotError: there is no judge, no segmenter, or no passage has a URL.
    """
    judge, segmenter = inputs.tools.judge, inputs.tools.segmenter
    if judge is None:
        raise CannotError(NO_JUDGE)
    if segmenter is None:
        raise CannotError(inputs.tools.why_no_segmenter or "needs a segmenter")
    strict = inputs.protocol == "strict"
    key = KEYS[inputs.protocol]
    rows: list[tuple[Key, list[tuple[UrlPair, Pair | None]]]] = []
    any_url = False
    for run, item in inputs.items():
        pages = {same_url(p.url): p for p in item.passages if p.url}
        any_url = any_url or bool(pages)
        pairs = read_pairs(item.output, segmenter, key, [p.url for p in item.passages]).pairs
        texts = {name: render(page, strict) for name, page in pages.items() if has_text(page.text)}
        asked = [
            (p, Pair(texts[page], p.statement) if (page := same_url(p.key)) in texts else None)
            for p in pairs
        ]
        rows.append(((run, item.row), asked))
    if not any_url and any(asked for _, asked in rows):
        raise CannotError(
            "needs the texts of cited pages: passages with `url` and `text` in the lines"
        )
    judge.ask(pair for _, asked in rows for _, pair in asked if pair is not None)
    yield from _samples(inputs, {k: _fact(asked, judge) for k, asked in rows}, strict)


def _fact(asked: Sequence[tuple[UrlPair, Pair | None]], judge: JudgeSession) -> Fact:
    supported = Value(0.0, 0.0)
    for _, pair in asked:
        if pair is None:
            continue
        decision = judge.ask([pair])[pair]
        if isinstance(decision, JudgeFailure):
            supported += Value(0.0, 1.0)
        else:
            supported += Value(float(decision.level > 0), float(decision.level > 0))
    return Fact(supported, len(asked), sum(pair is None for _, pair in asked))


def _samples(inputs: Inputs, found: dict[Key, Fact], strict: bool) -> Found:
    citing = found if strict else {k: f for k, f in found.items() if f.n_pairs}
    read = {k: f.n_pairs if strict else f.n_pairs - f.n_unread for k, f in citing.items()}
    if strict:
        shares = {k: f.supported / (f.n_pairs or 1) for k, f in found.items()}
        yield bounded(inputs, "FACT.Acc", shares)
    else:
        yield "FACT.Acc", _share(inputs, citing, read)
    yield bounded(inputs, "FACT.Eff", {k: f.supported for k, f in citing.items()})
    for name, counts in (
        ("FACT.Cit", read),
        ("FACT.Unread", {k: f.n_unread for k, f in citing.items()}),
    ):
        yield bounded(inputs, name, {k: Value(float(n), float(n)) for k, n in counts.items()})


def _share(inputs: Inputs, citing: dict[Key, Fact], read: dict[Key, int]) -> Measured:
    """Supported pairs of all pairs that were judged."""
    below = np.nan_to_num(inputs.column({k: float(n) for k, n in read.items()}))
    sides = []
    for side in ("low", "high"):
        column = inputs.column({k: getattr(f.supported, side) for k, f in citing.items()})
        above = np.nan_to_num(column)
        sums = np.stack([above, below], axis=-1)
        sides.append(
            Sample("FACT.Acc", sums, lambda s: ratio(s[..., 0], s[..., 1]), ratio(above, below))
        )
    return Measured(sides[0], None if np.array_equal(sides[0].sums, sides[1].sums) else sides[1])


_needs = "a judge, reports that cite by URL, and passages with `url` and `text`"
_percent, _count = (
    partial(
        make, family="fact", needs=_needs, source=PAPER, uses=("judge", "segmenter"), compute=fact
    )
    for make in (percent, count)
)
MEASURES = (
    _percent("FACT.Acc", definition="statement–URL pairs that the page supports, fully or in part"),
    _count("FACT.Eff", definition="supported statement–URL pairs of a report"),
    _count("FACT.Cit", definition="statement–URL pairs of a report (reference: those judged)"),
    _count("FACT.Unread", definition="of these, pairs whose page has no text"),
)
