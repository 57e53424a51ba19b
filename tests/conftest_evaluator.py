"""Inputs made by hand for measures that look at answers one by one."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from citeforge.engines.judge.records import JudgeFailure, Keep, Pair, Verdict
from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.llm.records import Failure, LlmReply, Request, Result
from citeforge.engines.text.segment import Segmenter
from citeforge.engines.text.segmenters import PunktSegmenter
from citeforge.engines.text.sentences import SentenceSegmenter
from citeforge.evaluator.measures.reading import compute
from citeforge.evaluator.measures.registry import select
from citeforge.evaluator.statements.inputs import AnswerItem, Inputs
from citeforge.evaluator.statements.tools import Tools
from citeforge.package.items import Gold, GoldRows, Passage
from citeforge.schemas.citations.grammar import Grammar


class Facts:
    """A judge for hand-worked examples: texts are sets of letters.

    A premise entails a hypothesis when it has all of its capital letters. A premise with ``#``
    makes it fail.
    """

    signature = "facts@1"
    comparable = False

    def __init__(self) -> None:
        self.asked: list[Pair] = []

    def identity(self) -> dict[str, Any]:
        return {"name": "facts"}

    def count_tokens(self, pairs: Sequence[Pair]) -> int | None:
        return None

    def decide(self, pairs: Sequence[Pair], keep: Keep) -> None:
        for i, pair in enumerate(pairs):
            self.asked.append(pair)
            if "#" in pair.premise:
                keep([(i, JudgeFailure("failed"))])
                continue
            needed = {c for c in pair.hypothesis if c in "ABCDEF"}
            keep([(i, Verdict(bool(needed) and needed <= set(pair.premise)))])


class Scripted:
    """An LLM that gives marks by the answer's text."""

    def __init__(self, replies: dict[str, str | Failure]) -> None:
        self.replies = replies
        self.asked: list[str] = []

    def identity(self) -> dict[str, Any]:
        return {"name": "openai:m"}

    def complete(self, requests: Sequence[Request]) -> list[Result]:
        results: list[Result] = []
        for request in requests:
            text = request.messages[0][1]
            self.asked.append(text)
            assert request.params["temperature"] == 0
            answer = text.partition("Answer:\n<quote-")[2].partition("\n")[2]
            reply = next(r for k, r in self.replies.items() if answer.startswith(k))
            results.append(LlmReply(reply) if isinstance(reply, str) else reply)
        return results


class World:
    """A benchmark of a few queries, without files."""

    def __init__(
        self, query_ids: list[str], relevant_ids: list[list[str]], gold: Sequence[list[Gold]] = ()
    ) -> None:
        self.query_ids, self.relevant_ids = query_ids, relevant_ids
        self.gold_rows = [GoldRows(rows) for rows in gold or [[] for _ in query_ids]]


Measure = Callable[..., dict[str, Any]]


@pytest.fixture
def measure() -> Measure:
    """Compute measures of hand-made answers; values per query, and the judge."""

    def run(
        outputs: list[str],
        names: Sequence[str],
        passages: Sequence[str | tuple[str, str]] = ("A", "B", "C"),
        gold: list[list[Gold]] | None = None,
        protocol: str = "strict",
        task: str = "",
        queries: list[str] | None = None,
        quotes: list[list[str]] | None = None,
        judge: Facts | None = None,
        missing: Sequence[int] = (),
        cot: bool = False,
        at_most_citations: int = 3,
        segmenter: Segmenter | None = None,
    ) -> dict[str, Any]:
        shown = tuple(
            Passage(f"p{i}", *(("", p) if isinstance(p, str) else p))
            for i, p in enumerate(passages)
        )
        n = len(outputs)
        texts = queries or ["q"] * n
        ids = [f"q{i}" for i in range(n)]
        world = World(ids, quotes or [[f"p{i}" for i in range(9)]] * n, gold or [])
        items = [
            AnswerItem(row, texts[row], output, shown, row in missing, world.gold_rows[row])
            for row, output in enumerate(outputs)
        ]
        own = SentenceSegmenter() if protocol == "strict" else PunktSegmenter()
        splitter: Segmenter = segmenter or own
        inputs = Inputs(
            world,  # type: ignore[arg-type]
            [items],
            Grammar(),
            task,
            Tools(JudgeSession(judge or Facts()), splitter).with_options(
                protocol=protocol, cot=cot, at_most_citations=at_most_citations
            ),
        )
        result: dict[str, Any] = {}
        computed, missing = compute(inputs, select(names), inputs.tools.judge)
        result |= {absent.name: absent.reason for absent in missing}
        for name, sample in ((measure.name, sample) for measure, sample in computed):
            result[name] = [None if np.isnan(v) else v for v in sample.per_query[0]]
            if sample.upper is not None:
                result[f"{name}/upper"] = list(sample.upper.per_query[0])
        return result

    return run


def gold(kind: str, text: str | None = None, **given: Any) -> Gold:
    """One gold row."""
    return Gold(
        kind,
        text,
        tuple(given.get("aliases", ())),
        given.get("informative"),
        given.get("attributable"),
        tuple(given.get("citations", ())),
    )
