"""Removal of prompts, model thoughts, JSON wrappers and code fences around answers.

Generation pipelines return prompt and answer as one text. A prompt is looked for word for word;
white space, zero-width characters and the special tokens of chat templates around it do not matter.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice

import msgspec

from citeforge.engines.files import digest
from citeforge.engines.tables import rows_of
from citeforge.engines.text.thoughts import split_thoughts
from citeforge.engines.textfiles import count_text
from citeforge.evaluator.submissions.benchmark import FULL, Benchmark
from citeforge.evaluator.submissions.finding import Finding
from citeforge.schemas.citations.grammar import citation_marks
from citeforge.schemas.finish_reasons import TRUNCATED, Ending, read_ending
from citeforge.schemas.invisible import INVISIBLE, without_invisible
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
_SHORTEST = 16
"""Letters of a prompt that a line brings; a shorter one may be how an answer begins."""
_HEAD = 40
_MOST_SHOWN = 60
_FEWEST_QUERIES = 3
"""Queries whose answers are the same text by no coincidence, as "yes" to two may be."""
_TOKEN = (
    r"<\|(?!channel|message|constrain|(?:start|end)_(?:thinking|response)|(?:begin|end)_of_)[^<>|\n]{1,40}\|>"
    r"|<｜[^<>｜\n]{1,40}｜>|</?s>|\[/?INST\]|<</?SYS>>|<(?:start|end)_of_turn>|<[be]os>"
)
_BEHIND = re.compile(
    rf"(?:\s*+(?:{_TOKEN}))*+"
    rf"(?:\s*+(?:(?:<\|[^<>|\n]{{1,40}}\|>|<start_of_turn>)(?:assistant|model)\b"
    r"|(?:\#{2,3}[ ])?(?:assistant|model|response)[ ]*(?:[:：]|\n|(?=<\|))))?+"
    rf"(?:\s*+(?:{_TOKEN}))*+\s*+",
    re.IGNORECASE,
)
"""What a chat template writes between a prompt and the answer."""
_BEFORE = re.compile(
    rf"(?:{_TOKEN})|\A\s*+(?:(?:system|user|human|instruction)\b[^\n]{{0,20}}\s*+)?\Z",
    re.IGNORECASE,
)
"""What stands before a prompt that a chat template has put into place."""


@dataclass(frozen=True, slots=True)
class _Prompt:
    """A prompt without its white space: beginning, number of characters, hash."""

    head: str
    size: int
    sha: str


def _squeeze(text: str) -> str:
    """Remove white space and zero-width characters."""
    return "".join(without_invisible(text).split())


def _find_end(text: str, number: int) -> int:
    """Find the offset after the first ``number`` characters of a text that are no white space."""
    kept = (at for at, c in enumerate(text) if not (c.isspace() or c in INVISIBLE))
    last = next(islice(kept, number - 1, None)) if number else -1
    return last + 1


@dataclass
class EchoFinder:
    """Finds prompts that stand before answers: those that the lines bring, and the benchmark's own.

    Attributes:
        benchmark: whose prompts ``export prompts`` writes. They are made for a context set when the
            first answer repeats its question.
    """

    benchmark: Benchmark
    _prompts: dict[str, dict[str, _Prompt]] = field(default_factory=dict)

    def find_end(self, answer: SubmissionLine) -> int:
        """Find the answer's offset in an output that repeats its prompt; 0 without the prompt."""
        output = answer.output
        squeezed = _squeeze(output) if answer.prompt else ""
        own = _squeeze(answer.prompt or "")
        at = squeezed.find(own) if len(own) >= _SHORTEST else -1
        if at >= 0 and _BEFORE.search(output[: _find_end(output, at)]) is not None:
            return self._end(output, at + len(own))
        question = " ".join(self._questions.get(answer.query_id, "").split())
        if len(question) < _SHORTEST or (
            question not in output and question not in _spaced(output)
        ):
            return 0
        prompt = self._find_prompt(answer)
        if prompt is None:
            return 0
        squeezed = squeezed or _squeeze(output)
        at = squeezed.find(prompt.head)
        end = at + prompt.size
        if at < 0 or digest(squeezed[at:end]) != prompt.sha:
            return 0
        return self._end(output, end)

    def _end(self, output: str, number: int) -> int:
        """Find an answer's offset, after ``number`` prompt characters and template tokens."""
        end = _find_end(output, number)
        behind = _BEHIND.match(output, end)
        return end if behind is None else behind.end()

    @cached_property
    def _questions(self) -> dict[str, str]:
        """Texts of the benchmark's questions, by their ids."""
        return dict(rows_of(self.benchmark.queries, "_id", "text"))

    def _find_prompt(self, answer: SubmissionLine) -> _Prompt | None:
        """Get the benchmark's prompt for an answer; None if it is about other passages."""
        contexts = list(self.benchmark.manifest.contexts)
        default = contexts[0] if len(contexts) == 1 else FULL
        context = answer.context or default
        if answer.passages is not None or context not in contexts:
            return None
        if context not in self._prompts:
            # Jinja is not loaded for scores that need no prompt.
            from citeforge.builders.prompts import load_template, render_prompts

            template = load_template(self.benchmark.kind.facts.template)
            self._prompts[context] = {
                query: _Prompt(squeezed[:_HEAD], len(squeezed), digest(squeezed))
                for query, text in render_prompts(self.benchmark, context, template)
                for squeezed in (_squeeze(text),)
            }
        return self._prompts[context].get(answer.query_id)


