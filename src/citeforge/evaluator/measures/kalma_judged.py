"""Measures of answers that cite triples by an LLM and a judge.

An LLM marks texts (G-Eval in KaLMA, section 4.1) and decides whether a sentence answers at all; a
judge decides what statements entail, for alignment and [NA] (sections 4.3 and 4.4).
"""

import re
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

from citeforge.engines.files import digest
from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.llm.records import Failure, Llm, Request
from citeforge.engines.text.quoting import Quotes
from citeforge.engines.text.short_replies import read_mark, read_words
from citeforge.evaluator.measures.columns import (
    Value,
    decided,
    judge_of,
    segmenter_of,
)
from citeforge.evaluator.measures.declared import (
    CannotError,
    CitationQuality,
    Found,
    Measure,
)
from citeforge.evaluator.measures.kalma_citations import (
    PAPER,
    is_later,
    micro_and_macro,
    micro_sample,
)
from citeforge.evaluator.measures.kalma_graphs import (
    GraphMeasure,
    KalmaInputs,
    ParsedAnswer,
    TripleClaim,
    entailment_of,
)
from citeforge.evaluator.measures.kalma_reference import is_unreadable, without_brackets
from citeforge.evaluator.statistics.estimates import mean_sample, sample_between
from citeforge.evaluator.submissions.tools import ScoringTools
from citeforge.schemas.kg import Key, Triple
from citeforge.schemas.text import normalise_em

GRADED_ANSWERS = 100
_UNPARSABLE = 3.0  # what the reference gives where no number can be read
_NUMBER = re.compile(r"[0-9]+")

ASPECTS = {
    "coherence": (
        "whether the answer hangs together: each sentence leads on from the one before, and all of "
        "them build one account of the topic instead of a heap of facts",
        False,
    ),
    "consistency": (
        "whether the answer agrees with the given facts and nowhere contradicts itself",
        True,
    ),
    "fluency": (
        "whether the answer is written in good, grammatical English that reads without effort",
        False,
    ),
    "relevance": (
        "whether the answer says what the question asks for, all of it, and nothing beside it",
        False,
    ),
}
"""Aspect to (what is judged, whether the facts are shown)."""

_PROMPT = (
    "You see a question and an answer. Give the answer one mark from 1 (worst) to 5 (best) for one "
    "thing only: {what}. First read the question, then hold the answer against it, then decide. "
    "Reply with the number alone.\n\n{facts}Question:\n{question}\n\nAnswer:\n{answer}\n\n{note} "
    "Give the answer its mark for one thing only: {what}. Reply with the number alone.\n\nMark:"
)
_ANSWERS = (
    "Does a sentence answer a question, or any part of it? Reply yes or no.\n\n"
    "Question:\n{question}\n\nSentence:\n{sentence}\n\n{note} Does the sentence answer the "
    "question, or any part of it? Reply yes or no.\n\nReply:"
)


def reference_mark(reply: str) -> float:
    """Read a mark from an LLM's reply as KaLMA's code does; 3 where there is no number.

    It is the first number, in long replies the first in the last ten characters; marks above 5 are
    kept.
    """
    match = _NUMBER.search(reply[-10:] if len(reply) > 20 else reply)
    return _UNPARSABLE if match is None else float(match[0])


def ask_llm(inputs: KalmaInputs, llm: Llm, texts: Iterable[str]) -> list[str | None]:
    """Send prompts to the LLM at temperature 0; return replies, None for failures (counted)."""
    params: dict[str, Any] = {"temperature": 0.0, "max_tokens": 8}
    requests = [Request((("user", t),), params, task="geval", values={}) for t in texts]
    results = llm.complete(requests)
    for result in results:
        if isinstance(result, Failure):
            inputs.fail(result.message)
    return [None if isinstance(r, Failure) else r.text for r in results]


