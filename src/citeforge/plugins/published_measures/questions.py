"""Questions that measures ask an LLM judge besides entailment, and how their verdicts are read."""

from collections.abc import Callable, Sequence

from citeforge.engines.judge.profiles import question_version
from citeforge.engines.judge.records import Pair
from citeforge.engines.judge.session import JudgeSession
from citeforge.evaluator.measures.handed import Answer
from citeforge.evaluator.measures.values import Value, level_value
from citeforge.evaluator.submissions.tools import CannotError, ScoringTools
from citeforge.schemas.citations.grammar import without_markers

NEED = "llm-need-citation"
"""Question whether a statement of an answer needs a citation."""
HALF_SUPPORT = "llm-half-support"
"""Question whether a text supports nearly all of a statement, more than half of it, or less."""
RELEVANT = "llm-relevant"
"""Question whether a text supports any point of a statement."""
ABSENCE = "llm-absence"
"""Question whether a statement says that something is unknown or does not exist."""


def need_pair(answer: Answer, statement: str) -> Pair:
    """Make the judge's question whether a statement of an answer needs a citation."""
    markers = answer.submission.grammar.parse(answer.output, answer.n_passages).markers
    text = without_markers(answer.output, markers)
    return Pair(f"Question: {answer.query}\n\nAnswer: {text}", statement, NEED)


def read_levels(judge: JudgeSession, pairs: Sequence[Pair]) -> list[Value]:
    """Ask the judge how far each (premise, hypothesis) pair is entailed: values in [0, 1]."""
    decisions = judge.ask(pairs)
    return [level_value(decisions[pair]) for pair in pairs]


def make_questions_option(*names: str) -> Callable[[ScoringTools, str], str | None]:
    """Make the function that writes hashes of judge questions' prompts into score signatures."""

    def option(tools: ScoringTools, protocol: str) -> str | None:
        """Write the questions' names with hashes of their prompts; None without an LLM judge."""
        if tools.judge is None or not tools.judge.answers_questions:
            return None
        return " ".join(map(question_version, names))

    return option


def require_questions(judge: JudgeSession, question: str) -> None:
    """Raise an error that names a question if a judge only decides entailment.

    Args:
        judge: the judge.
        question: what the question is, for the message.

    Raises:
        CannotError: it cannot.
    """
    if not judge.answers_questions:
        raise CannotError(
            f"{judge.judge.signature} decides entailment alone, and not {question}: name an LLM, "
            "--judge openai:MODEL or vllm:MODEL",
            code="missing-judge",
        )
