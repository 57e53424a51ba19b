"""Measures of answers that cite triples by an LLM and a judge.

An LLM marks texts (G-Eval in KaLMA, section 4.1) and decides whether a sentence answers at all; a
judge decides what statements entail, for alignment and [NA] (sections 4.3 and 4.4).
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Any

import numpy as np

from citeforge.engines.files import digest
from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.llm.records import Failure, Llm, Request, signature_name
from citeforge.engines.text.quoting import Quotes
from citeforge.engines.text.short_replies import read_mark, read_words
from citeforge.evaluator.measures.columns import Value, judge_pair
from citeforge.evaluator.measures.declared import CitationQuality
from citeforge.evaluator.measures.kalma_citations import (
    PAPER,
    is_later,
    micro_and_macro,
    micro_sample,
)
from citeforge.evaluator.measures.kalma_graphs import GraphMeasure, KalmaInputs, pair_triple
from citeforge.evaluator.statements.kalma import is_unreadable, without_brackets
from citeforge.evaluator.statements.triples import ParsedAnswer, TripleClaim
from citeforge.evaluator.statistics.estimates import Sample, mean_sample, sample_between
from citeforge.evaluator.submissions.tools import CannotError, ScoringTools
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
            inputs.count_failure(result.message)
    return [None if isinstance(r, Failure) else r.text for r in results]


def mean_mark(inputs: KalmaInputs, aspect: str) -> Sample:
    """Let the LLM mark one aspect of answers from 1 to 5, and average the marks.

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
    replies = ask_llm(inputs, llm, (_mark_prompt_for(aspect, r, strict) for _, r in questions))
    values = np.full(inputs.shape, np.nan)
    for run, r in rated:
        values[run, r.row] = 1.0
    n_marks = 0
    for (run, r), reply in zip(questions, replies, strict=True):
        mark = None if reply is None else (read_mark if strict else reference_mark)(reply)
        if mark is None and reply is not None:
            inputs.count_failure(f"the reply {reply[:60]!r} has no mark from 1 to 5")
        n_marks += mark is not None
        values[run, r.row] = np.nan if mark is None else mark
    if questions and not n_marks:
        raise CannotError(
            f"none of {len(questions):,} answers got a mark: {inputs.first_failure}",
            code="judge-failed",
        )
    return mean_sample(values)


def _mark_prompt_for(aspect: str, answer: ParsedAnswer, strict: bool) -> str:
    """Write the prompt that asks the LLM for one mark of a parsed answer."""
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


def _name_llm(tools: ScoringTools, protocol: str) -> str | None:
    """Name the LLM and a hash of the prompts, for score signatures; None without an LLM."""
    if tools.llm is None:
        return None
    prompts = digest([_PROMPT, _ANSWERS, ASPECTS])[:8]
    return f"{signature_name(tools.llm)},prompts {prompts}"


REFERENCE_ANSWERS = 400


@dataclass(frozen=True)
class AlignedCitations:
    """Citations of one answer that their statements entail: number and share.

    Attributes:
        hits: their number, between bounds.
        share: their share.
        total: citations, once a statement.
    """

    hits: Value
    share: Value
    total: int


def aligned_citations(inputs: KalmaInputs) -> dict[tuple[int, int], AlignedCitations]:
    """Ask the judge which cited triples their statements entail; count them by (run, query row)."""
    judge = _get_judge(inputs)
    strict = inputs.protocol == "strict"
    rows: list[tuple[tuple[int, int], list[tuple[str, Key]]]] = []
    for run, readings in enumerate(inputs.runs):
        for reading in readings if strict else readings[:REFERENCE_ANSWERS]:
            if not strict and (not reading.shown.triples or is_unreadable(reading.output)):
                continue  # it still counts as one of the first answers
            claims = inputs.claims(reading)
            rows.append(((run, reading.row), [(c.text, t) for c in claims for t in c.citations]))
    judge.ask(pair_triple(*p) for _, pairs in rows for p in pairs if _is_asked(*p, strict))
    # In reference a value that is in the text counts as entailed.
    unasked = Value.exact(float(not strict))
    aligned = {}
    for place, pairs in rows:
        each = [
            judge_pair(judge, pair_triple(*p)) if _is_asked(*p, strict) else unasked for p in pairs
        ]
        hits = Value(sum(b.low for b in each), sum(b.high for b in each))
        aligned[place] = AlignedCitations(hits, Value.mean(each), len(pairs))
    return aligned


