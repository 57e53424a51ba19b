"""Questions with answers and evidence, parsed from an LLM's replies and changed by labels."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from citeforge.builders.rage.relevance_labels import read_relevance_labels
from citeforge.engines.text.refusals import is_refusal
from citeforge.plugins.documents.design import ABSENT, LIST, PAIR
from citeforge.plugins.documents.polar import is_one, polar_words, starts_with_one
from citeforge.plugins.documents.question_specs import QuestionSpec
from citeforge.schemas.counts import count_key
from citeforge.schemas.matching.answers import AnswerText
from citeforge.schemas.refusals import EVERY_LANGUAGE
from citeforge.schemas.text import normalise_answer

_LABELS = ("question", "answer", "statement", "quote", "premise", "corrected")
_LINE = re.compile(
    rf"^[ \t>*#_-]{{0,6}}({'|'.join(_LABELS)})[ \t]*\d{{0,2}}[*_ \t]*:[*_ \t]*(.*)$", re.I
)
_QUOTES = "\"'“”„«»‘’`* \t"
_NOT_ANSWERED = re.compile(r"\bnot[ _-]answered\b", re.I)
_FURTHER_TEXTS = {"premise": "premise", "misspelled": "corrected"}
"""Rule of a form to the further text that its questions have."""
_LEAST_WORD_F1 = 0.6
"""Word F1 from which a reply gives an answer in other words."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A passage that an LLM is shown."""

    id: str
    title: str
    text: str


@dataclass
class Question:
    """A question with its answer, evidence and the check that rejected it.

    Attributes:
        id: ``q`` and its number among all questions written.
        spec: its form, and the group of users that asks it.
        evidence: passages that it was written from.
        text: the question.
        answers: short answers; for a list, one per item.
        statement: a sentence that states the answer.
        quotes: quotations from the evidence that support the answer.
        premise: false statement that the question takes for granted; empty for other forms.
        corrected: a misspelled question without its mistakes; empty for other forms.
        aliases: other wordings of the only answer, by the user who brought the question.
        relevant: ids of other passages that answer it.
        unsure: ids of other passages that may answer it.
        check: the check that rejected it; empty while none has.
        reason: why that check rejected it.
    """

    id: str
    spec: QuestionSpec
    evidence: tuple[Evidence, ...]
    text: str = ""
    answers: list[str] = field(default_factory=list)
    statement: str = ""
    quotes: list[str] = field(default_factory=list)
    premise: str = ""
    corrected: str = ""
    aliases: list[str] = field(default_factory=list)
    relevant: list[str] = field(default_factory=list)
    unsure: list[str] = field(default_factory=list)
    check: str = ""
    reason: str = ""

    @property
    def base(self) -> str:
        """Base of the question's form: ``single``, ``pair``, ``list`` or ``absent``."""
        return self.spec.form.base

    @property
    def is_polar(self) -> bool:
        """Whether the question is to be answered by yes or no."""
        return self.spec.form.check == "yes/no"

    @property
    def further_text(self) -> str:
        """Name of the question's extra text field: ``premise`` or ``corrected``; else ""."""
        return _FURTHER_TEXTS.get(self.spec.form.check, "")

    @property
    def is_accepted(self) -> bool:
        """Whether no check has rejected the question."""
        return not self.check

    def reject(self, check: str, reason: str) -> None:
        """Reject the question, and record the failed check and the reason."""
        self.check, self.reason = check, " ".join(reason.split())[:300]

    @property
    def hypotheses(self) -> list[str]:
        """Texts that a passage may entail: the statement; for pairs and lists also quotes."""
        return [self.statement, *(self.quotes if self.base in (PAIR, LIST) else ())]

    def row(self) -> dict[str, object]:
        """Convert the question to a row of the package's table of questions."""
        same = ("base", "answers", "statement", "quotes", "relevant", "unsure")
        user = self.spec.user
        return {
            "_id": self.id,
            "form": self.spec.form.name,
            "user": None if user is None else user.name,
            "topic": self.spec.topic,
            **{name: getattr(self, name) for name in same},
            "question": self.text,
            "premise": self.premise or None,
            "corrected": self.corrected or None,
            "evidence": [e.id for e in self.evidence],
            "accepted": self.is_accepted,
            "check": self.check or None,
            "reason": self.reason or None,
        }


