"""The base class of all kinds of benchmark, and functions that find kinds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, ClassVar, Literal, TypeVar

import pyarrow as pa

from citeforge.engines.catalogue import Catalogue
from citeforge.engines.ledger import open_ledger
from citeforge.engines.plugins import broken_plugin
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.manifest import Manifest
from citeforge.schemas.recipes.base import Recipe, RunOptions

if TYPE_CHECKING:
    from citeforge.engines.llm.budget import RunPlan

_ENDS_WITHOUT_REPLIES = ("no-queries", "no-relevant")
"""Errors of builds whose models are not asked: nothing is left."""


class Kind(ABC):
    """Kind of benchmark: facts about it, and how it is built.

    :class:`~citeforge.package.package.PackageKind` adds what its packages hold, and
    :class:`~citeforge.evaluator.kinds.ScoredKind` how answers to it are scored. The classes that
    fill these in are above all folders that ask them, in ``citeforge/kinds`` and in plugins.

    Attributes:
        name: as in ``citeforge build NAME`` and in manifests.
        recipe: record of a build of it, whose ``kind`` is the name; None where its packages come
            from elsewhere.
        about: what a benchmark of it consists of, in the words of cards.
        paper: source whose paper describes it; cards cite it.
        task_categories: of the Hub.
        tables: config to Arrow schema of the tables that a package may have.
        shows: what systems are shown and cite.
        questions: split of ``queries`` whose rows are the queries.
        other_questions: context sets that ask the queries in another form, to its split.
        is_design: whether the context sets are the cells of one experiment, which are answered and
            scored together.
        readings: what a measure may read of answers (``reads``).
        template: prompt template that is taken when none is named: a built-in one, or a Jinja file.
        default_measures: families of measures that are computed when none are named.
        headline: measures with a leaderboard of their own on the Hub, the first one first; none
            where values are of several context sets together.
        annotation: annotation tasks that look at a benchmark of it.
        public: tables of which ``publish --hide-gold`` publishes all rows.
        blinded: tables of which it publishes what :meth:`blind` leaves; all other tables stay in
            the gold half.
        withheld: context sets that stay there, too: beside others they tell what is gold.
        whole_corpus: field of the manifest's ``config`` and the value that says that the package
            holds all passages.
        refusals: what is not offered, to why not: ``hide-gold``, ``run SYSTEM``;
            ``export`` is about layouts of what it does not show, ``annotate`` about other tasks.
    """

    name: str
    recipe: type[Recipe] | None = None
    about: str
    paper: str
    task_categories: tuple[str, ...] = ("question-answering", "text-retrieval")
    tables: Mapping[str, pa.Schema]
    shows: Literal["passages", "triples"] = "passages"
    questions: str = "queries"
    other_questions: ClassVar[Mapping[str, str]] = {}
    is_design: bool = False
    readings: tuple[str, ...]
    template: str = "rage"
    default_measures: tuple[str, ...]
    headline: tuple[str, ...] = ()
    annotation: tuple[str, ...] = ()
    public: tuple[str, ...] = ()
    blinded: tuple[str, ...] = ()
    withheld: tuple[str, ...] = ()
    whole_corpus: tuple[str, str] | None = None
    refusals: ClassVar[Mapping[str, str]] = {}

    def __init_subclass__(cls) -> None:
        """Raise an error if a kind of benchmark has another name than its recipe."""
        if cls.recipe is not None and cls.name != cls.recipe.kind:
            raise ValueError(
                f"the kind {cls.name!r} has a recipe of the kind {cls.recipe.kind!r}; give it "
                "recipe=… with that name, or None"
            )

    @property
    def form(self) -> str:
        """What users type: the name."""
        return self.name

    @property
    def help(self) -> str:
        """Description in one line."""
        return self.about

    @abstractmethod
    def build(self, recipe: Recipe, run: RunOptions) -> Manifest:
        """Build a package, or continue an interrupted build; starts with ``open_build``.

        Returns:
            The manifest of the finished package.

        Raises:
            InputError: a source, a model, a plugin or the output folder is at fault.
            UsageError: options that do not go together.
        """

    def plan(self, recipe: Recipe, run: RunOptions) -> RunPlan:
        """Count the calls of a build to all models behind endpoints, and their cost; asks nothing.

        This rehearses the build in a folder that is removed. Builds in several rounds, whose
        requests depend on replies, count them in a plan of their own.

        Raises:
            InputError: a source or a plugin is at fault.
            UsageError: the options do not go together.
        """
        from citeforge.engines.llm.budget import planned_total
        from citeforge.engines.running.setup import rehearsed

        with TemporaryDirectory(prefix="citeforge-") as folder, open_ledger() as ledger:
            try:
                self.build(recipe, rehearsed(run, Path(folder) / "plan", *recipe.llms))
            except InputError as end:
                if end.code not in _ENDS_WITHOUT_REPLIES or not ledger.planned:
                    raise
            return planned_total(ledger)

    def blind(self, config: str, table: pa.Table) -> pa.Table:
        """Remove the gold from a table before it is published (tables of ``blinded`` only)."""
        return table

    def refusal(self, what: str) -> str | None:
        """Explain why this kind of benchmark does not offer a feature; None if it does.

        Args:
            what: a key of ``refusals``.
        """
        reason = self.refusals.get(what)
        return None if reason is None else f"not for {self.name} benchmarks: {reason}"


KINDS: Catalogue[Kind, None] = Catalogue("kinds", "benchmark kind", Kind)  # type: ignore[type-abstract]
"""Kinds of benchmark by name; all are entry points, of citeforge or of plugins."""
Base = TypeVar("Base", bound=Kind)


def kind_of(manifest: Manifest, path: object = None) -> Kind:
    """Look up the kind of benchmark that a package's manifest names.

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
    """Look up the kind of benchmark that a recipe builds.

    Raises:
        UnknownValueError: no such kind is installed.
        UsageError: benchmarks of the kind are not built.
    """
    kind = KINDS.get(recipe.kind)
    if kind.recipe is None:
        raise UsageError(f"{kind.name} benchmarks cannot be built", code="wrong-kind")
    return kind


def require_base(kind: Kind, base: type[Base]) -> Base:
    """Check that a kind of benchmark is of a given subclass of :class:`Kind`, and return it.

    Raises:
        InputError: it is a plugin's, and of another class.
    """
    if isinstance(kind, base):
        return kind
    problem = TypeError(f"it is of type {type(kind).__name__}, not {base.__name__}")
    raise broken_plugin(f"the kind {kind.name!r}", KINDS.names()[kind.name], problem)


def recipe_named(name: str) -> type[Recipe] | None:
    """Look up the recipe class of a kind of benchmark; None if it is unknown or has none.

    Raises:
        InputError: the plugin that defines the kind is broken.
        UsageError: two plugins define it.
    """
    kind = KINDS.find(name)
    return None if kind is None else kind.recipe


def recipes() -> dict[str, type[Recipe]]:
    """Map the kinds of benchmark that can be built to recipe classes, in help pages' order."""
    return {k.name: k.recipe for k in KINDS.all().values() if k.recipe is not None}


def built_in_kinds() -> list[Kind]:
    """List the built-in kinds of benchmark."""
    return [KINDS.get(name) for name, origin in KINDS.names().items() if not origin]


def plugin_of(name: str) -> str | None:
    """Get the plugin (name and version) that defines a kind of benchmark; None if built-in."""
    return KINDS.names().get(name) or None
