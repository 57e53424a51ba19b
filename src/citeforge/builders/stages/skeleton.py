"""What every build does; a builder adds its stages and tables.

Open recipe and sources → compare with what is there (finished or half done: the same recipe goes
on, another one is refused) → stages with keys → tables → stats, card, manifest → rename.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Generic, TypeVar

from citeforge.builders.packaging.hiding import hide
from citeforge.builders.packaging.package import PackageWriter, safe_name
from citeforge.builders.packaging.secret import secret_in
from citeforge.builders.stages.workspace import Workspace
from citeforge.schemas.benchmarks.manifest import GrammarInfo, Manifest
from citeforge.schemas.benchmarks.sources import SourceInfo
from citeforge.schemas.recipes.base import Hideable, Recipe
from citeforge.schemas.recipes.run import RunOptions
from citeforge.schemas.version import __version__

R = TypeVar("R", bound=Recipe)
Stats = dict[str, object]
"""Descriptive statistics by name: numbers, texts, lists and dictionaries of them."""


class Build(ABC, Generic[R]):
    """One build.

    Attributes:
        recipe: everything that the tables depend on.
        run: where and how.
        workspace: where stages and package grow.
        found: fields of the manifest that are learnt while the tables are made.
    """

    def __init__(self, recipe: R, run: RunOptions) -> None:
        self.recipe = recipe
        self.run = run
        self.workspace = self.make_workspace()
        self.found: dict[str, Any] = {}

    def make_workspace(self) -> Workspace:
        """Where stages and package grow."""
        return Workspace(self.run.folder, self.run.if_exists)

    @abstractmethod
    def draft(self) -> Manifest:
        """Open the sources: all of the manifest that is known before the tables are made."""

    @cached_property
    def secret(self) -> bytes | None:
        """What order, draws and ids are keyed by; None where labels are not to be hidden.

        Raises:
            InputError: ``--secret-from`` names a folder without one.
        """
        if not (isinstance(self.recipe, Hideable) and self.recipe.hidden):
            return None
        return secret_in(self.workspace.root, self.run.secret_from)

    def stages(self) -> None:
        """Work that is kept when a build is cut off; each stage has a key."""

    @abstractmethod
    def tables(self, writer: PackageWriter) -> Stats:
        """Write the tables; what else the manifest is to say goes into ``found``."""

    def make(self) -> Manifest:
        """Build the package, go on with a build that was cut off, or take a finished one.

        Returns:
            The manifest of the finished package.

        Raises:
            InputError: a source or the output folder is at fault, or what is there is of another
                recipe.
        """
        with self.workspace.building() as workspace:
            draft = self.draft()
            known = workspace.taken(draft)
            if known is not None:
                return known
            self.stages()
            writer = PackageWriter(workspace.start("package"))
            stats = self.tables(writer)
            if self.secret is not None:
                hide(writer, self.secret, workspace.start("hiding"))
            return writer.finish(draft.model_copy(update=self.found), stats)

    def manifest(
        self,
        config: dict[str, Any],
        sources: Sequence[SourceInfo],
        licence: str | None,
        models: dict[str, dict[str, Any]],
        grammar: GrammarInfo | None = None,
    ) -> Manifest:
        """A manifest of this build without the fields that its tables decide."""
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
