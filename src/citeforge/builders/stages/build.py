"""The two ends of every build; a builder is one function that runs from the first to the second.

Open recipe and sources → compare with what is there (finished or half done: the same recipe goes
on, another one is refused) → stages with keys → tables → stats, card, manifest → rename::

    with building(recipe, run) as build:
        draft = build.draft(recipe.recorded(), sources, licence, models)
        if (finished := build.finished(draft)) is not None:
            return finished
        writer = build.package()
        writer.add("queries", "queries", table)
        return build.finish(draft, writer, {"queries": table.num_rows}, contexts=contexts)
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from citeforge.builders.packaging.hiding import hide, secret_in
from citeforge.builders.packaging.package import PackageWriter, safe_name
from citeforge.builders.stages.workspace import Workspace
from citeforge.schemas.benchmarks.manifest import GrammarInfo, Manifest
from citeforge.schemas.benchmarks.sources import SourceInfo
from citeforge.schemas.recipes.base import Hideable, Recipe
from citeforge.schemas.recipes.run import RunOptions
from citeforge.schemas.version import __version__

Stats = dict[str, object]
"""Descriptive statistics by name: numbers, texts, lists and dictionaries of them."""


@contextmanager
def building(recipe: Recipe, run: RunOptions) -> "Iterator[Build]":
    """Hold the folder of a build; its package appears there when the block ends well.

    Raises:
        InputError: the output folder is at fault.
    """
    with Workspace(run.folder, run.if_exists).building() as workspace:
        yield Build(recipe, run, workspace)


@dataclass(frozen=True)
class Build:
    """One build.

    Attributes:
        recipe: everything that the tables depend on.
        run: where and how.
        workspace: where stages and package grow.
    """

    recipe: Recipe
    run: RunOptions
    workspace: Workspace

    def draft(
        self,
        config: dict[str, Any],
        sources: Sequence[SourceInfo],
        licence: str | None,
        models: dict[str, dict[str, Any]],
        grammar: GrammarInfo | None = None,
    ) -> Manifest:
        """All of the manifest that is known before the tables are made."""
        return Manifest(
            kind=self.recipe.kind,
            name=safe_name(self.recipe.name or self.workspace.out.name),
            citeforge=__version__,
            licence=licence,
            sources=list(sources),
            config=config,
            models=models,
            grammar=grammar or GrammarInfo(),
            contexts={},
        )

    def finished(self, draft: Manifest) -> Manifest | None:
        """The package that a build which is resumed has finished already; None where it has not.

        Raises:
            InputError: what is there is of another recipe.
        """
        return self.workspace.taken(draft)

    def secret(self) -> bytes | None:
        """What order, draws and ids are keyed by; None where labels are not to be hidden.

        Raises:
            InputError: ``--secret-from`` names a folder without one.
        """
        if not (isinstance(self.recipe, Hideable) and self.recipe.hidden):
            return None
        return secret_in(self.workspace.root, self.run.secret_from)

    def package(self) -> PackageWriter:
        """A package without tables yet."""
        return PackageWriter(self.workspace.start("package"))

    def finish(
        self, draft: Manifest, writer: PackageWriter, stats: Stats, **learnt: Any
    ) -> Manifest:
        """Hide what is to be hidden, and write stats, card and manifest.

        Args:
            draft: of :meth:`draft`.
            writer: of the package, with all its tables.
            stats: descriptive statistics.
            learnt: fields of the manifest that were learnt while the tables were made.

        Returns:
            The manifest of the finished package.
        """
        if (secret := self.secret()) is not None:
            hide(writer, secret, self.workspace.start("hiding"))
        return writer.finish(draft.model_copy(update=learnt), stats)
