"""``citeforge recipe``."""

from __future__ import annotations

from pathlib import Path

import click

from citeforge.schemas.recipes import RECIPES


@click.command("recipe")
@click.argument("what", metavar="KIND|DIR")
def recipe(what: str) -> None:
    """Print a recipe file to start from, or the one that a package was made by."""
    from citeforge.builders.recipe import recipe_of
    from citeforge.engines.recipe_files import recipe_text
    from citeforge.package.manifest import load_manifest
    from citeforge.schemas.errors import InputError, UnknownValueError

    if what in RECIPES:
        click.echo(recipe_text(RECIPES[what]), nl=False)
        return
    if not Path(what).exists():
        raise UnknownValueError("kind", what, RECIPES)
    found = recipe_of(load_manifest(Path(what)))
    if found is None:
        raise InputError("its manifest does not hold the choices of a build", path=what)
    click.echo(recipe_text(found), nl=False)
