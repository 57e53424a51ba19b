"""What training data are made of, beside the benchmark."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field

from citeforge.schemas.recipes.base import Part
from citeforge.schemas.recipes.option import Option


class TrainingOptions(Part):
    """Options of ``export sft`` and ``export rl-prompts``; the first one also of
    ``export every-eval-ever``."""

    submission: Path | None = None
    """sft: answers that a model is to learn from; trec-…: answers of the run; every-eval-ever: the
    answers that were scored, which the records then hold word for word."""
    min_f1: float | None = Field(None, ge=0, le=1)
    """sft: least citation F1 of one answer, 0 to 1 (harmonic mean of its CiteP and CiteR)."""
    held_out: Annotated[tuple[Path, ...], Option(metavar="FILE|DIR")] = ()
    """sft, rl-prompts: leave out these questions, by id and by text: a benchmark, JSON Lines, or
    a text file with an id or a question a line; may repeat."""
    template: str | None = None
    """sft, rl-prompts: prompt template (default: by kind of benchmark)."""
