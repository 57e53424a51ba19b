"""What makes the vectors of a RAGE build, and in which numbers it computes."""

from collections.abc import Callable
from typing import get_args

from citeforge.builders.stages.shards import vector_facts
from citeforge.builders.stages.workspace import Workspace
from citeforge.engines.embedding.embed import TransformerEmbedder
from citeforge.engines.embedding.embedder import Embedder, Prefixes
from citeforge.engines.models.compute import choose_compute
from citeforge.engines.setup import run_embedder
from citeforge.schemas.errors import UsageError
from citeforge.schemas.recipes.base import checked
from citeforge.schemas.recipes.compute import Chosen
from citeforge.schemas.recipes.records import RageRecipe, RunOptions

EmbedderMaker = Callable[[], Embedder]


def recipe_embedder(recipe: RageRecipe, run: RunOptions) -> Embedder:
    """The embedder that a recipe names."""
    prefixes = None
    if recipe.query_prefix is not None or recipe.passage_prefix is not None:
        prefixes = Prefixes(recipe.query_prefix or "", recipe.passage_prefix or "")
    return run_embedder(
        recipe.embedder,
        run,
        revision=recipe.embedder_revision,
        prefixes=prefixes,
        compute=recipe.compute,
    )


def settle_compute(
    recipe: RageRecipe,
    run: RunOptions,
    place: Workspace,
    make: EmbedderMaker | None,
    may_choose_int8: bool,
) -> tuple[RageRecipe, Embedder | None]:
    """The recipe with what is computed in (as it says, as begun, or as the processor can), and
    the embedder, as far as one was made for that.

    Raises:
        UsageError: this machine cannot, or the embedder does not compute here.
    """
    if run.from_shards is not None:  # the processor that made them may be another
        stored = vector_facts(run.from_shards).compute
        if recipe.compute == "auto":
            recipe = checked(RageRecipe, **{**recipe.model_dump(), "compute": stored})
        return recipe, None
    settled = recipe
    if recipe.compute == "auto" and run.resume:
        begun = place.begun()
        if isinstance(begun, RageRecipe):
            settled = recipe.model_copy(update={"compute": begun.compute})
    embedder = recipe_embedder(settled, run) if make is None else make()
    if (
        make is None
        and may_choose_int8
        and settled.compute == "auto"
        and isinstance(embedder, TransformerEmbedder)
        and choose_compute("auto", run.device) == "int8"
    ):
        settled = recipe.model_copy(update={"compute": "int8"})
        embedder = recipe_embedder(settled, run)
    # Of the workers' processors where a runner embeds; what is served has none.
    if (compute := getattr(embedder, "compute", None)) in get_args(Chosen):
        return recipe.model_copy(update={"compute": compute}), embedder
    if recipe.compute != "auto":
        raise UsageError(
            f"--compute {recipe.compute}: {recipe.embedder} does not compute here; leave it out"
        )
    return recipe, embedder
