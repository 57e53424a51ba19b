"""Options of Attributed-IR's systems."""

from typing import Annotated, Literal

from pydantic import Field, field_validator

from citeforge.engines.retrieval.fusion import FUSIONS
from citeforge.schemas.recipes.base import Option
from citeforge.schemas.recipes.groups import LOCAL, NEGATIVES, PROMPTS
from citeforge.systems.system_options import LlmOptions


class GoldPassagesOptions(LlmOptions):
    """Options of ``rtg-gold``."""

    k: int | None = Field(None, ge=1)
    """Relevant passages shown (default: all)."""


class RetrievalOptions(LlmOptions):
    """Options of systems that retrieve."""

    over: Annotated[Literal["corpus", "context"], PROMPTS] = "corpus"
    """Search the benchmark's corpus, or the passages of the query's context."""
    retriever: str = "bm25"
    """First stage: bm25 or dense."""
    reranker: Annotated[str | None, Option(metavar="MODEL", names="rerankers"), PROMPTS] = None
    """Second stage: {rerankers} (default: the embedder)."""
    embedder: Annotated[str, Option(names="embedders")] = "offline"
    """Embedder of the second stage without --reranker: {embedders}."""
    device: Annotated[str, LOCAL] = "auto"
    """auto, cpu, cuda, …"""
    depth: int = Field(100, ge=1)
    """Passages of the first stage that the second one reads."""

    @field_validator("retriever")
    @classmethod
    def _refuse_run_file(cls, retriever: str) -> str:
        """Check that a retriever is no run file, which has no rankings of sub-queries."""
        if retriever.startswith("run:"):
            raise ValueError(
                "a run file knows the benchmark's queries alone; `build alce --retriever run:FILE` "
                "makes contexts of it, which --over context searches"
            )
        return retriever


class VanillaOptions(RetrievalOptions):
    """Options of ``rtg-vanilla``."""

    k: int = Field(2, ge=1)
    """Passages shown."""


class QueryGenOptions(VanillaOptions):
    """Options of ``rtg-query-gen``."""

    queries: Annotated[int, PROMPTS] = Field(4, ge=1)
    """Maximum number of sub-queries that the LLM is asked for."""
    shots: int = Field(4, ge=0, le=4)
    """Demonstrations of sub-queries."""
    fusion: Annotated[str, Option(names="fusions"), PROMPTS] = "rerank"
    """Fusion of rankings: {fusions}, the ranking of one query alone (0 is the user's), from which
    the MAX row is made."""
    candidates: Annotated[int, NEGATIVES] = Field(10, ge=1)
    """Passages of each query that are fused."""
    retrieve_only: Annotated[bool, PROMPTS] = False
    """Ask for sub-queries and retrieve, and leave the answers empty: for --measures retrieval."""

    @property
    def later_calls(self) -> int:
        """Number of LLM calls per query after the one for sub-queries: 1 for the answer, else 0."""
        return 0 if self.retrieve_only else 1

    @field_validator("fusion")
    @classmethod
    def _check_fusion(cls, fusion: str) -> str:
        """Check that a rank fusion method of this name exists."""
        FUSIONS.maker(fusion)()
        return fusion


class GtrOptions(RetrievalOptions):
    """Options of ``gtr``."""

    per_statement: Annotated[int, PROMPTS] = Field(1, ge=1)
    """Passages that each statement cites."""
