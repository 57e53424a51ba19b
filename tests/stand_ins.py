"""A judge, an LLM and an embedder, each made of one function."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from citeforge.engines.judge.records import Decision, Keep, Pair, Verdict
from citeforge.engines.llm.records import LlmReply, Request, Result


class RuleJudge:
    """Decides pairs by a function of premise and hypothesis.

    Attributes:
        asked: pairs that were asked about.
    """

    comparable = False

    def __init__(self, rule: Callable[[str, str], bool | Decision], name: str = "rule") -> None:
        self._rule, self._name = rule, name
        self.signature = f"{name}@1"
        self.asked: list[Pair] = []

    def identity(self) -> dict[str, Any]:
        return {"name": self._name}

    def count_tokens(self, pairs: Sequence[Pair]) -> int | None:
        return None

    def decide(self, pairs: Sequence[Pair], keep: Keep) -> None:
        self.asked += pairs
        decided = [self._rule(p.premise, p.hypothesis) for p in pairs]
        keep([(i, Verdict(d) if isinstance(d, bool) else d) for i, d in enumerate(decided)])


class AskedJudge:
    """Decides pairs, with questions or without, by a function of the pair.

    Attributes:
        asked: pairs that were asked about.
    """

    comparable = False
    answers_questions = True
    signature = "asked@1"

    def __init__(self, rule: Callable[[Pair], bool | float | Decision]) -> None:
        self._rule = rule
        self.asked: list[Pair] = []

    def identity(self) -> dict[str, Any]:
        return {"name": "asked"}

    def count_tokens(self, pairs: Sequence[Pair]) -> int | None:
        return None

    def decide(self, pairs: Sequence[Pair], keep: Keep) -> None:
        self.asked += pairs
        keep([(i, self._decide(pair)) for i, pair in enumerate(pairs)])

    def _decide(self, pair: Pair) -> Decision:
        said = self._rule(pair)
        if isinstance(said, bool):
            return Verdict(said)
        return Verdict(said == 1, support=said) if isinstance(said, float) else said


class RuleLlm:
    """Replies to each request by a function, with a text or a failure.

    Attributes:
        asked: requests so far.
    """

    def __init__(self, rule: Callable[[Request], str | Result], name: str = "rule") -> None:
        self._rule, self._name = rule, name
        self.asked: list[Request] = []

    def identity(self) -> dict[str, Any]:
        return {"name": self._name}

    def complete(self, requests: Sequence[Request]) -> list[Result]:
        self.asked += requests
        replies = [self._rule(request) for request in requests]
        return [LlmReply(reply) if isinstance(reply, str) else reply for reply in replies]


def turned(text: str) -> str:
    """A sentence with its words in the other order."""
    return " ".join(reversed(text.rstrip(".").split())) + "."


def turning_llm(name: str = "turning") -> RuleLlm:
    """A writer of twins that turns words round."""
    return RuleLlm(lambda request: turned(request.values["text"]), name)


class RuleEmbedder:
    """Embeds each text by a function, as a vector of length 1.

    Attributes:
        asked: texts that were embedded.
        facts: the fingerprint.
    """

    def __init__(self, rule: Callable[[str], Sequence[float]], **facts: object) -> None:
        self._rule, self.facts = rule, {"name": "rule", **facts}
        self.asked: list[str] = []

    def fingerprint(self) -> dict[str, Any]:
        return self.facts

    def encode(self, texts: Sequence[str], kind: str) -> Any:
        self.asked += texts
        rows = np.array([self._rule(text) for text in texts], np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)
