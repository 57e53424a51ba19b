"""The recipe of ``build documents``."""

from pathlib import Path
from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from citeforge.schemas.recipes.base import Judging, Licensed, Option, Part
from citeforge.schemas.recipes.groups import (
    DRY,
    EMBEDDING,
    ENDPOINTS,
    LOCAL,
    NEGATIVES,
    QUESTIONS,
    RUNNER,
    VERDICTS,
    Group,
)
from citeforge.schemas.recipes.rage import DEFAULT_MIXTURE, Mining, Mixture

PASSAGE_SIZE = 900
"""Characters of a passage: about 150 English words."""
MOST_MEGABYTES = 100
"""Size up to which a document is read."""
SINGLE, PAIR, LIST, ABSENT = FORMS = ("single", "pair", "list", "absent")
"""Forms of questions: one passage answers, two passages together answer, the answer is a list, the
documents do not answer."""


class QuestionShares(Part):
    """Proportions of the forms of questions."""

    single: Annotated[int, QUESTIONS] = Field(50, ge=0)
    """Share of questions that one passage answers."""
    pair: Annotated[int, QUESTIONS] = Field(20, ge=0)
    """Share of those that take two passages together."""
    lists: Annotated[int, Option("--list"), QUESTIONS] = Field(20, ge=0)
    """Share of those with several answers."""
    absent: Annotated[int, QUESTIONS] = Field(10, ge=0)
    """Share of those that no passage answers."""

    @model_validator(mode="after")
    def _require_a_share(self) -> Self:
        """Refuse shares without any question that the documents answer."""
        if not (self.single or self.pair or self.lists):
            raise ValueError("--single, --pair or --list must be above 0")
        return self


class Asking(Part):
    """Settings for writing and checking questions."""

    tries: Annotated[int, QUESTIONS] = Field(3, ge=1)
    """Maximum questions written for each one wanted."""
    closed_book: Annotated[int, QUESTIONS] = Field(3, ge=0)
    """Tries of the LLM without any passage; a question that it then answers is dropped."""
    longest_copy: Annotated[int, QUESTIONS] = Field(7, ge=1)
    """Maximum words in a row that a question takes from its passage."""
    neighbours: Annotated[int, QUESTIONS] = Field(50, ge=1)
    """Nearest passages of a question in which the answer is looked for."""
    shown: Annotated[int, QUESTIONS] = Field(5, ge=1)
    """Nearest passages that the LLM reads, to test whether the question needs its evidence."""


class DocumentsRecipe(Licensed):
    """Questions about your documents, with the passages that answer them: no queries needed.

    An LLM writes questions about passages, and checks reject unsound ones; every rejected question
    is kept with the reason. Nothing is paid for twice: replies are kept in OUT.replay.db (or
    --store), verdicts in OUT.verdicts.db (or --verdicts).
    """

    kind: ClassVar[str] = "documents"
    run_options: ClassVar[tuple[Group, ...]] = (
        EMBEDDING,
        VERDICTS,
        LOCAL,
        DRY,
        ENDPOINTS,
        RUNNER,
    )
    no_batch: ClassVar[str] = "questions are written and checked in rounds until there are enough"

    source: Annotated[str, Option(input=True)]
    """folder:PATH, or another source of passages (corpus:PATH), which are not cut."""
    llm: Annotated[str, Option(input=True, names="llms")]
    """LLM that writes questions and tries to answer them: {llms}."""
    n_queries: Annotated[int, Option("--queries")] = Field(200, ge=1)
    """Number of questions."""
    shares: QuestionShares = QuestionShares()
    """Proportions of the forms of questions."""
    seed: int = 0
    """Seed of every draw."""
    asking: Asking = Asking()
    """Settings for writing and checking questions."""
    judging: Judging = Judging()
    """Judge that decides whether passages entail answers."""
    embedder: Annotated[str, Option(input=True, names="embedders")] = "offline"
    """Embedder of questions and passages: {embedders}."""
    embedder_revision: Annotated[str | None, EMBEDDING] = None
    """Commit, tag or branch of a Hub model."""
    passage_size: Annotated[int, QUESTIONS] = Field(PASSAGE_SIZE, ge=100)
    """Maximum characters per passage."""
    largest_file: Annotated[int, QUESTIONS] = Field(MOST_MEGABYTES, ge=1)
    """Maximum megabytes of a file; larger ones are left out. JSON Lines is read at any size."""
    mining: Mining = Mining()
    """Mining of negatives."""
    mixtures: Annotated[tuple[Mixture, ...], Option("--mixture", metavar="NAME=REL,IRR,SEEM")] = (
        Field((DEFAULT_MIXTURE,), min_length=1)
    )
    """Context set, repeatable (default mix=3,3,3)."""
    decided: Annotated[Path | None, Option(metavar="audit.json", input=True), NEGATIVES] = None
    """Drop negatives that an audit decided are relevant."""
    labels: Annotated[tuple[Path, ...], Option(metavar="LABELS.jsonl", input=True)] = ()
    """People's relevance labels of passages (labels import), repeatable."""

    @property
    def questions_per_form(self) -> dict[str, int]:
        """Number of questions by form, rounded so that they add up to ``n_queries``."""
        own = self.shares
        shares = (own.single, own.pair, own.lists, own.absent)
        exact = {f: self.n_queries * s / sum(shares) for f, s in zip(FORMS, shares, strict=True)}
        numbers = {form: int(n) for form, n in exact.items()}
        rest = sorted(FORMS, key=lambda k: (numbers[k] - exact[k], FORMS.index(k)))
        for form in rest[: self.n_queries - sum(numbers.values())]:
            numbers[form] += 1
        return numbers