def marks(inputs: KalmaInputs, measures: Sequence[Measure]) -> Found:
    """Let the LLM mark answers from 1 to 5, per aspect (measure), and average the marks.

    Strict: a missing answer gets 1. Reference: the first 100 answers that were shown a graph,
    brackets stripped, 3 where the reply has no number. A reply without a mark (strict) and a failed
    call are counted and left out of the mean; a measure without any mark is not computed.
    """
    if (llm := inputs.tools.llm) is None:
        raise CannotError("needs --llm openai:MODEL or replay:FILE", code="missing-option")
    strict = inputs.protocol == "strict"
    rated: list[tuple[int, ParsedAnswer]] = []
    for run, readings in enumerate(inputs.runs):
        with_triples = [r for r in readings if r.shown.triples][:GRADED_ANSWERS]
        rated += [(run, r) for r in (readings if strict else with_triples)]
    questions = [(run, r) for run, r in rated if not strict or r.output.strip()]
    for measure in measures:
        aspect = str(measure.parameters["aspect"])
        replies = ask_llm(inputs, llm, (_mark_prompt_for(aspect, r, strict) for _, r in questions))
        values = np.full((len(inputs.runs), len(inputs.benchmark.query_ids)), np.nan)
        for run, r in rated:
            values[run, r.row] = 1.0
        n_marks = 0
        for (run, r), reply in zip(questions, replies, strict=True):
            mark = None if reply is None else (read_mark if strict else reference_mark)(reply)
            if mark is None and reply is not None:
                inputs.fail(f"the reply {reply[:60]!r} has no mark from 1 to 5")
            n_marks += mark is not None
            values[run, r.row] = np.nan if mark is None else mark
        if questions and not n_marks:
            reason = f"none of {len(questions):,} answers got a mark: {inputs.first_failure}"
            yield measure.name, reason
        else:
            yield measure.name, mean_sample(values)


def _mark_prompt_for(aspect: str, answer: ParsedAnswer, strict: bool) -> str:
    """Write the prompt by which the judge grades an answer."""
    lines = "".join(f"- {t.name}, {t.relation}: {t.value}\n" for t in answer.shown.triples)
    text = answer.output if strict else without_brackets(answer.output)
    return mark_prompt(aspect, lines, answer.shown.question, text)


def mark_prompt(aspect: str, facts: str, question: str, answer: str) -> str:
    """Write the prompt that asks for the mark of an answer; untrusted texts are quoted.

    Args:
        aspect: one of ``ASPECTS``.
        facts: shown to the system, one per line.
        question: that was asked.
        answer: to be marked.
    """
    what, with_facts = ASPECTS[aspect]
    quotes = Quotes(facts, question, answer)
    return _PROMPT.format(
        what=what,
        facts=f"Facts:\n{quotes.quote(facts)}\n\n" if with_facts else "",
        question=quotes.quote(question),
        answer=quotes.quote(answer),
        note=quotes.note,
    )


def answers_prompt(question: str, sentence: str) -> str:
    """Write the prompt that asks whether a sentence answers a question; both are quoted."""
    quotes = Quotes(question, sentence)
    return _ANSWERS.format(
        question=quotes.quote(question), sentence=quotes.quote(sentence), note=quotes.note
    )


def _model(tools: ScoringTools, protocol: str) -> str | None:
    """Name the LLM and the prompts, for signatures; None without an LLM."""
    if tools.llm is None:
        return None
    prompts = digest([_PROMPT, _ANSWERS, ASPECTS])[:8]
    return f"{tools.llm.identity()['name']},prompts {prompts}"


REFERENCE_ANSWERS = 400


def align(inputs: KalmaInputs, measures: Sequence[Measure]) -> Found:
    """Compute the share of (statement, citation) pairs whose statement entails the triple."""
    judge = _judge(inputs)
    strict = inputs.protocol == "strict"
    rows: list[tuple[tuple[int, int], list[tuple[str, Key]]]] = []
    for run, readings in enumerate(inputs.runs):
        for reading in readings if strict else readings[:REFERENCE_ANSWERS]:
            if not strict and (not reading.shown.triples or is_unreadable(reading.output)):
                continue  # it still counts as one of the first answers
            claims = inputs.claims(reading)
            rows.append(((run, reading.row), [(c.text, t) for c in claims for t in c.citations]))
    judge.ask(entailment_of(*p) for _, pairs in rows for p in pairs if _is_asked(*p, strict))
    shape = (len(inputs.runs), len(inputs.benchmark.query_ids))
    low, high = np.zeros((*shape, 2)), np.zeros((*shape, 2))
    macro_low, macro_high = np.full(shape, np.nan), np.full(shape, np.nan)
    # In reference a value that is in the text counts as entailed.
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
    yield "KaLMA.Align@micro", sample_between(micro, low, high)
    yield "KaLMA.Align@macro", sample_between(mean_sample, macro_low, macro_high)