def align_micro(inputs: KalmaInputs) -> Sample:
    """Compute the share of entailed citations over all answers."""
    low, high = np.zeros((*inputs.shape, 2)), np.zeros((*inputs.shape, 2))
    for place, one in inputs.once(aligned_citations).items():
        low[place] = one.hits.low, one.total
        high[place] = one.hits.high, one.total
    return sample_between(partial(micro_sample, always=True), low, high)


def align_macro(inputs: KalmaInputs) -> Sample:
    """Average the answers' shares of entailed citations; without citations 0, or undefined."""
    low, high = np.full(inputs.shape, np.nan), np.full(inputs.shape, np.nan)
    for place, one in inputs.once(aligned_citations).items():
        if one.total or inputs.protocol == "strict":
            low[place], high[place] = one.share.low, one.share.high
    return sample_between(mean_sample, low, high)


def _is_asked(text: str, citation: Key, strict: bool) -> bool:
    """Whether the judge is asked if a statement entails a citation.

    Strict asks about complete citations; the reference about values that are not in the text.
    """
    return citation.complete if strict else citation.value.lower() not in text.lower()


@dataclass(frozen=True)
class NaStatements:
    """Counts of one answer's [NA] statements, and of the absent triples that they entail.

    Attributes:
        precise: those that entail an absent triple or answer nothing, between bounds.
        n_statements: their number.
        recalled: absent triples that one of them entails, between bounds.
        n_absent: absent triples.
    """

    precise: Value
    n_statements: int
    recalled: Value
    n_absent: int


def na_statements(inputs: KalmaInputs) -> dict[tuple[int, int], NaStatements]:
    """Ask the judge which [NA] statements entail absent triples; count them by (run, query row)."""
    judge = _get_judge(inputs)
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
        pair_triple(c.text, t) for _, _, claims, absent in rows for c in claims for t in absent
    )
    idle = _find_idle_statements(inputs, rows, judge) if strict else frozenset()
    statements = {}
    for run, reading, claims, absent in rows:
        idles = [(reading.shown.question, c.text) in idle for c in claims]
        decisions = [[judge_pair(judge, pair_triple(c.text, t)) for t in absent] for c in claims]
        ends = [
            _count_na([[end(value) for value in row] for row in decisions], idles, strict)
            for end in (attrgetter("low"), attrgetter("high"))
        ]
        precise, recalled = (Value(*both) for both in zip(*ends, strict=True))
        statements[run, reading.row] = NaStatements(precise, len(claims), recalled, len(absent))
    return statements


def _count_na(
    hits: Sequence[Sequence[float]], idles: Sequence[bool], strict: bool
) -> tuple[float, float]:
    """Count (right [NA] statements, absent triples found) of one answer.

    Args:
        hits: of each statement, whether it entails each absent triple.
        idles: of each statement, whether it does not answer the question at all.
        strict: whether each statement and triple counts once; in ``reference`` each pair does, so
            that both numbers can pass what they are divided by.
    """
    if not strict:
        pairs = sum(map(sum, hits))
        return pairs, pairs
    precise = sum(max([idle, *row]) for idle, row in zip(idles, hits, strict=True))
    return precise, sum(map(max, zip(*hits, strict=True)))


