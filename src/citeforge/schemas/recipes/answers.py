"""``build hagrid`` and ``build alce``."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from citeforge.schemas.recipes.base import Licensed
from citeforge.schemas.recipes.option import Option


class HagridRecipe(Licensed):
    """HAGRID's questions with their quotes as contexts, and all gold answers."""

    kind: ClassVar[str] = "hagrid"

    source: Annotated[str, Option(input=True)]
    """hagrid:PATH or hagrid-hub:SPLIT."""
    skip_empty: bool = False
    """Skip, and count, passages without text."""


class AlceRecipe(Licensed):
    """ALCE's items with their first documents as contexts, and all gold."""

    kind: ClassVar[str] = "alce"

    source: Annotated[str, Option(input=True)]
    """alce:PATH."""
    k: int = Field(5, ge=1)
    """Documents a context."""
    skip_empty: bool = False
    """Skip, and count, passages without text."""
