"""Separation of the thoughts of reasoning models from their answers.

The forms are those that models write into the text of a reply where the server does not take them
out: tags (DeepSeek, Qwen, Mistral, Kimi, Cohere, …) and the channels of gpt-oss. Code is left
alone: an answer may quote a tag in backticks.
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SplitReply:
    """A model's reply, split into its thoughts and its answer.

    Attributes:
        answer: text for the user; empty if a thought never ends.
        thoughts: in order, without their tags; no empty ones.
        is_cut: whether the last thought never ends, so that there is no answer.
    """

    answer: str
    thoughts: tuple[str, ...] = ()
    is_cut: bool = False


_NAMES = (
    "think|thinking|thought|thoughts|reasoning|seed:think|longcat_think|reflection|scratchpad|"
    "thought_process|chain_of_thought|inner_monologue"
)
_TAGS = (
    (rf"<(?:{_NAMES})>", rf"</(?:{_NAMES})>"),
    (r"\[THINK\]", r"\[/THINK\]"),
    (r"◁think▷", r"◁/think▷"),
    (r"<\|START_THINKING\|>", r"<\|END_THINKING\|>"),
    (r"<\|begin_of_thought\|>", r"<\|end_of_thought\|>"),
)
"""Opening and closing tags around the thoughts of a model."""
_OPENING = re.compile("|".join(opening for opening, _ in _TAGS), re.IGNORECASE)
_CLOSING = re.compile("|".join(closing for _, closing in _TAGS), re.IGNORECASE)
_EITHER = re.compile(f"{_OPENING.pattern}|{_CLOSING.pattern}", re.IGNORECASE)
_SIGNS = ("<", "◁", "THINK]", "think]", "Think]", "my response:")
"""Texts without one of these have no tag."""
_WRAPPED = re.compile(
    r"\s*(?:<answer>(.*?)(?:</answer>\s*)?|<\|START_RESPONSE\|>(.*?)(?:<\|END_RESPONSE\|>\s*)?"
    r"|<\|begin_of_solution\|>(.*?)(?:<\|end_of_solution\|>\s*)?)\Z",
    re.DOTALL | re.IGNORECASE,
)
"""An answer in tags of its own."""
_CODE = re.compile(r"^(```+|~~~+).*?(?:^\1|\Z)|(`+)(?!`).+?(?<!`)\2(?!`)", re.DOTALL | re.MULTILINE)
_CHANNEL = re.compile(
    r"(?:<\|start\|>assistant)?<\|channel\|>\s*(\w+)[^<]*<\|message\|>(.*?)"
    r"(?:<\|(?:end|return|call)\|>|(?=<\|start\|>|<\|channel\|>)|\Z)",
    re.DOTALL,
)
"""A message of gpt-oss (OpenAI's response format "harmony"): its channel, and its text."""
_BARE_CHANNELS = re.compile(r"\Aanalysis(.*?)(?:assistantfinal(.*))?\Z", re.DOTALL)
"""Such messages after a server dropped the special tokens."""
_TWO_PARTS = re.compile(
    r"\s*(?:<(?P<tag>\w{2,30})>(?P<before>(?:(?!</(?P=tag)>).)*)</(?P=tag)>\s*"
    r"<(?P<end>answer|final|final_answer|response)>(?P<answer>.*?)(?:</(?P=end)>)?"
    r"|Here is my thought process:(?P<process>.*?)Here is my response:(?P<response>.*))\s*\Z",
    re.DOTALL | re.IGNORECASE,
)
"""A part in tags of any name, and the answer in tags; the two headings of Granite."""


def split_thoughts(text: str) -> SplitReply:
    """Split a reasoning model's reply into its thoughts and its answer.

    What follows the last closing tag is the answer; its opening tag may be missing, for some chat
    templates write that themselves. An opening tag counts at the start of a line only.
    """
    if "<|channel|>" in text:
        return _split_channels(text)
    if "assistantfinal" in text and (match := _BARE_CHANNELS.match(text)):
        return SplitReply(match[2].strip(), _split(match[1]))
    if not any(sign in text for sign in _SIGNS):
        return SplitReply(text)
    if match := _TWO_PARTS.match(text):
        return SplitReply(
            (match["answer"] or match["response"] or "").strip(),
            _split(match["before"] or match["process"] or ""),
        )
    if not _EITHER.search(text):
        return SplitReply(_strip_answer_tags(text))
    code = [m.span() for m in _CODE.finditer(text)]
    closings = [m for m in _CLOSING.finditer(text) if not _is_within(m.start(), code)]
    end = closings[-1].end() if closings else 0
    for opening in _OPENING.finditer(text, end):
        if _starts_line(text, opening.start()) and not _is_within(opening.start(), code):
            # It is never closed. The text before it, after an earlier thought, is no answer yet.
            return SplitReply(
                "", _split(text[: opening.start()], text[opening.end() :]), is_cut=True
            )
    if not closings:
        return SplitReply(text)
    return SplitReply(_strip_answer_tags(text[end:].strip()), _split(text[: closings[-1].start()]))


def _split_channels(text: str) -> SplitReply:
    """Split a reply of gpt-oss, whose messages name their channel, into thoughts and answer."""
    messages = [(m[1], m[2].strip()) for m in _CHANNEL.finditer(text)]
    final = [said for channel, said in messages if channel == "final"]
    thoughts = tuple(said for channel, said in messages if channel != "final" and said)
    return SplitReply(final[-1] if final else "", thoughts, is_cut=not final)


def _strip_answer_tags(text: str) -> str:
    """Remove the tags around an answer, if there are any."""
    match = _WRAPPED.match(text)
    return text if match is None else next(p for p in match.groups() if p is not None).strip()


def _split(*texts: str) -> tuple[str, ...]:
    """Split texts at the tags around thoughts; return the pieces that are not empty."""
    pieces = (piece.strip() for text in texts for piece in _EITHER.split(text))
    return tuple(piece for piece in pieces if piece)


def _is_within(place: int, spans: list[tuple[int, int]]) -> bool:
    """Whether a position is inside one of some (start, end) spans."""
    return any(start <= place < end for start, end in spans)


def _starts_line(text: str, place: int) -> bool:
    """Whether only white space is before a position on its line."""
    return not text[text.rfind("\n", 0, place) + 1 : place].strip()
