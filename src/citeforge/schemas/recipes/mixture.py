"""How many passages of each label a context holds."""

import re
from typing import Any

from pydantic import Field, model_validator

from citeforge.schemas.benchmarks.tables import LABELS
from citeforge.schemas.recipes.base import Part

_TEXT = re.compile(
    r"(?P<name>\w+)=(?P<relevant>\d+),(?P<irrelevant>\d+),(?P<seemingly_relevant>\d+)"
)

RESERVED = {"own": "with passages of their own", "none": "without any passages"}
"""Names of context sets that mean something else in submissions."""


class Mixture(Part):
    """How many passages of each label a context holds (RAGE, section 3.2).

    May be given as text: ``NAME=REL,IRR,SEEM``, or the name of a preset.
    """

    name: str = Field(pattern=r"^\w+$")
    """Name of the context set; letters, digits and underscores."""
    relevant: int = Field(ge=0)
    """At most this many."""
    irrelevant: int = Field(ge=0)
    """This many, fewer only when the query has fewer."""
    seemingly_relevant: int = Field(ge=0)
    """Likewise."""

    @model_validator(mode="before")
    @classmethod
    def _read(cls, value: Any) -> Any:
        """Read a mixture as it is typed: ``mix=3,3,3``, or the name of a preset."""
        if not isinstance(value, str):
            return value
        if value in PRESETS:
            return dict(PRESETS[value])
        match = _TEXT.fullmatch(value)
        if not match:
            raise ValueError(
                "expected NAME=REL,IRR,SEEM with NAME of letters, digits and underscores "
                f"(mix=3,3,3), or a preset: {', '.join(PRESETS)}"
            )
        return match.groupdict()

    @model_validator(mode="after")
    def _holds_some(self) -> "Mixture":
        if self.name in RESERVED:
            raise ValueError(
                f"{self.name!r} cannot be scored: submissions call by that name answers "
                f"{RESERVED[self.name]}; give the mixture another one"
            )
        if self.total == 0:
            raise ValueError("holds no passages")
        return self

    def __str__(self) -> str:
        return f"{self.name}={self.relevant},{self.irrelevant},{self.seemingly_relevant}"

    @property
    def sizes(self) -> dict[str, int]:
        """Label to count."""
        return {label: getattr(self, label) for label in LABELS}

    @property
    def total(self) -> int:
        """Passages a full context holds."""
        return sum(self.sizes.values())


PRESETS = {
    # RAGE, appendix B: the relevant ones constant, the rest varied.
    "paper_mix": Mixture(name="paper_mix", relevant=4, irrelevant=3, seemingly_relevant=3),
    "paper_irrelevant": Mixture(
        name="paper_irrelevant", relevant=4, irrelevant=6, seemingly_relevant=0
    ),
    "paper_seemingly": Mixture(
        name="paper_seemingly", relevant=4, irrelevant=0, seemingly_relevant=6
    ),
}
DEFAULT_MIXTURE = Mixture(name="mix", relevant=3, irrelevant=3, seemingly_relevant=3)
