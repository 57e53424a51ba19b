"""The registry of judges, and their settings."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from citeforge.engines.judge.hf import HfJudge, HfOptions
from citeforge.engines.judge.no_model import LexicalJudge, TableJudge
from citeforge.engines.judge.profiles import named_profile
from citeforge.engines.judge.records import Judge
from citeforge.engines.llm.options import URL_VARIABLE
from citeforge.engines.llm.replay import ReplayStore
from citeforge.engines.registry import Registry, unknown_choice_error
from citeforge.schemas.choices import JUDGES as CHOICES
from citeforge.schemas.choices import Choice
from citeforge.schemas.errors import UsageError
from citeforge.schemas.recipes.base import RunOptions

VLLM_URL = "http://localhost:8000/v1"
"""Default address of `vllm serve`."""
_FOR_LOCAL_MODELS = ("revision", "threshold", "max_tokens")
"""Options of local models only."""


def in_this_process(make: Callable[[HfOptions], Judge], options: HfOptions) -> Judge:
    """Make a local judge that computes in this process."""
    return make(options)


@dataclass(frozen=True)
class JudgeSettings:
    """Settings of a judge, besides its argument.

    Attributes:
        hf: how a model is asked, and how a local one is run.
        client: how an endpoint is reached.
        replay: store of an LLM's replies.
        place: makes a local judge where it is to compute; see ``Runner.judge``.
    """

    hf: HfOptions = field(default_factory=HfOptions)
    client: RunOptions = field(default_factory=RunOptions)
    replay: ReplayStore | None = None
    place: Callable[[Callable[[HfOptions], Judge], HfOptions], Judge] = in_this_process


def make_judge(name: str, **settings: Any) -> Judge:
    """Make a judge by its name, such as ``openai:MODEL``.

    Args:
        name: one of JUDGES, or a plugin's.
        settings: fields of :class:`JudgeSettings`.

    Raises:
        UsageError: another name, or an option of models for a judge that is none.
        InputError: a table or profile that cannot be read, or a broken plugin.
    """
    made = JudgeSettings(**settings)
    judge = JUDGES.get(name.partition(":")[0])
    if judge is not None and judge.argument in ("", "FILE"):
        _require_unset(made.hf, ("profile", *_FOR_LOCAL_MODELS), f"{name} is not a model")
    return JUDGES.make(name, made)


def _require_unset(hf: HfOptions, names: Sequence[str], reason: str) -> None:
    """Refuse options that the named judge would ignore.

    Raises:
        UsageError: one of them is set.
    """
    for name in (name for name in names if getattr(hf, name) is not None):
        option = "judge-profile" if name == "profile" else name.replace("_", "-")
        raise UsageError(f"--{option} has no effect: {reason}", code="option-without-effect")


def llm_judge(model: str, settings: JudgeSettings) -> Judge:
    """Make the judge ``openai:MODEL``: an LLM behind an OpenAI-compatible endpoint."""
    from citeforge.engines.judge.llm import LlmJudge
    from citeforge.engines.llm.writers import OpenAiLlm

    _require_unset(settings.hf, _FOR_LOCAL_MODELS, f"{model} runs behind an endpoint")
    profile = None if settings.hf.profile is None else named_profile(settings.hf.profile)
    return LlmJudge(OpenAiLlm(model, settings.replay, settings.client), profile)


def vllm_judge(model: str, settings: JudgeSettings) -> Judge:
    """Make the judge ``vllm:MODEL``: ``openai:MODEL`` on this machine unless a URL is set."""
    client = settings.client
    if client.base_url is None and not os.environ.get(URL_VARIABLE):
        client = client.model_copy(update={"base_url": VLLM_URL})
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
