"""Worked examples that prompts show before the question (ALCE, section 3.1)."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from pydantic import Field, model_validator

from citeforge.builders.packaging.prompts import PromptDoc
from citeforge.engines.draws import generator
from citeforge.engines.io.files import parse_json
from citeforge.engines.io.jsonlines import read_all
from citeforge.engines.io.textfiles import read_yaml, validated
from citeforge.engines.text.sentences import SentenceSegmenter
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.record import FrozenRecord

OWN = Path(__file__).parent / "data" / "demonstrations.yaml"
_MARK = re.compile(r"\[(\d{1,9})\]")


class DemoPassage(FrozenRecord):
    """A passage of a worked example."""

    title: str = ""
    text: str
    summary: str | None = None


class Sentence(FrozenRecord):
    """A sentence of its answer, and what a search for its evidence would ask."""

    text: str
    search: str | None = None

    @property
    def cited(self) -> list[int]:
        """Passages that it cites, from 1, in order."""
        return [int(n) for n in dict.fromkeys(_MARK.findall(self.text))]

    def marked(self, base: int) -> str:
        """Its text with citations that count from ``base``."""
        return _MARK.sub(lambda m: f"[{int(m[1]) - 1 + base}]", self.text)


class Demonstration(FrozenRecord):
    """A question with passages and a right answer."""

    question: str
    passages: list[DemoPassage] = Field(min_length=1)
    answer: list[Sentence] = Field(min_length=1)

    @model_validator(mode="after")
    def _has_what_it_cites(self) -> Self:
        """Refuse answers that cite passages beyond the example's own."""
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
    def farthest(self) -> int:
        """Highest number of a passage that the answer cites, from 1; 0 if it cites none."""
        return max((n for s in self.answer for n in s.cited), default=0)

    def text(self, base: int) -> str:
        """Answer with citations that count from ``base``."""
        return " ".join(s.marked(base) for s in self.answer)

    def plain(self) -> str:
        """Answer without citations, as a model without passages would write it."""
        return " ".join(re.sub(r"\s*\[\d+\]", "", s.text) for s in self.answer)

    def docs(self, k: int, base: int, short: bool = False) -> list[PromptDoc]:
        """First k passages of the demonstration, and those beyond that its answer cites.

        Args:
            k: how many.
            base: number of the first.
            short: whether they are summarised, where they have a summary.
        """
        passages = self.passages[: max(k, self.farthest)]
        return [
            PromptDoc(base + i, p.title, p.summary or p.text if short else p.text)
            for i, p in enumerate(passages)
        ]


def read_demonstrations(path: Path, data_set: str = "") -> list[Demonstration]:
    """Worked examples of a YAML file (see ``data/demonstrations.yaml``), or of ALCE's JSON.

    Args:
        path: a list of examples; or an object with ``demos``, or with a list per data set, as
            ALCE's prompt files and its ``demos.json``.
        data_set: which of ALCE's data sets the benchmark is of; empty for none.

    Raises:
        InputError: it cannot be read, lacks the data set or a field, or an answer cites a passage
            that its example does not have.
    """
    content = parse_json(read_all(path), path) if path.suffix == ".json" else read_yaml(path)
    allowed = (
        "a list of examples, each with question, passages (a list, each with text, and title) and "
        "answer (a list of its sentences, each with text); or ALCE's with question, docs and answer"
    )
    place = ""
    if isinstance(content, dict) and content:
        place = data_set if data_set in content else "demos"
        if place not in content:
            raise InputError(
                f"contains {', '.join(map(str, content))}; the benchmark is "
                + (f"of {data_set}" if data_set else "of none of ALCE's data sets"),
                path=path,
                allowed="a file with one list of worked examples that suit the benchmark",
                code="missing-field",
            )
        content, place = content[place], f"{place}."
    if not isinstance(content, list) or not content:
        raise InputError(
            "contains no list of worked examples", path=path, allowed=allowed, code="wrong-type"
        )
    return [
        validated(Demonstration, _from_alce(row), path, place=f"{place}{number}", allowed=allowed)
        for number, row in enumerate(content)
    ]


def _from_alce(row: Any) -> Any:
    """Turn an example of ALCE's layout into fields of :class:`Demonstration`; keep any other."""
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
    """Examples of one run, drawn anew for each (ALCE, appendix C).

    Args:
        pool: to draw from.
        shots: how many.
        seed: of the draw.
        run: number of the run.
        questions: of the benchmark; an example must not be one of them.

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