def _spaced(text: str) -> str:
    """Replace each run of white space in a text by one space."""
    return " ".join(text.split())


def _find_last(text: str, part: str) -> int:
    """Find the last offset of a part in a text; -1 without one. Linear, which ``rfind`` is not."""
    at = text[::-1].find(part[::-1])
    return at if at < 0 else len(text) - at - len(part)


@dataclass
class SameAnswers:
    """Finds out whether all answers are one text: then the system has not read the questions.

    Attributes:
        n: number of answers seen.
    """

    n: int = 0
    _texts: set[str] = field(default_factory=set)
    _queries: set[str] = field(default_factory=set)

    def add(self, query_id: str, text: str) -> None:
        """Record the text of one more answer and its query."""
        self.n += 1
        if len(self._texts) < 2:
            self._texts.add(text.strip())
        if len(self._queries) < _FEWEST_QUERIES:
            self._queries.add(query_id)

    @property
    def text(self) -> str | None:
        """The text of all answers; None if they differ, or answer too few queries to tell."""
        is_one = len(self._texts) == 1 and len(self._queries) >= _FEWEST_QUERIES
        return next(iter(self._texts)) if is_one else None

    def findings(self) -> Iterator[Finding]:
        """Warn if the answers to several queries are all one text, or all empty."""
        if (text := self.text) is not None:
            shown = f"{printable(text[:_MOST_SHOWN])}{'…' * (len(text) > _MOST_SHOWN)}"
            what = (
                f"the same: {shown}; does the system read the question?"
                if text
                else "empty, as measures of rankings alone may have them; does the system print "
                "its answer?"
            )
            yield Finding("same-answers", f"all {self.n:,} answers are {what}")


@dataclass
class Unwrapper:
    """Removes prompts, thoughts, JSON and fences around answers, and counts them.

    Attributes:
        echoes: finds prompts before answers; None to look for none.
        n_echoes: answers behind their prompts.
        n_thinking: answers with a thought.
        n_words: words of all thoughts.
        n_endless: answers whose thought never ends.
        n_unbegun: those of them without a text.
        n_objects: answers in JSON.
        n_lists: answers in JSON whose list of citations is not read.
        unknown_endings: unknown values of ``finish_reason``, with their numbers of answers.
        same: whether all answers are one text.
    """

    echoes: EchoFinder | None = None
    n_echoes: int = 0
    n_thinking: int = 0
    n_words: int = 0
    n_endless: int = 0
    n_unbegun: int = 0
    n_objects: int = 0
    n_lists: int = 0
    unknown_endings: Counter[str] = field(default_factory=Counter)
    same: SameAnswers = field(default_factory=SameAnswers)

    def unwrap(self, answer: SubmissionLine) -> SubmissionLine:
        """Remove prompt, thoughts, fences and JSON around an answer, and trailing blanks.

        Spans and log probabilities move with their words and marks; those of what is removed go.
        An answer with a thought that never ends counts as truncated.
        """
        output = answer.output
        if answer.finish_reason and read_ending(answer.finish_reason) is Ending.UNKNOWN:
            self.unknown_endings[answer.finish_reason] += 1
        begin = 0 if self.echoes is None else self.echoes.find_end(answer)
        self.n_echoes += begin > 0
        parts = split_thoughts(output[begin:])
        self.n_endless += parts.is_cut
        self.n_unbegun += parts.is_cut and not parts.answer.strip()
        self.n_thinking += bool(parts.thoughts)
        self.n_words += sum(len(thought.split()) for thought in parts.thoughts)
        said = self._unwrapped(parts.answer).rstrip()
        self.same.add(answer.query_id, said)
        if said == output:
            return answer
        changes: dict[str, object] = {"output": said}
        if parts.is_cut:
            changes["finish_reason"] = TRUNCATED
        first = _find_last(parts.answer, said) if answer.spans or answer.logprobs else -1

        def move(start: int, end: int) -> tuple[int, int] | None:
            """Convert a span of the output to one of the unwrapped answer; None if removed."""
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
        """Remove the code fence or JSON object around an answer."""
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
        """Get the answer's text in a JSON object; return any other text unchanged."""
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
        """Warn of prompts, reasoning and JSON around the answers so far, or of equal answers.

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
        yield from self.same.findings()
