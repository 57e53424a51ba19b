"""``citeforge recipe``."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("recipe")
@click.argument("what", metavar="KIND|DIR")
def recipe(what: str) -> None:
    """Print a recipe file to start from, or the one that a package was made by."""
    from citeforge.builders.recipes.changes import recipe_of
    from citeforge.builders.recipes.files import recipe_text
    from citeforge.package.kinds import recipe_named, recipes
    from citeforge.package.manifest import load_manifest
    from citeforge.schemas.errors import InputError, UnknownValueError
    from citeforge.schemas.recipes import Recipe

    found: Recipe | type[Recipe] | None = recipe_named(what)
    if found is None:
        if not Path(what).exists():
            raise UnknownValueError("kind", what, recipes())
        found = recipe_of(load_manifest(Path(what)))
    if found is None:
        raise InputError("its manifest does not hold the choices of a build", path=what)
    click.echo(recipe_text(found), nl=False)
