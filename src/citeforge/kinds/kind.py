"""The record of a kind: plain facts, and hooks for what it does its own way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from citeforge.kinds.hook import Hook
from citeforge.schemas.recipes import Recipe, RunOptions

if TYPE_CHECKING:
    from citeforge.builders.prompts import Labelling
    from citeforge.engines.llm.budget import Plan
    from citeforge.evaluator.benchmark import Benchmark
    from citeforge.evaluator.check_answers import AnswerCheck
    from citeforge.evaluator.reading import Reading
    from citeforge.package.items import Item
    from citeforge.package.package import Package
    from citeforge.publish.leaderboard.queries import QueryPage
    from citeforge.schemas.manifest import Manifest
    from citeforge.schemas.submission import SubmissionLine


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of benchmark.

    Attributes:
        name: as in ``citeforge build NAME`` and in manifests.
        recipe: record of a build of it, whose ``kind`` is the name; None where its packages come
            from elsewhere.
        builder: builds by such a recipe.
        planner: tells the requests of a build beforehand; None where nothing is asked.
        about: what a benchmark of it consists of, in the words of cards.
        paper: source whose paper describes it; cards cite it.
        task_categories: of the Hub.
        tables: config to Arrow schema of the tables that a package may have.
        shows: what systems are shown and cite.
        questions: split of ``queries`` whose rows are the queries.
        other_questions: context sets that ask the queries in another form, to its split.
        is_design: whether the context sets are the cells of one experiment, which are answered and
            scored together.
        items: queries of a context set (of one query) with what systems are shown.
        readings: what a measure may read of answers (``reads``), to the class that reads them so.
        template: prompt template that is taken when none is named: one of ours, or a Jinja file.
        default_measures: families of measures that are computed when none are named.
        headline: measures with a leaderboard of their own on the Hub, the first one first; none
            where values are of several context sets together.
        annotation: annotation tasks that look at a benchmark of it.
        exports: formats that it can be exported to.
        public: tables that ``publish --hide-gold`` publishes without their free metadata.
        blinded: tables of which it publishes a part, to what makes a public table of one; all
            other tables stay in the gold half.
        withheld: context sets that stay there, too: what they leave out tells what is gold.
        whole_corpus: field of the recipe, and its value for packages with the source's whole
            corpus; of other packages only the passages that contexts show are published, for they
            hold judged ones beside them.
        refusals: what is not offered, to why not: ``hide-gold``, ``run SYSTEM``;
            ``export`` and ``annotate`` are about formats and tasks that are not listed.
        problems: what must hold in a package of it beyond hashes and schemas, as (table, what is
            wrong); asked in order.
        pages: the viewer's pages, one a query, given the context sets that systems were scored in.
        labelling: what prompts of a context set say of each passage; None where they say nothing.
        checking: what ``check`` finds in an answer.
        saved_answers: reader of AttriEval's saved outputs; None where they are read as of any kind.
        systems: systems without a model that answer it in their own way, by name.
        trace: how a query was made, round by round; None where nothing is kept of that.
    """

    name: str
    recipe: type[Recipe] | None = None
    builder: Hook[[Any, RunOptions], Manifest] | None = None
    planner: Hook[[Any, RunOptions], Plan] | None = None
    about: str
    paper: str
    task_categories: tuple[str, ...] = ("question-answering", "text-retrieval")
    tables: Mapping[str, pa.Schema]
    shows: Literal["passages", "triples"] = "passages"
    questions: str = "queries"
    other_questions: Mapping[str, str] = field(default_factory=dict)
    is_design: bool = False
    items: Hook[[Package, str, str | None], Iterator[Item]]
    readings: Mapping[str, Hook[..., Reading]]
    template: str = "rage"
    default_measures: tuple[str, ...]
    headline: tuple[str, ...] = ()
    annotation: tuple[str, ...]
    exports: tuple[str, ...]
    public: tuple[str, ...] = ()
    blinded: Mapping[str, Hook[[pa.Table], pa.Table]] = field(default_factory=dict)
    withheld: tuple[str, ...] = ()
    whole_corpus: tuple[str, str] | None = None
    refusals: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[Hook[[Package], Iterator[tuple[str, str]]], ...]
    pages: Hook[[Package, Sequence[str]], Iterator[QueryPage]]
    labelling: Hook[[Package, str], Labelling] | None = None
    checking: Hook[[Benchmark], AnswerCheck]
    saved_answers: Hook[[Path, Benchmark], Iterator[tuple[int, SubmissionLine]]] | None = None
    systems: Mapping[str, Hook[[str, Benchmark, list[str], int, int], Iterator[dict[str, Any]]]] = (
        field(default_factory=dict)
    )
    trace: Hook[[Package, str], str] | None = None

    def __post_init__(self) -> None:
        if self.recipe is not None and self.name != self.recipe.kind:
            raise ValueError(
                f"the kind {self.name!r} has a recipe of the kind {self.recipe.kind!r}; give it "
                "recipe=… with that name, or None"
            )

    @property
    def shows_triples(self) -> bool:
        """Whether systems are shown triples, not passages."""
        return self.shows == "triples"

    def questions_of(self, context: str) -> str:
        """Split of ``queries`` with the texts that a context set asks."""
        return self.other_questions.get(context, self.questions)

    def refusal(self, what: str) -> str | None:
        """Why something is not offered, in words for the user; None where it is.

        Args:
            what: a key of ``refusals``.
        """
        reason = self.refusals.get(what)
        return None if reason is None else f"not for {self.name} benchmarks: {reason}"
