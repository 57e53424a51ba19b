"""Records of judging: pairs, verdicts and failures; and the protocol of judges."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from citeforge.engines.files import digest

CLOSE_CALL = {"bfloat16": 0.25, "float32": 1e-4, "float64": 0.0}
"""A verdict with a smaller margin may depend on its batch, and on the processor: how far a margin
moves is a property of the numbers computed in (measured on a two-layer T5 with margins up to 10:
4e-6 with the batch in float32; 0.1 away from float32 in bfloat16). It is asked again in the next
finer numbers (docs/definitions.md#judge)."""
FINER = {"bfloat16": "float32", "float32": "float64"}
"""What decides where these numbers leave a verdict open."""


@dataclass(frozen=True, slots=True, order=True)
class Pair:
    """A premise and a hypothesis: does the premise entail the hypothesis?

    Attributes:
        premise: text that entails the other one, or does not.
        hypothesis: text that is entailed, or is not.
        question: built-in profile that asks something else about the two texts (``llm-relevant``),
            which only judges with ``answers_questions`` are asked; empty for entailment.
    """

    premise: str
    hypothesis: str
    question: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Decision of a judge on a pair.

    Attributes:
        entailed: the decision.
        margin: distance from the other decision, in the judge's own unit; positive when entailed.
        truncated: whether the premise was too long for the model and was cut.
        support: for judges with three levels: 1 for full support, 0.5 for partial, 0 for none, -1
            for a contradiction; only full support is ``entailed``.
        undecided: the judge says that it cannot tell, as of a page without content; then nothing
            is ``entailed``.
    """

    entailed: bool
    margin: float | None = None
    truncated: bool = False
    support: float | None = None
    undecided: bool = False

    @property
    def level(self) -> float:
        """Degree of support in a verdict, from 0 to 1; 0 or 1 if the judge gives only yes or no."""
        return float(self.entailed) if self.support is None else max(self.support, 0.0)


@dataclass(frozen=True, slots=True)
class JudgeFailure:
    """Reason why a pair has no verdict; counted, never guessed."""

    message: str


Decision = Verdict | JudgeFailure
Keep = Callable[[Sequence[tuple[int, Decision]]], None]
"""Function that takes decisions as they are made: (index of the pair, decision)."""


class Judge(Protocol):
    """Decides whether premises entail hypotheses, for distinct pairs without a stored verdict."""

    @property
    def signature(self) -> str:
        """Name and revision of the judge, for score signatures (settings of a score)."""
        ...

    @property
    def comparable(self) -> bool:
        """Whether scores by this judge are comparable with published ones."""
        ...

    def identity(self) -> dict[str, Any]:
        """Describe everything that a verdict depends on besides the pair."""
        ...

    def count_tokens(self, pairs: Sequence[Pair]) -> int | None:
        """Count the tokens that judging the pairs takes; None if the judge counts none."""
        ...

    def decide(self, pairs: Sequence[Pair], keep: Keep) -> None:
        """Decide every pair, passing decisions to ``keep`` as soon as they are made."""
        ...


def verdict_key(identity: dict[str, Any], pair: Pair) -> str:
    """Compute the key of a stored verdict: sha256 (hex) of the judge's identity and the pair."""
    return digest([identity, pair.premise, pair.hypothesis])
