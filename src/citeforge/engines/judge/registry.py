"""Judges by name."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from citeforge.engines.judge.hf import HfJudge, HfOptions
from citeforge.engines.judge.no_model import LexicalJudge, TableJudge
from citeforge.engines.judge.profiles import named_profile
from citeforge.engines.judge.records import Judge
from citeforge.engines.llm.options import URL_VARIABLE, ClientOptions
from citeforge.engines.llm.replay import ReplayStore
from citeforge.engines.registry import Registry, unknown_choice_error
from citeforge.schemas.choices import JUDGES as CHOICES
from citeforge.schemas.choices import Choice
from citeforge.schemas.errors import UsageError

VLLM_URL = "http://localhost:8000/v1"
"""Where `vllm serve` listens if nothing else is said."""


def in_this_process(make: Callable[[HfOptions], Judge], options: HfOptions) -> Judge:
    """Make a local judge that computes in this process."""
    return make(options)


@dataclass(frozen=True)
class JudgeSettings:
    """What a judge is made with, besides its argument.

    Attributes:
        hf: how a model is asked, and how a local one is run.
        client: how an endpoint is reached.
        replay: store of an LLM's replies.
        place: makes a local judge where it shall compute; see ``Runner.judge``.
    """

    hf: HfOptions = field(default_factory=HfOptions)
    client: ClientOptions = field(default_factory=ClientOptions)
    replay: ReplayStore | None = None
    place: Callable[[Callable[[HfOptions], Judge], HfOptions], Judge] = in_this_process


def make_judge(name: str, **settings: Any) -> Judge:
    """The judge of a name.

    Args:
        name: one of JUDGES, or a plugin's.
        settings: fields of :class:`JudgeSettings`.

    Raises:
        UsageError: another name, or a profile for what is no model.
        InputError: a table or profile that cannot be read, or a broken plugin.
    """
    made = JudgeSettings(**settings)
    if made.hf.profile is not None and name.partition(":")[0] in ("lexical", "table"):
        raise UsageError(
            f"--judge-profile applies to models; {name} is not one", code="option-without-effect"
        )
    return JUDGES.make(name, made)


def llm_judge(model: str, settings: JudgeSettings) -> Judge:
    """``openai:MODEL``."""
    from citeforge.engines.judge.llm import LlmJudge
    from citeforge.engines.llm.writers import OpenAiLlm

    profile = None if settings.hf.profile is None else named_profile(settings.hf.profile)
    return LlmJudge(OpenAiLlm(model, settings.replay, settings.client), profile)


def vllm_judge(model: str, settings: JudgeSettings) -> Judge:
    """``vllm:MODEL``: ``openai:MODEL`` of a server on this machine, where no other is named."""
    client = settings.client
    if client.base_url is None and not os.environ.get(URL_VARIABLE):
        client = replace(client, base_url=VLLM_URL)
    return llm_judge(model, replace(settings, client=client))


JUDGES: Registry[Choice, Judge] = Registry(
    "judge",
    "judges",
    CHOICES,
    {
        "hf": lambda model, s: s.place(partial(HfJudge, model), s.hf),
        "openai": llm_judge,
        "vllm": vllm_judge,
        "table": lambda file, settings: TableJudge(Path(file)),
        "lexical": lambda settings: LexicalJudge(),
    },
    "signature comparable identity count_tokens decide",
    unknown_choice_error("--judge", CHOICES),
)
