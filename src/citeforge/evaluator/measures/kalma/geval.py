"""An LLM's marks for text (G-Eval in KaLMA, section 4.1), and whether a sentence answers at all."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from citeforge.engines.io.files import digest
from citeforge.engines.llm.records import Failure, Llm, Request
from citeforge.evaluator.measures.declared import CannotError, Found, Measure
from citeforge.evaluator.measures.kalma.citations import PAPER
from citeforge.evaluator.measures.kalma.inputs import KalmaInputs, ParsedAnswer
from citeforge.evaluator.measures.kalma.reference import without_brackets
from citeforge.evaluator.statistics.estimates import mean_sample, measured_between
from citeforge.evaluator.tools import Tools

REFERENCE_ANSWERS = 100
_UNPARSABLE = 3.0  # what the reference gives where no number can be read
_NUMBER = re.compile(r"[0-9]+")
_MARK = re.compile(r"(?<![\d.])([1-5])(?![\d.]*\d)")

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
    "Reply with the number alone.\n\n{facts}Question: {question}\n\nAnswer: {answer}\n\nMark:"
)
_ANSWERS = (
    "Does the sentence answer the question, or any part of it? Reply yes or no.\n\n"
    "Question: {question}\n\nSentence: {sentence}\n\nReply:"
)


def prompt_digest() -> str:
    """First digits of the sha256 of all prompts; part of the signature."""
    return digest([_PROMPT, _ANSWERS, ASPECTS])[:8]


def mark_of(reply: str) -> float | None:
    """The integer mark of a reply; None when there is none, or several."""
    marks = set(_MARK.findall(reply))
    return float(marks.pop()) if len(marks) == 1 else None


def reference_mark(reply: str) -> float:
    """What KaLMA's code makes of a reply: its first number, in long replies the first of the last
    ten characters; 3 where there is none. Marks above 5 are kept, as it keeps them."""
    match = _NUMBER.search(reply[-10:] if len(reply) > 20 else reply)
    return _UNPARSABLE if match is None else float(match[0])


def ask_llm(inputs: KalmaInputs, llm: Llm, texts: Iterable[str]) -> list[str | None]:
    """Replies to prompts, at temperature 0; None where there is none, which is counted."""
    params: dict[str, Any] = {"temperature": 0.0, "max_tokens": 8}
    requests = [Request((("user", t),), params, task="geval", values={}) for t in texts]
    results = llm.complete(requests)
    replies = [None if isinstance(r, Failure) else r.text for r in results]
    inputs.n_failed += replies.count(None)
    return replies


def answers_nothing(inputs: KalmaInputs, llm: Llm, pairs: Sequence[tuple[str, str]]) -> list[bool]:
    """Whether each sentence answers no part of its question; a reply that says neither is counted.

    Args:
        inputs: what is measured.
        llm: who is asked.
        pairs: (question, sentence).
    """
    prompts = (_ANSWERS.format(question=q, sentence=s) for q, s in pairs)
    replies = [r and r.strip().lower() for r in ask_llm(inputs, llm, prompts)]
    inputs.n_failed += sum(r is not None and not r.startswith(("yes", "no")) for r in replies)
    return [r is not None and r.startswith("no") for r in replies]


def marks(inputs: KalmaInputs, measures: Sequence[Measure]) -> Found:
    """Mean marks from 1 to 5, for the aspects of the measures.

    Strict: a missing answer gets 1; a reply without a mark is a judge failure, and bounds are
    given. Reference: the first 100 answers that were shown a graph, brackets stripped, 3 where
    there is no mark.
    """
    if (llm := inputs.tools.llm) is None:
        raise CannotError("needs --llm openai:MODEL or replay:FILE")
    strict = inputs.protocol == "strict"
    rated: list[tuple[int, ParsedAnswer]] = []
    for run, readings in enumerate(inputs.runs):
        shown = [r for r in readings if r.shown.triples][:REFERENCE_ANSWERS]
        rated += [(run, r) for r in (readings if strict else shown)]
    asked = [(run, r) for run, r in rated if not strict or r.output.strip()]
    for measure in measures:
        aspect = str(measure.parameters["aspect"])
        replies = ask_llm(inputs, llm, (_prompt(aspect, r, strict) for _, r in asked))
        low = np.full((len(inputs.runs), len(inputs.benchmark.query_ids)), np.nan)
        for run, r in rated:
            low[run, r.row] = 1.0
        high = low.copy()
        for (run, r), reply in zip(asked, replies, strict=True):
            mark = None if reply is None else (mark_of if strict else reference_mark)(reply)
            inputs.n_failed += mark is None and reply is not None
            least, most = (1.0, 5.0) if strict else (_UNPARSABLE, _UNPARSABLE)
            low[run, r.row], high[run, r.row] = (least, most) if mark is None else (mark, mark)
        yield measure.name, measured_between(mean_sample, low, high)


def _prompt(aspect: str, answer: ParsedAnswer, strict: bool) -> str:
    what, with_facts = ASPECTS[aspect]
    lines = "".join(f"- {t.name}, {t.relation}: {t.value}\n" for t in answer.shown.triples)
    text = answer.output if strict else without_brackets(answer.output)
    facts = f"Facts:\n{lines}\n" if with_facts else ""
    return _PROMPT.format(what=what, facts=facts, question=answer.shown.question, answer=text)


def _model(tools: Tools, protocol: str) -> str | None:
    if tools.llm is None:
        return None
    return f"{tools.llm.identity()['name']},prompts {prompt_digest()}"


MEASURES = tuple(
    Measure(
        f"GEval.{aspect}", "kalma", f"an LLM's 1 to 5 for {aspect}", 1, 5, 1, "--llm", PAPER,
        ("llm",), reads="triples", compute=marks, parameters={"aspect": aspect}, options=_model,
    )
    for aspect in ASPECTS
)  # fmt: skip
