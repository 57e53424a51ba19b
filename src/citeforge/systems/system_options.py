"""Options of systems, as records; commands and headers of submissions are made from them."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from citeforge.schemas.recipes.base import Judging, Option, Part, Temperature
from citeforge.schemas.recipes.groups import PROMPTS


class LlmOptions(Part):
    """Options of every system that asks an LLM."""

    temperature: Temperature = 0.0
    """Sampling temperature: 0 takes the likeliest token; runs differ from 0.3 on or so; none
    leaves it out of requests."""
    top_p: Annotated[float | None, PROMPTS] = Field(None, gt=0, le=1)
    """Nucleus sampling (default: not sent)."""
    max_answer: int = Field(512, ge=1)
    """Maximum tokens per reply."""
    logprobs: Annotated[bool, PROMPTS] = False
    """Keep log probabilities of citation tokens."""
    window: Annotated[int | None, PROMPTS] = Field(None, ge=16)
    """Tokens of prompt and reply that the model can hold; passages that do not fit are dropped
    from the end and counted (default: the model's own window, else no limit)."""
    tokenizer: Annotated[str | None, Option(metavar="MODEL"), PROMPTS] = None
    """Hub id or folder whose tokenizer measures prompts (default: the model's own where it runs
    here, else a token for every three bytes)."""
    template: Annotated[Path | None, PROMPTS] = None
    """Jinja file in place of the system's own main prompt."""

    @property
    def later_calls(self) -> int:
        """Maximum number of LLM calls per answer after the first round."""
        return 0


class EditedOptions(LlmOptions):
    """Options of systems whose answers can be edited afterwards (ALCE, section 3.2)."""

    rerank: Annotated[int | None, PROMPTS] = Field(None, ge=2)
    """Draw this many answers per query, and keep that of the best citation recall by --judge."""
    post_cite: Annotated[bool, PROMPTS] = False
    """Give each statement without a citation the passage that is nearest by --embedder."""
    post_cite_over: Annotated[Literal["candidates", "context"], PROMPTS] = "candidates"
    """Passages that --post-cite chooses among: the candidates of the question (the paper: 100) if
    the benchmark names some, or only those shown."""
    embedder: Annotated[str, Option(names="embedders")] = "offline"
    """Embedder of --post-cite: {embedders}."""
    judging: Judging = Judging()
    """Judge of --rerank."""
