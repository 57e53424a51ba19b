"""An LLM as judge: structured output through the client that never pays twice."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from citeforge.engines.files import digest
from citeforge.engines.judge.records import Decision, JudgeFailure, Keep, Pair, Verdict
from citeforge.engines.llm.budget import estimate_prompt_tokens
from citeforge.engines.llm.client import OpenAiLlm
from citeforge.engines.llm.records import Answer, Request, Result

PROMPT_VERSION = 1
TRIES = 3
ANSWER_TOKENS = 30
"""Most tokens of a verdict."""
_INSTRUCTION = (
    "You decide whether a claim follows from a text. Use nothing but the text. The claim follows "
    "only if everything it states is stated in the text or is a direct consequence of it; a claim "
    "that is merely plausible, or true for other reasons, does not follow. "
    'Reply with JSON: {"entailed": true} or {"entailed": false}.'
)
_FORMAT = {
    "type": "json_schema",
    "json_schema": {
        "name": "verdict",
        "strict": True,
        "schema": {
            "type": "object",
            "properties": {"entailed": {"type": "boolean"}},
            "required": ["entailed"],
            "additionalProperties": False,
        },
    },
}


class LlmJudge:
    """Asks a chat model for a verdict at temperature 0; an unparsable reply is asked for again."""

    comparable = True

    def __init__(self, llm: OpenAiLlm) -> None:
        self.llm = llm

    @property
    def signature(self) -> str:
        return f"openai:{self.llm.model}@prompt-{PROMPT_VERSION}"

    def identity(self) -> dict[str, Any]:
        prompt = digest([_INSTRUCTION, _FORMAT])
        return {"name": f"openai:{self.llm.model}", "version": PROMPT_VERSION, "prompt": prompt}

    def count_tokens(self, pairs: Sequence[Pair]) -> int | None:
        return sum(estimate_prompt_tokens(_request(p, 0)) for p in pairs)

    def decide(self, pairs: Sequence[Pair], keep: Keep) -> None:
        open_pairs = list(range(len(pairs)))
        for attempt in range(TRIES):
            again: list[int] = []
            asked = open_pairs
            last = attempt == TRIES - 1

            def settle(
                position: int,
                result: Result,
                asked: list[int] = asked,
                again: list[int] = again,
                last: bool = last,
            ) -> None:
                decision = read_decision(result)
                if decision is None and not last:
                    again.append(asked[position])
                else:
                    failed = JudgeFailure(f"no verdict in {TRIES} replies")
                    keep([(asked[position], decision or failed)])

            self.llm.complete([_request(pairs[i], attempt) for i in asked], on_result=settle)
            open_pairs = sorted(again)
            if not open_pairs:
                return


def _request(pair: Pair, sample: int) -> Request:
    question = f"Text:\n{pair.premise}\n\nClaim:\n{pair.hypothesis}"
    params = {"temperature": 0.0, "max_tokens": ANSWER_TOKENS, "response_format": _FORMAT}
    return Request((("system", _INSTRUCTION), ("user", question)), params, sample)


def read_decision(result: Result) -> Decision | None:
    """A verdict, a failure, or None when the reply cannot be read and may be asked for again."""
    if not isinstance(result, Answer):
        unreadable = result.reason in ("truncated", "empty")
        return None if unreadable else JudgeFailure(result.message)
    try:
        found = json.loads(result.text)
    except (json.JSONDecodeError, RecursionError):
        return None
    if isinstance(found, dict) and isinstance(found.get("entailed"), bool):
        return Verdict(found["entailed"])
    return None
