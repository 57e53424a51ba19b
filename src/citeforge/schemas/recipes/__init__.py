"""A recipe is the record of a build: everything that its tables depend on, one record a kind."""

from __future__ import annotations

from citeforge.schemas.recipes.answers import AlceRecipe, HagridRecipe
from citeforge.schemas.recipes.authorship import AuthorshipRecipe
from citeforge.schemas.recipes.base import Recipe
from citeforge.schemas.recipes.kalma import KalmaRecipe
from citeforge.schemas.recipes.rage import RageRecipe
from citeforge.schemas.recipes.run import RunOptions
from citeforge.schemas.recipes.twins import TwinsRecipe

RECIPES: dict[str, type[Recipe]] = {
    recipe.kind: recipe
    for recipe in (
        RageRecipe,
        HagridRecipe,
        AlceRecipe,
        TwinsRecipe,
        AuthorshipRecipe,
        KalmaRecipe,
    )
}
"""Kind to its recipe, in the order of help pages."""

__all__ = [
    "RECIPES",
    "AlceRecipe",
    "AuthorshipRecipe",
    "HagridRecipe",
    "KalmaRecipe",
    "RageRecipe",
    "Recipe",
    "RunOptions",
    "TwinsRecipe",
]
