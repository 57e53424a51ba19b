"""``rtg-gold`` and ``rtg-vanilla``: retrieve, then generate (Attributed-IR, sections 2.3, 2.4)."""

from __future__ import annotations

from citeforge.package.items import Passage
from citeforge.plugins.published_systems.attributed_ir.answers import ask_with_passages
from citeforge.plugins.published_systems.attributed_ir.options import (
    GoldPassagesOptions,
    VanillaOptions,
)
from citeforge.plugins.published_systems.attributed_ir.search import Search
from citeforge.schemas.errors import UsageError
from citeforge.systems.llm.system import MakeSteps, Setting, Steps, Task


def gold(setting: Setting[GoldPassagesOptions]) -> MakeSteps:
    """From the relevant passages of the query, in the order of the source."""
    benchmark = setting.benchmark
    relevant = {
        query: ids[: setting.options.k]
        for query, ids in zip(benchmark.query_ids, benchmark.relevant_ids, strict=True)
    }
    if not any(relevant.values()):
        raise UsageError(f"rtg-gold: {benchmark.name} has no relevant passages")
    texts = benchmark.texts({i for ids in relevant.values() for i in ids})

    def steps(task: Task) -> Steps:
        ids = relevant[task.item.query_id]
        return ask_with_passages(setting, task, [Passage(i, *texts[i]) for i in ids if i in texts])

    return steps


def retrieve_then_generate(setting: Setting[VanillaOptions]) -> MakeSteps:
    """From the first ``k`` passages that two-stage retrieval finds for the query."""
    search = Search(setting)

    def steps(task: Task) -> Steps:
        (ranking,) = search.rankings(task.item, [task.item.query], setting.options.k)
        return ask_with_passages(
            setting, task, search.passages(task.item, [name for name, _ in ranking])
        )

    return steps
