"""``interact`` and ``inline-search``: answers that are written step by step (ALCE, section 3.1)."""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any

from citeforge.builders.packaging.prompts import PromptDoc
from citeforge.engines.llm.records import LlmReply, Request
from citeforge.plugins.published_systems.alce.actions import Action, read_action
from citeforge.plugins.published_systems.alce.demonstrations import Demonstration, Sentence
from citeforge.plugins.published_systems.alce.options import InteractOptions, SearchOptions
from citeforge.plugins.published_systems.alce.prompts import condenser, worked
from citeforge.plugins.published_systems.alce.searching import candidate_shelves
from citeforge.systems.prompts import WindowError
from citeforge.systems.system import MakeSteps, Reply, Setting, Steps, Task

Show = Callable[[Action], list[PromptDoc]]
"""A check or a search to the documents that the next step sees."""
_MOST_SHOWN = 3
"""Documents that one check shows (ALCE, appendix C)."""


@dataclass
class Talk:
    """An answer that a model is writing step by step.

    Attributes:
        steps: what was done, as prompts show it.
        sentences: what was put out.
        last: the latest reply.
    """

    steps: list[str] = field(default_factory=list)
    sentences: list[str] = field(default_factory=list)
    last: LlmReply | None = None

    def reply(self, **more: Any) -> Reply:
        """Make the reply of all sentences so far; it is cut if its last step was."""
        reason = None if self.last is None else self.last.finish_reason
        return Reply(" ".join(self.sentences), reason, meta={"steps": self.steps}, **more)


def converse(
    setting: Setting[Any],
    task: Task,
    verb: str,
    show: Show,
    prompt: Callable[[Sequence[str], Sequence[PromptDoc], bool], str],
) -> Generator[Sequence[Request], Sequence[LlmReply], Talk]:
    """Ask a model for one step after another, until it ends or the turns are over.

    What a check or search shows is seen by the next step alone, which must put something out
    (ALCE, appendix C). A step that repeats the one before it ends the answer: the prompt would
    lead to it again.

    Args:
        setting: of the system; its options say the turns.
        task: the query.
        verb: the step that shows documents.
        show: what it shows.
        prompt: steps so far, documents to be seen, whether a sentence must follow.
    """
    talk, docs, forced = Talk(), list[PromptDoc](), False
    for _ in range(setting.options.turns):
        try:
            text = prompt(talk.steps, docs, forced)
        except WindowError:
            if not talk.steps:
                raise
            setting.counts["answers that outgrew the window"] += 1
            return talk
        (talk.last,) = yield [setting.request(text, task, stop=["\n"])]
        action = read_action(talk.last.text, forced, setting.options.bare)
        docs, forced = [], False
        if action.verb == "end":
            return talk
        if action.verb not in ("output", verb):
            setting.counts["answers that ended with something other than a step"] += 1
            return talk
        if talk.steps and action.line == talk.steps[-1]:
            setting.counts["answers that ended with a repeated step"] += 1
            return talk
        talk.steps.append(action.line)
        if action.verb == "output":
            talk.sentences.append(action.text)
        else:
            docs, forced = show(action), True
    setting.counts["answers without an end"] += 1
    return talk


def _filling(setting: Setting[Any], template: str) -> Callable[..., str]:
    """Make the function that fills a prompt template."""
    defaults: dict[str, Any] = {"demos": (), "steps": (), "open": (), "forced": False}
    return partial(setting.render, template, base=setting.base, **defaults)


def _worked_steps(demo: Demonstration, base: int, lead: Callable[[Sentence], str]) -> list[str]:
    """Write an example's answer as steps; ``lead`` makes a step before a sentence."""
    steps = ((lead(s), f"Output: {s.marked(base)}") for s in demo.answer)
    return [*filter(None, chain.from_iterable(steps)), "End"]


def interact(setting: Setting[InteractOptions]) -> MakeSteps:
    """Make ALCE's Interact: short passages first; the model may check full texts.

    It may check three documents at a time.
    """
    o, base = setting.options, setting.base
    condensed = condenser(setting, o.show, o.k)
    fill = _filling(setting, "interact")

    def check(sentence: Sentence) -> str:
        """Write the step that checks the documents of a sentence; empty without citations."""
        marks = "".join(f"[{n - 1 + base}]" for n in sentence.cited)
        return f"Check: Document {marks}" if marks else ""

    def example(demo: Demonstration) -> str:
        """Write a worked example with its steps."""
        docs = demo.docs(o.k, base, short=True)
        return fill(query=demo.question, docs=docs, steps=_worked_steps(demo, base, check))

    examples = worked(setting, example)  # type: ignore[arg-type]

    def steps(task: Task) -> Steps:
        """Condense the passages, then ask step by step."""
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

        talk = yield from converse(setting, task, "check", show, prompt)
        return talk.reply()

    return steps


def inline_search(setting: Setting[SearchOptions]) -> MakeSteps:
    """Make ALCE's InlineSearch: nothing is shown at first; each search shows one passage."""
    base, shelf_of = setting.base, candidate_shelves(setting)
    fill = _filling(setting, "inline_search")

    def example(demo: Demonstration) -> str:
        """Write a worked example with its searches."""
        # What a search shows is gone from the prompt by the next step.
        steps = _worked_steps(demo, base, lambda s: f"Search: {s.search}" if s.search else "")
        return fill(query=demo.question, steps=steps)

    examples = worked(setting, example)  # type: ignore[arg-type]

    def steps(task: Task) -> Steps:
        """Ask step by step; each search shows a passage."""
        shelf = shelf_of(task.item)

        def show(action: Action) -> list[PromptDoc]:
            """Search the candidates, and show the passage that fits best."""
            place = shelf.search(action.text)
            setting.counts["searches that found nothing"] += place is None
            if place is None:
                return []
            return [setting.docs(task.item, shelf.shown)[place]]

        def prompt(done: Sequence[str], seen: Sequence[PromptDoc], forced: bool) -> str:
            """Write the prompt for the next step."""
            more = {"demos": examples(task.run), "steps": done, "forced": forced}
            query = task.item.query
            return setting.fitted(task, seen, lambda some: fill(query=query, open=some, **more))

        talk = yield from converse(setting, task, "search", show, prompt)
        return talk.reply(passages=tuple(shelf.shown))

    return steps
