"""ALCE's systems of one prompt (Gao et al. 2023, section 3.1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

from citeforge.builders.packaging.prompts import PromptDoc
from citeforge.plugins.published_systems.alce.condensed import condenser
from citeforge.plugins.published_systems.alce.demonstrations import (
    OWN,
    Demonstration,
    choose_examples,
    read_demonstrations,
)
from citeforge.plugins.published_systems.alce.options import (
    AlceOptions,
    CondensedOptions,
    ShotOptions,
)
from citeforge.systems.llm.editing import cites_candidates
from citeforge.systems.llm.system import MakeSteps, Reply, Setting, Steps, Task

Examples = Callable[[int], list[str]]
"""Number of a run to its worked examples, as prompts show them."""


def worked(setting: Setting[ShotOptions], render: Callable[[Demonstration], str]) -> Examples:
    """Worked examples of each run: the built-in ones, or those of ``--demos``.

    Raises:
        InputError: the file is wrong.
        UsageError: it has too few.
    """
    o = setting.options
    pool = read_demonstrations(o.demos or OWN)
    questions = frozenset(q.casefold() for q in setting.benchmark.questions(setting.context))

    @cache
    def examples(run: int) -> list[str]:
        return [render(d) for d in choose_examples(pool, o.shots, setting.seed, run, questions)]

    return examples


def vanilla(setting: Setting[AlceOptions]) -> MakeSteps:
    """The first k passages, an instruction, and worked examples."""
    prompt = _prompting(setting, short=False)

    def steps(task: Task) -> Steps:
        docs = setting.docs(task.item)[: setting.options.k]
        (answer,) = yield [setting.request(prompt(task, docs), task)]
        return Reply.of(answer)

    return steps


def short_versions(how: str, setting: Setting[CondensedOptions]) -> MakeSteps:
    """Summaries or extracts (``how``) in place of passages, without those that do not help."""
    prompt = _prompting(setting, short=True)
    condensed = condenser(setting, how, setting.options.k)

    def steps(task: Task) -> Steps:
        docs = yield from condensed(task)
        (answer,) = yield [setting.request(prompt(task, docs), task)]
        return Reply.of(answer)

    return steps


def _prompting(
    setting: Setting[AlceOptions] | Setting[CondensedOptions], short: bool
) -> Callable[[Task, Sequence[PromptDoc]], str]:
    o, base = setting.options, setting.base

    def fill(query: str, docs: Sequence[PromptDoc], demos: Sequence[str], answer: str) -> str:
        return setting.render(
            "alce",
            query=query,
            docs=docs,
            demos=demos,
            base=base,
            instruction=o.instruction,
            answer=answer,
        )

    examples = worked(
        setting,  # type: ignore[arg-type]
        lambda d: fill(d.question, d.docs(o.k, base, short), (), d.text(base)),
    )

    def prompt(task: Task, docs: Sequence[PromptDoc]) -> str:
        demos = examples(task.run)
        return setting.fitted(task, docs, lambda some: fill(task.item.query, some, demos, ""))

    return prompt


def closed_book(setting: Setting[ShotOptions]) -> MakeSteps:
    """The question alone; nothing is cited unless ``--post-cite`` does it.

    Where the benchmark names candidates, it chooses among them, as the paper does from its first
    hundred (ALCE, section 3.1), else among the passages of the context.
    """
    # What was not shown is not in the list that citations of candidates count.
    own = () if cites_candidates(setting.options, setting.benchmark) else None

    def fill(query: str, demos: Sequence[str], answer: str) -> str:
        return setting.render("closed_book", query=query, demos=demos, answer=answer)

    examples = worked(setting, lambda d: fill(d.question, (), d.plain()))

    def steps(task: Task) -> Steps:
        demos = examples(task.run)
        text = setting.fitted(task, (), lambda _: fill(task.item.query, demos, ""))
        (answer,) = yield [setting.request(text, task)]
        return replace(Reply.of(answer), passages=own)

    return steps
