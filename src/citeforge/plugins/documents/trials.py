"""Checks by an LLM that tries to answer, and by a judge."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from citeforge.engines.judge.records import Decision, JudgeFailure, Pair
from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.llm.records import Request
from citeforge.engines.retrieval.dense import DenseCorpus
from citeforge.plugins.documents.asker import PromptedLlm, TextReply
from citeforge.plugins.documents.checks import (
    ALONE,
    ANSWERED,
    CLOSED_BOOK,
    ENTAILED,
    HALVES,
    NEEDED,
    NOT_ABSENT,
)
from citeforge.plugins.documents.drawing import PassagePool
from citeforge.plugins.documents.questions import Evidence, Question, gives, is_not_answered
from citeforge.plugins.documents.recipe import ABSENT, PAIR, Asking
from citeforge.schemas.text import premise_of

_SOME = 0.5
"""Share of a list's answers that a reader may not give without the evidence."""
T = TypeVar("T")


@dataclass(frozen=True)
class Trials:
    """What questions must stand.

    Attributes:
        asking: how often, and how much is shown.
        asker: the LLM.
        judge: decides what passages entail; None for nobody.
        passages: of the corpus.
        search: finds those that are near a question.
    """

    asking: Asking
    asker: PromptedLlm
    judge: JudgeSession | None
    passages: PassagePool
    search: DenseCorpus

    def run(self, questions: Sequence[Question]) -> None:
        """Make all checks; each question stops at the first that it fails."""
        answerable = [q for q in questions if q.is_open and q.form != ABSENT]
        self._entailed(answerable)
        self._answered(_open(answerable))
        self._closed_book(_open(answerable))
        self._halves(q for q in _open(answerable) if q.form == PAIR)
        near = self._near([q for q in questions if q.is_open])
        self._others(_open(answerable), near)
        self._needed(_open(answerable), near)
        self._absent([q for q in questions if q.is_open and q.form == ABSENT], near)

    def _try(
        self,
        questions: Iterable[Question],
        requests: Callable[[Question], Iterable[Request]],
        settle: Callable[[Question, list[TextReply]], None],
    ) -> None:
        """Ask a few things about each question, and settle it by the replies."""
        work = [(question, list(requests(question))) for question in questions]
        replies = iter(self.asker.ask([r for _, some in work for r in some]))
        for question, some in work:
            settle(question, [next(replies) for _ in some])

    def _entailed(self, questions: Sequence[Question]) -> None:
        if self.judge is None:
            return
        pairs = {
            q.id: Pair("\n\n".join(premise_of(e.title, e.text) for e in q.evidence), q.statement)
            for q in questions
        }
        verdicts = self.judge.ask(pairs.values())
        for question in questions:
            verdict = verdicts[pairs[question.id]]
            if isinstance(verdict, JudgeFailure):
                question.reject(ENTAILED, f"the judge failed ({verdict.message})")
            elif not verdict.entailed:
                question.reject(ENTAILED, f"does not follow: {question.statement!r}")

    def _answered(self, questions: Iterable[Question]) -> None:
        def settle(question: Question, replies: list[TextReply]) -> None:
            if replies[0].failure or not gives(replies[0].text, question.answers):
                question.reject(ANSWERED, f"the reader says {_words(replies[0])}")

        self._try(questions, lambda q: [self.asker.to_answer(q, q.evidence)], settle)

    def _closed_book(self, questions: Iterable[Question]) -> None:
        def settle(question: Question, replies: list[TextReply]) -> None:
            reply = next((t for t in replies if t.failure or _gives_some(t, question)), None)
            if reply is not None:
                question.reject(CLOSED_BOOK, f"without any passage the reader says {_words(reply)}")

        tries = range(self.asking.closed_book)
        self._try(questions, lambda q: [self.asker.to_answer(q, (), n) for n in tries], settle)

    def _halves(self, questions: Iterable[Question]) -> None:
        def settle(question: Question, replies: list[TextReply]) -> None:
            for reply, passage in zip(replies, question.evidence, strict=True):
                if reply.failure or _gives_some(reply, question):
                    question.reject(HALVES, f"{passage.id} alone: {_words(reply)}")

        self._try(questions, lambda q: [self.asker.to_answer(q, [e]) for e in q.evidence], settle)

    def _near(self, questions: Sequence[Question]) -> dict[str, list[Evidence]]:
        """The nearest passages of each question, without its evidence (but all, if it has none)."""
        depth = self.asking.neighbours + max((len(q.evidence) for q in questions), default=0)
        ranked = self.search.rank({q.id: q.text for q in questions}, depth)
        barred = {
            q.id: {e.id for e in q.evidence} if q.form != ABSENT else set() for q in questions
        }
        ids = {
            name: [r.docid for r in hits if r.docid not in barred[name]][: self.asking.neighbours]
            for name, hits in ranked.items()
        }
        texts = self.passages.texts([i for hits in ids.values() for i in hits])
        return {name: [texts[i] for i in hits] for name, hits in ids.items()}

    def _others(self, questions: Sequence[Question], near: dict[str, list[Evidence]]) -> None:
        """Find other passages that answer: judge and LLM agree; where they do not, nobody knows."""
        verdicts = self._judged(questions, near)
        suspects = {
            q.id: [
                (p, verdicts.get((q.id, p.id)))
                for place, p in enumerate(near[q.id])
                if p.id not in {*q.relevant, *q.unsure}
                and (self.judge is None or place < self.asking.shown or verdicts[q.id, p.id])
            ]
            for q in questions
        }

        def settle(question: Question, replies: list[TextReply]) -> None:
            for reply, (passage, verdict) in zip(replies, suspects[question.id], strict=True):
                is_read = not reply.failure and gives(reply.text, question.answers, _SOME)
                if is_read and verdict is not False:
                    if question.form == PAIR:
                        question.reject(ALONE, f"{passage.id} answers it: {_words(reply)}")
                    question.relevant.append(passage.id)
                elif is_read or verdict or reply.failure:
                    question.unsure.append(passage.id)

        self._try(
            questions,
            lambda q: [self.asker.to_answer(q, [p]) for p, _ in suspects[q.id]],
            settle,
        )

    def _judged(
        self, questions: Sequence[Question], near: dict[str, list[Evidence]]
    ) -> dict[tuple[str, str], bool]:
        """Whether passages entail answers, by ids of question and passage; empty without a judge.

        Those that entail a part of an answer become relevant, those on which the judge fails, or
        that support an answer in part, unsure.
        """
        if self.judge is None:
            return {}
        pairs = [
            (q, p, [Pair(premise_of(p.title, p.text), h) for h in q.hypotheses])
            for q in questions
            for p in near[q.id]
        ]
        verdicts = self.judge.ask(pair for _, _, some in pairs for pair in some)
        is_entailed = {}
        for question, passage, some in pairs:
            whole, *parts = (verdicts[pair] for pair in some)
            is_entailed[question.id, passage.id] = _is_yes(whole)
            if _is_yes(whole):
                continue
            if any(map(_is_yes, parts)):
                question.relevant.append(passage.id)
            elif any(isinstance(v, JudgeFailure) or v.level > 0 for v in (whole, *parts)):
                question.unsure.append(passage.id)
        return is_entailed

    def _needed(self, questions: Sequence[Question], near: dict[str, list[Evidence]]) -> None:
        def near_others(question: Question) -> list[Evidence]:
            left = {*question.relevant, *question.unsure}
            return [p for p in near[question.id] if p.id not in left][: self.asking.shown]

        def settle(question: Question, replies: list[TextReply]) -> None:
            if replies[0].failure or _gives_some(replies[0], question):
                question.reject(NEEDED, f"from other passages the reader says {_words(replies[0])}")

        with_others = [q for q in questions if near_others(q)]
        self._try(with_others, lambda q: [self.asker.to_answer(q, near_others(q))], settle)

    def _absent(self, questions: Sequence[Question], near: dict[str, list[Evidence]]) -> None:
        n = self.asking.shown

        def groups(question: Question) -> list[list[Evidence]]:
            return [near[question.id][:n], near[question.id][n : 2 * n]]

        def settle(question: Question, replies: list[TextReply]) -> None:
            reply = next((t for t in replies if t.failure or not is_not_answered(t.text)), None)
            if reply is not None:
                question.reject(NOT_ABSENT, f"from the nearest passages: {_words(reply)}")

        self._try(questions, lambda q: [self.asker.to_answer(q, g) for g in groups(q) if g], settle)


def _open(questions: Iterable[Question]) -> list[Question]:
    return [q for q in questions if q.is_open]


def _gives_some(reply: TextReply, question: Question) -> bool:
    return gives(reply.text, question.answers, _SOME)


def _is_yes(decision: Decision) -> bool:
    return not isinstance(decision, JudgeFailure) and decision.entailed


def _words(reply: TextReply) -> str:
    return f"({reply.failure})" if reply.failure else repr(reply.text[:120])
