"""ALCE's systems that ask for the answer in one prompt (Gao et al. 2023, section 3.1)."""

from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from citeforge.builders.alce.writing import is_irrelevant
from citeforge.builders.prompts import PromptDoc, neutralise
from citeforge.engines.llm.records import LlmReply, Request
from citeforge.engines.text.quoting import with_quotes, without_tags
from citeforge.plugins.published_systems.alce_options import (
    AlceOptions,
    CondensedOptions,
    ShotOptions,
)
from citeforge.plugins.published_systems.demonstrations import (
    BUILT_IN_EXAMPLES,
    Demonstration,
    choose_examples,
    read_demonstrations,
)
from citeforge.schemas.counts import count_key
from citeforge.systems.editing import cites_candidates
from citeforge.systems.system import MakeSteps, Reply, Setting, Steps, Task

_MOST_TOKENS = 160
"""Most tokens of a short version."""
CondensedDocs = Generator[Sequence[Request], Sequence[LlmReply], list[PromptDoc]]
Examples = Callable[[int], list[str]]
"""Maps the number of a run to the texts of its worked examples."""


def make_examples(
    setting: Setting[ShotOptions], write_example: Callable[[Demonstration], str]
) -> Examples:
    """Make the function that draws and writes a run's few-shot examples for prompts.

    They are built in or from ``--demos``; the counts of the run record which.

    Args:
        setting: setting of the system; its counts record which examples are used.
        write_example: writes an example as the prompt shows it.

    Returns:
        Function from the number of a run to the texts of its examples.

    Raises:
        InputError: the file is wrong.
        UsageError: it has too few.
    """
    o = setting.options
    data_set = setting.benchmark.data_set
    pool = read_demonstrations(o.demos or BUILT_IN_EXAMPLES, data_set)
    if o.shots:
        origin = f"of {o.demos.name}" if o.demos else "built in; their answers are sentences"
        if data_set == "qampari" and not o.demos:
            origin += "; QAMPARI's are lists: see --demos"
        setting.counts[count_key("worked_examples", origin)] = len(pool)
    questions = frozenset(q.casefold() for q in setting.benchmark.questions(setting.context))

    @cache
    def examples(run: int) -> list[str]:
        """Draw the few-shot examples of a run, and write them as prompts show them."""
        return [
            write_example(d) for d in choose_examples(pool, o.shots, setting.seed, run, questions)
        ]

    return examples


def vanilla(setting: Setting[AlceOptions]) -> MakeSteps:
    """Make ALCE's Vanilla system: prompts show instruction, examples and the first k passages."""
    prompt = _make_prompt_writer(setting, use_summaries=False)

    def steps(task: Task) -> Steps:
        """Ask the LLM to answer a query from its first k passages, in one request."""
        docs = setting.docs(task.item)[: setting.options.k]
        (answer,) = yield [setting.request(prompt(task, docs), task)]
        return Reply.from_llm(answer)

    return steps


def condensed_passages(how: str, setting: Setting[CondensedOptions]) -> MakeSteps:
    """Make ALCE's Summ or Snippet system: prompts show summaries or extracts of passages.

    Passages that do not help are left out; ``how`` is ``summary`` or ``snippet``.
    """
    prompt = _make_prompt_writer(setting, use_summaries=True)
    condensed = make_condenser(setting, how, setting.options.k)

    def steps(task: Task) -> Steps:
        """Condense the passages of a query, then ask the LLM for the answer."""
        docs = yield from condensed(task)
        (answer,) = yield [setting.request(prompt(task, docs), task)]
        return Reply.from_llm(answer)

    return steps