def read_question(reply: str, question: Question) -> str | None:
    """Parse an LLM's reply into a question's fields; return the fault, None if valid.

    A premise, or a corrected question, is read only if the question's form has one.

    Args:
        reply: labelled lines.
        question: its fields are set.

    Returns:
        What is wrong with the format; None if it is right.
    """
    parts: dict[str, list[str]] = {}
    label = ""
    for line in reply.splitlines():
        if match := _LINE.match(line):
            if match[1].lower() in parts.keys() - {label}:
                break  # a second question begins
            label = match[1].lower()
            parts.setdefault(label, []).append(match[2])
        elif label and line.strip():
            parts[label][-1] += f"\n{line}"
    texts = {n: [t for one in parts.get(n, ()) if (t := one.strip(_QUOTES))] for n in _LABELS}
    question.text = " ".join(" ".join(texts["question"]).split())
    question.answers = list(dict.fromkeys(texts["answer"]))
    question.statement = " ".join(" ".join(texts["statement"]).split())
    question.quotes = texts["quote"]
    if further := question.further_text:
        setattr(question, further, " ".join(" ".join(texts[further]).split()))
    if not reply:
        return "says nothing"
    if len(texts["question"]) != 1:
        refused = is_refusal(reply, EVERY_LANGUAGE) and not texts["question"]
        what = "refuses" if refused else f"has {len(texts['question'])} questions"
        return f"{what}: {reply[:100]!r}"
    if question.base == ABSENT:
        return None
    if fault := find_count_fault(question):
        return fault
    if (n := len(question.quotes)) < (least := 2 if question.base == PAIR else 1):
        return f"has {n} of at least {least} lines with Quote"
    if len(texts["statement"]) != 1:
        return f"has {len(texts['statement'])} statements where one is asked for"
    return None


def find_count_fault(question: Question) -> str | None:
    """Describe why a question's number of answers is wrong for its form; None if it is right."""
    n = len(question.answers)
    if question.base == ABSENT:
        return f"has {n} answers where none is asked for" if n else None
    if question.base == LIST:
        return f"has {n} answers where at least two are asked for" if n < 2 else None
    return f"has {n} answers where one is asked for" if n != 1 else None


def is_answered(question: Question, reply: str, min_share: float = 1.0) -> bool:
    """Whether an LLM's reply contains a share of a question's right answers.

    Args:
        question: the question.
        reply: reply of a reader.
        min_share: share of the answers that the reply must give.
    """
    if not question.is_polar:
        return gives_answers(reply, question.answers, min_share) or any(
            gives_answers(reply, [alias]) for alias in question.aliases
        )
    if is_not_answered(reply):
        return False
    words = polar_words(f"{question.text} {question.statement}")
    return any(starts_with_one(reply, some) and is_one(question.answers[0], some) for some in words)


def is_not_answered(reply: str) -> bool:
    """Whether an LLM's reply says that no answer was found."""
    return bool(_NOT_ANSWERED.search(reply)) or is_refusal(reply, EVERY_LANGUAGE)


def contains_answer(text: str, answer: str) -> bool:
    """Whether a text contains an answer, normalised as by the protocol ``strict``."""
    return AnswerText(text).contains(answer)


def gives_answers(reply: str, answers: Sequence[str], min_share: float = 1.0) -> bool:
    """Whether a reply has at least a share of the answers, exactly or (a single one) nearly.

    Args:
        reply: an LLM's reply.
        answers: the right answers.
        min_share: share of the answers that the reply must give.
    """
    if is_not_answered(reply):
        return False
    n_right = sum(
        contains_answer(reply, a) or (len(answers) == 1 and _word_f1(reply, a) >= _LEAST_WORD_F1)
        for a in answers
    )
    return n_right >= max(1, min_share * len(answers))


def _word_f1(reply: str, answer: str) -> float:
    """Compute the word F1 of a reply against an answer, both normalised."""
    one, two = normalise_answer(reply).split(), normalise_answer(answer).split()
    common = sum(min(one.count(w), two.count(w)) for w in set(one))
    return 2 * common / (len(one) + len(two)) if common else 0.0


def accepted_texts(questions: Iterable[Question]) -> dict[str, str]:
    """Map the ids of accepted questions to their texts."""
    return {q.id: q.text for q in questions if q.is_accepted}


def apply_labels(
    questions: Iterable[Question], files: Sequence[Path], texts_by_id: Mapping[str, str]
) -> dict[str, int]:
    """Apply people's relevance labels to questions' passages; return counts by label.

    Passages not labelled relevant may become negatives. Labels of questions that have since been
    dropped, or asked in other words, are counted and left out.

    Args:
        questions: questions of the build, whose relevant and unsure passages are changed.
        files: files that ``labels import`` wrote.
        texts_by_id: text of each accepted question by its id, before people dropped and edited
            some.

    Returns:
        Number of labels applied, by label.

    Raises:
        InputError: labels of another build, or unknown labels.
    """
    by_id = {q.id: q for q in questions if q.id in texts_by_id}
    counts = Counter[str]()
    for label in read_relevance_labels(files):
        row = label.row
        question = by_id.get(row.query_id)
        if question is None or row.question not in (None, texts_by_id[question.id], question.text):
            raise label.unknown_query()
        if row.label is None:
            continue
        labelled = row.question or texts_by_id[question.id]
        if not question.is_accepted or labelled != question.text:
            counts["labels_of_dropped_or_edited_questions"] += 1
            continue
        for passages in (question.relevant, question.unsure):
            if row.passage in passages:
                passages.remove(row.passage)
        if label.is_relevant:
            question.relevant.append(row.passage)
        counts[count_key("passages_people_call", row.label)] += 1
    return counts
