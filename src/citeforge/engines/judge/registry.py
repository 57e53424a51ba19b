"""Judges by name."""

from __future__ import annotations

from pathlib import Path

from citeforge.engines.judge.hf import HfJudge, HfOptions
from citeforge.engines.judge.lexical import LexicalJudge
from citeforge.engines.judge.records import Judge
from citeforge.engines.llm.options import ClientOptions
from citeforge.engines.llm.store import ReplayStore
from citeforge.schemas.errors import UsageError


def make_judge(
    name: str,
    *,
    hf: HfOptions | None = None,
    client: ClientOptions | None = None,
    replay: ReplayStore | None = None,
) -> Judge:
    """The judge of a name.

    Args:
        name: ``hf:MODEL`` (Hub id or folder), ``openai:MODEL``, ``lexical``, ``table:FILE``.
        hf: how a local model is run.
        client: how an endpoint is reached.
        replay: store of an LLM's replies.

    Raises:
        UsageError: another name.
        InputError: a table that cannot be read.
    """
    kind, _, argument = name.partition(":")
    if name == "lexical":
        return LexicalJudge()
    if kind == "hf" and argument:
        return HfJudge(argument, hf)
    if kind == "table" and argument:
        from citeforge.engines.judge.table import TableJudge

        return TableJudge(Path(argument))
    if kind == "openai" and argument:
        from citeforge.engines.judge.llm import LlmJudge
        from citeforge.engines.llm.client import OpenAiLlm

        return LlmJudge(OpenAiLlm(argument, replay, client))
    raise UsageError(f"--judge {name!r}: expected hf:MODEL, openai:MODEL, table:FILE or lexical")
