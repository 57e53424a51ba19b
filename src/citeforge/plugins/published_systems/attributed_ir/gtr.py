"""``gtr``: generate, then retrieve passages for every statement (Attributed-IR, section 2.3)."""

from __future__ import annotations

from collections.abc import Sequence

from citeforge.builders.packaging.prompts import neutralise
from citeforge.engines.text.sentences import SentenceSegmenter
from citeforge.plugins.published_systems.attributed_ir.answers import closed
from citeforge.plugins.published_systems.attributed_ir.options import GtrOptions
from citeforge.plugins.published_systems.attributed_ir.search import Search
from citeforge.schemas.text import spliced
from citeforge.systems.llm.system import MakeSteps, Reply, Setting, Steps, Task

_ENDS = ".!?。！？"


def gtr(setting: Setting[GtrOptions]) -> MakeSteps:
    """The answer of ``g``; each of its statements cites what is found for it alone."""
    search, segmenter = Search(setting), SentenceSegmenter()

    def steps(task: Task) -> Steps:
        (answer,) = yield [closed(setting, task)]
        text = neutralise(answer.text)  # marks of its own would cite what nobody showed
        spans = [s for s in segmenter.split(text) if any(c.isalnum() for c in text[slice(*s)])]
        statements = [text[start:end] for start, end in spans]
        rankings = search.rankings(task.item, statements, setting.options.per_statement)
        setting.counts["statements without passages"] += sum(not ranking for ranking in rankings)
        ids = list(dict.fromkeys(name for ranking in rankings for name, _ in ranking))
        numbers = [[setting.base + ids.index(name) for name, _ in ranking] for ranking in rankings]
        return Reply(
            _marked(text, spans, numbers),
            answer.finish_reason,
            passages=search.passages(task.item, ids),
        )

    return steps


def _marked(text: str, spans: Sequence[tuple[int, int]], numbers: Sequence[Sequence[int]]) -> str:
    """The text with citations before the end mark of each statement."""
    ends = [start + len(text[start:end].rstrip().rstrip(_ENDS)) for start, end in spans]
    marks = (" " * bool(cited) + "".join(f"[{n}]" for n in cited) for cited in numbers)
    return spliced(text, ((end, end, mark) for end, mark in zip(ends, marks, strict=True)))
