"""Separation of the thoughts of reasoning models from their answers.

The forms are those that models write into the text of a reply where the server does not take them
out: tags (DeepSeek, Qwen, Mistral, Kimi, Cohere, …), the blocks of Open WebUI, and the channels of
gpt-oss. A thought takes what is between its tags, and nothing around them. Code and quotations are
left alone: an answer may name a tag.
"""

import html
import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from citeforge.schemas.citations.words import AND

Span = tuple[int, int]
Piece = tuple[int, int, int]
"""(start, end) of a piece of the reply that the answer has, and its offset in the answer."""


@dataclass(frozen=True, slots=True)
class SplitReply:
    """A model's reply, split into its thoughts and its answer.

    Attributes:
        answer: text for the user.
        thoughts: in order, without their tags; no empty ones.
        is_cut: whether the last thought never ends, so that the answer is not whole.
        pieces: pieces of the reply that the answer is made of, in order.
    """

    answer: str
    thoughts: tuple[str, ...] = ()
    is_cut: bool = False
    pieces: tuple[Piece, ...] = field(default=(), compare=False)

    def move_span(self, start: int, end: int) -> Span | None:
        """Convert a span of the reply to the answer's offsets; None if the answer has none of it.

        Args:
            start: first character, in the reply.
            end: behind the last one.
        """
        low = bisect_left(self.pieces, start, key=lambda piece: piece[1])
        high = bisect_right(self.pieces, end, key=lambda piece: piece[0])
        if start < end:  # a piece that only touches the span has no part of it
            low += low < high and self.pieces[low][1] == start
            high -= low < high and self.pieces[high - 1][0] == end
        if low >= high:
            return None
        (first, _, at), (last_first, last, last_at) = self.pieces[low], self.pieces[high - 1]
        return max(start, first) - first + at, min(end, last) - last_first + last_at


