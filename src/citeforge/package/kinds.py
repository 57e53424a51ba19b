"""The one base class of kinds of benchmark, and functions that find kinds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from citeforge.engines.catalogue import Catalogue
from citeforge.engines.ledger import open_ledger
from citeforge.package.kind_facts import KindFacts
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.manifest import Manifest
from citeforge.schemas.recipes.base import Recipe, RunOptions

if TYPE_CHECKING:
    from citeforge.engines.llm.budget import RunPlan
    from citeforge.package.items import Item, Labelling

_ENDS_WITHOUT_REPLIES = ("no-queries", "no-relevant")
"""Errors of builds whose models are not asked: nothing is left."""


class Kind(ABC):
    """Kind of benchmark: how it is built, read, checked and scored.

    The classes that fill this in are above all folders that ask them, in ``citeforge/kinds`` and in
    plugins, each in one file with its facts. A package names its kind, so it is above this class:
    what is ``Any`` here is a :class:`~citeforge.package.package.Package` there.

    Attributes:
        facts: what is known of it without a package.
    """

    facts: KindFacts

    @property
    def name(self) -> str:
        """Name of this benchmark kind, in commands and manifests."""
        return self.facts.name

    @property
    def form(self) -> str:
        """Name of this benchmark kind, as users type it."""
        return self.facts.name

    @property
    def help(self) -> str:
        """One-line description of this benchmark kind."""
        return self.facts.about

    @abstractmethod
    def build(self, recipe: Recipe, run: RunOptions) -> Manifest:
        """Build a benchmark package from a recipe, or continue an interrupted build.

        It starts with :func:`~citeforge.builders.build.open_build`.

        Returns:
            The manifest of the finished package.

        Raises:
            InputError: a source, a model, a plugin or the output folder is at fault.
            UsageError: options that do not go together.
        """

    def plan(self, recipe: Recipe, run: RunOptions) -> RunPlan:
        """Count a build's calls to models behind endpoints, and their cost, without any call.

        This rehearses the build in a folder that is removed. Builds in several rounds, whose
        requests depend on replies, count them in a plan of their own.

        Raises:
            InputError: a source or a plugin is at fault.
            UsageError: the options do not go together.
        """
        from citeforge.engines.llm.budget import planned_total
        from citeforge.engines.running.setup import dry_run_options

        with TemporaryDirectory(prefix="citeforge-") as folder, open_ledger() as ledger:
            try:
                self.build(recipe, dry_run_options(run, Path(folder) / "plan", *recipe.llms))
            except InputError as end:
                if end.code not in _ENDS_WITHOUT_REPLIES or not ledger.planned:
                    raise
            return planned_total(ledger)

    def propose(self, recipe: Recipe, run: RunOptions) -> str:
        """Let an LLM propose settings of a recipe in a file that users edit; return a message.

        Returns:
            Text for the user: what was written, or of a dry run what would be asked.

        Raises:
            InputError: a source or the LLM's reply is at fault.
            UsageError: this kind has no such proposals.
        """
        raise UsageError(f"build {self.name} has no settings to propose", code="unsupported")

    def blind(self, config: str, table: pa.Table) -> pa.Table:
        """Remove gold labels from a table that is to be published in a package's public half.

        Only tables of the facts' ``blinded`` are passed.

        Args:
            config: config of the table, such as ``contexts``.
            table: the table with gold.
        """
        return table

    @abstractmethod
    def items(self, package: Any, context: str, query_id: str | None) -> Iterator[Item]:
        """Yield the queries of a context set, or just one, with the passages or triples shown.

        Args:
            package: a :class:`~citeforge.package.package.Package`.
            context: name of the context set.
            query_id: the only query wanted; None for all.
        """

    @abstractmethod
    def check_consistency(self, package: Any) -> Iterator[tuple[str, str]]:
        """Check a package's tables against each other; yield (table, problem) for each fault.

        Args:
            package: a :class:`~citeforge.package.package.Package`.
        """

    def read_answers(self, reads: str, submission: Any, measures: Sequence[Any], tools: Any) -> Any:
        """Compute measures on answers of a type (``reads``) special to this kind, such as triples.

        Answers to single context sets of passages are read alike for all kinds, and not here:
        :func:`~citeforge.evaluator.measures.results.read_passages`.

        Args:
            reads: what the measures read, one of the facts' ``readings`` but ``passages``.
            submission: a :class:`~citeforge.evaluator.submissions.submission.Submission`.
            measures: what is computed.
            tools: judge, segmenter and options.

        Returns:
            A :class:`~citeforge.evaluator.measures.results.ScoredSubmission`.
        """
        raise NotImplementedError(f"{self.name} benchmarks have no answers to {reads}")

    def labelling(self, package: Any, context: str) -> Labelling | None:
        """Read the author labels that a context set's prompts put on passages; None without any.

        Args:
            package: a :class:`~citeforge.package.package.Package`.
            context: context set of the prompts.
        """
        return None

    def trace(self, package: Any, query: str) -> str | None:
        """Describe how a query was generated, round by round; None if that was not recorded."""
        return None


KINDS: Catalogue[Kind, None] = Catalogue("kinds", "benchmark kind", Kind)  # type: ignore[type-abstract]
"""Kinds of benchmark by name: those of ``citeforge/kinds`` (entry points, as the table
``citeforge.kinds`` of pyproject.toml names them), and those of plugins."""


def kind_of(manifest: Manifest, path: object = None) -> Kind:
    """Look up the benchmark kind that a package's manifest names.

    Args:
        manifest: of a package.
        path: its folder, for the message.

    Raises:
        InputError: this installation does not know it, or a plugin that should give it is broken.
        UsageError: two plugins give it.
    """
    kind = KINDS.find(manifest.kind)
    if kind is None:
        raise InputError(
            f"has the unknown benchmark kind {manifest.kind!r}",
            path=path,
            allowed=f"known: {', '.join(KINDS.names())}; another may come with a plugin",
            code="wrong-kind",
        )
    return kind


def kind_of_recipe(recipe: Recipe) -> Kind:
    """Look up the benchmark kind that a recipe builds.

    Raises:
        UnknownValueError: no such kind is installed.
        UsageError: benchmarks of the kind are not built.
    """
    kind = KINDS.get(recipe.kind)
    if kind.facts.recipe is None:
        raise UsageError(f"{kind.name} benchmarks cannot be built", code="wrong-kind")
    return kind


def recipe_named(name: str) -> type[Recipe] | None:
    """Look up the recipe class of a benchmark kind by name; None if there is none.

    Raises:
        InputError: the plugin that defines the kind is broken.
        UsageError: two plugins define it.
    """
    kind = KINDS.find(name)
    return None if kind is None else kind.facts.recipe


def recipes() -> dict[str, type[Recipe]]:
    """Map names of benchmark kinds that can be built to recipe classes, in help pages' order."""
    return {
        name: row.facts.recipe for name, row in KINDS.all().items() if row.facts.recipe is not None
    }


def built_in_kinds() -> list[Kind]:
    """List the built-in benchmark kinds, those that no plugin defines."""
    return [KINDS.get(name) for name, origin in KINDS.names().items() if not origin]


def plugin_of(name: str) -> str | None:
    """Get the plugin (name and version) that defines a benchmark kind; None if built-in."""
    return KINDS.names().get(name) or None
