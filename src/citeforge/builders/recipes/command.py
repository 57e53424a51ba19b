"""The command line that makes a benchmark again, from its manifest."""

import shlex

from citeforge.builders.recipes.changes import recipe_of
from citeforge.schemas.benchmarks.manifest import Manifest
from citeforge.schemas.recipes.flags import command_words


def command_of(manifest: Manifest) -> str | None:
    """The ``citeforge build`` command of a package, as a user would type it.

    Folders stand as their names: where a benchmark was built from is nobody's path. None when the
    manifest does not hold all choices, as that of a package which another program made.
    """
    if manifest.config.get("hidden_gold"):
        return "citeforge publish … --hide-gold"
    recipe = recipe_of(manifest)
    if recipe is None:
        return None
    unnamed = recipe.named().model_copy(update={"name": None})
    words = ["citeforge", "build", manifest.kind, *command_words(unnamed), "--out", manifest.name]
    return shlex.join(words)