_NAMES = (
    r"(?:\w{1,20}:)?(?:think|thinking|thoughts?|reasoning|reflection|longcat_think|antthinking|"
    r"scratchpad|thought_process|chain_of_thought|inner_monologue)"
)
_ATTRIBUTES = r"(?:\s[^<>\n]{0,200})?"
_KIND_OF_BLOCK = r"\stype=[\"']?(?:reasoning|tool_calls|code_interpreter)\b"
_TAGS = (
    (rf"(?:<|&lt;){_NAMES}{_ATTRIBUTES}(?<!/)(?:>|&gt;)", rf"(?:<|&lt;)/{_NAMES}\s?(?:>|&gt;)"),
    (r"\[THINK\]", r"\[/THINK\]"),
    (r"◁think▷", r"◁/think▷"),
    (r"<\|START_THINKING\|>", r"<\|END_THINKING\|>"),
    (r"<\|begin_of_thought\|>", r"<\|end_of_thought\|>"),
    (rf"(?P<block><details\b(?=[^<>]{{0,500}}?{_KIND_OF_BLOCK})[^<>]*>)", r"(?P<ends></details>)"),
)
"""Opening and closing tags around the thoughts of a model.

The last are blocks that Open WebUI writes around thoughts, and around calls of tools.
"""
_TAG = re.compile(
    rf"(?P<opens>{'|'.join(opening for opening, _ in _TAGS)})|{'|'.join(end for _, end in _TAGS)}",
    re.IGNORECASE,
)
_BETWEEN = re.compile("|".join(tag for pair in _TAGS[:-1] for tag in pair), re.IGNORECASE)
"""Tags inside a thought; blocks have none."""
_SIGNS = re.compile(r"<|◁|THINK\]|my response:|&lt;", re.IGNORECASE)
"""Texts without one of these have no tag."""
_WRAPPED = re.compile(
    r"\s*(?:<(?P<name>answer|final|final_answer|response|output)>(?P<tagged>.*?)(?:</(?P=name)>\s*)?"
    r"|<\|START_RESPONSE\|>(?P<response>.*?)(?:<\|END_RESPONSE\|>\s*)?"
    r"|<\|begin_of_solution\|>(?P<solution>.*?)(?:<\|end_of_solution\|>\s*)?)\Z",
    re.DOTALL | re.IGNORECASE,
)
"""An answer in tags of its own."""
_FENCE = re.compile(r"^(?:`{3,}+|~{3,}+)", re.MULTILINE)
_INLINE_CODE = re.compile(r"(?<!`)(`++)[^\n]{1,2000}?(?<!`)\1(?!`)")
_CHANNEL = re.compile(
    r"(?:<\|start\|>assistant)?<\|channel\|>\s*+(\w++)[^<]*+(?:<\|constrain\|>[^<]*+)?<\|message\|>(.*?)"
    r"(?:<\|(?:end|return|call)\|>|(?=<\|start\|>|<\|channel\|>)|\Z)",
    re.DOTALL,
)
"""A message of gpt-oss (OpenAI's response format "harmony"): its channel, and its text."""
_BARE_CHANNELS = re.compile(r"\Aanalysis(.*?)(?:assistantfinal(.*))?\Z", re.DOTALL)
"""Such messages after a server dropped the special tokens."""
_TWO_PARTS = re.compile(
    r"\s*+(?:<(?P<tag>\w{2,30})>(?P<before>(?:(?!</(?P=tag)>).)*+)</(?P=tag)>\s*+"
    r"<(?P<end>answer|final|final_answer|response)>"
    r"(?P<answer>(?:(?!(?:</(?P=end)>\s*+)?\Z).)*+)(?:</(?P=end)>\s*+)?"
    r"|Here is my thought process:(?P<process>.*?)Here is my response:(?P<response>.*))\Z",
    re.DOTALL | re.IGNORECASE,
)
"""A part in tags of any name, and the answer in tags; the two headings of Granite."""
_SUMMARY = re.compile(r"(?<!\s)\s*+<summary>.*?</summary>", re.DOTALL | re.IGNORECASE)
_LAST_SUMMARY = re.compile(r".*</summary>", re.DOTALL | re.IGNORECASE)
_QUOTED_LINE = re.compile(r"^[ \t]*> ?", re.MULTILINE)
_LONGEST_SPACE = 100
_NAMED = {"...", "…", *(f" {word} " for word in (*AND, "/", "…", "..."))}
"""What is between two tags that a sentence names: "<think> and </think>"."""
_QUOTES = frozenset("\"'“”„‘’«»‹›「」『』")
_MAY_OPEN = frozenset(".!?…。！？।。]】")
"""What may end the text before a thought that begins inside a line and never ends."""


def split_thoughts(text: str) -> SplitReply:
    """Split a reasoning model's reply into its thoughts and its answer.

    A thought is what is between its tags. If no opening tag comes before the first closing one, the
    reply begins with a thought: some chat templates write the opening tag themselves. A thought
    that never ends takes the rest; its tag has to be at the start of a line or sentence.
    """
    if "<|channel|>" in text and (split := _split_channels(text)) is not None:
        return split
    if "assistantfinal" in text and (match := _BARE_CHANNELS.match(text)):
        return _take_answer(text, [match.span(2)], _split(match[1]))
    if _SIGNS.search(text) is None:
        return _take_answer(text, [(0, len(text))])
    if match := _TWO_PARTS.match(text):
        group = "answer" if match["answer"] is not None else "response"
        thoughts = _split(match["before"] or match["process"] or "")
        return _take_answer(text, [match.span(group)], thoughts)
    tags = _Tags(text)
    tags.read()
    if not tags.removed:
        return _take_answer(text, [(0, len(text))])
    borders = [0, *(at for span in tags.removed for at in span), len(text)]
    kept = list(pairwise(borders))[::2]
    return _take_answer(text, kept, tuple(tags.thoughts), is_cut=tags.is_cut)


