"""Changes to requests that a model's server requires, learnt once per model from its refusals.

o-series and gpt-5 take no ``max_tokens`` and no temperature; DeepSeek takes no ``json_schema``, LM
Studio no ``json_object``; some chat templates have no system message.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from citeforge.engines.llm.records import Failure

_REFUSED = re.compile(
    r"unsupported|not supported|n[o']t support|unknown|unrecogni[sz]ed|unexpected|extra|forbidden|"
    r"not (?:permitted|allowed|available)|unavailable|deprecated|only the default|must be|invalid|"
    r"incompatible|cannot be|no longer",
    re.IGNORECASE,
)
_TOO_LONG = re.compile(
    r"too (?:large|high|long|big|many)|context (?:length|window|size)|at most|exceed|maximum|"
    r"less than or equal|n_ctx",
    re.IGNORECASE,
)
_COUNTED = re.compile(r"\d+ tokens|tokens \(\d+\)")
_FORMAT = re.compile(
    r"response.?format|json.?schema|json.?object|structured.?output|guided|grammar", re.IGNORECASE
)
_NO_SYSTEM = re.compile(r"\bsystem\b.*\b(?:role|message|prompt)|\brole\b.*\bsystem\b", re.I | re.S)
_LEFT_OUT = ("temperature", "top_p", "stop", "logprobs")
LIMIT, NEW_LIMIT, FORMAT = "max_tokens", "max_completion_tokens", "response_format"
SYSTEM = "system messages"


class Adaptation:
    """Changes that the server of a model asked for.

    Attributes:
        changes: field that is changed, to what is sent instead.
    """

    def __init__(self) -> None:
        """Start without known changes: requests are sent as they are until one is refused."""
        self.changes: dict[str, str] = {}

    def apply(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        """Copy a request's body, with all changes that the server has required so far.

        Args:
            payload: body of the request.
        """
        sent = {k: v for k, v in payload.items() if self.changes.get(k) != "nothing"}
        if LIMIT in self.changes and LIMIT in sent:
            sent[NEW_LIMIT] = sent.pop(LIMIT)
        if self.changes.get(FORMAT) == "json_object" and FORMAT in sent:
            sent[FORMAT] = {"type": "json_object"}
        if SYSTEM in self.changes:
            sent["messages"] = _without_system(sent["messages"])
        return sent

    def learn_change(self, sent: Mapping[str, Any], error: Failure) -> str | None:
        """Learn from a refused request what to change in later ones; describe it; None if nothing.

        Args:
            sent: body of the request.
            error: reply of the server.

        Returns:
            The change, in one line; None when nothing can be changed.
        """
        change = self._find_change(sent, error)
        if change is None:
            return None
        self.changes.update([change])
        return "does not take {}; sends {} instead from now on".format(*change)

    def _find_change(self, sent: Mapping[str, Any], error: Failure) -> tuple[str, str] | None:
        """Find (refused field of a request, what to send instead); None if the server named none.

        Args:
            sent: body of the request.
            error: reply of the server.

        Returns:
            (field, what to send instead), such as ("max_tokens", "max_completion_tokens").
        """
        said = f"{error.code} {error.param} {error.message}"
        if (form := sent.get(FORMAT)) is not None and _FORMAT.search(said):
            return FORMAT, "json_object" if form["type"] == "json_schema" else "nothing"
        if not _REFUSED.search(said):
            return None
        if LIMIT in sent and LIMIT in said and not is_too_long(error):
            return LIMIT, NEW_LIMIT
        for name in _LEFT_OUT:
            if name in sent and (error.param or name) == name and re.search(rf"\b{name}\b", said):
                return name, "nothing"
        roles = {message["role"] for message in sent.get("messages", ())}
        if "system" in roles and _NO_SYSTEM.search(said):
            return SYSTEM, "user messages"
        return None


def is_too_long(error: Failure) -> bool:
    """Whether an error says that the prompt or the answer limit is too long for the model."""
    return error.code != "unsupported_parameter" and _TOO_LONG.search(error.message) is not None


def is_lasting(sent: Mapping[str, Any], error: Failure) -> bool:
    """Whether an HTTP 500 rejects the request's content, so that a retry would fail, too.

    llama-cpp-python replies 500 to every request that it does not take, and llama-server to texts
    that are longer than its batch.

    Args:
        sent: body of the request.
        error: reply of the server.
    """
    is_final = is_too_long(error) and _COUNTED.search(error.message) is not None
    is_final |= "must be created with" in error.message  # embedding=True
    return is_final or Adaptation().learn_change(sent, error) is not None


def _without_system(messages: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    """Merge system messages into a user message at the start, which is made if there is none."""
    system = [m["content"] for m in messages if m["role"] == "system"]
    rest = [m for m in messages if m["role"] != "system"]
    if not rest or rest[0]["role"] != "user":
        rest = [{"role": "user", "content": ""}, *rest]
    first = {**rest[0], "content": "\n\n".join(filter(None, [*system, rest[0]["content"]]))}
    return [first, *rest[1:]]


def difference(asked: Mapping[str, Any], sent: Mapping[str, Any]) -> dict[str, Any]:
    """Build the JSON merge patch (RFC 7396, top level) that turns ``sent`` into ``asked``."""
    fields = {**asked, **sent}
    return {k: asked.get(k) for k in fields if asked.get(k) != sent.get(k)}


def patched(sent: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """Turn a sent body back into the one asked for, by the patch that :func:`difference` built."""
    return {k: v for k, v in {**sent, **patch}.items() if v is not None}
