"""``kalma``: one-shot generation from sub-graphs, [NA] for what they lack (KaLMA, section 3)."""

from __future__ import annotations

from collections.abc import Sequence

from citeforge.schemas.benchmarks.kg import Triple, graphs_of
from citeforge.systems.llm.system import MakeSteps, Reply, Setting, Steps, Task
from citeforge.systems.options import LlmOptions


def kalma_system(setting: Setting[LlmOptions]) -> MakeSteps:
    """Retrieval and ranking are frozen in the context set (``build kalma --retrieved``), so that
    all systems are shown the same; facts that do not fit are left out from the end.
    """

    def steps(task: Task) -> Steps:
        item = task.item
        facts = [t for graph in item.graphs for t in graph.triples]

        def prompt(shown: Sequence[Triple]) -> str:
            graphs = list(graphs_of(list(shown)))
            return setting.render("kalma", query=item.query, graphs=graphs)

        text, n_facts = setting.window.fit(item.query_id, facts, prompt)
        setting.counts["facts dropped"] += len(facts) - n_facts
        setting.counts["asked without facts"] += not facts
        (answer,) = yield [setting.request(text, task)]
        return Reply.of(answer)

    return steps
