"""The recipes of all kinds, for what builds; what needs one record alone imports its module."""

from citeforge.schemas.recipes.answers import AlceRecipe, HagridRecipe
from citeforge.schemas.recipes.authorship import AuthorshipRecipe
from citeforge.schemas.recipes.base import Recipe, RunOptions
from citeforge.schemas.recipes.kalma import KalmaRecipe
from citeforge.schemas.recipes.rage import RageRecipe
from citeforge.schemas.recipes.twins import TwinsRecipe

__all__ = [
    "AlceRecipe",
    "AuthorshipRecipe",
    "HagridRecipe",
    "KalmaRecipe",
    "RageRecipe",
    "Recipe",
    "RunOptions",
    "TwinsRecipe",
]
