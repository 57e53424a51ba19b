"""Alignment and [NA] (KaLMA, sections 4.3 and 4.4): what statements entail."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from citeforge.engines.judge.records import Pair
from citeforge.engines.judge.session import JudgeSession
from citeforge.evaluator.measures.columns import (
    Value,
    decided,
    judge_of,
    segmenter_of,
)
from citeforge.evaluator.measures.declared import (
    CitationQuality,
    Found,
    Measure,
    percent,
)
from citeforge.evaluator.measures.kalma.citations import (
    PAPER,
    is_later,
    micro_and_macro,
    micro_sample,
)
from citeforge.evaluator.measures.kalma.geval import answers_nothing
from citeforge.evaluator.measures.kalma.inputs import KalmaInputs, ParsedAnswer, TripleClaim
from citeforge.evaluator.measures.kalma.reference import is_unreadable
from citeforge.evaluator.statistics.estimates import mean_sample, measured_between
from citeforge.evaluator.tools import Tools
from citeforge.schemas.benchmarks.kg import Key, Triple
from citeforge.schemas.text import normalise_em

REFERENCE_ANSWERS = 400


def entailment_of(text: str, triple: Triple | Key) -> Pair:
    """What a judge is asked of a statement that cites a triple."""
    return Pair(text, f"{triple.relation}: {triple.value}")


def align(inputs: KalmaInputs, measures: Sequence[Measure]) -> Found:
    """Share of (statement, citation) pairs whose statement entails ``relation: value``."""
    judge = _judge(inputs)
    strict = inputs.protocol == "strict"
    rows: list[tuple[tuple[int, int], list[tuple[str, Key]]]] = []
    for run, readings in enumerate(inputs.runs):
        for reading in readings if strict else readings[:REFERENCE_ANSWERS]:
            if not strict and (not reading.shown.triples or is_unreadable(reading.output)):
                continue  # counted among the first answers all the same
            claims = inputs.claims(reading)
            rows.append(((run, reading.row), [(c.text, t) for c in claims for t in c.citations]))
    judge.ask(entailment_of(*p) for _, pairs in rows for p in pairs if _is_asked(*p, strict))
    shape = (len(inputs.runs), len(inputs.benchmark.query_ids))
    low, high = np.zeros((*shape, 2)), np.zeros((*shape, 2))
    macro_low, macro_high = np.full(shape, np.nan), np.full(shape, np.nan)
    # In reference a value that stands in the text is taken for granted.
    unasked = Value.exact(float(not strict))
    for place, pairs in rows:
        each = [
            decided(judge, entailment_of(*p)) if _is_asked(*p, strict) else unasked for p in pairs
        ]
        low[place] = sum(b.low for b in each), len(pairs)
        high[place] = sum(b.high for b in each), len(pairs)
        if pairs or strict:
            share = Value.mean(each)
            macro_low[place], macro_high[place] = share.low, share.high
    micro = partial(micro_sample, always=True)
    yield "KaLMA.Align@micro", measured_between(micro, low, high)
    yield "KaLMA.Align@macro", measured_between(mean_sample, macro_low, macro_high)


def _is_asked(text: str, citation: Key, strict: bool) -> bool:
    """Incomplete citations are not aligned in strict. The reference takes a value that stands in
    the text for granted."""
    return citation.complete if strict else citation.value.lower() not in text.lower()


def na(inputs: KalmaInputs, measures: Sequence[Measure]) -> Found:
    """Precision over [NA] statements and recall over absent triples, both micro."""
    judge = _judge(inputs)
    strict = inputs.protocol == "strict"
    rows: list[tuple[int, ParsedAnswer, list[TripleClaim], list[Triple]]] = []
    for run, readings in enumerate(inputs.runs):
        for reading in readings:
            claims = [c for c in inputs.claims(reading) if c.is_na]
            if not strict and not claims:
                continue
            absent = list(reading.shown.absent) if strict else _uncited_gold(reading)
            rows.append((run, reading, claims, absent))
    judge.ask(
        entailment_of(c.text, t) for _, _, claims, absent in rows for c in claims for t in absent
    )
    idle = _answering_nothing(inputs, rows, judge) if strict else frozenset()
    shape = (len(inputs.runs), len(inputs.benchmark.query_ids))
    sums = {n: np.zeros((*shape, 2)) for n in ("P", "P+", "R", "R+")}
    for run, reading, claims, absent in rows:
        place = (run, reading.row)
        bounds = [[decided(judge, entailment_of(c.text, t)) for t in absent] for c in claims]
        for end, suffix in (("low", ""), ("high", "+")):
            hits = [[getattr(value, end) for value in row] for row in bounds]
            precise = recalled = sum(map(sum, hits))  # pairs in reference, so both can pass 1
            if strict:
                idles = [(reading.shown.question, c.text) in idle for c in claims]
                precise = sum(max([idle, *row]) for idle, row in zip(idles, hits, strict=True))
                recalled = sum(map(max, zip(*hits, strict=True)))
            sums[f"P{suffix}"][place] = precise, len(claims)
            sums[f"R{suffix}"][place] = recalled, len(absent)
    for letter, nothing in (("P", "no answer has an [NA]"), ("R", "nothing is absent")):
        measured = measured_between(micro_sample, sums[letter], sums[f"{letter}+"])
        yield f"KaLMA.NA.{letter}", measured if sums[letter][..., 1].any() else nothing


def _uncited_gold(reading: ParsedAnswer) -> list[Triple]:
    """The reference's "absent": gold of rounds ≥ 2 that the answer did not cite."""
    cited = set(reading.citations)
    return [
        Triple(k.qid, "", "", k.relation, k.value)
        for k, number in reading.shown.gold
        if is_later(number) and k not in cited
    ]


