"""Worked examples (few-shot demonstrations) in front of a prompt's question (ALCE, section 3.1)."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from pydantic import Field, model_validator

from citeforge.builders.prompts import PromptDoc
from citeforge.engines.draws import generator
from citeforge.engines.files import parse_json
from citeforge.engines.jsonlines import read_all
from citeforge.engines.text.sentences import SentenceSegmenter
from citeforge.engines.textfiles import read_yaml, validated
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.record import FrozenRecord

BUILT_IN_EXAMPLES = Path(__file__).parent / "data" / "demonstrations.yaml"
_MARK = re.compile(r"\[(\d{1,9})\]")


class DemoPassage(FrozenRecord):
    """A passage of a worked example."""

    title: str = ""
    text: str
    summary: str | None = None


class ExampleSentence(FrozenRecord):
    """A sentence of a worked example's answer, and the search query that finds its evidence."""

    text: str
    search: str | None = None

    @property
    def cited(self) -> list[int]:
        """Numbers, from 1, of the passages that the example's sentence cites, in order."""
        return [int(n) for n in dict.fromkeys(_MARK.findall(self.text))]

    def renumber_citations(self, base: int) -> str:
        """Renumber the sentence's citations, which start at 1, to start at ``base``."""
        return _MARK.sub(lambda m: f"[{int(m[1]) - 1 + base}]", self.text)


class Demonstration(FrozenRecord):
    """A worked example: a question, its passages, and a correct answer with citations."""

    question: str
    passages: list[DemoPassage] = Field(min_length=1)
    answer: list[ExampleSentence] = Field(min_length=1)

    @model_validator(mode="after")
    def _check_answer(self) -> Self:
        """Raise an error if an example's answer cites missing passages, or is a list of steps."""
        if self.answer[0].text.startswith(("Check:", "Search:", "Output:")):
            raise ValueError(
                "its answer is a list of steps, which citeforge makes itself; give the whole answer"
            )
        last = len(self.passages)
        strange = [n for s in self.answer for n in s.cited if not 1 <= n <= last]
        if strange:
            raise ValueError(
                f"cites passage {strange[0]}, and the example has {last}: [1] to [{last}] count "
                "its passages from 1"
            )
        return self

    @property
    def last_cited(self) -> int:
        """Highest number, from 1, of a passage that the example's answer cites; 0 for none."""
        return max((n for s in self.answer for n in s.cited), default=0)

    def text(self, base: int) -> str:
        """Write the example's answer with citations numbered from ``base``."""
        return " ".join(s.renumber_citations(base) for s in self.answer)

    def without_citations(self) -> str:
        """Write the example's answer without citations, for prompts that show no passages."""
        return " ".join(re.sub(r"\s*\[\d+\]", "", s.text) for s in self.answer)

    def docs(self, k: int, first_number: int, use_summaries: bool = False) -> list[PromptDoc]:
        """List the example's first k passages (or up to the last cited), numbered from a number.

        Args:
            k: number of passages.
            first_number: number of the first.
            use_summaries: whether summaries replace texts, where there are any.
        """
        passages = self.passages[: max(k, self.last_cited)]
        return [
            PromptDoc(first_number + i, p.title, p.summary or p.text if use_summaries else p.text)
            for i, p in enumerate(passages)
        ]


def read_demonstrations(path: Path, data_set: str = "") -> list[Demonstration]:
    """Read few-shot examples from a YAML file, or from ALCE's JSON (list of a data set).

    Args:
        path: a list of examples; or an object with ``demos``, or with a list per data set, as
            ALCE's prompt files and its ``demos.json``.
        data_set: ALCE's data set that the benchmark was built from; empty for none.

    Raises:
        InputError: it cannot be read, the data set or a field is missing, or an answer cites a
            passage that its example does not have.
    """
    content = parse_json(read_all(path), path) if path.suffix == ".json" else read_yaml(path)
    allowed = (
        "a list of examples, each with question, passages (a list, each with text, and title) and "
        "answer (a list of its sentences, each with text); or ALCE's with question, docs and answer"
    )
    list_path = ""
    if isinstance(content, dict) and content:
        list_path = data_set if data_set in content else "demos"
        if list_path not in content:
            raise InputError(
                f"contains {', '.join(map(str, content))}; the benchmark is "
                + (f"of {data_set}" if data_set else "of none of ALCE's data sets"),
                path=path,
                allowed="a file with one list of worked examples that suit the benchmark",
                code="missing-field",
            )
        content, list_path = content[list_path], f"{list_path}."
    if not isinstance(content, list) or not content:
        raise InputError(
            "contains no list of worked examples", path=path, allowed=allowed, code="wrong-type"
        )
    rows = (
        (f"{list_path}{number}", _convert_alce_example(row)) for number, row in enumerate(content)
    )
    return [validated(Demonstration, row, path, part=at, allowed=allowed) for at, row in rows]


def _convert_alce_example(row: Any) -> Any:
    """Convert a few-shot example in ALCE's layout to fields of Demonstration; others unchanged."""
    match row:
        case {"question": question, "docs": [*docs], "answer": str(answer)}:
            known = [
                {k: v for k, v in d.items() if k in DemoPassage.model_fields}
                if isinstance(d, dict) else d
                for d in docs
            ]  # fmt: skip
            parts = [{"text": answer[a:b]} for a, b in SentenceSegmenter().split(answer)]
            return {"question": question, "passages": known, "answer": parts}
    return row


def choose_examples(
    pool: Sequence[Demonstration], shots: int, seed: int, run: int, questions: frozenset[str]
) -> list[Demonstration]:
    """Draw ``shots`` few-shot examples from ``pool`` that are not among ``questions``.

    Args:
        pool: examples to draw from.
        shots: number of examples.
        seed: seed of the draw.
        run: number of the run.
        questions: questions of the benchmark, in lower case; no example may have one of them.

    Raises:
        UsageError: the pool has fewer.
    """
    usable = [d for d in pool if d.question.casefold() not in questions]
    if shots > len(usable):
        raise UsageError(
            f"--shots {shots}: there are {len(usable)} worked examples"
            + (" that are not questions of the benchmark" if len(usable) < len(pool) else "")
            + "; give fewer, or more in --demos FILE.yaml",
            code="too-few",
        )
    return generator(seed, "demonstrations", run).sample(usable, shots)