def _split_channels(text: str) -> SplitReply | None:
    """Split a reply of gpt-oss, whose messages name their channel; None if it has no message."""
    messages = list(_CHANNEL.finditer(text))
    if not messages:
        return None
    final = [m.span(2) for m in messages if m[1] == "final"]
    thoughts = tuple(said for m in messages if m[1] != "final" and (said := m[2].strip()))
    return _take_answer(text, final[-1:], thoughts, is_cut=not final)


class _Tags:
    """The tags in a reply, and what they remove from it.

    Attributes:
        removed: (start, end) of thoughts with their tags, in order.
        thoughts: their texts.
        is_cut: whether the last one never ends.
    """

    def __init__(self, text: str) -> None:
        """Find the thought tags of a reply that are neither in code nor in quotation marks."""
        self.removed: list[Span] = []
        self.thoughts: list[str] = []
        self.is_cut = False
        self._text = text
        found = list(_TAG.finditer(text))
        code = _find_code(text) if found else []
        self._tags = [
            m for m in found if not _is_within(m.start(), code) and not _is_quoted(text, m.span())
        ]

    def read(self) -> None:
        """Remove each thought: what is between an opening tag and its closing one."""
        tags, partners, number = self._tags, self._match_tags(), 0
        n_open = sum(1 for tag in tags if tag["opens"])
        while number < len(tags):
            tag, closing = tags[number], partners.get(number)
            if not tag["opens"]:
                if tag["ends"] is None:
                    number = self._remove_unopened(number, n_open)
            elif closing is None and not _may_open(self._text, tag.start()):
                pass  # a sentence names the tag
            elif closing is None and (closing := self._next_closing(number)) is None:
                self._remove(tag.start(), len(self._text), tag.end(), len(self._text), tag)
                self.is_cut = True
                return
            elif self._text[tag.end() : tags[closing].start()].lower() in _NAMED:
                number = closing
            else:
                end = tags[closing]
                self._remove(tag.start(), end.end(), tag.end(), end.start(), tag)
                number = closing
            number += 1

    def _match_tags(self) -> dict[int, int]:
        """Map the index of each opening thought tag to that of its closing tag, if it has one."""
        partners: dict[int, int] = {}
        open_tags: dict[bool, list[int]] = {False: [], True: []}
        for number, tag in enumerate(self._tags):
            if tag["opens"]:
                open_tags[tag["block"] is not None].append(number)
            elif stack := open_tags[tag["ends"] is not None]:
                partners[stack.pop()] = number
        return partners

    def _next_closing(self, number: int) -> int | None:
        """Find the index of the tag that ends an opening tag without its own; None if none.

        It is the first later closing tag of the same sort (block or inline).

        Args:
            number: number of the opening tag.
        """
        is_block = self._tags[number]["block"] is not None
        return next(
            (
                later
                for later in range(number + 1, len(self._tags))
                if not self._tags[later]["opens"]
                and (self._tags[later]["ends"] is not None) == is_block
            ),
            None,
        )

    def _remove_unopened(self, number: int, n_open: int) -> int:
        """Remove a closing tag, by index, that no tag opens; return the index removed last.

        Before the first opening tag it ends the thought that the reply begins with; without any
        opening tag, the last one does.

        Args:
            number: number of the closing tag.
            n_open: number of opening tags in the whole reply.
        """
        last = number if n_open else len(self._tags) - 1
        while last > number and self._tags[last]["ends"] is not None:
            last -= 1
        tag = self._tags[last]
        if self.removed:
            self.removed.append(tag.span())
        else:
            self._remove(0, tag.end(), 0, tag.start(), tag)
        return last

    def _remove(self, start: int, end: int, first: int, last: int, tag: re.Match[str]) -> None:
        """Remove [start, end) of the reply, and add the thought in [first, last)."""
        self.removed.append((start, end))
        text = self._text[first:last]
        if tag["block"] is not None:
            text = _QUOTED_LINE.sub("", html.unescape(_without_summaries(text)))
        self.thoughts += _split(text)