def _answering_nothing(
    inputs: KalmaInputs,
    rows: Sequence[tuple[int, ParsedAnswer, list[TripleClaim], list[Triple]]],
    judge: JudgeSession,
) -> frozenset[tuple[str, str]]:
    """(question, statement) of [NA] statements that do not answer the question at all.

    Section 4.5: such a mark is right. Only statements that hold no absent triple are asked about.
    """
    if inputs.tools.llm is None:
        return frozenset()
    pairs = dict.fromkeys(
        (reading.shown.question, c.text)
        for _, reading, claims, absent in rows
        for c in claims
        if normalise_em(c.text)
        and not any(decided(judge, entailment_of(c.text, t)).low for t in absent)
    )
    nothing = answers_nothing(inputs, inputs.tools.llm, list(pairs))
    return frozenset(pair for pair, is_idle in zip(pairs, nothing, strict=True) if is_idle)


def _judge(inputs: KalmaInputs) -> JudgeSession:
    """The judge.

    Raises:
        CannotError: there is none, or nothing that splits answers.
    """
    judge = judge_of(inputs.tools)
    if not inputs.can_split:
        segmenter_of(inputs.tools)
    return judge


def _clause(tools: Tools, protocol: str) -> str:
    name = "off" if tools.llm is None else tools.llm.identity()["name"]
    return f"answers-nothing clause {name}"


_JUDGED = ("judge", "segmenter")
_na = partial(
    percent, family="kalma", source=PAPER, uses=_JUDGED, reads="triples", compute=na,
    gold={"strict": "removed", "reference": "2+"},
)  # fmt: skip
MEASURES = (
    *micro_and_macro(
        "Align", "citations that their statement entails", needs="a judge", uses=_JUDGED,
        compute=align,
        citation_quality=CitationQuality(
            "precision", "The statement must entail the triple: the reverse of other definitions.",
            "KaLMA's code takes a value that stands in the statement for aligned, and looks at the "
            f"first {REFERENCE_ANSWERS} answers.",
        ),
    ),
    _na(
        "KaLMA.NA.P", definition="[NA] statements that entail an absent triple, or answer nothing",
        needs="a judge", options=_clause,
    ),
    _na(
        "KaLMA.NA.R", definition="absent triples that an [NA] statement entails",
        needs="a judge and an absent_… context",
    ),
)  # fmt: skip
