"""Systems that send one prompt per query; ``citeforge export prompts`` writes the same ones."""

from collections.abc import Sequence

from citeforge.builders.prompts import PromptDoc
from citeforge.schemas.kg import Triple, group_into_graphs
from citeforge.systems.system import MakeSteps, Reply, Setting, Steps, Task
from citeforge.systems.system_options import LlmOptions


def prompt_with_passages(template_name: str, setting: Setting[LlmOptions]) -> MakeSteps:
    """Make a system that asks an LLM once, with all passages in the prompt (RAGE, section 4).

    In a condition (cell) of an authorship experiment the prompt names each passage's author.

    Args:
        template_name: name of the prompt template.
        setting: benchmark, options and LLM of the run.
    """

    def steps(task: Task) -> Steps:
        """Yield the LLM request for one query with passages, and return the answer."""

        def prompt(docs: Sequence[PromptDoc]) -> str:
            """Fill in the prompt template with the query and the passages that fit."""
            return setting.render(
                template_name,
                query=task.item.query,
                docs=docs,
                base=setting.base,
                note=setting.labelling.note,
            )

        text = setting.fit_items(task, setting.docs(task.item), prompt)
        (answer,) = yield [setting.request(text, task)]
        return Reply.from_llm(answer)

    return steps


def prompt_with_graphs(setting: Setting[LlmOptions]) -> MakeSteps:
    """Make the system ``kalma``: one LLM prompt with the sub-graphs (KaLMA, section 3).

    Retrieval and ranking are frozen in the context set (``build kalma --retrieved``), so that all
    systems are shown the same; facts that do not fit are left out from the end.
    """

    def steps(task: Task) -> Steps:
        """Yield the LLM request for one query with sub-graphs, and return the answer."""
        facts = [t for graph in task.item.graphs for t in graph.triples]

        def prompt(triples: Sequence[Triple]) -> str:
            """Fill in the prompt template with the query and the triples that fit, by entity."""
            graphs = list(group_into_graphs(list(triples)))
            return setting.render("kalma", query=task.item.query, graphs=graphs)

        setting.counts["asked_without_facts"] += not facts
        (answer,) = yield [setting.request(setting.fit_items(task, facts, prompt, "facts"), task)]
        return Reply.from_llm(answer)

    return steps


def prompt_by_kind(setting: Setting[LlmOptions]) -> MakeSteps:
    """Make a user's own system: one prompt, with passages or triples by benchmark kind."""
    facts = setting.benchmark.kind.facts
    if facts.shows == "triples":
        return prompt_with_graphs(setting)
    return prompt_with_passages("authorship" if facts.is_design else "rage", setting)
