"""``build twins``."""

from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field, field_validator

from citeforge.schemas.recipes.base import Hideable, Judging, Option, Part, Ratio
from citeforge.schemas.recipes.groups import (
    CACHE,
    DRY,
    ENDPOINTS,
    LOCAL,
    QUESTIONS,
    ROWS,
    RUNNER,
    SECRET,
    VERDICTS,
    Group,
)


class Attempts(Part):
    """Number and temperatures of the attempts to write a twin."""

    limit: Annotated[int, Option("--attempts")] = Field(3, ge=1)
    """Attempts per passage."""
    temperature: float = Field(0.1, ge=0, allow_inf_nan=False)
    """Sampling temperature of the first attempt."""  # "low, close to 0" in the paper
    step: Annotated[float, Option("--temperature-step")] = Field(0.3, ge=0, allow_inf_nan=False)
    """Added to the temperature for every further attempt."""

    def get_temperature(self, attempt: int) -> float:
        """Compute the LLM's sampling temperature for an attempt (from 0) to rewrite a passage."""
        return round(self.temperature + attempt * self.step, 6)


class Thresholds(Part):
    """Limits that a twin must keep to."""

    length_ratio: Annotated[Ratio, Option(metavar="LOW,HIGH", joined=True), QUESTIONS] = (0.8, 1.25)
    """Words of the twin as a share of the passage's."""
    copy_similarity: Annotated[float, QUESTIONS] = Field(0.95, gt=0, le=1)
    """Edit similarity from which a twin is a copy."""

    @field_validator("length_ratio")
    @classmethod
    def _require_ordered_ratio(cls, ratio: tuple[float, float]) -> tuple[float, float]:
        """Raise an error if a range of length ratios is not positive, finite and in order."""
        if not 0 < ratio[0] <= ratio[1] < float("inf"):
            raise ValueError("LOW must be above 0 and at most HIGH")
        return ratio


class TwinsRecipe(Hideable):
    """LLM-written twins of every passage that the contexts name.

    Each twin is checked: length, no copy, numbers, dates, quotations, names, gold answers,
    language, no preamble, no markdown. Answers are kept in --store (by default OUT.replay.db) and
    a judge's verdicts in --verdicts (OUT.verdicts.db), so that nothing is paid for twice, and the
    build can be made again with --llm replay:FILE.
    """

    kind: ClassVar[str] = "twins"
    run_options: ClassVar[tuple[Group, ...]] = (
        VERDICTS,
        LOCAL,
        CACHE,
        DRY,
        ENDPOINTS,
        RUNNER,
        SECRET,
    )
    main_input: ClassVar[str] = "benchmark"

    benchmark: Annotated[Path, Option(input=True)]
    """Package, or hub:ORG/NAME[@REVISION]."""
    llm: Annotated[str, Option(input=True, names="llms")]
    """LLM that writes the twins: {llms}."""
    contexts: Annotated[tuple[str, ...], Option("--context")] = ()
    """Context sets (default: all)."""
    attempts: Annotated[Attempts, QUESTIONS] = Attempts()
    """Attempts at a twin."""
    thresholds: Thresholds = Thresholds()
    """Limits that a twin must keep to."""
    ner: Annotated[str | None, Option(input=True), QUESTIONS] = None
    """Installed spaCy model for named entities, or auto: the one of the extra `ner` where it is
    installed (default: rules)."""
    parser: Annotated[str | None, Option(input=True), QUESTIONS] = "auto"
    """Installed spaCy model of English that parses sentences, to find exchanged roles (auto: that
    of the extra `ner`, where it is installed), or none."""
    embedder: Annotated[str | None, Option(input=True, names="embedders"), QUESTIONS] = None
    """Embedder that compares sentences without a match (default: words alone): {embedders}."""
    judging: Judging = Judging()
    """Judge that checks entailment both ways."""
    keep_failed: Annotated[bool, ROWS] = False
    """Keep queries without an accepted twin."""
