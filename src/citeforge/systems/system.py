"""Parts of a system that asks an LLM: tasks, the steps that answer them, and replies.

A system is a function ``make(setting)`` that returns ``steps(task)``, a generator: it yields the
requests that it needs next, is sent their answers, and returns a :class:`Reply`. All tasks advance
together, so that every round is one concurrent call of the LLM::

    def make(setting):
        def steps(task):
            prompt = setting.fit_items(task, task.item.passages, render)
            (answer,) = yield [setting.request(prompt, task)]
            return Reply.from_llm(answer)
        return steps
"""

import sys
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, TypeVar

from citeforge.builders.prompts import PromptDoc, make_prompt_docs
from citeforge.engines.llm.records import Llm, LlmReply, Request, Token
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.package.items import Item, Labelling, Passage
from citeforge.schemas.counts import count_key
from citeforge.schemas.recipes.base import NO_TEMPERATURE
from citeforge.schemas.recipes.command_options import PromptingOptions
from citeforge.systems.prompts import Prompts, TokenWindow
from citeforge.systems.system_options import LlmOptions

O = TypeVar("O", bound=LlmOptions)  # noqa: E741
T = TypeVar("T")


@dataclass(frozen=True)
class Task:
    """One query to answer, once.

    Attributes:
        item: the query, with the passages or graphs shown.
        run: number of the run, from 0.
        sample: index of its requests; requests with different indices are sampled independently.
    """

    item: Item
    run: int
    sample: int


@dataclass(frozen=True)
class Reply:
    """Answer of a system to one task.

    Attributes:
        text: the answer; empty if the model wrote none.
        finish_reason: why the model was stopped; None if it ended by itself.
        logprobs: tokens of ``text`` with log probabilities.
        passages: passages that the system found itself, in the order that its citations count;
            None if it cites those of the context set.
        meta: other data to keep in the line of the submission.
        thoughts: what the model wrote before its answer; counted, never scored.
    """

    text: str
    finish_reason: str | None = None
    logprobs: tuple[Token, ...] | None = None
    passages: tuple[Passage, ...] | None = None
    meta: dict[str, Any] | None = None
    thoughts: tuple[str, ...] = ()

    @staticmethod
    def from_llm(answer: LlmReply) -> "Reply":
        """Convert an LLM's reply to a system's reply, unchanged."""
        return Reply(answer.text, answer.finish_reason, answer.logprobs, thoughts=answer.thoughts)


Steps = Generator[Sequence[Request], Sequence[LlmReply], Reply]
"""Generator that yields requests, is sent an answer to each, and returns the reply."""
MakeSteps = Callable[[Task], Steps]


@dataclass
class Setting(Generic[O]):
    """Everything that a system needs to answer one context set: options, templates, LLM.

    Attributes:
        benchmark: benchmark to answer.
        context: name of the context set.
        options: options of the system.
        llm: the LLM, for its identity; steps yield requests instead of calling it.
        seed: seed of all draws.
        prompts: its Jinja templates.
        window: limit of tokens of a prompt.
        counts: figures of the run, by key: ``dropped_from_prompts[passages]`` and whatever a system
            counts.
        facts: further fields of the submission's header, such as the search engine.
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
        """Citation number of the first passage in this benchmark, 0 or 1."""
        return self.benchmark.manifest.grammar.base

    @cached_property
    def labelling(self) -> Labelling:
        """Author labels of passages in this context set; empty for most benchmarks."""
        return self.benchmark.kind.labelling(self.benchmark, self.context) or Labelling()

    def docs(self, item: Item, passages: Sequence[Passage] | None = None) -> list[PromptDoc]:
        """Number a query's passages for a prompt; ``[1]`` in their texts becomes ``(1)``.

        Args:
            item: the query.
            passages: passages in place of those of the context set; None for the latter.
        """
        return make_prompt_docs(item, self.base, self.labelling, passages)

    def render(self, template: str, **values: Any) -> str:
        """Fill in a prompt template of the system, or the one of ``--template``.

        Raises:
            InputError: it uses a name without a value.
        """
        return self.prompts.render(template, **values)

    def fit_items(
        self, task: Task, items: Sequence[T], render: Callable[[Sequence[T]], str],
        items_noun: str = "passages",
    ) -> str:  # fmt: skip
        """Fill in a prompt with as many items as the token window holds; count the dropped ones.

        Args:
            task: the query, for messages.
            items: passages or triples, which may be left out from the end.
            render: makes the prompt with some of the items.
            items_noun: noun for the items in counts.

        Raises:
            WindowError: not even one fits.
        """
        text, n = self.window.fit(task.item.query_id, items, render)
        self.counts[count_key("dropped_from_prompts", items_noun)] += len(items) - n
        return text

    def request(
        self, prompt: str, task: Task, *, sample: int | None = None, **params: Any
    ) -> Request:
        """Make an LLM request of one user message, with the options' decoding parameters.

        Args:
            prompt: text of the message.
            task: task that the request is for.
            sample: index of the draw; None for the task's own. Requests that do not differ
                between runs take 0, and are sent once.
            params: further parameters, or others in place of the options'.
        """
        draw = task.sample if sample is None else sample
        messages = (("user", prompt),)
        decoding = decoding_params(self.options)
        return Request(messages, decoding | params, sample=draw, needs_text=False, gets_room=False)


def warn_of_repeats(runs: int, options: LlmOptions | PromptingOptions) -> None:
    """Print a hint if several runs would repeat the same LLM requests at temperature 0."""
    if runs > 1 and options.temperature == 0:
        sys.stderr.write(
            f"--runs {runs} at --temperature 0: each request is repeated as it is, and the model "
            "takes the likeliest token every time; runs differ from --temperature 0.3 on or so\n"
        )


def decoding_params(options: LlmOptions | PromptingOptions) -> dict[str, Any]:
    """Collect the decoding parameters of LLM requests from options; unset ones are absent."""
    params: dict[str, Any] = {"max_tokens": options.max_answer}
    if options.temperature != NO_TEMPERATURE:
        params["temperature"] = options.temperature
    if isinstance(options, LlmOptions) and options.top_p is not None:
        params["top_p"] = options.top_p
    if options.logprobs:
        params["logprobs"] = True
    return params
