"""Served models that ask, answer and judge about pumps by the text of their prompts alone.

Their names say how they write: ``good``, ``lazy`` (as weak models do: chatter, refusals, copies,
questions about nothing) or ``thinking`` (as good, with thoughts in the reply, beside it, or before
a tag that ends them).
"""

import hashlib
import json
import re
from typing import Any

from citeforge.plugins.documents.design import built_in_forms
from plugins.documents.pumps import KNOWN, find, german, read, written
from plugins.documents.village import entails

_QUOTED = re.compile(r"<(quote-[0-9a-f]+)>\n(.*?)\n</\1>", re.S)
_ASKED = (
    ("exam question about this passage", "single"),
    ("two or more answers", "list"),
    ("takes both passages", "pair"),
    ("passage does not answer", "absent"),
)
_LAZY = (
    "I am sorry, I cannot help with that.",
    "Sure! Here it is:\n**Question:** What matters most?\n**Answer:** Safety\n"
    "**Statement:** Safety matters most.\n**Quote:** Safety first",
    "Quote: {0}\nQuestion: {0}?\nAnswer: yes\nStatement: Yes.",
    "Quote: {0}\nQuestion: What is it?\nAnswer: it\nStatement: It is it.",
    "",
)
_WIDTH = 256
_THOUGHT = "Which fact of the passage is worth asking? Perhaps the one that is easy to check. " * 20


def speak(payload: dict[str, Any]) -> dict[str, str]:
    """Make the message of a reply."""
    messages, model = payload["messages"], payload["model"]
    last = messages[-1]["content"]
    shown = [text for _, text in _QUOTED.findall(last)]
    if "claim follow" in last:
        text = json.dumps({"entailed": _judge(*shown[-2:])})
    elif "exam question" in last:
        text = _write(last, shown[0], model == "lazy")
    elif "A reader asks:" in last:
        text = find({"question": shown[0], "passage": {"text": shown[1]}})
    else:
        passages = [{"text": text} for text in shown[:-1]]
        text = read({"question": shown[-1], "passages": passages})
    return _think(text, last) if model == "thinking" else {"content": text}


def embed(text: str) -> list[float]:
    """Make a vector of the words of a text, so that texts with common words are near."""
    vector = [0.0] * _WIDTH
    for word in re.findall(r"\w{3,}", text.lower()):
        vector[_number(word) % _WIDTH] += 1.0
    return vector


def _write(last: str, passage: str, is_lazy: bool) -> str:
    """Write a question of the form that the end of a prompt asks for."""
    if is_lazy:
        return _LAZY[_number(last) % len(_LAZY)].format(passage.splitlines()[-1].split(".")[0])
    asks = last.rpartition("</quote-")[2]
    (base,) = [form for words, form in _ASKED if words in asks]
    told = [form.name for form in built_in_forms().values()
            if form.description and form.description in asks]  # fmt: skip
    one = KNOWN[re.findall(r"To start the (\w+),", passage)[0]]
    return german(one) if "the code de;" in asks else written((told or [base])[0], one)


def _judge(premise: str, claim: str) -> bool:
    """Whether a passage has the words of a claim; of German ones, the pump and its pressure."""
    if "Druck" not in claim:
        return entails(premise, claim)
    names = [word for word in re.findall(r"\w+|\d+ bar", claim) if word in KNOWN]
    pressures = re.findall(r"\d+ bar", claim)
    return all(word in premise for word in (*names, *pressures))


def _think(text: str, last: str) -> dict[str, str]:
    """Add thoughts in one of three ways, by the prompt."""
    ways = (
        {"content": f"<think>{_THOUGHT}</think>\n{text}"},
        {"content": text, "reasoning_content": _THOUGHT},
        {"content": f"{_THOUGHT}</think>\n\n{text}"},
    )
    return ways[_number(last) % len(ways)]


def _number(text: str) -> int:
    """Get a number that depends on a text alone."""
    return int(hashlib.sha256(text.encode()).hexdigest(), 16)
