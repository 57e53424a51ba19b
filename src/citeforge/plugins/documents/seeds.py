"""Seed questions: those that users have already, as examples and to be packaged with evidence."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from citeforge.engines.jsonlines import read_rows
from citeforge.engines.llm.records import Llm
from citeforge.plugins.documents.checks import NO_EVIDENCE
from citeforge.plugins.documents.design import SEED, SINGLE, Form
from citeforge.plugins.documents.llm_requests import PromptedLlm
from citeforge.plugins.documents.question_specs import QuestionSpec
from citeforge.plugins.documents.questions import Question, gives_answers, read_question
from citeforge.plugins.documents.recipe import DocumentsRecipe
from citeforge.plugins.documents.rounds import QuestionMaker
from citeforge.schemas.errors import InputError

_SPEC = QuestionSpec(Form(name=SEED, base=SINGLE))


class _Row(msgspec.Struct, forbid_unknown_fields=True):
    """Line of a file of seed questions."""

    question: str
    answers: list[str] = []


@dataclass(frozen=True)
class Seed:
    """A question that users have, with its answers if they are known."""

    question: str
    answers: tuple[str, ...] = ()


def read_seeds(path: Path) -> tuple[Seed, ...]:
    """Read example questions by users (seeds) from a JSON Lines file.

    Args:
        path: file whose lines have ``question``, and perhaps ``answers``.

    Raises:
        InputError: it cannot be read, a line is at fault, or there is no question.
    """
    seeds = []
    for line, row in read_rows(path, _Row):
        if not row.question.strip():
            raise InputError(
                "is empty", path=path, line=line, field="question", code="empty-text"
            )  # fmt: skip
        answers = tuple(answer.strip() for answer in row.answers if answer.strip())
        seeds.append(Seed(" ".join(row.question.split()), answers))
    if not seeds:
        raise InputError(
            "has no questions", path=path, allowed='lines such as {"question": "Who?"}',
            code="no-queries",
        )  # fmt: skip
    return tuple(seeds)


def make_prompted_llm(recipe: DocumentsRecipe, llm: Llm, reader: Llm | None = None) -> PromptedLlm:
    """Make a build's LLM client, which knows the question settings and users' own questions.

    Args:
        recipe: names design and seeds.
        llm: model that writes questions.
        reader: model that answers them; None for the same.

    Raises:
        InputError: the design or the file of seeds is at fault.
        UsageError: forms are named by the design and by options.
    """
    seeds = () if recipe.seeds is None else read_seeds(recipe.seeds)
    texts = tuple(dict.fromkeys(seed.question for seed in seeds))
    return PromptedLlm(llm, recipe.load_design(), texts, recipe.seed, reader)


def find_seed_evidence(question_maker: QuestionMaker, seeds: Sequence[Seed]) -> list[Question]:
    """Make a question of each user's seed, with the passage that answers it, or rejected.

    Of the nearest passages, the first counts from which the LLM answers (if the answers are known:
    one of them; all others are then its aliases). Seeds without such a passage are rejected.

    Args:
        question_maker: searches and asks.
        seeds: questions of users.

    Returns:
        One question per seed, which no other check has seen.
    """
    questions = [
        Question(f"{SEED}{n}", _SPEC, (), seed.question) for n, seed in enumerate(seeds, 1)
    ]
    near = question_maker.find_nearest(
        {q.id: q.text for q in questions}, question_maker.recipe.asking.shown
    )
    pairs = [(q, passage) for q in questions for passage in near[q.id]]
    replies: Iterator[str] = iter(
        [
            reply.text
            for reply in question_maker.prompted_llm.ask(
                [question_maker.prompted_llm.to_find_evidence(*pair) for pair in pairs]
            )
        ]
    )
    for question, seed in zip(questions, seeds, strict=True):
        for passage in near[question.id]:
            found = Question(question.id, _SPEC, (passage,))
            fault = read_question(f"Question: {seed.question}\n{next(replies)}", found)
            if question.evidence or fault is not None:
                continue
            (answer,) = found.answers
            if not seed.answers or any(gives_answers(answer, [known]) for known in seed.answers):
                question.evidence, question.answers = (passage,), [answer]
                question.aliases = [known for known in seed.answers if known != answer]
                question.statement, question.quotes = found.statement, found.quotes
        if not question.evidence:
            question.reject(NO_EVIDENCE, "none of the nearest passages answers it")
    return questions
