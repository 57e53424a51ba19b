"""Options of systems: records from which command lines and headers of submissions are made."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field

from citeforge.schemas.recipes.base import Part
from citeforge.schemas.recipes.option import Option


class NoOptions(Part):
    """Nothing to choose."""


class GoldOptions(Part):
    """Of ``gold``."""

    all_gold: bool = False
    """Every gold answer, one a run."""


class LlmOptions(Part):
    """What every system that asks an LLM can be told."""

    temperature: float = Field(0.0, ge=0, allow_inf_nan=False)
    """0 takes the likeliest token; runs differ from 0.3 on or so."""
    top_p: float | None = Field(None, gt=0, le=1)
    """Nucleus sampling; not sent when it is not given."""
    max_answer: int = Field(512, ge=1)
    """Most tokens of a reply."""
    logprobs: bool = False
    """Keep log probabilities of citation tokens."""
    window: int | None = Field(None, ge=16)
    """Tokens of prompt and reply that the model can hold; passages that do not fit are dropped
    from the end and counted (default: what the model says, else no limit)."""
    tokenizer: Annotated[str | None, Option(metavar="MODEL")] = None
    """Hub id or folder whose tokenizer measures prompts (default: the model's own where it runs
    here, else a token for every three bytes)."""
    template: Path | None = None
    """Jinja file in place of the system's own main prompt."""
