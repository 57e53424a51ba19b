"""Rewards for trainers: reward functions in the form that TRL's ``GRPOTrainer`` calls.

RAGE rewards an answer with (CiteP + CiteR) / 2 (Penzkofer & Baumann 2024, section 4.3). Nothing
here needs TRL, and nothing is read from disk: what an answer is held against comes with each
sample, in the column ``contexts`` that ``citeforge export rl-prompts`` writes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from citeforge.evaluator.measures.rage.reward import (
    RewardMeasure,
    RewardTerms,
    Shown,
    completion_texts,
    rewards,
)

__all__ = ["RewardMeasure", "RewardTerms", "Shown", "citation_reward", "citation_reward_with"]


def citation_reward(
    completions: Sequence[Any],
    contexts: Sequence[Shown | Mapping[str, Any]],
    *,
    terms: RewardTerms | None = None,
    **kwargs: Any,
) -> list[float]:
    """Rewards of completions, each in [0, 1]: ``GRPOTrainer(reward_funcs=citation_reward, …)``.

    A sample's reward is (CiteP + CiteR) / 2 of its completion, to the bit what ``citeforge score``
    gives that answer as ``Reward``; without a relevant passage among those shown it is CiteP.

    Args:
        completions: texts, or conversations (lists of messages), whose last message counts.
        contexts: one for each completion: :class:`Shown`, or a mapping with ``n_passages``,
            ``relevant`` (0-based positions) and, where the first passage is not number 1, ``base``.
        terms: another measure of citations, or terms for length and format.
        kwargs: further columns and what a trainer passes besides; not looked at.

    Returns:
        As many numbers as completions, in order.

    Raises:
        UsageError: not one context a completion, or one that is none.
    """
    return rewards(completion_texts(completions), contexts, terms)


def citation_reward_with(
    measure: RewardMeasure = "Reward",
    *,
    length_weight: float = 0.0,
    max_words: int = 100,
    format_weight: float = 0.0,
) -> Callable[..., list[float]]:
    """A reward function like :func:`citation_reward` with terms of its own; see
    :class:`RewardTerms`.

    Raises:
        UnknownValueError: no such measure.
        UsageError: a weight below 0, or fewer words than 1.
    """
    terms = RewardTerms(measure, length_weight, max_words, format_weight)

    def function(
        completions: Sequence[Any], contexts: Sequence[Shown | Mapping[str, Any]], **kwargs: Any
    ) -> list[float]:
        return citation_reward(completions, contexts, terms=terms)

    # Trainers log a reward under the name of its function.
    function.__name__ = "citation_reward"
    return function
