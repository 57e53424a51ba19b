"""The facts of a kind of benchmark."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import pyarrow as pa

from citeforge.schemas.recipes.base import Recipe


class RowMark(NamedTuple):
    """Rows of a table in a package, by the value of a column; their ids are in ``_id``.

    Attributes:
        config: config of the table.
        split: split of the config.
        column: name of the column.
        value: its value in these rows.
    """

    config: str
    split: str
    column: str
    value: str


_LEADING = 3
"""Number of measures of the headline that are shown first, each with a leaderboard on the Hub."""


@dataclass(frozen=True, kw_only=True)
class KindFacts:
    """Facts of a kind of benchmark; a kind that is like another one replaces some of its facts.

    Attributes:
        name: as in ``citeforge build NAME`` and in manifests.
        recipe: record of a build of it, whose ``kind`` is the name; None where its packages come
            from elsewhere.
        about: what a benchmark of it consists of, as cards say it.
        paper: source whose paper describes it; cards cite it.
        task_categories: of the Hub.
        tables: config to Arrow schema of the tables that a package may have.
        shows: what systems are shown and cite.
        questions: split of ``queries`` whose rows are the queries.
        other_questions: context sets that ask the queries in another form, to its split.
        is_design: whether the context sets are the cells of one experiment, which are answered and
            scored together.
        readings: what a measure may read of answers (``reads``): ``passages``, and what
            ``Kind.read_answers`` reads.
        template: prompt template that is taken when none is named: a built-in one, or a Jinja file.
        default_measures: families of measures that are computed when none are named.
        headline: measures that sum up scores, the best first; none where values are of several
            context sets together.
        annotation: annotation tasks that look at a benchmark of it.
        public: tables of which ``publish --hide-gold`` publishes all rows.
        blinded: tables of which it publishes what ``Kind.blind`` leaves; all other tables stay in
            the gold half.
        withheld: context sets that stay there, too: beside others they tell what is gold.
        whole_corpus: field of the manifest's ``config`` and the value that says that the package
            holds all passages.
        unanswerable: rows of the queries that nothing in the package answers; None for no queries.
        refusals: what is not offered, to why not: ``hide-gold``, ``run SYSTEM``;
            ``export`` is about layouts of what it does not show, ``annotate`` about other tasks.
    """

    name: str
    recipe: type[Recipe] | None
    about: str
    paper: str
    tables: Mapping[str, pa.Schema]
    readings: tuple[str, ...]
    default_measures: tuple[str, ...]
    task_categories: tuple[str, ...] = ("question-answering", "text-retrieval")
    shows: Literal["passages", "triples"] = "passages"
    questions: str = "queries"
    other_questions: Mapping[str, str] = field(default_factory=dict)
    is_design: bool = False
    template: str = "rage"
    headline: tuple[str, ...] = ()
    annotation: tuple[str, ...] = ()
    public: tuple[str, ...] = ()
    blinded: tuple[str, ...] = ()
    withheld: tuple[str, ...] = ()
    whole_corpus: tuple[str, str] | None = None
    unanswerable: RowMark | None = None
    refusals: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raise an error if a benchmark kind and its recipe have different names."""
        if self.recipe is not None and self.name != self.recipe.kind:
            raise ValueError(
                f"the kind {self.name!r} has a recipe of the kind {self.recipe.kind!r}; give it "
                "recipe=… with that name, or None"
            )

    @property
    def leading(self) -> tuple[str, ...]:
        """Main measures of the benchmark kind, each with a leaderboard on the Hub."""
        return self.headline[:_LEADING]

    def explain_refusal(self, feature: str) -> str | None:
        """Explain why a benchmark kind does not offer a feature; None if it does.

        Args:
            feature: a key of ``refusals``, such as ``hide-gold``.
        """
        reason = self.refusals.get(feature)
        return None if reason is None else f"not for {self.name} benchmarks: {reason}"
