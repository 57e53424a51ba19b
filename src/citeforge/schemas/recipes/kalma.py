"""``build kalma``."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, JsonValue, model_validator

from citeforge.schemas.licences import Licence
from citeforge.schemas.recipes.base import Judging, Licensed, Option, Part, Words
from citeforge.schemas.recipes.groups import (
    CACHE,
    DRY,
    ENDPOINTS,
    GRAPHS,
    LOCAL,
    QUESTIONS,
    ROWS,
    RUNNER,
    VERDICTS,
    Group,
)

DOMAIN_FILE = "domain_file"
"""Field of ``config`` in manifests: name and sha256 of the domain file."""
RULE = "rule"
"""Checker of questions that asks no model."""
AUTO, NONE = "auto", "none"
"""After ``--nearest``: the embedded embedder where it is installed, or no comparison."""


class Choices(Part):
    """Choices that decide how questions evolve."""

    min_facts: Annotated[int, QUESTIONS] = Field(4, ge=1)
    """Minimum facts per question; the number is drawn from a range."""
    max_facts: Annotated[int, QUESTIONS] = Field(8, ge=1)
    """Maximum facts per question."""
    max_shared: Annotated[int, QUESTIONS] = Field(2, ge=0)
    """Maximum number of facts that two questions may have in common."""
    alpha: Annotated[float, QUESTIONS] = Field(0.5, ge=0, le=1)
    """Weight of specificity; 0.5 is ours, the paper gives none."""
    attempts: Annotated[int, QUESTIONS] = Field(3, ge=1)
    """Attempts of the writer at one paragraph or question."""
    stand_in: Annotated[bool, QUESTIONS] = False
    """Fall back to the template when every reply of the writer is rejected (counted); else the
    triple or the pair is given up."""

    @model_validator(mode="after")
    def _require_min_below_max(self) -> Self:
        """Raise an error if ``min_facts`` is above ``max_facts``."""
        if self.min_facts > self.max_facts:
            raise ValueError(f"min_facts {self.min_facts} is above max_facts {self.max_facts}")
        return self


class KalmaRecipe(Licensed):
    """Questions whose answers must cite triples of a knowledge graph (KaLMA).

    Answers of a writer are kept in --store (by default OUT.replay.db), verdicts of a judge in
    --verdicts (OUT.verdicts.db).
    """

    kind: ClassVar[str] = "kalma"
    run_options: ClassVar[tuple[Group, ...]] = (
        GRAPHS,
        VERDICTS,
        LOCAL,
        CACHE,
        DRY,
        ENDPOINTS,
        RUNNER,
    )
    no_batch: ClassVar[str] = "each question depends on the reply before it"
    main_input: ClassVar[str] = "kg"

    licence: Licence = None
    """Licence of the graph's facts (Wikidata: CC0-1.0)."""
    kg: Annotated[str | None, Option(input=True, names="graphs")] = None
    """The graph: {graphs}."""
    domain: Annotated[str | dict[str, JsonValue], Option(metavar="TEXT", input=True)] = "people"
    """`people`, or a .yaml file."""
    languages: Annotated[Words, Option(joined=True), QUESTIONS] = ("en",)
    """Labels are taken in the first of these that has one, then in `mul`; separated by commas."""
    skip_malformed: Annotated[bool, ROWS] = False
    """Leave out malformed statements of --kg file:…, and count them."""
    pairs: Annotated[Path | None, Option(input=True)] = None
    """JSON Lines or CSV: paragraph, first, relation, second."""
    pairs_from_kg: Annotated[Words, Option(metavar="RELATION,…", joined=True)] = ()
    """Take connected pairs from the graph itself, by these relations."""
    one_entity: Annotated[float, Option(metavar="SHARE"), QUESTIONS] = Field(0, ge=0, le=1)
    """Share of the pairs of --pairs-from-kg of which one entity is asked about alone."""
    keep_impossible: Annotated[bool, ROWS] = False
    """Keep pairs with impossible ages or lifetimes (a parent under 10, born after the child, dead
    before birth); else they are dropped. Counted in both cases."""
    source: Annotated[str | None, Option(input=True)] = None
    """kalma:PATH of BioKaLMA's published specific questions."""
    general: Annotated[Path | None, Option(input=True), QUESTIONS] = None
    """File with the general questions of --source."""
    gold: Annotated[Path | None, Option(input=True), QUESTIONS] = None
    """File with the minimum knowledge sets of --source."""
    gold_later: Annotated[Path | None, Option(input=True), QUESTIONS] = None
    """File with the minimum knowledge sets of --source, without facts of round 1."""
    writer: Annotated[str, Option(input=True, names="writers")] = "template"
    """Writer of paragraphs and questions: {writers}."""
    perplexity: Annotated[str, Option(input=True, names="perplexity"), QUESTIONS] = "ngram"
    """Perplexity model: {perplexity}."""
    judging: Judging = Judging()
    """Judge that checks that a sentence says its fact."""
    checker: Annotated[str, Option(input=True, names="checkers"), QUESTIONS] = RULE
    """Check of what the rules leave open in a model's questions: {checkers} (rule: they are
    refused)."""
    nearest: Annotated[str, Option(input=True, names="embedders"), QUESTIONS] = AUTO
    """Embedder that finds the nearest known wording of a clause in other words: {embedders}; none;
    or auto, which is offline where that is installed. The template's questions need none."""
    choices: Choices = Choices()
    """Settings of the evolution of questions."""
    retrieved: Annotated[bool, QUESTIONS] = False
    """Freeze what the baseline's retrieval finds, too: the context set `retrieved`."""
    ner: Annotated[str | None, Option(metavar="MODEL", input=True), QUESTIONS] = None
    """Installed spaCy model that finds names for --retrieved (default: the graph's own labels)."""
    limit: int | None = Field(None, ge=1)
    """Maximum number of pairs."""
    seed: int = 0
    """Seed of every draw."""

    def with_file_names(self) -> Self:
        """Copy the recipe, with the domain file's name in place of its content."""
        if isinstance(self.domain, str):
            return self
        name = self.domain["name"]
        return self.model_copy(update={"domain": name if name == "people" else f"{name}.yaml"})

    def with_recorded_files(self, config: Mapping[str, Any]) -> Self:
        """Copy the recipe, with the domain file's name that a manifest's ``config`` records."""
        own = config.get(DOMAIN_FILE)
        return self.model_copy(update={"domain": own["name"]}) if own else self
