"""``build hagrid`` and ``build alce``."""

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from citeforge.schemas.recipes.base import (
    Hideable,
    Judging,
    Licensed,
    Option,
    Part,
    Sourced,
    Words,
    allow_only,
)
from citeforge.schemas.recipes.groups import (
    DRY,
    EMBEDDING,
    ENDPOINTS,
    LOCAL,
    QUESTIONS,
    ROWS,
    RUNNER,
    SECRET,
    VERDICTS,
    Group,
)
from citeforge.schemas.tables import CONDENSED_FORMS

DEPTH = 100
"""Candidates per question (ALCE, section 4.1)."""


class HagridRecipe(Licensed, Hideable, Sourced):
    """HAGRID's questions with their quotes as contexts, and all gold answers."""

    kind: ClassVar[str] = "hagrid"
    run_options: ClassVar[tuple[Group, ...]] = (SECRET,)

    source: Annotated[str, Option(input=True)]
    """hagrid:PATH or hagrid-hub:SPLIT."""
    skip_empty: Annotated[bool, ROWS] = False
    """Skip, and count, passages without text."""


class Retrieving(Part):
    """Options of retrieving passages of a corpus (ALCE, section 4.1)."""

    retrievers: Annotated[
        tuple[str, ...], Option("--retriever", metavar="NAME", input=True, names="retrievers")
    ] = Field(("bm25",), min_length=1)
    """Retrievers of candidates: {retrievers}; repeatable, contexts are made of the first one's."""
    depth: int = Field(DEPTH, ge=1)
    """Candidates per question."""
    embedder: Annotated[str, Option(input=True, names="embedders")] = "offline"
    """Embedder for --retriever dense: {embedders}."""
    embedder_revision: Annotated[str | None, EMBEDDING] = None
    """Commit, tag or branch of a Hub model."""


class Writing(Part):
    """Options of texts that an LLM adds (ALCE, sections 3.2 and 4.2)."""

    llm: Annotated[str | None, Option(input=True, names="llms")] = None
    """LLM that writes sub-claims, summaries and snippets: {llms}."""
    sub_claims: Annotated[int, QUESTIONS] = Field(0, ge=0)
    """Claims of each long answer (the paper: 3); those that it entails by --judge become gold."""
    condense: Annotated[
        Words,
        allow_only("form", CONDENSED_FORMS),
        Option(metavar="summary,snippet", joined=True),
        QUESTIONS,
    ] = ()
    """Summaries or snippets of candidates for each question; each also a context set."""
    condense_top: Annotated[int, QUESTIONS] = Field(20, ge=1)
    """First candidates of a question that are condensed."""
    condense_k: Annotated[int, QUESTIONS] = Field(10, ge=1)
    """Passages of a context of summaries or snippets."""

    @model_validator(mode="after")
    def _require_llm_with_work(self) -> Self:
        """Raise an error if ``--llm`` has nothing to write, or texts to write lack an ``--llm``."""
        if (self.llm is None) == bool(self.sub_claims or self.condense):
            raise ValueError(
                "--llm requires --sub-claims or --condense, and each of these requires --llm"
            )
        return self


class AlceRecipe(Licensed, Hideable, Sourced):
    """Questions with gold answers and retrieved passages, as ALCE has them.

    Without --corpus the documents that ALCE's items bring are the candidates. With --corpus the
    passages are retrieved: questions come from any source with gold answers, passages from any
    other.
    """

    kind: ClassVar[str] = "alce"
    run_options: ClassVar[tuple[Group, ...]] = (
        EMBEDDING,
        VERDICTS,
        LOCAL,
        DRY,
        ENDPOINTS,
        RUNNER,
        SECRET,
    )

    source: Annotated[str, Option(input=True)]
    """alce:PATH; with --corpus any source of questions with gold, see `citeforge list sources`."""
    split: str | None = None
    """Split of the source."""
    corpus: Annotated[str | None, Option(input=True), ROWS] = None
    """Source of the passages; its questions are not read."""
    corpus_split: Annotated[str | None, ROWS] = None
    """Split by which that source is opened, where it must have one (BEIR: default test)."""
    chunk: Annotated[int | None, ROWS] = Field(None, ge=1)
    """Cut the corpus into passages of this many words (the paper: 100)."""
    retrieving: Retrieving = Retrieving()
    """Retrieval of passages from a corpus."""
    passages: Annotated[Literal["retrieved", "all"], QUESTIONS] = "retrieved"
    """Keep the passages that were retrieved or judged, or the whole corpus."""
    k: int = Field(5, ge=1)
    """Documents per context."""
    oracle: Annotated[bool, QUESTIONS] = False
    """Also the K documents that cover most of the gold (always with --corpus)."""
    writing: Writing = Writing()
    """Texts that an LLM adds."""
    judging: Judging = Judging()
    """Judge of what passages and answers entail."""
    skip_empty: Annotated[bool, ROWS] = False
    """Skip, and count, passages without text."""
    skip_dangling: Annotated[bool, ROWS] = False
    """Skip, and count, judgements of missing rows."""

    @model_validator(mode="after")
    def _require_corpus_and_judge(self) -> Self:
        """Raise an error for options about a corpus without one, or sub-claims without a judge."""
        if self.corpus is None:
            for name, value in (("--chunk", self.chunk), ("--corpus-split", self.corpus_split)):
                if value is not None:
                    raise ValueError(f"{name} requires --corpus")
            if self.retrieving.retrievers != ("bm25",):
                raise ValueError("--retriever requires --corpus")
        if self.writing.sub_claims and self.judging.judge is None:
            raise ValueError("--sub-claims needs --judge: a claim must follow from its answer")
        return self

    @property
    def llms(self) -> tuple[str, ...]:
        """Name of the LLM that writes texts for the build, in a tuple; empty without one."""
        return () if self.writing.llm is None else (self.writing.llm,)

    @property
    def is_plain(self) -> bool:
        """Whether the build keeps ALCE's questions and passages as they are and adds nothing."""
        added = (self.corpus, self.judging.judge, self.writing.llm)
        return not self.oracle and not any(added)
