"""Checks by an LLM that tries to answer, and by a judge."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from citeforge.engines.judge.records import Decision, JudgeFailure, Pair
from citeforge.engines.judge.session import JudgeSession
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
from citeforge.plugins.documents.corpus import PassagePool
from citeforge.plugins.documents.questions import Evidence, Question, gives, is_not_answered
from citeforge.plugins.documents.recipe import ABSENT, PAIR, Asking
from citeforge.schemas.text import premise_of

_SOME = 0.5
"""Share of a list's answers that a reader may not give without the evidence."""


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
        asking = self.asking
        answerable = [q for q in questions if q.is_open and q.form != ABSENT]
        self._entailed(answerable)
        self._try(ANSWERED, answerable, lambda q: [q.evidence], _fails, "the reader says")
        self._try(
            CLOSED_BOOK, answerable, lambda q: [()] * asking.closed_book, _gives_some,
            "without any passage the reader says",
        )  # fmt: skip
        self._try(
            HALVES, (q for q in answerable if q.form == PAIR),
            lambda q: [(passage,) for passage in reversed(q.evidence)], _gives_some, "{} alone:",
        )  # fmt: skip
        near = self._near([q for q in questions if q.is_open])
        self._others(_open(answerable), near)

        def others(question: Question) -> list[Evidence]:
            answering = {*question.relevant, *question.unsure}
            return [p for p in near[question.id] if p.id not in answering][: asking.shown]

        self._try(
            NEEDED, answerable, lambda q: [others(q)] if others(q) else [], _gives_some,
            "from other passages the reader says",
        )  # fmt: skip
        self._try(
            NOT_ABSENT, (q for q in questions if q.form == ABSENT),
            lambda q: filter(None, [near[q.id][: (n := asking.shown)], near[q.id][n : 2 * n]]),
            lambda reply, _: not is_not_answered(reply), "from the nearest passages:",
        )  # fmt: skip

    def _try(
        self,
        check: str,
        questions: Iterable[Question],
        shown: Callable[[Question], Iterable[Sequence[Evidence]]],
        is_wrong: Callable[[str, Question], bool],
        words: str,
    ) -> None:
        """Have questions answered, and take those to which a reply is wrong.

        Args:
            check: that is made.
            questions: those that no check has taken yet are asked.
            shown: passages of each try; of several tries without any, all but the first are warm.
            is_wrong: whether a reply takes the question.
            words: what the reason starts with; ``{}`` is the id of the first passage shown.
        """
        work = [(q, list(shown(q))) for q in _open(questions)]
        replies = iter(self.asker.ask([
            self.asker.to_answer(q, passages, 0 if passages else n)
            for q, tries in work
            for n, passages in enumerate(tries)
        ]))  # fmt: skip
        for question, tries in work:
            for passages, reply in [(passages, next(replies)) for passages in tries]:
                if reply.failure or is_wrong(reply.text, question):
                    start = words.format(passages[0].id) if passages else words
                    question.reject(check, f"{start} {_words(reply)}")
                    break

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

        replies = iter(self.asker.ask([
            self.asker.to_answer(q, [p]) for q in questions for p, _ in suspects[q.id]
        ]))  # fmt: skip
        for question in questions:
            for passage, verdict in suspects[question.id]:
                reply = next(replies)
                is_read = not reply.failure and gives(reply.text, question.answers, _SOME)
                if is_read and verdict is not False:
                    if question.form == PAIR:
                        question.reject(ALONE, f"{passage.id} answers it: {_words(reply)}")
                    question.relevant.append(passage.id)
                elif is_read or verdict or reply.failure:
                    question.unsure.append(passage.id)

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


def _open(questions: Iterable[Question]) -> list[Question]:
    return [q for q in questions if q.is_open]


def _fails(reply: str, question: Question) -> bool:
    return not gives(reply, question.answers)


def _gives_some(reply: str, question: Question) -> bool:
    return gives(reply, question.answers, _SOME)


def _is_yes(decision: Decision) -> bool:
    return not isinstance(decision, JudgeFailure) and decision.entailed


def _words(reply: TextReply) -> str:
    return f"({reply.failure})" if reply.failure else repr(reply.text[:120])
