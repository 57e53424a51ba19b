"""Options of ``audit``."""

from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, model_validator

from citeforge.schemas.recipes.base import Judging, Option, Words
from citeforge.schemas.recipes.groups import JUDGE, QUESTIONS
from citeforge.schemas.recipes.kalma import AUTO, RULE
from citeforge.schemas.recipes.rage import CONTAINED


class AuditOptions(Judging):
    """Options of ``audit``: optional checks, and the models that make them."""

    judge: Annotated[str | None, Option(input=True, names="judges")] = None
    """Judge of whether negatives entail gold answers: {judges}."""
    against: tuple[Path, ...] = Field((), description="Another split, for leaks; repeatable.")
    """Other splits, for leaks."""
    cross_encoder: Annotated[str | None, JUDGE] = None
    """Model that scores negatives: a folder or a Hub id."""
    least_score: Annotated[float, JUDGE] = 0.5
    """Minimum score at which the cross-encoder finds a negative relevant."""
    strong_judge: Annotated[str | None, Option(input=True, names="judges"), JUDGE] = None
    """Judge of negatives that rules or --judge suspect: {judges}. Its decisions are kept row by
    row, for --decided of build rage."""
    checker: Annotated[str, Option(input=True, names="checkers"), QUESTIONS] = RULE
    """Check of whether questions about a graph ask for their gold: {checkers} (rule: words of the
    relations)."""
    nearest: Annotated[str, Option(input=True, names="embedders"), QUESTIONS] = AUTO
    """Embedder that compares clauses of questions with wordings: {embedders}; none; auto: the one
    that the build recorded, where it need not be downloaded."""
    contained: Annotated[float, JUDGE] = Field(CONTAINED, gt=0, le=1)
    """Minimum share of text in common with a relevant passage for a negative to be a suspect."""
    exploits: bool = False
    """Score degenerate systems, too: empty answers, refusals, copies, all or no citations, random
    ones, instructions to a judge, and copies of what is nearest to the question (the line to
    beat). Measures that need a judge ask --judge."""
    exploit_measures: Annotated[Words, Option(joined=True, names="measures")] = ()
    """Measures or families that --exploits scores besides those of the headline, separated by
    commas."""
    labels: Path | None = None
    """Labels of negatives, from labels import."""
    known_flaws: Path | None = None
    """Accepted flaws (JSON Lines)."""
    accept: bool = False
    """Write all flaws found to --known-flaws."""
    strict: bool = False
    """Fail on a flaw that is not accepted, and on a stale entry."""

    @model_validator(mode="after")
    def _require_other_option(self) -> Self:
        """Raise an error if an option is given without the one that it depends on."""
        if self.exploit_measures and not self.exploits:
            raise ValueError("--exploit-measures needs --exploits")
        if (self.strict or self.accept) and self.known_flaws is None:
            raise ValueError("--strict and --accept need --known-flaws FILE")
        return self
