"""Write questions in rounds: an LLM writes and tries to answer them, a judge checks entailment."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from citeforge.engines.judge.records import Decision, JudgeFailure, Pair
from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.progress import progress
from citeforge.engines.retrieval.dense import DenseCorpus
from citeforge.engines.text.quoting import repeats_number
from citeforge.plugins.documents.checks import (
    ALONE,
    ANSWERED,
    CHECKS,
    CLOSED_BOOK,
    DIFFICULTY,
    ENTAILED,
    FORM,
    FORMAT,
    HALVES,
    NEEDED,
    NOT_ABSENT,
    PERSON,
    UNCLEAR,
    check_text,
    fits_passage,
    reject_repeats,
    reject_seed_copies,
)
from citeforge.plugins.documents.corpus import PassagePool
from citeforge.plugins.documents.design import ABSENT, PAIR
from citeforge.plugins.documents.llm_requests import PromptedLlm, TextReply
from citeforge.plugins.documents.question_specs import (
    QuestionSpec,
    Topics,
    draw_passages,
    spread_specs,
)
from citeforge.plugins.documents.questions import (
    Evidence,
    Question,
    is_answered,
    is_not_answered,
    read_question,
)
from citeforge.plugins.documents.recipe import DocumentsRecipe
from citeforge.schemas.counts import NOT_MADE, count_key
from citeforge.schemas.text import premise_of

_NEAREST_PARTNERS = 12
"""Nearest passages among which the other one of a pair is looked for."""
_EASY_OTHERS = 2
"""Other passages that a search may find before the evidence of an easy question."""
_LEAST_SHARE_OF_LIST = 0.5
"""Share of a list's answers that a reader may not give without the evidence."""


