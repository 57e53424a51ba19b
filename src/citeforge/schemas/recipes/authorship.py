"""``build authorship``."""

from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from citeforge.schemas.authorship import AUTHORS, LabelSet, Origin
from citeforge.schemas.recipes.base import (
    Option,
    Part,
    Recipe,
    Words,
    allow_only,
)
from citeforge.schemas.recipes.groups import NEGATIVES, QUESTIONS, ROWS

ORIGINS: dict[str, tuple[Origin, Origin]] = {
    one[0] + other[0]: (one, other) for one in AUTHORS for other in AUTHORS
}
"""Origins of (relevant, non-relevant) passages by their initials."""
Rule = Literal["one", "one-in-list", "any"]
"""``one``: queries with exactly one passage judged relevant; ``one-in-list``: exactly one among
their first k candidates (the paper's words); ``any``: at least one."""


class Selection(Part):
    """Choices that decide queries and passages."""

    k: int = Field(10, ge=2)
    """Passages."""
    rule: Annotated[Rule, Option("--relevant")] = "one"
    """Queries with exactly one judged relevant passage; with one among their first k candidates;
    or with any number."""
    sample: Annotated[int | None, QUESTIONS] = Field(None, ge=1)
    """Sample this many queries."""
    exclude_answers: Annotated[bool, NEGATIVES] = False
    """Leave out non-relevant passages that contain a gold answer."""
    seed: int = 0
    """Seed of sample, positions and labels."""


class AuthorshipRecipe(Recipe):
    """The same passages under every authorship label.

    With --twins the design has all origins; with --benchmark it has human passages and labels
    only, and needs no LLM.
    """

    kind: ClassVar[str] = "authorship"
    main_input: ClassVar[str] = "benchmark"

    benchmark: Annotated[Path | None, Option(input=True)] = None
    """Package whose human passages get labels (without --twins); also hub:ORG/NAME[@REVISION]."""
    twins: Annotated[Path | None, Option(input=True)] = None
    """Package of `build twins`, or hub:ORG/NAME[@REVISION]."""
    origins: Annotated[Words, allow_only("pair of origins", ORIGINS), Option(joined=True)] = ()
    """Who wrote relevant and other passages: hh, hl, lh, ll (default: all; without twins hh)."""
    label_sets: Annotated[tuple[LabelSet | str, ...], Option("--label-set")] = ()
    """human_llm, person_machine, names, placebo; repeatable (default: human_llm and placebo)."""
    labels: Annotated[tuple[Path, ...], Option(input=True)] = ()
    """YAML file with label sets of your own."""
    candidates: Annotated[str, Option(input=True), NEGATIVES] = "mapping"
    """mapping, bm25, dense, context:NAME, or run:FILE (a TREC run)."""
    embedder: Annotated[str, Option(input=True)] = "offline"
    """For --candidates dense."""
    selection: Selection = Selection()
    """Selection of queries and passages."""
    base: Annotated[Literal[0, 1], ROWS] = 0
    """Number that prompts give to the first passage."""

    @model_validator(mode="after")
    def _require_one_start(self) -> Self:
        """Raise an error unless exactly one of ``benchmark`` and ``twins`` is given."""
        if (self.benchmark is None) == (self.twins is None):
            raise ValueError(
                "give --twins DIR, or --benchmark DIR for labels without rewritten texts"
            )
        return self

    @property
    def start(self) -> Path:
        """Folder of the package that provides the passages: ``benchmark``, else ``twins``."""
        return self.benchmark or self.twins or Path()

    def with_file_names(self) -> Self:
        """Copy the recipe, with file names in place of label sets that were read from files."""
        sets = tuple(s for s in self.label_sets if isinstance(s, str))
        files = [Path(f"{s.name}.yaml") for s in self.label_sets if isinstance(s, LabelSet)]
        update = {"label_sets": sets, "labels": (*self.labels, *files)}
        return self.model_copy(update=update)