def _is_asked(text: str, citation: Key, strict: bool) -> bool:
    """Whether the judge is asked if a statement entails a citation.

    Strict asks about complete citations; the reference about values that are not in the text.
    """
    return citation.complete if strict else citation.value.lower() not in text.lower()


def na(inputs: KalmaInputs, measures: Sequence[Measure]) -> Found:
    """Compute precision of [NA] statements and recall of absent triples, as micro averages."""
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
    idle = _find_idle_statements(inputs, rows, judge) if strict else frozenset()
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
        sample = sample_between(micro_sample, sums[letter], sums[f"{letter}+"])
        yield f"KaLMA.NA.{letter}", sample if sums[letter][..., 1].any() else nothing


def _uncited_gold(reading: ParsedAnswer) -> list[Triple]:
    """List gold triples of rounds ≥ 2 that the answer did not cite: "absent" in reference."""
    cited = set(reading.citations)
    return [
        Triple(k.qid, "", "", k.relation, k.value)
        for k, number in reading.shown.gold
        if is_later(number) and k not in cited
    ]


def _find_idle_statements(
    inputs: KalmaInputs,
    rows: Sequence[tuple[int, ParsedAnswer, list[TripleClaim], list[Triple]]],
    judge: JudgeSession,
) -> frozenset[tuple[str, str]]:
    """Find (question, statement) of [NA] statements that do not answer the question at all.

    Section 4.5: such a mark is right. Only statements that hold no absent triple are asked about; a
    reply that says neither is counted as failed.
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
    prompts = (answers_prompt(q, s) for q, s in pairs)
    idle = set[tuple[str, str]]()
    for pair, reply in zip(pairs, ask_llm(inputs, inputs.tools.llm, prompts), strict=True):
        said = None if reply is None else read_words(reply, ("yes", "no"))
        if said is None and reply is not None:
            inputs.fail(f"the reply {reply[:60]!r} says neither yes nor no")
        if said == "no":
            idle.add(pair)
    return frozenset(idle)


def _judge(inputs: KalmaInputs) -> JudgeSession:
    """Get the judge; raise CannotError without one, or if answers cannot be split.

    Raises:
        CannotError: there is none, or nothing that splits answers.
    """
    judge = judge_of(inputs.tools)
    if not inputs.can_split:
        segmenter_of(inputs.tools)
    return judge


def _clause_option(tools: ScoringTools, protocol: str) -> str:
    """Name the LLM that decides whether [NA] statements answer at all; "off" without one."""
    name = "off" if tools.llm is None else tools.llm.identity()["name"]
    return f"answers-nothing clause {name}"


_JUDGED = ("judge", "segmenter")
_na = partial(
    GraphMeasure, family="kalma", source=PAPER, uses=_JUDGED, compute=na,
    gold={"strict": "removed", "reference": "2+"},
)  # fmt: skip
MEASURES = (
    *micro_and_macro(
        "Align", "citations that their statement entails", needs="a judge", uses=_JUDGED,
        formula='pairs of statement and citation with `φ(statement, "relation: value") = 1` ÷ '
        "pairs",
        compute=align,
        citation_quality=CitationQuality(
            "precision", "The statement must entail the triple: the reverse of other definitions.",
            "KaLMA's code takes a value that stands in the statement for aligned, and looks at the "
            f"first {REFERENCE_ANSWERS} answers.",
        ),
    ),
    _na(
        "KaLMA.NA.P", definition="[NA] statements that entail an absent triple, or answer nothing",
        formula="`[NA]` statements that entail an absent triple, or (`strict` with `--llm`) do not "
        "answer the question ÷ `[NA]` statements",
        needs="a judge", options=_clause_option,
    ),
    _na(
        "KaLMA.NA.R", definition="absent triples that an [NA] statement entails",
        formula="absent triples that an `[NA]` statement entails ÷ absent triples",
        needs="a judge and an absent_… context",
    ),
    *(
        GraphMeasure(
            f"GEval.{aspect}", "kalma", f"an LLM's 1 to 5 for {aspect}", 1, 5, 1, "--llm",
            source=PAPER, uses=("llm",), compute=marks, parameters={"aspect": aspect},
            options=_model, formula="an LLM's whole number, 1–5, at temperature 0",
        )
        for aspect in ASPECTS
    ),
)  # fmt: skip
