"""Inputs made by hand for measures that look at answers one by one."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from citeforge.engines.judge.records import JudgeFailure
from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.llm.records import Failure, Request
from citeforge.engines.text.segment import Segmenter
from citeforge.engines.text.segmenters import PunktSegmenter
from citeforge.engines.text.sentences import SentenceSegmenter
from citeforge.evaluator.measures.kalma_graphs import KalmaInputs
from citeforge.evaluator.measures.registry import select
from citeforge.evaluator.measures.results import compute
from citeforge.evaluator.statistics.estimates import Sample
from citeforge.evaluator.submissions.inputs import AnswerItem, Inputs
from citeforge.evaluator.submissions.tools import CannotError, ScoringTools
from citeforge.package.items import Gold, GoldRows, Passage
from citeforge.schemas.citations.grammar import Grammar
from stand_ins import RuleJudge, RuleLlm


class Facts(RuleJudge):
    """A judge for hand-worked examples: texts are sets of letters.

    A premise entails a hypothesis when it has all of its capital letters. A premise with ``#``
    makes it fail.
    """

    def __init__(self) -> None:
        super().__init__(self._has_letters, "facts")

    @staticmethod
    def _has_letters(premise: str, hypothesis: str) -> bool | JudgeFailure:
        needed = {c for c in hypothesis if c in "ABCDEF"}
        return JudgeFailure("failed") if "#" in premise else bool(needed) and needed <= set(premise)


def marking_llm(replies: dict[str, str | Failure]) -> RuleLlm:
    """An LLM that gives marks by the beginning of the answer's text."""

    def reply(request: Request) -> str | Failure:
        assert request.params["temperature"] == 0
        answer = request.messages[0][1].partition("Answer:\n<quote-")[2].partition("\n")[2]
        return next(r for k, r in replies.items() if answer.startswith(k))

    return RuleLlm(reply, "openai:m")


class World:
    """A benchmark of a few queries, without files."""

    def __init__(
        self, query_ids: list[str], relevant_ids: list[list[str]], gold: Sequence[list[Gold]] = ()
    ) -> None:
        self.query_ids, self.relevant_ids = query_ids, relevant_ids
        self.gold_rows = [GoldRows(rows) for rows in gold or [[] for _ in query_ids]]
        self.unanswerable = np.zeros(len(query_ids), np.bool_)
        self.is_public_half = False


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
            ScoringTools(JudgeSession(judge or Facts()), splitter).with_options(
                protocol=protocol, cot=cot, at_most_citations=at_most_citations
            ),
        )
        result: dict[str, Any] = {}
        computed, missing = compute(
            inputs, select(names), inputs.tools.judge, has_hidden_gold=False
        )
        result |= {absent.name: absent.reason for absent in missing}
        for name, sample in ((measure.name, sample) for measure, sample in computed):
            result[name] = [None if np.isnan(v) else v for v in sample.per_query[0]]
            if sample.upper is not None:
                result[f"{name}/upper"] = list(sample.upper.per_query[0])
        return result

    return run


def graph_samples(inputs: KalmaInputs, *names: str) -> dict[str, Sample | str]:
    """Samples of measures of triples; a text says why one cannot be computed."""
    found: dict[str, Sample | str] = {}
    for measure in select(names):
        try:
            sample = measure.compute(inputs)
        except CannotError as error:
            found[measure.name] = str(error)
        else:
            assert isinstance(sample, Sample)
            found[measure.name] = sample
    return found


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