def _make_prompt_writer(
    setting: Setting[AlceOptions] | Setting[CondensedOptions], use_summaries: bool
) -> Callable[[Task, Sequence[PromptDoc]], str]:
    """Make the function that writes ALCE's prompt for a query and its passages.

    Args:
        setting: setting of the system.
        use_summaries: whether worked examples show short versions of passages, too.
    """
    o, base = setting.options, setting.base

    def fill(query: str, docs: Sequence[PromptDoc], demos: Sequence[str], answer: str) -> str:
        """Render ALCE's prompt template for a query, or (with an answer) for a few-shot example.

        Args:
            query: the question.
            docs: numbered passages.
            demos: texts of the worked examples.
            answer: answer of a worked example; empty for the prompt itself.
        """
        return setting.render(
            "alce",
            query=query,
            docs=docs,
            demos=demos,
            base=base,
            instruction=o.instruction,
            answer=answer,
        )

    examples = make_examples(
        setting,  # type: ignore[arg-type]
        lambda d: fill(d.question, d.docs(o.k, base, use_summaries), (), d.text(base)),
    )

    def prompt(task: Task, docs: Sequence[PromptDoc]) -> str:
        """Write the prompt for a query with as many passages as fit into the context window."""
        demos = examples(task.run)
        return setting.fit_items(task, docs, lambda some: fill(task.item.query, some, demos, ""))

    return prompt


def closed_book(setting: Setting[ShotOptions]) -> MakeSteps:
    """Make ALCE's ClosedBook system: prompts show the question without passages.

    Only ``--post-cite`` adds citations: of the benchmark's candidates, as the paper does of its
    first hundred (ALCE, section 3.1), else of the passages of the context.
    """
    # No passage is shown, so that citations of candidates number the candidates alone.
    shown = () if cites_candidates(setting.options, setting.benchmark) else None

    def fill(query: str, demos: Sequence[str], answer: str) -> str:
        """Render the prompt template for a query, or (with an answer) for a few-shot example."""
        return setting.render("closed_book", query=query, demos=demos, answer=answer)

    examples = make_examples(setting, lambda d: fill(d.question, (), d.without_citations()))

    def steps(task: Task) -> Steps:
        """Ask the LLM to answer a query without passages, in one request."""
        demos = examples(task.run)
        text = setting.fit_items(task, (), lambda _: fill(task.item.query, demos, ""))
        (answer,) = yield [setting.request(text, task)]
        return replace(Reply.from_llm(answer), passages=shown)

    return steps


def make_condenser(setting: Setting[Any], how: str, k: int) -> Callable[[Task], CondensedDocs]:
    """Make the function that condenses a query's first k passages and drops unhelpful ones.

    ALCE, section 3.1. Documents keep their numbers, so that citations mean the same as with full
    passages.

    Args:
        setting: setting of the system.
        how: ``summary`` or ``snippet``: the kind of short version.
        k: number of passages of the context to shorten.

    Returns:
        Steps that end with the short versions of the passages that help.
    """
    package, counts = setting.benchmark, setting.counts
    stored_versions = package.condensed(how) if how in package.splits.get("condensed", []) else None
    if stored_versions is not None:
        counts["short_versions_of_the_package"] += len(stored_versions)

    def docs(task: Task) -> CondensedDocs:
        """Get summaries or extracts of a query's passages from the package, else from the LLM."""
        full = setting.docs(task.item)[:k]
        if stored_versions is None:
            answers = yield [request(doc, task) for doc in full]
            texts = [_clean_short_version(answer.text) for answer in answers]
        else:
            texts = [
                stored_versions.get((task.item.query_id, p.id), "") for p in task.item.passages[:k]
            ]
        short = zip(full, texts, strict=True)
        good = [replace(doc, text=neutralise(text)) for doc, text in short if text]
        counts["passages_without_a_short_version"] += len(full) - len(good)
        counts["queries_without_a_passage"] += not good
        return good

    def request(doc: PromptDoc, task: Task) -> Request:
        """Make the LLM request for the summary or extract of a passage."""
        words = {"question": task.item.query, "title": doc.title, "text": doc.text}
        # One short version for all runs.
        return setting.request(
            setting.render(f"alce/{how}", **with_quotes(words)), task, sample=0, temperature=0.0,
            max_tokens=_MOST_TOKENS,
        )  # fmt: skip

    return docs


def _clean_short_version(reply: str) -> str:
    """Clean an LLM's summary of a passage to one line; empty if it says "irrelevant"."""
    reply = without_tags(reply)
    return "" if is_irrelevant(reply) else " ".join(reply.split())
