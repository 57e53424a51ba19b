"""What a system that asks an LLM consists of: steps, which say what to ask and take what is said.

A system is a function ``make(setting)`` that returns ``steps(task)``, a generator: it yields the
requests that it cannot go on without, is sent their answers, and returns a :class:`Reply`. All
tasks move together, so that every round is one concurrent call of the LLM::

    def make(setting):
        def steps(task):
            prompt = setting.fitted("mine", task.item.passages, render)
            (answer,) = yield [setting.request(prompt, task)]
            return Reply.of(answer)
        return steps
"""

from collections import Counter
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, TypeVar

from citeforge.builders.packaging.prompts import PromptDoc, docs_of
from citeforge.engines.llm.records import Llm, LlmReply, Request, Token
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.package.items import Item, Labelling, Passage
from citeforge.schemas.recipes.base import NO_TEMPERATURE
from citeforge.systems.options import LlmOptions
from citeforge.systems.prompts import Prompts, TokenWindow

O = TypeVar("O", bound=LlmOptions)  # noqa: E741
T = TypeVar("T")


@dataclass(frozen=True)
class Task:
    """One query to answer, once.

    Attributes:
        item: the query, with what is shown.
        run: number of the run, from 0.
        sample: index of its requests: draws with other indices are drawn apart.
    """

    item: Item
    run: int
    sample: int


@dataclass(frozen=True)
class Reply:
    """Answer of a system to one task.

    Attributes:
        text: the answer; empty where it says nothing.
        finish_reason: why the model stopped, when not of its own accord.
        logprobs: tokens of ``text`` with log probabilities.
        passages: passages that the system found itself, in the order that its citations count;
            None where it cites those of the context.
        meta: anything to be kept beside it.
        thoughts: what the model wrote before its answer; counted, never scored.
    """

    text: str
    finish_reason: str | None = None
    logprobs: tuple[Token, ...] | None = None
    passages: tuple[Passage, ...] | None = None
    meta: dict[str, Any] | None = None
    thoughts: tuple[str, ...] = ()

    @staticmethod
    def of(answer: LlmReply) -> "Reply":
        """Make a reply of an LLM's answer, unchanged."""
        return Reply(answer.text, answer.finish_reason, answer.logprobs, thoughts=answer.thoughts)


Steps = Generator[Sequence[Request], Sequence[LlmReply], Reply]
"""Yields requests, is sent one answer each, returns the reply."""
MakeSteps = Callable[[Task], Steps]


@dataclass
class Setting(Generic[O]):
    """What a system works with in one context set: options, templates and passages.

    Attributes:
        benchmark: what it answers.
        context: name of the context set.
        options: its own.
        llm: what answers; for what it says of itself. Steps yield requests instead of calling it.
        seed: seed of all draws.
        prompts: its Jinja files.
        window: how long prompts may be.
        counts: what is told of the run: ``"passages dropped"`` and whatever a system counts.
        facts: what else the submission's header is to say, such as what was searched with.
    """

    benchmark: Benchmark
    context: str
    options: O
    llm: Llm
    seed: int
    prompts: Prompts
    window: TokenWindow
    counts: Counter[str] = field(default_factory=Counter)
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def base(self) -> int:
        """Number of the first passage."""
        return self.benchmark.manifest.grammar.base

    @cached_property
    def labelling(self) -> Labelling:
        """Labels that the context set gives to passages."""
        return self.benchmark.kind.labelling(self.benchmark, self.context) or Labelling()

    def docs(self, item: Item, passages: Sequence[Passage] | None = None) -> list[PromptDoc]:
        """Number passages as templates see them, without citation marks of their own.

        Args:
            item: the query.
            passages: others than those of the context, which are numbered likewise.
        """
        return docs_of(item, self.base, self.labelling, passages)

    def render(self, template: str, **values: Any) -> str:
        """Fill in a template of the system; ``--template`` replaces the main one.

        Raises:
            InputError: it uses something that is not there.
        """
        return self.prompts.render(template, **values)

    def fitted(
        self, task: Task, items: Sequence[T], render: Callable[[Sequence[T]], str],
        what: str = "passages",
    ) -> str:  # fmt: skip
        """Fill in a prompt with as many of ``items`` as the window holds; count the others.

        Args:
            task: the query, for messages.
            items: passages, or what else may be left out.
            render: some of them, from the first, to the prompt.
            what: a word for them.

        Raises:
            WindowError: not even one fits.
        """
        text, n = self.window.fit(task.item.query_id, items, render)
        self.counts[f"{what} dropped"] += len(items) - n
        return text

    def request(
        self, prompt: str, task: Task, *, sample: int | None = None, **params: Any
    ) -> Request:
        """Make a request of one user message, with decoding by the options.

        Args:
            prompt: its text.
            task: what it is about.
            sample: index of the draw; None for the task's own. What does not differ between runs
                takes 0, and is asked once.
            params: further fields of the payload, or others in place of the options'.
        """
        o = self.options
        decoding: dict[str, Any] = {"max_tokens": o.max_answer}
        if o.temperature != NO_TEMPERATURE:
            decoding["temperature"] = o.temperature
        if o.top_p is not None:
            decoding["top_p"] = o.top_p
        if o.logprobs:
            decoding["logprobs"] = True
        draw = task.sample if sample is None else sample
        messages = (("user", prompt),)
        return Request(messages, decoding | params, sample=draw, needs_text=False)
