"""Rewards for trainers: functions that TRL's ``GRPOTrainer`` calls with completions.

RAGE rewards an answer with (CiteP + CiteR) / 2 (Penzkofer & Baumann 2024, section 4.3). Nothing
here needs TRL or reads files: the relevant passages come with each sample, in the column
``contexts`` that ``citeforge export rl-prompts`` writes.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal

from citeforge.evaluator.measures.rage_citations import AnswerValues, score_strict
from citeforge.schemas.citations.grammar import Grammar
from citeforge.schemas.errors import UnknownValueError, UsageError

RewardMeasure = Literal["CiteF1", "CiteP", "CiteR", "Reward"]
"""``Reward`` is RAGE's (CiteP + CiteR) / 2 (section 4.3)."""
RewardFunction = Callable[..., list[float]]
"""Rewards of completions, each in [0, 1]; see :func:`citation_reward_with`."""


def citation_reward_with(
    measure: RewardMeasure = "Reward",
    *,
    length_weight: float = 0.0,
    max_words: int = 100,
    format_weight: float = 0.0,
) -> RewardFunction:
    """Make a reward function for RL trainers: ``function(completions, contexts, **kwargs)``.

    Its completions are texts, or conversations (lists of messages), whose last message counts; each
    has its context: a mapping with ``n_passages``, ``relevant`` (positions from 0) and, where they
    are others than 1 and ``[n]``, ``numbering`` (number that a mark of the first passage has) and
    ``form``. What a trainer passes besides is not
    looked at. It raises UsageError for what is none of these.

    The reward is the weighted mean ``(citations + length_weight · length + format_weight · form) /
    (1 + length_weight + format_weight)``, which stays in [0, 1].

    Args:
        measure: measure of the citations; by default RAGE's mean of precision and recall.
        length_weight: weight of the length term; 0 leaves it out. The term is 1 up to ``max_words``
            words (markers do not count), falls in a line to 0 at twice as many, and is 0 without a
            word.
        max_words: words that an answer may have.
        format_weight: weight of the format term; 0 leaves it out. The term is 1 when the answer
            cites, every citation is of a passage that was shown, and every mark can be read;
            else 0.

    Raises:
        UnknownValueError: no such measure.
        UsageError: a weight below 0, or fewer words than 1.
    """
    citations = get_reward_function(measure)
    for name, weight in (("length_weight", length_weight), ("format_weight", format_weight)):
        if not 0 <= weight < math.inf:
            raise UsageError(f"{name}={weight}: expected 0 or more", code="out-of-range")
    if max_words < 1:
        raise UsageError(f"max_words={max_words}: expected 1 or more", code="out-of-range")

    def reward(answer: AnswerValues) -> float:
        """Compute an answer's reward: weighted mean of citation, length and format terms."""
        length = (
            min(1.0, max(0.0, 2 - answer.numbers.length / max_words))
            if answer.numbers.length
            else 0.0
        )
        total = citations(answer) + length_weight * length + format_weight * _format_term(answer)
        return total / (1 + length_weight + format_weight)

    # Trainers log a reward under the name of its function.
    def citation_reward(
        completions: Sequence[Any], contexts: Sequence[Mapping[str, Any]], **kwargs: Any
    ) -> list[float]:
        """Compute the reward of each completion, given which passages it was shown."""
        if len(completions) != len(contexts):
            raise UsageError(
                f"{len(completions)} completions and {len(contexts)} contexts: expected one "
                "context per completion",
                code="wrong-value",
            )
        pairs = zip(completions, contexts, strict=True)
        return [
            reward(_score_completion(_get_text(completion), context))
            for completion, context in pairs
        ]

    return citation_reward


def get_reward_function(measure: RewardMeasure) -> Callable[[AnswerValues], float]:
    """Get the function that computes an answer's reward by a measure of its citations.

    Raises:
        UnknownValueError: no such measure.
    """
    if measure not in _CITATION_REWARDS:
        raise UnknownValueError("measure", measure, _CITATION_REWARDS)
    return _CITATION_REWARDS[measure]


def _score_completion(output: str, context: Mapping[str, Any]) -> AnswerValues:
    """Score a completion's citations: precision, recall and counts.

    Args:
        output: text of the completion.
        context: ``n_passages``, ``relevant`` (positions from 0) and perhaps ``numbering`` and
            ``form`` of marks.
    """
    try:
        n, relevant = int(context["n_passages"]), frozenset(map(int, context["relevant"]))
        grammar = _make_grammar(int(context.get("numbering", 1)), str(context.get("form", "[n]")))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise UsageError(
            f"contexts: expected n_passages and relevant (0-based positions), got {context!r:.200}",
            code="wrong-type",
        ) from error
    if any(not 0 <= position < n for position in relevant):
        raise UsageError(
            f"contexts: relevant {sorted(relevant)} are not all positions of {n} passages, "
            "which count from 0",
            code="out-of-range",
        )
    return score_strict(grammar, output, n, relevant, {})


@lru_cache(maxsize=16)
def _make_grammar(base: int, form: str) -> Grammar:
    """Make the citation grammar with first number ``base`` and marks written as ``form``."""
    return Grammar(base, form=form)


def _format_term(answer: AnswerValues) -> float:
    """Compute the format part of a reward: 1 if an answer cites by valid marks only, else 0."""
    return float(
        answer.numbers.distinct > 0 and not answer.n_out_of_range and not answer.n_unparsed
    )


def _recall(answer: AnswerValues) -> float:
    """Get an answer's citation recall; its precision where no passage shown is relevant."""
    return answer.numbers.precision if math.isnan(answer.numbers.recall) else answer.numbers.recall


def _mean(answer: AnswerValues) -> float:
    """Compute the mean of an answer's citation precision and recall (RAGE's reward)."""
    return (answer.numbers.precision + _recall(answer)) / 2


def f1(answer: AnswerValues) -> float:
    """Compute the harmonic mean of an answer's citation precision and recall; 0 if both are 0."""
    total = answer.numbers.precision + _recall(answer)
    return 2 * answer.numbers.precision * _recall(answer) / total if total else 0.0


_CITATION_REWARDS: dict[str, Callable[[AnswerValues], float]] = {
    "CiteF1": f1,
    "CiteP": lambda answer: answer.numbers.precision,
    "CiteR": _recall,
    "Reward": _mean,
}


def _get_text(completion: Any) -> str:
    """Get the text of a completion: itself, or its last message if it is a conversation.

    Raises:
        UsageError: the completion is neither.
    """
    if isinstance(completion, str):
        return completion
    try:
        content = completion[-1]["content"]
        if isinstance(content, str):
            return content
        return "".join(part["text"] for part in content or () if part.get("type") == "text")
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        raise UsageError(
            "completions: expected texts, or lists of messages with role and content; got "
            f"{completion!r:.200}",
            code="wrong-type",
        ) from error


citation_reward = citation_reward_with()
"""``GRPOTrainer(reward_funcs=citation_reward, …)``: (CiteP + CiteR) / 2 of each completion, to the
bit what ``citeforge score`` gives that answer as ``Reward``; without a relevant passage among those
shown it is CiteP."""
