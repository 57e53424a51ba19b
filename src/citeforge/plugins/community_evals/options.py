"""What is said of scores that go to a model's page."""

import re
from typing import Annotated, Self

from pydantic import Field, model_validator

from citeforge.schemas.recipes.base import Part
from citeforge.schemas.recipes.option import Option

_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", re.ASCII)


def require_repositories(**named: str | None) -> None:
    """Refuse names that no repository of the Hub can have.

    Args:
        named: options, as fields call them.

    Raises:
        ValueError: names the option.
    """
    for field, value in named.items():
        if value is not None and not _REPOSITORY.fullmatch(value):
            raise ValueError(f"--{field.replace('_', '-')} {value!r}: expected ORG/NAME")


class ResultsOptions(Part):
    """Options of ``publish results``."""

    repo_id: Annotated[str, Option(metavar="ORG/NAME")] = Field(
        description="Dataset repository of the benchmark."
    )
    """Repository of the benchmark."""
    model: Annotated[str, Option(metavar="ORG/NAME")] = Field(
        description="Model repository, which gets a pull request."
    )
    """Repository of the model."""
    revision: str = "main"
    """Of the benchmark's repository."""

    @model_validator(mode="after")
    def _possible(self) -> Self:
        require_repositories(repo_id=self.repo_id, model=self.model)
        return self
