"""An LLM's marks for text (G-Eval in KaLMA, section 4.1), and whether a sentence answers at all."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from citeforge.engines.io.files import digest
from citeforge.engines.llm.records import Failure, Llm, Request
from citeforge.evaluator.measures.cannot import CannotError
from citeforge.evaluator.measures.declared import Found, Measure
from citeforge.evaluator.measures.kalma.citations import PAPER
from citeforge.evaluator.measures.kalma.inputs import KalmaInputs, ParsedAnswer
from citeforge.evaluator.measures.kalma.reference import without_brackets
from citeforge.evaluator.statistics.estimates import Measured, mean_sample, measured_between
from citeforge.evaluator.tools import Tools
from citeforge.schemas.benchmarks.kg import Triple

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


@dataclass
class LlmGrader:
    """Asks the LLM, at temperature 0.

    Attributes:
        llm: who is asked.
        reference: whether replies are read as KaLMA's code reads them.
        failed: replies without a mark, and failures.
    """

    llm: Llm
    reference: bool = False
    failed: int = 0

    def marks(
        self, aspect: str, rows: Sequence[tuple[str, str, Sequence[Triple]]]
    ) -> list[float | None]:
        """Marks of (question, answer, facts) rows; None where there is none."""
        what, with_facts = ASPECTS[aspect]
        requests = []
        for question, answer, facts in rows:
            lines = "".join(f"- {t.name}, {t.relation}: {t.value}\n" for t in facts)
            shown = f"Facts:\n{lines}\n" if with_facts else ""
            text = _PROMPT.format(what=what, facts=shown, question=question, answer=answer)
            requests.append(_request(text))
        marks = []
        for result in self.llm.complete(requests):
            read = reference_mark if self.reference else mark_of
            mark = None if isinstance(result, Failure) else read(result.text)
            self.failed += mark is None
            marks.append(mark)
        return marks

    def answers(self, pairs: Sequence[tuple[str, str]]) -> list[bool | None]:
        """Whether each sentence answers any part of its question; None when the reply says neither.

        Args:
            pairs: (question, sentence).
        """
        requests = [_request(_ANSWERS.format(question=q, sentence=s)) for q, s in pairs]
        verdicts: list[bool | None] = []
        for result in self.llm.complete(requests):
            text = "" if isinstance(result, Failure) else result.text.strip().lower()
            verdicts.append(text.startswith("yes") if text.startswith(("yes", "no")) else None)
        self.failed += verdicts.count(None)
        return verdicts


def _request(text: str) -> Request:
    params: dict[str, Any] = {"temperature": 0.0, "max_tokens": 8}
    return Request((("user", text),), params, task="geval", values={})


def geval_samples(
    inputs: KalmaInputs, marker: LlmGrader, aspects: Sequence[str]
) -> Iterator[tuple[str, Measured]]:
    """Mean marks from 1 to 5.

    Strict: a missing answer gets 1; a reply without a mark is a judge failure, and bounds are
    given. Reference: the first 100 answers that were shown a graph, brackets stripped, 3 where
    there is no mark.
    """
    strict = inputs.protocol == "strict"
    rows: list[tuple[int, ParsedAnswer]] = []
    for run, readings in enumerate(inputs.runs):
        rated = readings
        if not strict:
            rated = [r for r in readings if r.shown.triples][:REFERENCE_ANSWERS]
        rows += [(run, r) for r in rated]
    jobs = [(run, r) for run, r in rows if not strict or r.output.strip()]
    texts = [
        (r.shown.question, r.output if strict else without_brackets(r.output), r.shown.triples)
        for _, r in jobs
    ]
    shape = (len(inputs.runs), len(inputs.benchmark.query_ids))
    for aspect in aspects:
        low, high = np.full(shape, np.nan), np.full(shape, np.nan)
        for run, r in rows:
            low[run, r.row] = high[run, r.row] = 1.0
        for (run, r), mark in zip(jobs, marker.marks(aspect, texts), strict=True):
            least, most = (mark, mark) if mark is not None else (1.0, 5.0)
            if mark is None and not strict:
                least = most = _UNPARSABLE
            low[run, r.row], high[run, r.row] = least, most
        name = f"GEval.{aspect}"
        yield name, measured_between(mean_sample, low, high)


def marks(inputs: KalmaInputs, measures: Sequence[Measure]) -> Found:
    """Marks for the aspects of the measures."""
    if inputs.marker is None:
        raise CannotError("needs --llm openai:MODEL or replay:FILE")
    yield from geval_samples(inputs, inputs.marker, [str(m.parameters["aspect"]) for m in measures])


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
