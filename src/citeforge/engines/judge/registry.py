"""Judges by name."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from citeforge.engines.judge.hf import HfJudge, HfOptions
from citeforge.engines.judge.lexical import LexicalJudge
from citeforge.engines.judge.profiles import named_profile
from citeforge.engines.judge.records import Judge
from citeforge.engines.llm.options import ClientOptions
from citeforge.engines.llm.store import ReplayStore
from citeforge.engines.registry import Registry, expected
from citeforge.schemas.choices import JUDGES as CHOICES
from citeforge.schemas.choices import Choice
from citeforge.schemas.errors import UsageError


@dataclass(frozen=True)
class JudgeSettings:
    """What a judge is made with, besides its argument.

    Attributes:
        hf: how a local model is run.
        client: how an endpoint is reached.
        replay: store of an LLM's replies.
        profile: how a model is asked: a name or a ``.yaml`` file; None for its own.
    """

    hf: HfOptions | None = None
    client: ClientOptions | None = None
    replay: ReplayStore | None = None
    profile: str | None = None


JUDGES: Registry[Choice, Judge] = Registry(
    "judge",
    "judges",
    CHOICES,
    "signature comparable identity count_tokens decide",
    expected("--judge", CHOICES),
)


def make_judge(
    name: str,
    *,
    hf: HfOptions | None = None,
    client: ClientOptions | None = None,
    replay: ReplayStore | None = None,
    profile: str | None = None,
) -> Judge:
    """The judge of a name.

    Args:
        name: one of JUDGES, or a plugin's.
        hf: how a local model is run.
        client: how an endpoint is reached.
        replay: store of an LLM's replies.
        profile: how a model is asked: a name or a ``.yaml`` file; None for its own.

    Raises:
        UsageError: another name, or a profile for what is no model.
        InputError: a table or profile that cannot be read, or a broken plugin.
    """
    if profile is not None and name.partition(":")[0] in ("lexical", "table"):
        raise UsageError(f"--judge-profile says how a model is asked; {name} is none")
    return JUDGES.make(name, JudgeSettings(hf, client, replay, profile))


def local_judge(model: str, settings: JudgeSettings) -> Judge:
    """``hf:MODEL``."""
    options = settings.hf or HfOptions()
    if settings.profile is not None:
        options = replace(options, profile=settings.profile)
    return HfJudge(model, options)


def llm_judge(model: str, settings: JudgeSettings) -> Judge:
    """``openai:MODEL``."""
    from citeforge.engines.judge.llm import LlmJudge
    from citeforge.engines.llm.client import OpenAiLlm

    profile = None if settings.profile is None else named_profile(settings.profile)
    return LlmJudge(OpenAiLlm(model, settings.replay, settings.client), profile)


def table_judge(file: str, settings: JudgeSettings) -> Judge:
    """``table:FILE``."""
    from citeforge.engines.judge.table import TableJudge

    return TableJudge(Path(file))


def lexical_judge(settings: JudgeSettings) -> Judge:
    """``lexical``."""
    return LexicalJudge()
