"""Removal of prompts, model thoughts, JSON wrappers and code fences around answers."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import msgspec

from citeforge.engines.text.thoughts import split_thoughts
from citeforge.engines.textfiles import count_text
from citeforge.evaluator.submissions.finding import Finding
from citeforge.schemas.citations.grammar import citation_marks
from citeforge.schemas.finish_reasons import TRUNCATED, Ending, read_ending
from citeforge.schemas.submission import SubmissionLine
from citeforge.schemas.text import printable

_OPENED = re.compile(
    r"\s*+(```++|~~~++)(?:markdown|md|text|txt|json|html)?[ \t]*+\n", re.IGNORECASE
)
"""A fence in the first line of an answer."""
_TEXT_FIELDS = ("answer", "final_answer", "response", "output", "text", "content", "result")
"""Fields of an answer in JSON, in the order in which they are looked for."""
_CITATION_FIELDS = ("citations", "sources", "references", "cited", "evidence")
_MOST_NAMED = 3
"""Unknown reasons that a warning names."""
_ESCAPED_BREAK = re.compile(r"\\n(?![a-z])")
r"""A line break that was written as ``\n``; not the begin of ``\nu`` in a formula."""


def _find_last(text: str, part: str) -> int:
    """Find the last offset of a part in a text; -1 without one. Linear, which ``rfind`` is not."""
    at = text[::-1].find(part[::-1])
    return at if at < 0 else len(text) - at - len(part)


@dataclass
class Unwrapper:
    """Removes prompts, thoughts, JSON and fences around answers, and counts them.

    Attributes:
        find_start: finds where an answer begins behind its prompt.
        n_echoes: answers behind their prompts.
        n_thinking: answers with a thought.
        n_words: words of all thoughts.
        n_endless: answers whose thought never ends.
        n_unbegun: those of them without a text.
        n_objects: answers in JSON.
        n_lists: answers in JSON whose list of citations is not read.
        unknown_endings: unknown values of ``finish_reason``, with their numbers of answers.
    """

    find_start: Callable[[SubmissionLine], int] = lambda _: 0
    n_echoes: int = 0
    n_thinking: int = 0
    n_words: int = 0
    n_endless: int = 0
    n_unbegun: int = 0
    n_objects: int = 0
    n_lists: int = 0
    unknown_endings: Counter[str] = field(default_factory=Counter)

    def unwrap(self, answer: SubmissionLine) -> SubmissionLine:
        """Remove prompt, thoughts, fences and JSON around an answer, and blanks behind it.

        Spans and log probabilities move with their words and marks; those of what is removed go.
        An answer with a thought that never ends counts as truncated.
        """
        output = answer.output
        if answer.finish_reason and read_ending(answer.finish_reason) is Ending.UNKNOWN:
            self.unknown_endings[answer.finish_reason] += 1
        begin = self.find_start(answer)
        self.n_echoes += begin > 0
        parts = split_thoughts(output[begin:])
        self.n_endless += parts.is_cut
        self.n_unbegun += parts.is_cut and not parts.answer.strip()
        self.n_thinking += bool(parts.thoughts)
        self.n_words += sum(len(thought.split()) for thought in parts.thoughts)
        said = self._unwrapped(parts.answer).rstrip()
        if said == output:
            return answer
        changes: dict[str, object] = {"output": said}
        if parts.is_cut:
            changes["finish_reason"] = TRUNCATED
        first = _find_last(parts.answer, said) if answer.spans or answer.logprobs else -1

        def move(start: int, end: int) -> tuple[int, int] | None:
            """Convert a span of the output to one of the answer; None if the answer has none."""
            span = parts.move_span(start - begin, end - begin) if first >= 0 else None
            if span is None or span[1] < first or span[0] > first + len(said):
                return None
            return max(span[0] - first, 0), min(span[1] - first, len(said))

        if answer.spans:
            moved = ((span, move(span.start, span.end)) for span in answer.spans)
            changes["spans"] = [
                msgspec.structs.replace(span, start=at[0], end=at[1])
                for span, at in moved
                if at is not None
            ]
        if answer.logprobs:
            marks = enumerate(citation_marks(output))
            kept = [number for number, mark in marks if move(mark.start, mark.end) is not None]
            new_index = {number: index for index, number in enumerate(kept)}
            changes["logprobs"] = [
                msgspec.structs.replace(token, index=new_index[token.index])
                for token in answer.logprobs
                if token.index in new_index
            ]
        return msgspec.structs.replace(answer, **changes)

    def _unwrapped(self, text: str) -> str:
        """Take a text out of its fence or JSON object, with line breaks in place of ``\\n``."""
        if text[-4:].rstrip()[-3:] in ("```", "~~~") and (opening := _OPENED.match(text)):
            fence, inside = opening[1], text[opening.end() :].rstrip()
            if inside.endswith(fence):
                inside = inside.removesuffix(fence).removesuffix("\n")
                text = text if fence in inside else inside
        if text[:1] in "{ \n" and text.rstrip()[-1:] == "}":
            text = self._from_object(text)
        if "\\n" in text and "\n" not in text:
            text = _ESCAPED_BREAK.sub(" \n", text)  # as long as before
        return text

    def _from_object(self, text: str) -> str:
        """Get the text in a JSON object; return the input where it is none."""
        try:
            fields = json.loads(text)
        except (ValueError, RecursionError):
            return text  # braces of an answer that is no JSON
        if not isinstance(fields, dict):
            return text
        said = next((fields[n] for n in _TEXT_FIELDS if isinstance(fields.get(n), str)), None)
        if said is None:
            return text
        self.n_objects += 1
        self.n_lists += any(fields.get(name) for name in _CITATION_FIELDS)
        return str(said)

    def findings(self, *, is_raw: bool = False) -> Iterator[Finding]:
        """Warn of models' reasoning and JSON wrappers around the answers counted so far.

        Args:
            is_raw: whether all of it is scored (``reference``).
        """
        if self.n_echoes:
            what = f"the prompt is repeated in {count_text(self.n_echoes, 'answer')}; "
            yield Finding(
                "prompt-repeated",
                f"{what}the paper's code reads it as a part of the answer; --protocol strict "
                "leaves it out"
                if is_raw
                else f"{what}what follows it is scored",
            )
        if self.unknown_endings:
            names = ", ".join(
                f"{printable(name)} ({n:,})"
                for name, n in self.unknown_endings.most_common(_MOST_NAMED)
            )
            answers = count_text(self.unknown_endings.total(), "answer")
            yield Finding(
                "unknown-value",
                f"{answers} with a finish_reason that no known vendor uses: {names}; not counted "
                "as truncated. Write length where an answer was cut, stop where it is whole",
            )
        if self.n_thinking or self.n_endless:
            answers = count_text(self.n_thinking, "answer")
            what = f"thoughts in {answers} ({self.n_words:,} words), which "
            endless = f"; {self.n_endless:,} never end: the answers count as truncated"
            yield Finding(
                "thoughts",
                f"{what}the paper's code reads as a part of the answer; --protocol strict leaves "
                "them out"
                if is_raw
                else f"{what}are not scored{endless if self.n_endless else ''}",
            )
        if self.n_objects and not is_raw:
            lists = (
                f"; their lists of citations ({self.n_lists:,}) are not read: write the marks into "
                "the text"
            )
            yield Finding(
                "json-answer",
                f"{count_text(self.n_objects, 'answer')} in JSON: the field with the text is scored"
                f"{lists if self.n_lists else ''}",
            )