def _find_code(text: str) -> list[Span]:
    """Find the code in a text, (start, end) in order: between fences, and between backticks."""
    fences = [(match.start(), match[0]) for match in _FENCE.finditer(text)]
    are_closed: list[bool] = []
    longest = {"`": 0, "~": 0}
    for _, fence in reversed(fences):
        are_closed.append(len(fence) <= longest[fence[0]])
        longest[fence[0]] = max(longest[fence[0]], len(fence))
    code: list[Span] = []
    at, waiting = 0, ""
    for (start, fence), is_closed in zip(fences, reversed(are_closed), strict=True):
        if waiting and fence.startswith(waiting):
            code.append((at, start + len(waiting)))
            at, waiting = code[-1][1], ""
        elif is_closed and not waiting:
            code += (match.span() for match in _INLINE_CODE.finditer(text, at, start))
            at, waiting = start, fence
    return [*code, *(match.span() for match in _INLINE_CODE.finditer(text, at))]


def _without_summaries(text: str) -> str:
    """Remove ``<summary>`` elements from a block, each with the white space before it."""
    last = _LAST_SUMMARY.match(text)  # behind it an opening tag has no closing one
    return text if last is None else _SUMMARY.sub("", last[0]) + text[last.end() :]


def _take_answer(
    text: str, kept_spans: Sequence[Span], thoughts: tuple[str, ...] = (), *, is_cut: bool = False
) -> SplitReply:
    """Build a split reply from the spans of its answer, its thoughts, and whether it was cut.

    Two spans get a line break between them unless there is white space.

    Args:
        text: the reply.
        kept_spans: spans of the answer.
        thoughts: texts of its thoughts.
        is_cut: whether the reply ended within a thought.

    Returns:
        The answer, with what maps its offsets to those of the reply.
    """
    pieces: list[Piece] = []  # (start and end in the reply, start in the answer)
    answer = ""
    for start, end in kept_spans:
        if start < end:
            is_glued = answer and not (answer[-1].isspace() or text[start].isspace())
            answer += "\n" if is_glued else ""
            pieces.append((start, end, len(answer)))
            answer += text[start:end]
    first, last = 0, len(answer)
    if kept_spans != [(0, len(text))]:
        last = len(answer.rstrip())
        first = last - len(answer[:last].lstrip())
    if "<" in answer and (match := _WRAPPED.match(answer, first, last)):
        first, last = match.span(match.lastgroup or 0)
        inside = answer[first:last]
        first += len(inside) - len(inside.lstrip())
        last = first + len(inside.strip())
    cut = [
        (max(start, start + first - at), min(end, start + last - at), max(0, at - first))
        for start, end, at in pieces
    ]
    cut = [piece for piece in cut if piece[0] < piece[1]]
    return SplitReply(answer[first:last], thoughts, is_cut, tuple(cut))


def _split(*texts: str) -> tuple[str, ...]:
    """Split texts at the tags around thoughts; return the pieces that are not empty."""
    pieces = (piece for text in texts for piece in _BETWEEN.split(text))
    return tuple(stripped for piece in pieces if (stripped := piece.strip()))


def _is_within(offset: int, spans: Sequence[Span]) -> bool:
    """Whether a position is inside one of some (start, end) spans, which are in order."""
    at = bisect_right(spans, offset, key=lambda span: span[0]) - 1
    return at >= 0 and offset < spans[at][1]


def _is_quoted(text: str, span: Span) -> bool:
    """Whether a tag is between quotation marks."""
    return text[span[0] - 1 : span[0]] in _QUOTES and text[span[1] : span[1] + 1] in _QUOTES


def _may_open(text: str, offset: int) -> bool:
    """Whether a thought may open at an offset: at the start of a line, or behind a sentence."""
    before = text[max(0, offset - _LONGEST_SPACE) : offset].rpartition("\n")[2].rstrip()
    return not before or before[-1] in _MAY_OPEN
