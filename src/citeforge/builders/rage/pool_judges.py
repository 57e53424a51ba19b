"""Judges of pools: grades of an LLM, by UMBRELA's four levels, or entailment by an NLI model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from citeforge.builders.writer_prompts import writer_prompt
from citeforge.engines.judge.llm import llm_judge_of
from citeforge.engines.judge.records import JudgeFailure, Pair
from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.llm.records import LlmReply, Request, Result, json_format
from citeforge.engines.llm.writers import OpenAiLlm
from citeforge.engines.text.short_replies import read_field
from citeforge.schemas.errors import UsageError
from citeforge.schemas.recipes.rage import Pooling, RageRecipe
from citeforge.schemas.text import answers_question, premise_of

_GRADE = "grade"
_GRADES = (0, 1, 2, 3)
"""Levels of UMBRELA (Upadhyay et al. 2024), from unrelated to a full answer."""
_TRIES = 3
_TOKENS = 30
"""Largest number of tokens of a grade."""
_USUAL_REPLY = '{"grade": 0}'


@dataclass(frozen=True, slots=True)
class PoolPair:
    """A question and a passage that may answer it."""

    question: str
    title: str
    text: str


class PoolJudge(Protocol):
    """Grades how well passages answer questions.

    Attributes:
        llm: LLM that is asked; None for other judges, which cost nothing.
        prompts: name of each prompt to the digest of its text.
        relevant_from: least grade of a relevant passage; lower ones above 0 are left open.
    """

    llm: OpenAiLlm | None
    prompts: Mapping[str, str]
    relevant_from: float

    def identity(self) -> dict[str, Any]:
        """Describe the judge for the manifest: all that grades depend on besides the prompts."""
        ...

    def grade(self, pairs: Sequence[PoolPair]) -> list[float | None]:
        """Grade the relevance of each (question, passage) pair; None where the judge failed."""
        ...


class LlmPoolJudge:
    """LLM that grades pairs from 0 to 3 at temperature 0; unreadable replies are asked for again.

    Attributes: as of :class:`PoolJudge`.
    """

    llm: OpenAiLlm | None

    def __init__(self, llm: OpenAiLlm, relevant_from: int) -> None:
        """Set the LLM that grades relevance, and the least grade of a relevant passage."""
        self.llm, self._llm, self.relevant_from = llm, llm, float(relevant_from)
        self._template = writer_prompt("rage/grade")
        self.prompts: Mapping[str, str] = {_GRADE: self._template.sha256}

    def identity(self) -> dict[str, Any]:
        """Describe the LLM and its options that change replies."""
        return self._llm.identity()

    def grade(self, pairs: Sequence[PoolPair]) -> list[float | None]:
        """Ask the LLM for each pair's relevance grade; None without a grade in three replies.

        Equal pairs cost once. A dry run records the calls, and has no grades.
        """
        grades: list[float | None] = [None] * len(pairs)
        if self._llm.options.dry_run:
            self._llm.rehearse_chats([self.to_grade(pair) for pair in pairs], _TRIES)
            return grades
        still = list(range(len(pairs)))
        for attempt in range(_TRIES):
            results = self._llm.complete([self.to_grade(pairs[i], attempt) for i in still])
            for i, result in zip(still, results, strict=True):
                grades[i] = _read_grade(result)
            still = [
                i
                for i, result in zip(still, results, strict=True)
                if grades[i] is None and _may_be_repeated(result)
            ]
        return grades

    def to_grade(self, pair: PoolPair, attempt: int = 0) -> Request:
        """Make the LLM request to grade the relevance of a (question, passage) pair."""
        values = {"question": pair.question, "passage": premise_of(pair.title, pair.text)}
        member = {"type": "integer", "enum": list(_GRADES)}
        params = {
            "temperature": 0.0, "max_tokens": _TOKENS,
            "response_format": json_format(_GRADE, {_GRADE: member}),
        }  # fmt: skip
        return self._template.request(values, params, attempt, _USUAL_REPLY)


def _read_grade(result: Result) -> float | None:
    """Read the grade in an LLM's reply; None for a failed call, no grade, or two grades."""
    if not isinstance(result, LlmReply):
        return None
    found = read_field(result.text, _GRADE, _GRADES)
    return float(found.pop()) if len(found) == 1 else None


def _may_be_repeated(result: Result) -> bool:
    """Whether asking an LLM again may give a grade after a reply without one."""
    return isinstance(result, LlmReply) or result.reason in ("truncated", "empty")


class NliPoolJudge:
    """Judge of entailment: a passage is relevant if it entails that it answers the question.

    Attributes: as of :class:`PoolJudge`.
    """

    llm: OpenAiLlm | None = None
    prompts: Mapping[str, str] = {}
    relevant_from = 1.0

    def __init__(self, session: JudgeSession) -> None:
        """Set the session of an entailment judge, which stores its verdicts."""
        self._session = session

    def identity(self) -> dict[str, Any]:
        """Describe the entailment judge for the manifest."""
        return self._session.judge.identity()

    def grade(self, pairs: Sequence[PoolPair]) -> list[float | None]:
        """Ask the judge about each pair: 1 if entailed, less for partial support, 0 for none."""
        asked = [Pair(premise_of(p.title, p.text), answers_question(p.question)) for p in pairs]
        decisions = self._session.ask(asked)
        found = [decisions[pair] for pair in asked]
        return [None if isinstance(d, JudgeFailure) or d.undecided else d.level for d in found]


def make_pool_judge(session: JudgeSession, recipe: RageRecipe) -> PoolJudge:
    """Make the judge of candidate passages: an LLM that grades, or an entailment judge.

    Args:
        session: session with the judge that the recipe names.
        recipe: options of the judge and of grades.

    Raises:
        UsageError: an option that the judge does not read.
    """
    judge, pool = llm_judge_of(session), recipe.pool
    if judge is None:
        if pool.relevant_from != Pooling().relevant_from:
            raise UsageError(
                f"--relevant-from is for grades of an LLM; {pool.judge} says yes or no",
                code="option-without-effect",
            )
        return NliPoolJudge(session)
    if recipe.judging.judge_profile is not None:
        raise UsageError(
            f"--judge-profile: {pool.judge} grades a pool by a prompt of its own",
            code="option-without-effect",
        )
    return LlmPoolJudge(judge.llm, pool.relevant_from)
