"""Options of Attributed-IR's systems."""

from __future__ import annotations

from typing import Annotated, Literal, TypeVar

from pydantic import Field, field_validator, model_validator

from citeforge.plugins.published_systems.attributed_ir.fusion import FUSIONS
from citeforge.schemas.models.choices import EMBEDDERS, RETRIEVERS, listed
from citeforge.schemas.recipes.option import Option
from citeforge.systems.options import LlmOptions

S = TypeVar("S", bound="RetrievalOptions")


class GenerateOptions(LlmOptions):
    """Of ``g``."""


class GoldPassagesOptions(LlmOptions):
    """Of ``rtg-gold``."""

    k: int | None = Field(None, ge=1)
    """Relevant passages shown (default: all)."""


class RetrievalOptions(LlmOptions):
    """Of systems that retrieve."""

    over: Literal["corpus", "candidates", "context"] = "corpus"
    """Search the benchmark's corpus, the passages that were retrieved for the query when it was
    built, or those of the query's context."""
    retriever: str = Field("bm25", description=f"First stage: {listed(RETRIEVERS)}.")
    """What finds passages."""
    reranker: Annotated[str | None, Option(metavar="MODEL")] = None
    """Second stage: a cross-encoder or monoT5, a folder or a Hub id (default: the embedder)."""
    embedder: str = Field(
        "offline", description=f"Second stage without --reranker: {listed(EMBEDDERS)}."
    )
    """What embeds."""
    device: str = "auto"
    """auto, cpu, cuda, …"""
    depth: int = Field(100, ge=1)
    """Passages of the first stage that the second one reads."""


def _refuse_run_file(options: S) -> S:
    if options.retriever.startswith("run:"):
        raise ValueError(
            "--retriever run: knows the benchmark's queries alone; this system asks others, too"
        )
    return options


class VanillaOptions(RetrievalOptions):
    """Of ``rtg-vanilla``."""

    k: int = Field(2, ge=1)
    """Passages shown."""


class QueryGenOptions(VanillaOptions):
    """Of ``rtg-query-gen``."""

    queries: int = Field(4, ge=1)
    """Most sub-queries that the LLM is asked for."""
    shots: int = Field(4, ge=0, le=4)
    """Demonstrations of sub-queries."""
    fusion: str = "rerank"
    """How rankings become one: sort, rerank, combsum, combmnz, pm2; or query:N, the ranking of one
    query alone (0 is the user's), from which the MAX row is made."""
    candidates: int = Field(10, ge=1)
    """Passages of each query that are fused."""
    retrieve_only: bool = False
    """Ask for sub-queries and retrieve, and leave the answers empty: for --measures retrieval."""

    @property
    def later_calls(self) -> int:
        """The answer, after the sub-queries."""
        return 0 if self.retrieve_only else 1

    @field_validator("fusion")
    @classmethod
    def _check_fusion(cls, fusion: str) -> str:
        name, _, number = fusion.partition(":")
        if fusion not in FUSIONS and not (name == "query" and number.isdecimal()):
            raise ValueError(f"expected {', '.join(FUSIONS)} or query:N")
        return fusion

    _searchable = model_validator(mode="after")(_refuse_run_file)


class GtrOptions(RetrievalOptions):
    """Of ``gtr``."""

    per_statement: int = Field(1, ge=1)
    """Passages that each statement cites."""

    _searchable = model_validator(mode="after")(_refuse_run_file)
