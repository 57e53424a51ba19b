"""``interact`` and ``inline-search``: a model writes its answer in steps (ALCE, section 3.1)."""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any

from citeforge.builders.packaging.prompts import PromptDoc
from citeforge.engines.llm.records import LlmReply, Request
from citeforge.plugins.published_systems.alce.actions import Action, read_action
from citeforge.plugins.published_systems.alce.demonstrations import Demonstration, ExampleSentence
from citeforge.plugins.published_systems.alce.options import InteractOptions, SearchOptions
from citeforge.plugins.published_systems.alce.prompts import make_condenser, make_examples
from citeforge.plugins.published_systems.alce.searching import make_candidate_searches
from citeforge.systems.prompts import WindowError
from citeforge.systems.system import MakeSteps, Reply, Setting, Steps, Task

Show = Callable[[Action], list[PromptDoc]]
"""Returns the documents that the next step's prompt shows, for a check or a search."""
_MOST_SHOWN = 3
"""Documents that one check shows (ALCE, appendix C)."""


@dataclass
class StepwiseAnswer:
    """An answer that a model writes step by step, so far.

    Attributes:
        steps: steps so far, as prompts show them.
        sentences: sentences of the answer so far.
        last: latest reply of the model.
    """

    steps: list[str] = field(default_factory=list)
    sentences: list[str] = field(default_factory=list)
    last: LlmReply | None = None

    def reply(self, **more: Any) -> Reply:
        """Make the system's reply from all sentences; it counts as cut if the last step was cut."""
        reason = None if self.last is None else self.last.finish_reason
        return Reply(" ".join(self.sentences), reason, meta={"steps": self.steps}, **more)


def ask_steps(
    setting: Setting[Any],
    task: Task,
    verb: str,
    show: Show,
    prompt: Callable[[Sequence[str], Sequence[PromptDoc], bool], str],
) -> Generator[Sequence[Request], Sequence[LlmReply], StepwiseAnswer]:
    """Ask a model for one step after another, until it ends its answer or the turns are used up.

    What a check or search shows is seen by the next step alone, which must put something out
    (ALCE, appendix C). A step that repeats the one before it ends the answer: the prompt would
    lead to it again.

    Args:
        setting: setting of the system; its options limit the turns.
        task: the query.
        verb: the step that shows documents.
        show: returns the documents of such a step.
        prompt: writes a prompt of (steps so far, documents to show, whether a sentence must
            follow).
    """
    answer, docs, forced = StepwiseAnswer(), list[PromptDoc](), False
    for _ in range(setting.options.turns):
        try:
            text = prompt(answer.steps, docs, forced)
        except WindowError:
            if not answer.steps:
                raise
            setting.counts["answers that outgrew the window"] += 1
            return answer
        (answer.last,) = yield [setting.request(text, task, stop=["\n"])]
        action = read_action(answer.last.text, forced, setting.options.bare)
        docs, forced = [], False
        if action.verb == "end":
            return answer
        if action.verb not in ("output", verb):
            setting.counts["answers that ended with something other than a step"] += 1
            return answer
        if answer.steps and action.line == answer.steps[-1]:
            setting.counts["answers that ended with a repeated step"] += 1
            return answer
        answer.steps.append(action.line)
        if action.verb == "output":
            answer.sentences.append(action.text)
        else:
            docs, forced = show(action), True
    setting.counts["answers without an end"] += 1
    return answer


def _make_renderer(setting: Setting[Any], template: str) -> Callable[..., str]:
    """Make the function that fills a prompt template; fields that are not passed are empty."""
    defaults: dict[str, Any] = {"demos": (), "steps": (), "open": (), "forced": False}
    return partial(setting.render, template, base=setting.base, **defaults)


def _to_steps(demo: Demonstration, base: int, lead: Callable[[ExampleSentence], str]) -> list[str]:
    """Write a worked example's answer as steps; ``lead`` writes the step before each sentence."""
    steps = ((lead(s), f"Output: {s.with_citations(base)}") for s in demo.answer)
    return [*filter(None, chain.from_iterable(steps)), "End"]


def interact(setting: Setting[InteractOptions]) -> MakeSteps:
    """Make ALCE's Interact system: prompts show short passages; the model may check full texts.

    It may check three documents at a time.
    """
    o, base = setting.options, setting.base
    condensed = make_condenser(setting, o.show, o.k)
    fill = _make_renderer(setting, "interact")

    def check(sentence: ExampleSentence) -> str:
        """Write the step that checks the documents of a sentence; empty without citations."""
        marks = "".join(f"[{n - 1 + base}]" for n in sentence.cited)
        return f"Check: Document {marks}" if marks else ""

    def example(demo: Demonstration) -> str:
        """Write a worked example with its check steps."""
        docs = demo.docs(o.k, base, short=True)
        return fill(query=demo.question, docs=docs, steps=_to_steps(demo, base, check))

    examples = make_examples(setting, example)  # type: ignore[arg-type]

    def steps(task: Task) -> Steps:
        """Condense the passages of a query, then ask the LLM for its answer step by step."""
        full = {doc.number: doc for doc in setting.docs(task.item)}
        short = yield from condensed(task)

        def show(action: Action) -> list[PromptDoc]:
            """Get the full texts of the documents that the model wants to check."""
            numbers = {d.number for d in short}
            setting.counts["invented document numbers"] += len(set(action.numbers) - numbers)
            return [full[n] for n in action.numbers if n in numbers][:_MOST_SHOWN]

        def prompt(done: Sequence[str], seen: Sequence[PromptDoc], forced: bool) -> str:
            """Write the prompt for the next step."""
            more = {"demos": examples(task.run), "steps": done, "open": seen, "forced": forced}
            query = task.item.query
            return setting.fitted(task, short, lambda some: fill(query=query, docs=some, **more))

        answer = yield from ask_steps(setting, task, "check", show, prompt)
        return answer.reply()

    return steps


def inline_search(setting: Setting[SearchOptions]) -> MakeSteps:
    """Make ALCE's InlineSearch system: prompts show only passages that the model searches for."""
    base, search_of = setting.base, make_candidate_searches(setting)
    fill = _make_renderer(setting, "inline_search")

    def example(demo: Demonstration) -> str:
        """Write a worked example with its search steps."""
        # What a search shows is gone from the prompt by the next step.
        steps = _to_steps(demo, base, lambda s: f"Search: {s.search}" if s.search else "")
        return fill(query=demo.question, steps=steps)

    examples = make_examples(setting, example)  # type: ignore[arg-type]

    def steps(task: Task) -> Steps:
        """Ask the LLM for its answer step by step; each search shows a passage."""
        candidates = search_of(task.item)

        def show(action: Action) -> list[PromptDoc]:
            """Search the query's candidates, and return the best passage, if there is any."""
            place = candidates.search(action.text)
            setting.counts["searches that found nothing"] += place is None
            if place is None:
                return []
            return [setting.docs(task.item, candidates.shown)[place]]

        def prompt(done: Sequence[str], seen: Sequence[PromptDoc], forced: bool) -> str:
            """Write the prompt for the next step."""
            more = {"demos": examples(task.run), "steps": done, "forced": forced}
            query = task.item.query
            return setting.fitted(task, seen, lambda some: fill(query=query, open=some, **more))

        answer = yield from ask_steps(setting, task, "search", show, prompt)
        return answer.reply(passages=tuple(candidates.shown))

    return steps
