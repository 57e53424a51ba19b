"""Options of ALCE's systems."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from citeforge.schemas.recipes.groups import PROMPTS
from citeforge.systems.system_options import EditedOptions


class ShotOptions(EditedOptions):
    """Options of all of ALCE's systems; defaults of decoding are the paper's (appendix C)."""

    temperature: float = Field(0.5, ge=0, allow_inf_nan=False)
    """Sampling temperature: 0 takes the likeliest token."""
    max_answer: int = Field(300, ge=1)
    """Maximum tokens per reply."""
    shots: int = Field(2, ge=0)
    """Worked examples in front of the question, drawn anew for each run."""
    demos: Annotated[Path | None, PROMPTS] = None
    """Worked examples of your own (YAML, or ALCE's JSON) in place of the four that are built in."""


class AlceOptions(ShotOptions):
    """Options of ``vanilla`` and ``oracle``."""

    k: int = Field(5, ge=1)
    """Show the first so many passages of the context."""
    instruction: Annotated[Literal["full", "short"], PROMPTS] = "full"
    """Spell the task out, or say it in one sentence."""


class CondensedOptions(AlceOptions):
    """Options of ``summ`` and ``snippet``."""

    k: int = Field(10, ge=1)
    """Take the first so many passages of the context; those that do not help are left out."""

    @property
    def later_calls(self) -> int:
        """Number of LLM calls per query besides those that shorten passages: one answer."""
        return 1


class InteractOptions(ShotOptions):
    """Options of ``interact``."""

    k: int = Field(10, ge=1)
    """Take the first so many passages of the context; those that do not help are left out."""
    show: Literal["summary", "snippet"] = "summary"
    """Short versions that are shown at first."""
    turns: Annotated[int, PROMPTS] = Field(10, ge=1)
    """Maximum steps per answer."""
    bare: Annotated[bool, PROMPTS] = False
    """A reply that names no step is a sentence of the answer, or a check where it names documents
    and nothing else (ALCE's code ends there)."""

    @property
    def later_calls(self) -> int:
        """Most LLM calls per query besides those that shorten passages: one per answer step."""
        return self.turns


class SearchOptions(ShotOptions):
    """Options of ``inline-search``."""

    retriever: Literal["bm25", "dense"] = "bm25"
    """Ranking of a search: by words, or by --embedder."""
    depth: int = Field(100, ge=1)
    """Passages of the query that are searched."""
    turns: Annotated[int, PROMPTS] = Field(10, ge=1)
    """Maximum steps per answer."""
    bare: Annotated[bool, PROMPTS] = False
    """A reply that names no step is a sentence of the answer (ALCE's code ends there)."""

    @property
    def later_calls(self) -> int:
        """Most LLM calls per query after the first one: one per further answer step."""
        return self.turns - 1
