"""Parts of an answer, which may be a text, a message, or a list of texts and thoughts."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from citeforge.plugins.responses.layout import declarations
from citeforge.plugins.responses.values import Node

_CALL = re.compile(
    r"(?:^|[_.-])(?:calls?|use|tool)(?:\Z|[_.-](?!result|reference|return|output))", re.IGNORECASE
)
"""Types of calls of tools: ``server_tool_use``, ``web_search_call``, ``tool-search``."""


@dataclass
class Part:
    """A part of an answer.

    Attributes:
        node: the part.
        text: its text; empty for what is no text (a call of a tool, an image, …).
        is_text: whether it is a part of the answer's text.
        is_thought: whether it is a thought, or a message that its vendor marks as no answer yet.
        start: where it begins in the answer.
    """

    node: Node
    text: str = ""
    is_text: bool = False
    is_thought: bool = False
    start: int = 0

    @property
    def is_reference(self) -> bool:
        """Whether the part of an answer is a citation between two texts."""
        value = self.node.value
        return isinstance(value, dict) and value.get("type") in ("reference", "tool_reference")

    @property
    def is_call(self) -> bool:
        """Whether the part of an answer is a call of a tool."""
        paths = declarations().part
        kinds = (str(n.value) for n in self.node.each(paths.kind))
        return not self.is_text and (self.node.has(paths.calls) or any(map(_CALL.search, kinds)))


def read_parts(node: Node) -> Iterator[Part]:
    """Yield the parts (texts, thoughts, tool calls, …) of an answer in a tool's response.

    Raises:
        InputError: it is something else.
    """
    paths = declarations().part
    if isinstance(node.value, str):
        yield Part(node, node.value, is_text=True)
    elif isinstance(node.value, list):
        for item in node.items():
            if isinstance(item.value, list):
                item.fail_type("a part of the answer")
            yield from read_parts(item)
    elif not isinstance(node.value, dict):
        node.fail_type("a text, a message with a text, or a list of parts")
    elif (
        (kind := next((str(n.value) for n in node.each(paths.kind)), "")) in paths.thoughts
        or node.value.get("thought") is True
        or node.has("reasoning_content.reasoning_text | reasoning.reasoning_text")
    ):
        yield Part(node, _join_texts(node.first(paths.thought)), is_thought=True)
    elif node.has(paths.interim):
        yield Part(node, _join_texts(node.first(paths.inner)), is_thought=True)
    elif kind not in paths.texts or (inner := node.first(paths.inner)) is None:
        yield Part(node)
    elif isinstance(inner.value, str) or node.has("citations_content"):
        yield Part(node, _join_texts(inner), is_text=True)
    else:
        yield from read_parts(inner)


def _join_texts(node: Node | None) -> str:
    """Join the texts of all parts of an answer's message or list; empty for None."""
    return "" if node is None else "".join(part.text for part in read_parts(node))
