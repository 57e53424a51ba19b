"""ALCE's systems of one prompt (Gao et al. 2023, section 3.1)."""

from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from citeforge.builders.alce.writing import is_irrelevant
from citeforge.builders.packaging.prompts import PromptDoc, neutralise
from citeforge.engines.llm.records import LlmReply, Request
from citeforge.engines.text.quoting import with_quotes, without_tags
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
from citeforge.systems.editing import cites_candidates
from citeforge.systems.system import MakeSteps, Reply, Setting, Steps, Task

_TOKENS = 160
"""Most tokens of a short version."""
Docs = Generator[Sequence[Request], Sequence[LlmReply], list[PromptDoc]]
Examples = Callable[[int], list[str]]
"""Number of a run to its worked examples, as prompts show them."""


def worked(setting: Setting[ShotOptions], render: Callable[[Demonstration], str]) -> Examples:
    """Make the worked examples of each run: built in, or those of ``--demos``.

    The counts of the run say which.

    Raises:
        InputError: the file is wrong.
        UsageError: it has too few.
    """
    o = setting.options
    data_set = setting.benchmark.data_set
    pool = read_demonstrations(o.demos or OWN, data_set)
    if o.shots:
        origin = f"of {o.demos.name}" if o.demos else "built in; their answers are sentences"
        if data_set == "qampari" and not o.demos:
            origin += "; QAMPARI's are lists: see --demos"
        setting.counts[f"worked examples to draw from ({origin})"] = len(pool)
    questions = frozenset(q.casefold() for q in setting.benchmark.questions(setting.context))

    @cache
    def examples(run: int) -> list[str]:
        """Draw and write the worked examples of a run."""
        return [render(d) for d in choose_examples(pool, o.shots, setting.seed, run, questions)]

    return examples


def vanilla(setting: Setting[AlceOptions]) -> MakeSteps:
    """Make ALCE's Vanilla: the first k passages, an instruction, and worked examples."""
    prompt = _prompting(setting, short=False)

    def steps(task: Task) -> Steps:
        """Ask for the answer in one request."""
        docs = setting.docs(task.item)[: setting.options.k]
        (answer,) = yield [setting.request(prompt(task, docs), task)]
        return Reply.of(answer)

    return steps


def short_versions(how: str, setting: Setting[CondensedOptions]) -> MakeSteps:
    """Make ALCE's Summ or Snippet: short versions (``how``) in place of passages.

    Passages that do not help are left out.
    """
    prompt = _prompting(setting, short=True)
    condensed = condenser(setting, how, setting.options.k)

    def steps(task: Task) -> Steps:
        """Condense the passages, then ask for the answer."""
        docs = yield from condensed(task)
        (answer,) = yield [setting.request(prompt(task, docs), task)]
        return Reply.of(answer)

    return steps


def _prompting(
    setting: Setting[AlceOptions] | Setting[CondensedOptions], short: bool
) -> Callable[[Task, Sequence[PromptDoc]], str]:
    """Make the function that writes the prompt of a task about some passages."""
    o, base = setting.options, setting.base

    def fill(query: str, docs: Sequence[PromptDoc], demos: Sequence[str], answer: str) -> str:
        """Write a prompt, or a worked example with its answer."""
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
    """Make ALCE's ClosedBook: the question alone, without passages.

    Nothing is cited unless ``--post-cite`` does it.

    Where the benchmark names candidates, it chooses among them, as the paper does from its first
    hundred (ALCE, section 3.1), else among the passages of the context.
    """
    # What was not shown is not in the list that citations of candidates count.
    own = () if cites_candidates(setting.options, setting.benchmark) else None

    def fill(query: str, demos: Sequence[str], answer: str) -> str:
        """Write a prompt, or a worked example with its answer."""
        return setting.render("closed_book", query=query, demos=demos, answer=answer)

    examples = worked(setting, lambda d: fill(d.question, (), d.plain()))

    def steps(task: Task) -> Steps:
        """Ask for the answer in one request."""
        demos = examples(task.run)
        text = setting.fitted(task, (), lambda _: fill(task.item.query, demos, ""))
        (answer,) = yield [setting.request(text, task)]
        return replace(Reply.of(answer), passages=own)

    return steps


def condenser(setting: Setting[Any], how: str, k: int) -> Callable[[Task], Docs]:
    """Make the steps that shorten passages; those that do not help are left out (ALCE, 3.1).

    Documents keep their numbers, so that citations mean the same as with full passages.

    Args:
        setting: of the system.
        how: ``summary`` or ``snippet``.
        k: passages of the context that are looked at.

    Returns:
        Steps that end with the short versions of the passages that help.
    """
    package, counts = setting.benchmark, setting.counts
    own = package.condensed(how) if how in package.splits.get("condensed", []) else None
    if own is not None:
        counts["short versions of the package"] += len(own)

    def docs(task: Task) -> Docs:
        full = setting.docs(task.item)[:k]
        if own is None:
            answers = yield [request(doc, task) for doc in full]
            texts = [_useful(answer.text) for answer in answers]
        else:
            texts = [own.get((task.item.query_id, p.id), "") for p in task.item.passages[:k]]
        short = zip(full, texts, strict=True)
        good = [replace(doc, text=neutralise(text)) for doc, text in short if text]
        counts["passages without a short version that helps"] += len(full) - len(good)
        counts["queries without a passage"] += not good
        return good

    def request(doc: PromptDoc, task: Task) -> Request:
        """Make the request for the short version of a passage."""
        words = {"question": task.item.query, "title": doc.title, "text": doc.text}
        # One short version for all runs.
        return setting.request(
            setting.render(f"alce/{how}", **with_quotes(words)), task, sample=0, temperature=0.0,
            max_tokens=_TOKENS,
        )  # fmt: skip

    return docs


def _useful(reply: str) -> str:
    """Clean a short version into one line; empty where the passage does not help."""
    reply = without_tags(reply)
    return "" if is_irrelevant(reply) else " ".join(reply.split())
