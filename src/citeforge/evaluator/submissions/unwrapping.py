"""Removal of model thoughts, JSON wrappers and code fences around answers."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from citeforge.engines.text.thoughts import split_thoughts
from citeforge.engines.textfiles import count_text
from citeforge.evaluator.submissions.finding import Finding
from citeforge.schemas.citations.grammar import citation_marks
from citeforge.schemas.submission import TRUNCATED, SubmissionLine

_FENCED = re.compile(
    r"\s*(```+|~~~+)(?:markdown|md|text|txt|json|html)?[ \t]*\n(?P<inside>.*?)\n?\1\s*\Z",
    re.DOTALL | re.IGNORECASE,
)
"""An answer that is one fence from its first line to its last."""
_TEXT_FIELDS = ("answer", "final_answer", "response", "output", "text", "content", "result")
"""Fields of an answer in JSON, in the order in which they are looked for."""
_CITATION_FIELDS = ("citations", "sources", "references", "cited", "evidence")
_ESCAPED_BREAK = re.compile(r"\\n(?![a-z])")
r"""A line break that was written as ``\n``; not the begin of ``\nu`` in a formula."""


@dataclass
class Unwrapper:
    """Removes thoughts, JSON and fences around answers, and counts them.

    Attributes:
        n_thinking: answers with a thought.
        n_words: words of all thoughts.
        n_endless: answers whose thought never ends.
        n_objects: answers in JSON.
        n_lists: answers in JSON whose list of citations is not read.
    """

    n_thinking: int = 0
    n_words: int = 0
    n_endless: int = 0
    n_objects: int = 0
    n_lists: int = 0

    def unwrap(self, answer: SubmissionLine) -> SubmissionLine:
        """Remove a model's reasoning, code fences and JSON around an answer; count all but fences.

        Spans and log probabilities move with their words and marks; those of the reasoning go. A
        thought that never ends leaves an empty answer that counts as truncated.
        """
        output = answer.output
        parts = split_thoughts(output)
        self.n_endless += parts.is_cut
        self.n_thinking += bool(parts.thoughts)
        self.n_words += sum(len(thought.split()) for thought in parts.thoughts)
        said = self._unwrapped(parts.answer)
        if said == output:
            return answer
        changes: dict[str, object] = {"output": said}
        if parts.is_cut:
            changes["finish_reason"] = TRUNCATED
        start = output.rfind(said)
        end = start + len(said)
        if answer.spans:
            changes["spans"] = [
                msgspec.structs.replace(
                    span, start=max(span.start - start, 0), end=min(span.end, end) - start
                )
                for span in answer.spans
                if start >= 0 and span.start < end and span.end > start
            ]
        if answer.logprobs:
            places = [mark.start for mark in citation_marks(output)]
            kept = [n for n, place in enumerate(places) if 0 <= start <= place < end]
            changes["logprobs"] = [
                msgspec.structs.replace(token, index=token.index - kept[0])
                for token in answer.logprobs
                if token.index in kept
            ]
        return msgspec.structs.replace(answer, **changes)

    def _unwrapped(self, text: str) -> str:
        """Take a text out of its fence or JSON object, with line breaks in place of ``\\n``."""
        if text[-4:].rstrip()[-3:] in ("```", "~~~") and (fence := _FENCED.match(text)):
            inside = fence["inside"]
            text = text if fence[1] in inside else inside
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
        if self.n_thinking or self.n_endless:
            answers = count_text(self.n_thinking, "answer")
            what = f"thoughts in {answers} ({self.n_words:,} words), which "
            endless = f"; {self.n_endless:,} never end and count as empty, truncated answers"
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
