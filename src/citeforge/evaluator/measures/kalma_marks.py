"""Marks that an LLM gives to answers (G-Eval in KaLMA, section 4.1), and what else it is asked."""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

from citeforge.engines.files import digest
from citeforge.engines.llm.records import Failure, Llm, Request, signature_name
from citeforge.engines.text.quoting import Quotes
from citeforge.engines.text.short_replies import read_mark
from citeforge.evaluator.measures.declared import Group, per_submission
from citeforge.evaluator.measures.kalma_citations import PAPER
from citeforge.evaluator.measures.kalma_graphs import KalmaInputs
from citeforge.evaluator.statements.kalma import without_brackets
from citeforge.evaluator.statements.triples import ParsedAnswer
from citeforge.evaluator.statistics.estimates import Sample, mean_sample
from citeforge.evaluator.submissions.tools import CannotError, Need, ScoringTools

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
    """Parse a rating from an LLM's reply as KaLMA's code does; 3 where there is no number.

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
    inputs.failures.extend(r.message for r in results if isinstance(r, Failure))
    return [None if isinstance(r, Failure) else r.text for r in results]


def mean_mark(inputs: KalmaInputs, aspect: str) -> Sample:
    """Average an LLM's ratings, from 1 to 5, of one aspect (such as fluency) of the answers.

    A missing answer gets 1. A reply without a mark and a failed call are counted and left out of
    the mean; a measure without any mark is not computed.
    """
    rated = list(inputs.items())
    asked = [(run, r, r.output) for run, r in rated if r.output.strip()]
    return _mean_marks(inputs, aspect, rated, asked, read_mark)


def reference_mean_mark(inputs: KalmaInputs, aspect: str) -> Sample:
    """Average an LLM's ratings of the first 100 answers about a graph, brackets removed.

    It is 3 where the reply has no number.
    """
    rated = [
        (run, reading)
        for run, readings in enumerate(inputs.runs)
        for reading in [r for r in readings if r.shown.triples][:GRADED_ANSWERS]
    ]
    asked = [(run, r, without_brackets(r.output)) for run, r in rated]
    return _mean_marks(inputs, aspect, rated, asked, reference_mark)


def _mean_marks(
    inputs: KalmaInputs, aspect: str, scored_answers: Sequence[tuple[int, ParsedAnswer]],
    prompted_answers: Sequence[tuple[int, ParsedAnswer, str]],
    parse_reply: Callable[[str], float | None],
) -> Sample:  # fmt: skip
    """Average an LLM's ratings of one aspect; scored answers without a prompt count as 1.

    Args:
        inputs: all answers.
        aspect: one of ``ASPECTS``.
        scored_answers: answers that count, with 1 where the LLM is not asked.
        prompted_answers: answers that the LLM is asked about, with the text that it sees.
        parse_reply: takes the mark from a reply; None where there is none.
    """
    if (llm := inputs.tools.llm) is None:
        raise CannotError("needs --llm openai:MODEL or replay:FILE", code="missing-option")
    prompts = (
        mark_prompt(aspect, _fact_lines(r), r.shown.question, t) for _, r, t in prompted_answers
    )
    values = np.full(inputs.shape, np.nan)
    for run, reading in scored_answers:
        values[run, reading.row] = 1.0
    n_marks = 0
    for (run, reading, _), reply in zip(
        prompted_answers, ask_llm(inputs, llm, prompts), strict=True
    ):
        mark = None if reply is None else parse_reply(reply)
        if mark is None and reply is not None:
            inputs.failures.append(f"the reply {reply[:60]!r} has no mark from 1 to 5")
        n_marks += mark is not None
        values[run, reading.row] = np.nan if mark is None else mark
    if prompted_answers and not n_marks:
        raise CannotError(
            f"none of {len(prompted_answers):,} answers got a mark: {inputs.failures[0]}",
            code="judge-failed",
        )
    return mean_sample(values)


def _fact_lines(answer: ParsedAnswer) -> str:
    """List the triples that an answer was shown, one per line."""
    return "".join(f"- {t.name}, {t.relation}: {t.value}\n" for t in answer.shown.triples)


def mark_prompt(aspect: str, facts: str, question: str, answer: str) -> str:
    """Write the prompt that asks an LLM to rate an answer; untrusted texts are quoted.

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


def _rating_group(aspect: str) -> Group:
    """Make the group of measures of an LLM's ratings of one aspect, such as fluency."""
    declare = per_submission("kalma", reads="triples", source=PAPER, needs=(Need.LLM,))
    group = declare(partial(mean_mark, aspect=aspect))
    group.reference(partial(reference_mean_mark, aspect=aspect))
    return group


MEASURES = (
    *(
        _rating_group(aspect).measure(
            f"GEval.{aspect}", f"an LLM's 1 to 5 for {aspect}", low=1, high=5, scale=1,
            requires="--llm", parameters={"aspect": aspect}, options=_name_llm,
            formula="an LLM's whole number, 1–5, at temperature 0",
        )
        for aspect in ASPECTS
    ),
)  # fmt: skip