def na_precision(inputs: KalmaInputs) -> Sample:
    """Compute the share of [NA] statements that are right, over all answers."""
    return _micro_between(
        inputs, lambda one: (one.precise, one.n_statements), "no answer has an [NA]"
    )


def na_recall(inputs: KalmaInputs) -> Sample:
    """Compute the share of absent triples that an [NA] statement entails, over all answers."""
    return _micro_between(inputs, lambda one: (one.recalled, one.n_absent), "nothing is absent")


def _micro_between(
    inputs: KalmaInputs, share: Callable[[NaStatements], tuple[Value, int]], nothing: str
) -> Sample:
    """Compute hits ÷ total of [NA] counts over all answers, with bounds where the judge failed.

    Raises:
        CannotError: nothing is divided; says ``nothing``.
    """
    low, high = np.zeros((*inputs.shape, 2)), np.zeros((*inputs.shape, 2))
    for place, one in inputs.once(na_statements).items():
        hits, total = share(one)
        low[place], high[place] = (hits.low, total), (hits.high, total)
    if not low[..., 1].any():
        raise CannotError(nothing, code="no-gold")
    return sample_between(micro_sample, low, high)


def _uncited_gold(reading: ParsedAnswer) -> list[Triple]:
    """List gold triples of rounds ≥ 2 that an answer does not cite, which KaLMA calls absent."""
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
    """Find (question, statement) pairs whose [NA] statement does not answer the question at all.

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
        and not any(judge_pair(judge, pair_triple(c.text, t)).low for t in absent)
    )
    prompts = (answers_prompt(q, s) for q, s in pairs)
    idle = set[tuple[str, str]]()
    for pair, reply in zip(pairs, ask_llm(inputs, inputs.tools.llm, prompts), strict=True):
        said = None if reply is None else read_words(reply, ("yes", "no"))
        if said is None and reply is not None:
            inputs.count_failure(f"the reply {reply[:60]!r} says neither yes nor no")
        if said == "no":
            idle.add(pair)
    return frozenset(idle)


def _get_judge(inputs: KalmaInputs) -> JudgeSession:
    """Get the judge; raise CannotError without one, or if answers cannot be split.

    Raises:
        CannotError: there is none, or nothing that splits answers.
    """
    judge = inputs.tools.get_judge()
    if not inputs.can_split:
        inputs.tools.get_segmenter()
    return judge


def _clause_option(tools: ScoringTools, protocol: str) -> str:
    """Name the LLM that decides whether [NA] statements answer at all, for signatures, or "off"."""
    name = "off" if tools.llm is None else signature_name(tools.llm)
    return f"answers-nothing clause {name}"


_JUDGED = ("judge", "segmenter")
_na = partial(
    GraphMeasure, family="kalma", source=PAPER, uses=(*_JUDGED, "llm"),
    gold={"strict": "removed", "reference": "2+"},
)  # fmt: skip
MEASURES = (
    *micro_and_macro(
        "Align", "citations that their statement entails", align_micro, align_macro,
        needs="a judge", uses=_JUDGED,
        formula='pairs of statement and citation with `φ(statement, "relation: value") = 1` ÷ '
        "pairs",
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
        needs="a judge", options=_clause_option, compute=na_precision,
    ),
    _na(
        "KaLMA.NA.R", definition="absent triples that an [NA] statement entails",
        formula="absent triples that an `[NA]` statement entails ÷ absent triples",
        needs="a judge and an absent_… context", compute=na_recall,
    ),
    *(
        GraphMeasure(
            f"GEval.{aspect}", "kalma", f"an LLM's 1 to 5 for {aspect}", 1, 5, 1, "--llm",
            source=PAPER, uses=("llm",), compute=partial(mean_mark, aspect=aspect),
            parameters={"aspect": aspect}, options=_name_llm,
            formula="an LLM's whole number, 1–5, at temperature 0",
        )
        for aspect in ASPECTS
    ),
)  # fmt: skip
