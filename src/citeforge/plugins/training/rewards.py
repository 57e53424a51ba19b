"""Rewards for trainers: reward functions in the form that TRL's ``GRPOTrainer`` calls.

RAGE rewards an answer with (CiteP + CiteR) / 2 (Penzkofer & Baumann 2024, section 4.3). Nothing
here needs TRL, and nothing is read from disk: what an answer is held against comes with each
sample, in the column ``contexts`` that ``citeforge export rl-prompts`` writes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, get_args

from citeforge.evaluator.measures.rage.citations import AnswerValues, Scorer, strict_scorer
from citeforge.schemas.citations.grammar import Grammar
from citeforge.schemas.errors import UnknownValueError, UsageError

RewardMeasure = Literal["CiteF1", "CiteP", "CiteR", "Reward"]
"""``Reward`` is RAGE's (CiteP + CiteR) / 2 (section 4.3)."""


@dataclass(frozen=True)
class Shown:
    """What one answer is held against.

    Attributes:
        n_passages: how many passages the prompt shows.
        relevant: 0-based positions of the relevant ones.
        base: number of the first passage, 1 or 0.
        form: a citation as the prompt shows it; see
            :class:`citeforge.schemas.citations.grammar.Grammar`.
    """

    n_passages: int
    relevant: frozenset[int]
    base: int = 1
    form: str = "[n]"

    @classmethod
    def of(cls, value: Shown | Mapping[str, Any]) -> Shown:
        """From a row of the column ``contexts`` that ``citeforge export rl-prompts`` writes.

        Raises:
            UsageError: a field is missing, or a position is none of the passages'.
        """
        if isinstance(value, Shown):
            return value
        try:
            n, relevant = int(value["n_passages"]), frozenset(map(int, value["relevant"]))
            base, form = int(value.get("base", 1)), str(value.get("form", "[n]"))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise UsageError(
                "contexts: expected n_passages and relevant (0-based positions), got "
                f"{value!r:.200}"
            ) from error
        if any(not 0 <= position < n for position in relevant):
            raise UsageError(
                f"contexts: relevant {sorted(relevant)} are no positions of {n} passages, "
                "which count from 0"
            )
        return cls(n, relevant, base, form)


@dataclass(frozen=True)
class RewardTerms:
    """What is added to the reward for citations.

    The reward is the weighted mean ``(citations + length_weight · length + format_weight · form) /
    (1 + length_weight + format_weight)``, which stays in [0, 1].

    Attributes:
        measure: of the citations; RAGE's mean of precision and recall.
        length_weight: weight of the length term; 0 leaves it out. The term is 1 up to ``max_words``
            words (markers do not count), falls in a line to 0 at twice as many, and is 0 without a
            word.
        max_words: words that an answer may have.
        format_weight: weight of the format term; 0 leaves it out. The term is 1 when the answer
            cites, every citation is of a passage that was shown, and every mark can be read;
            else 0.
    """

    measure: RewardMeasure = "Reward"
    length_weight: float = 0.0
    max_words: int = 100
    format_weight: float = 0.0

    def __post_init__(self) -> None:
        if self.measure not in get_args(RewardMeasure):
            raise UnknownValueError("measure", self.measure, get_args(RewardMeasure))
        for name in ("length_weight", "format_weight"):
            if not 0 <= getattr(self, name) < math.inf:
                raise UsageError(f"{name}={getattr(self, name)}: expected 0 or more")
        if self.max_words < 1:
            raise UsageError(f"max_words={self.max_words}: expected 1 or more")

    def of(self, answer: AnswerValues) -> float:
        """Reward of the numbers of an answer, in [0, 1]."""
        weights = 1 + self.length_weight + self.format_weight
        total = _CITATIONS[self.measure](answer)
        total += self.length_weight * self._length(answer.length)
        total += self.format_weight * _form(answer)
        return total / weights

    def _length(self, words: int) -> float:
        if words == 0:
            return 0.0
        return min(1.0, max(0.0, 2 - words / self.max_words))


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
    if len(completions) != len(contexts):
        raise UsageError(
            f"{len(completions)} completions and {len(contexts)} contexts: one a piece"
        )
    terms, outputs = terms or RewardTerms(), map(_text, completions)
    return [terms.of(_numbers(o, c)) for o, c in zip(outputs, map(Shown.of, contexts), strict=True)]


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


def _numbers(output: str, context: Shown) -> AnswerValues:
    return _scorer(context.base, context.form)(output, context.n_passages, context.relevant, {})


@lru_cache(maxsize=16)
def _scorer(base: int, form: str) -> Scorer:
    return strict_scorer(Grammar(base, form=form))


def _form(answer: AnswerValues) -> float:
    return float(answer.distinct > 0 and not answer.n_out_of_range and not answer.n_unparsed)


def _precision(answer: AnswerValues) -> float:
    return answer.precision


def _recall(answer: AnswerValues) -> float:
    """Its recall; without a relevant passage in the context there is none, and its precision
    stands in."""
    return answer.precision if math.isnan(answer.recall) else answer.recall


def _mean(answer: AnswerValues) -> float:
    return (answer.precision + _recall(answer)) / 2


def f1(answer: AnswerValues) -> float:
    """Harmonic mean of precision and recall; 0 where both are."""
    total = answer.precision + _recall(answer)
    return 2 * answer.precision * _recall(answer) / total if total else 0.0


_CITATIONS = {"CiteF1": f1, "CiteP": _precision, "CiteR": _recall, "Reward": _mean}


def _text(completion: Any) -> str:
    """A completion as it is, or the last message of a conversation.

    Raises:
        UsageError: it is neither.
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
            f"{completion!r:.200}"
        ) from error