@dataclass(frozen=True)
class QuestionMaker:
    """Writes questions about passages, and checks them.

    Attributes:
        recipe: options of the checks.
        specs: number of questions wanted, by form and user.
        prompted_llm: the LLM, with the prompts.
        judge: decides what passages entail; None for no judge.
        passages: passages of the corpus.
        search: finds the passages near a question.
        topics: topics of the passages, if the design has any.
    """

    recipe: DocumentsRecipe
    specs: Mapping[QuestionSpec, int]
    prompted_llm: PromptedLlm
    judge: JudgeSession | None
    passages: PassagePool
    search: DenseCorpus
    topics: Topics

    def make(self, kept_questions: Sequence[Question] = ()) -> list[Question]:
        """Write and check questions in rounds; return earlier ones and all new, rejected ones too.

        Each round writes the number still wanted, until there are enough or no more tries.

        Args:
            kept_questions: checked questions of an earlier package, which come first; none is
                written about their evidence.
        """
        made = list(kept_questions)
        taken = {passage.id for question in kept_questions for passage in question.evidence}
        orders = self.topics.split(name for name in self.passages.order if name not in taken)
        written: dict[str, int] = dict.fromkeys(wanted_by_form(self.specs), 0)
        while fresh := self._draw_questions(made, written, orders):
            with progress("asking for questions", len(fresh), "questions") as advance:
                self._write_questions(fresh)
                advance(len(fresh))
            reject_seed_copies(_accepted(fresh), self.prompted_llm.seeds)
            self.check(fresh, made)
            made += fresh
        return made

    def check(self, questions: Sequence[Question], other_questions: Iterable[Question]) -> None:
        """Check questions by all checks, also for repeating others; reject at the first failure.

        Args:
            questions: questions with texts; those that are rejected already are skipped.
            other_questions: other questions, which they must not repeat.
        """
        for question in _accepted(questions):
            check_text(question, self.recipe.asking.longest_copy, self.prompted_llm.design)
        reject_repeats(_accepted(questions), _accepted(other_questions))
        self._check_questions(questions)

    def _draw_questions(
        self,
        earlier: Sequence[Question],
        n_written: dict[str, int],
        ids_by_topic: Mapping[str | None, Iterator[str]],
    ) -> list[Question]:
        """Draw passages by topic as evidence for the next round; return questions without texts.

        Args:
            earlier: questions of earlier rounds.
            n_written: number of questions written so far, by form; those drawn are added.
            ids_by_topic: topic to the ids of its passages, in the order in which questions are
                written.
        """
        numbers: dict[QuestionSpec, int] = {}
        planned = dict(n_written)
        wanted_of_form = wanted_by_form(self.specs)
        for spec, wanted in self.specs.items():
            form = spec.form.name
            accepted = sum(q.spec == spec for q in _accepted(earlier))
            tries_left = self.recipe.asking.tries * wanted_of_form[form] - planned[form]
            numbers[spec] = max(0, min(wanted - accepted, tries_left))
            planned[form] += numbers[spec]
        drawn = draw_passages(spread_specs(numbers), ids_by_topic)
        for spec, _ in drawn:  # a topic without passages takes no tries of others
            n_written[spec.form.name] += 1
        texts = self.passages.texts([name for _, name in drawn])
        partners = self._find_partners(
            [texts[name] for spec, name in drawn if spec.form.base == PAIR]
        )
        questions: list[Question] = []
        last = max((int(q.id[1:]) for q in earlier), default=0)
        for spec, name in drawn:
            evidence: tuple[Evidence, ...] = (texts[name],)
            if spec.form.base == PAIR:
                if name not in partners:
                    continue
                evidence = (texts[name], partners[name])
            questions.append(Question(f"q{last + len(questions) + 1}", spec, evidence))
        return questions

    def _find_partners(self, passages: Sequence[Evidence]) -> dict[str, Evidence]:
        """Find a similar passage for each one, from another section if possible, by its id.

        Returns:
            The other passage, by id of the first; none for a passage that nothing is similar to.
        """
        ranked = self.search.rank({p.id: p.text for p in passages}, _NEAREST_PARTNERS)
        partners = {}
        for name, hits in ranked.items():
            others = [r.docid for r in hits if r.docid != name]
            apart = [other for other in others if not self.passages.are_together(name, other)]
            if others:
                partners[name] = (apart or others)[0]
        texts = self.passages.texts(list(partners.values()))
        return {name: texts[other] for name, other in partners.items()}

    def _write_questions(self, questions: Sequence[Question]) -> None:
        """Have the LLM write the texts of questions; reject those with a malformed reply."""
        requests = [self.prompted_llm.to_write(q) for q in questions]
        replies = self.prompted_llm.ask(requests)
        for question, request, reply in zip(questions, requests, replies, strict=True):
            if reply.failure:
                question.reject(FORMAT, f"no reply ({reply.failure})")
            elif wrong := read_question(reply.text, question):
                question.reject(FORMAT, wrong)
            elif repeats_number(reply.text, request.messages[-1][1]):
                question.reject(FORMAT, f"repeats a tag of the prompt: {reply.text[:100]!r}")

    def _check_questions(self, questions: Sequence[Question]) -> None:
        """Reject questions by the checks that use LLM, judge or search.

        In this order: the statement follows from the evidence; a reader finds the answers there,
        but not without any passage, nor in one passage of a pair, nor in the nearest passages that
        do not answer. Nearest passages that answer, too, are recorded. A question without an answer
        must not be answered from the nearest passages.

        Args:
            questions: questions of the round; those that are rejected already are skipped.
        """
        asking = self.recipe.asking
        answerable = [q for q in questions if q.is_accepted and q.base != ABSENT]
        self._check_premises([q for q in _accepted(questions) if q.premise])
        self._check_entailment(answerable)
        self._ask_reader(
            ANSWERED, answerable, lambda q: [q.evidence],
            lambda reply, q: not is_answered(q, reply), "the reader says",
        )  # fmt: skip
        self._ask_reader(
            CLOSED_BOOK, answerable, lambda q: [()] * asking.closed_book, _gives_half,
            "without any passage the reader says",
        )  # fmt: skip
        self._ask_reader(
            HALVES, (q for q in answerable if q.base == PAIR),
            lambda q: [(passage,) for passage in reversed(q.evidence)], _gives_half, "{} alone:",
        )  # fmt: skip
        near = self._find_near_passages(_accepted(questions))
        self._find_others(_accepted(answerable), near)

        def others(question: Question) -> list[Evidence]:
            """List the nearest passages of a question that no check found to answer it."""
            answering = {*question.relevant, *question.unsure}
            return [p for p in near[question.id] if p.id not in answering][: asking.shown]

        self._ask_reader(
            NEEDED, answerable, lambda q: [others(q)] if others(q) else [], _gives_half,
            "from other passages the reader says",
        )  # fmt: skip
        self._ask_reader(
            NOT_ABSENT, (q for q in questions if q.base == ABSENT),
            lambda q: filter(None, [near[q.id][: (n := asking.shown)], near[q.id][n : 2 * n]]),
            lambda reply, _: not is_not_answered(reply), "from the nearest passages:",
        )  # fmt: skip

    def _ask_reader(
        self,
        check_name: str,
        questions: Iterable[Question],
        passages_of: Callable[[Question], Iterable[Sequence[Evidence]]],
        is_wrong: Callable[[str, Question], bool],
        reason: str,
    ) -> None:
        """Have an LLM answer questions; reject those with a reply that failed or is wrong.

        Args:
            check_name: name of the check.
            questions: questions; those that a check has rejected are skipped.
            passages_of: question to the passages shown in each try; of several tries without
                passages, all but the first are sampled at a temperature.
            is_wrong: whether a reply rejects its question.
            reason: start of the reason; ``{}`` is the id of the first passage shown.
        """
        work = [(q, list(passages_of(q))) for q in _accepted(questions)]
        replies = iter(self.prompted_llm.ask([
            self.prompted_llm.to_answer(q, passages, 0 if passages else n)
            for q, tries in work
            for n, passages in enumerate(tries)
        ]))  # fmt: skip
        for question, tries in work:
            for passages, reply in [(passages, next(replies)) for passages in tries]:
                if reply.failure or is_wrong(reply.text, question):
                    start = reason.format(passages[0].id) if passages else reason
                    question.reject(check_name, f"{start} {_quote_reply(reply)}")
                    break

    def _check_entailment(self, questions: Sequence[Question]) -> None:
        """Reject questions whose statement the judge finds not entailed by their evidence."""
        statements = [(q, q.statement) for q in questions]
        for question, statement, is_entailed in self._judge_evidence(ENTAILED, statements):
            if not is_entailed:
                question.reject(ENTAILED, f"does not follow: {statement!r}")

    def _check_premises(self, questions: Sequence[Question]) -> None:
        """Reject questions whose premise should be false, but is entailed by the evidence."""
        premises = [(q, q.premise) for q in questions]
        for question, premise, is_entailed in self._judge_evidence(FORM, premises):
            if is_entailed:
                question.reject(FORM, f"the evidence says what is to be wrong: {premise!r}")

    def _judge_evidence(
        self, check_name: str, texts: Sequence[tuple[Question, str]]
    ) -> Iterator[tuple[Question, str, bool]]:
        """Yield (question, text, whether its evidence entails it); reject where the judge failed.

        Args:
            check_name: check that rejects the questions on which the judge fails.
            texts: questions, each with the text that its evidence may entail.
        """
        if self.judge is None:
            return
        pairs = [Pair(join_evidence(question), text) for question, text in texts]
        verdicts = self.judge.ask(pairs)
        for (question, text), pair in zip(texts, pairs, strict=True):
            verdict = verdicts[pair]
            if isinstance(verdict, JudgeFailure):
                question.reject(check_name, f"the judge failed ({verdict.message})")
            else:
                yield question, text, verdict.entailed

    def find_nearest(self, texts: Mapping[str, str], depth: int) -> dict[str, list[Evidence]]:
        """Search the nearest passages of texts: text id to passages, best first."""
        ranked = self.search.rank(texts, depth)
        found = self.passages.texts([r.docid for hits in ranked.values() for r in hits])
        return {name: [found[r.docid] for r in hits] for name, hits in ranked.items()}

    def _find_near_passages(self, questions: Sequence[Question]) -> dict[str, list[Evidence]]:
        """Find questions' nearest passages, less their own evidence; note how hard each is."""
        others = max(self.recipe.asking.neighbours, _EASY_OTHERS)
        depth = others + max((len(q.evidence) for q in questions), default=0)
        ranked = self.search.rank({q.id: q.text for q in questions}, depth)
        for question in questions:
            self._check_difficulty(question, [r.docid for r in ranked[question.id]])
        barred = {
            q.id: {e.id for e in q.evidence} if q.base != ABSENT else set() for q in questions
        }
        ids = {
            name: [r.docid for r in hits if r.docid not in barred[name]][
                : self.recipe.asking.neighbours
            ]
            for name, hits in ranked.items()
        }
        texts = self.passages.texts([i for hits in ids.values() for i in hits])
        return {name: [texts[i] for i in hits] for name, hits in ids.items()}

    def _check_difficulty(self, question: Question, nearest_ids: Sequence[str]) -> None:
        """Mark a question as rejected if the rank of its evidence is not in the wanted range.

        Args:
            question: a question.
            nearest_ids: ids of the nearest passages, in order.
        """
        wanted = question.spec.merge_wishes(self.prompted_llm.design).difficulty
        if wanted is None or question.base == ABSENT:
            return
        ids = [e.id for e in question.evidence]
        last = max(nearest_ids.index(name) + 1 if name in nearest_ids else math.inf for name in ids)
        if wanted == "easy" and last > len(ids) + _EASY_OTHERS:
            place = (
                f"at rank {last}" if last <= len(nearest_ids) else f"below rank {len(nearest_ids)}"
            )
            question.reject(DIFFICULTY, f"a search finds its evidence {place}: not easy")
        elif wanted == "hard" and last == len(ids):
            question.reject(DIFFICULTY, "a search finds its evidence first of all: not hard")

    def _find_others(
        self, questions: Sequence[Question], near_passages: dict[str, list[Evidence]]
    ) -> None:
        """Record which near passages also answer a question; reject ambiguous questions.

        Relevant: an LLM that reads the passage alone gives half of the right answers, and the judge
        finds the statement entailed, or there is no judge. Unsure: only one of both is so, or the
        LLM failed. The LLM reads the nearest passages, and further ones that the judge finds
        entailing. A question about two passages is rejected if one alone answers it, and any
        question if a passage of another document gives another answer to it.

        Args:
            questions: questions that passed all earlier checks.
            near_passages: nearest passages, by id of the question.
        """
        verdicts = self._judge_passages(questions, near_passages)
        suspects = {
            q.id: [
                (p, verdicts.get((q.id, p.id)))
                for rank, p in enumerate(near_passages[q.id])
                if p.id not in {*q.relevant, *q.unsure}
                and (self.judge is None or rank < self.recipe.asking.shown or verdicts[q.id, p.id])
            ]
            for q in questions
        }
        replies = iter(self.prompted_llm.ask([
            self.prompted_llm.to_answer(q, [p]) for q in questions for p, _ in suspects[q.id]
        ]))  # fmt: skip
        for question in questions:
            for passage, verdict in suspects[question.id]:
                reply = next(replies)
                is_read = not reply.failure and _gives_half(reply.text, question)
                if is_read and verdict is not False:
                    if question.base == PAIR:
                        question.reject(ALONE, f"{passage.id} answers it: {_quote_reply(reply)}")
                    question.relevant.append(passage.id)
                elif is_read or verdict or reply.failure:
                    question.unsure.append(passage.id)
                elif not is_not_answered(reply.text) and self._is_unclear(question, passage, reply):
                    said = f"{passage.id} answers it otherwise: {_quote_reply(reply)}"
                    question.reject(UNCLEAR, said)

    def _is_unclear(self, question: Question, passage: Evidence, reply: TextReply) -> bool:
        """Whether a reply shows that a question also fits a passage of another document."""
        files = {self.passages.file_of(e.id) for e in question.evidence}
        is_elsewhere = self.passages.file_of(passage.id) not in files
        return is_elsewhere and fits_passage(question, passage, reply.text)

    def _judge_passages(
        self, questions: Sequence[Question], near_passages: dict[str, list[Evidence]]
    ) -> dict[tuple[str, str], bool]:
        """Ask the judge which near passages entail statements, by (question, passage) id.

        Empty without a judge. Passages that entail a quote become relevant; those on which the
        judge fails, or that support the statement or a quote in part, become unsure.

        Args:
            questions: questions with statement and quotes.
            near_passages: nearest passages, by id of the question.
        """
        if self.judge is None:
            return {}
        pairs = [
            (q, p, [Pair(premise_of(p.title, p.text), h) for h in q.hypotheses])
            for q in questions
            for p in near_passages[q.id]
        ]
        verdicts = self.judge.ask(pair for _, _, some in pairs for pair in some)
        is_entailed = {}
        for question, passage, some in pairs:
            whole, *parts = (verdicts[pair] for pair in some)
            is_entailed[question.id, passage.id] = _is_entailed(whole)
            if _is_entailed(whole):
                continue
            if any(map(_is_entailed, parts)):
                question.relevant.append(passage.id)
            elif any(isinstance(v, JudgeFailure) or v.level > 0 for v in (whole, *parts)):
                question.unsure.append(passage.id)
        return is_entailed


