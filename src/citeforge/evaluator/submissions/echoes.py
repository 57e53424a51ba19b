"""Prompts that come back before answers: generation pipelines return prompt and answer as one text.

A prompt is looked for word for word; white space, zero-width characters and the special tokens of
chat templates around it do not matter.
"""

import re
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice

from citeforge.engines.files import digest
from citeforge.engines.tables import rows_of
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.evaluator.submissions.reader import FULL
from citeforge.schemas.invisible import INVISIBLE, without_invisible
from citeforge.schemas.submission import SubmissionLine

_SHORTEST = 16
"""Letters of a prompt that a line brings; a shorter one may be how an answer begins."""
_HEAD = 40
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
    """Remove white space and characters without width."""
    return "".join(without_invisible(text).split())


def _find_end(text: str, number: int) -> int:
    """Find where the first ``number`` characters of a text end; white space does not count."""
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
        """Find where an answer begins in its output, behind its prompt; 0 if there is no prompt."""
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
        """Find the start of the answer, behind so many characters and a chat template's tokens."""
        end = _find_end(output, number)
        behind = _BEHIND.match(output, end)
        return end if behind is None else behind.end()

    @cached_property
    def _questions(self) -> dict[str, str]:
        """Texts of the benchmark's questions, by their ids."""
        return dict(rows_of(self.benchmark.queries, "_id", "text"))

    def _find_prompt(self, answer: SubmissionLine) -> _Prompt | None:
        """Get the benchmark's prompt for an answer; None where it was shown something else."""
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
    """Write a text with single spaces in place of white space."""
    return " ".join(text.split())
