"""Judges by name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from citeforge.engines.judge.hf import HfJudge, HfOptions
from citeforge.engines.judge.lexical import LexicalJudge
from citeforge.engines.judge.records import Judge
from citeforge.engines.llm.options import ClientOptions
from citeforge.engines.llm.store import ReplayStore
from citeforge.engines.registry import Registry, expected
from citeforge.schemas.choices import JUDGES as CHOICES
from citeforge.schemas.choices import Choice


@dataclass(frozen=True)
class JudgeSettings:
    """What a judge is made with, besides its argument.

    Attributes:
        hf: how a local model is run.
        client: how an endpoint is reached.
        replay: store of an LLM's replies.
    """

    hf: HfOptions | None = None
    client: ClientOptions | None = None
    replay: ReplayStore | None = None


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
) -> Judge:
    """The judge of a name.

    Args:
        name: one of JUDGES, or a plugin's.
        hf: how a local model is run.
        client: how an endpoint is reached.
        replay: store of an LLM's replies.

    Raises:
        UsageError: another name.
        InputError: a table that cannot be read, or a broken plugin.
    """
    return JUDGES.make(name, JudgeSettings(hf, client, replay))


def local_judge(model: str, settings: JudgeSettings) -> Judge:
    """``hf:MODEL``."""
    return HfJudge(model, settings.hf)


def llm_judge(model: str, settings: JudgeSettings) -> Judge:
    """``openai:MODEL``."""
    from citeforge.engines.judge.llm import LlmJudge
    from citeforge.engines.llm.client import OpenAiLlm

    return LlmJudge(OpenAiLlm(model, settings.replay, settings.client))


def table_judge(file: str, settings: JudgeSettings) -> Judge:
    """``table:FILE``."""
    from citeforge.engines.judge.table import TableJudge

    return TableJudge(Path(file))


def lexical_judge(settings: JudgeSettings) -> Judge:
    """``lexical``."""
    return LexicalJudge()