def _accepted(questions: Iterable[Question]) -> list[Question]:
    """List the questions that no check has rejected."""
    return [q for q in questions if q.is_accepted]


def _gives_half(reply: str, question: Question) -> bool:
    """Whether an LLM's reply gives at least half of a question's answers."""
    return is_answered(question, reply, _LEAST_SHARE_OF_LIST)


def _is_entailed(decision: Decision) -> bool:
    """Whether the judge found that the premise entails the hypothesis; False if it failed."""
    return not isinstance(decision, JudgeFailure) and decision.entailed


def join_evidence(question: Question) -> str:
    """Join the evidence passages of a question to one premise for the judge."""
    return "\n\n".join(premise_of(e.title, e.text) for e in question.evidence)


def _quote_reply(reply: TextReply) -> str:
    """Quote the start of an LLM's reply, or its failure, for a rejection's reason."""
    return f"({reply.failure})" if reply.failure else repr(reply.text[:120])


def wanted_by_form(specs: Mapping[QuestionSpec, int]) -> dict[str, int]:
    """Add up the wanted numbers of question specifications by their form."""
    wanted = Counter[str]()
    for spec, n in specs.items():
        wanted[spec.form.name] += n
    return dict(wanted)


def count_questions(
    specs: Mapping[QuestionSpec, int], questions: Sequence[Question]
) -> dict[str, int]:
    """Count questions written, rejected by each check, accepted and missing, by count key.

    Those that a person dropped are not missing; of users' own questions none can be.
    """
    counts = {"questions_written": len(questions)}
    for check in CHECKS:
        if n := sum(q.check == check for q in questions):
            counts[count_key("questions_rejected", check)] = n
    for form, wanted in wanted_by_form(specs).items():
        made = [q for q in questions if q.spec in specs and q.spec.form.name == form]
        accepted = sum(q.is_accepted for q in made)
        counts[count_key("questions_accepted", form)] = accepted
        missing = wanted - accepted - sum(q.check == PERSON for q in made)
        if missing > 0:
            counts[count_key(NOT_MADE, form)] = missing
    return counts
