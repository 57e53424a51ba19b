"""Recipes: what they allow, and how manifests keep them."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from citeforge.package.kinds import recipes
from citeforge.schemas.authorship import LabelSet
from citeforge.schemas.manifest import Manifest
from citeforge.schemas.recipes.answers import AlceRecipe, HagridRecipe
from citeforge.schemas.recipes.authorship import AuthorshipRecipe
from citeforge.schemas.recipes.base import Recipe, RunOptions, docstring
from citeforge.schemas.recipes.kalma import KalmaRecipe
from citeforge.schemas.recipes.rage import PRESETS, Mining, Mixture, RageRecipe
from citeforge.schemas.recipes.twins import Attempts, Thresholds, TwinsRecipe
from conftest import refused


def manifest(kind: str, config: dict[str, Any], **more: Any) -> Manifest:
    given = {"sources": [], "contexts": {}, "citeforge": "0.1.0", "licence": "mit"} | more
    return Manifest(kind=kind, name="n", config=config, **given)


RECIPES: dict[str, Recipe] = {
    "rage": RageRecipe(
            name="n", licence="mit", source="beir:facts", limit=12, seed=5, embedder="offline",
            mining=Mining(seemingly_relevant=4, keep_self=True), corpus="pool", base=0,
            mixtures=(Mixture(name="a", relevant=1, irrelevant=2, seemingly_relevant=2),),
            skip_contradictions=True,
        ),
    "hagrid": HagridRecipe(name="n", licence="mit", source="hagrid:dev.jsonl", skip_empty=True),
    "alce": AlceRecipe(name="n", licence="mit", source="alce:asqa.json", k=3),
    "twins": TwinsRecipe(
            name="n", benchmark=Path("facts"), llm="openai:m", contexts=("mix",), keep_failed=True,
            attempts=Attempts(limit=2), judging={"judge": "lexical"},
            thresholds=Thresholds(length_ratio=(0.5, 2.0), copy_similarity=0.9),
        ),
    "authorship": AuthorshipRecipe(
            name="n", twins=Path("facts"), origins=("hh", "hl"), base=1,
            label_sets=("human_llm", LabelSet(name="mine", first=("A",), second=("B",))),
            selection={"k": 3, "rule": "any", "seed": 7},
        ),
    "kalma": KalmaRecipe(
            name="n", licence="mit", kg="file:graph.ttl", pairs_from_kg=("father",), limit=4,
            seed=1, choices={"max_facts": 6},
            domain={"name": "people", "entity_class": "Q5"},
            languages=("de", "en"),
        ),
}  # fmt: skip


@pytest.mark.parametrize("kind", RECIPES)
def test_a_recipe_goes_through_a_manifest(kind: str) -> None:
    recipe = RECIPES[kind]
    config = recipe.recorded(found="a fact of the build")
    assert config["recipe"] == 1
    assert "name" not in config
    licence = getattr(recipe, "licence", None)
    assert recipes()[kind].from_manifest(manifest(kind, config, licence=licence)) == recipe


def test_a_fact_never_takes_the_place_of_a_setting() -> None:
    with pytest.raises(AssertionError, match=r"\['seed'\]"):
        RECIPES["rage"].recorded(seed=1, found="a fact of the build")


def test_a_newer_recipe_is_refused() -> None:
    with refused("wrong-version", path="manifest.json", field="config"):
        RageRecipe.from_manifest(manifest("rage", {"recipe": 2}))


def parts(record: type[BaseModel]) -> list[type[BaseModel]]:
    inner = [f.annotation for f in record.model_fields.values()]
    result = [t for t in inner if isinstance(t, type) and issubclass(t, BaseModel)]
    return [record, *(p for t in result for p in parts(t))]


@pytest.mark.parametrize("record", [*recipes().values(), RunOptions])
def test_every_field_says_what_it_is(record: type[BaseModel]) -> None:
    for part in parts(record):
        for name, field in part.model_fields.items():
            assert field.description or docstring(part, name), f"{part.__name__}.{name}"


@pytest.mark.parametrize(
    ("record", "given", "place"),
    [
        (RageRecipe, {"limit": 0}, "limit"),
        (RageRecipe, {"mining": {"max_score": 1.5}}, "mining.max_score"),
        (RageRecipe, {"mining": {"margin": "nan"}}, "mining.margin"),
        (RageRecipe, {"mixtures": []}, "mixtures"),
        (RageRecipe, {"mixtures": ["m=1,1,1", "m=2,0,0"]}, "mixtures"),
        (RageRecipe, {"corpus": "some"}, "corpus"),
        (RageRecipe, {"sed": 1}, "sed"),
        (TwinsRecipe, {"thresholds": {"length_ratio": "2,1"}}, "thresholds.length_ratio"),
        (AuthorshipRecipe, {"origins": "hh,xy"}, "origins"),
        (AuthorshipRecipe, {"selection": {"k": 1}}, "selection.k"),
        (KalmaRecipe, {"choices": {"alpha": 2}}, "choices.alpha"),
    ],
)
def test_bounds(record: type[Recipe], given: dict[str, Any], place: str) -> None:
    needed = {"source": "beir:x"} if record is RageRecipe else {"benchmark": "b"}
    needed |= {"llm": "openai:m"} if record is TwinsRecipe else {}
    needed = {} if record is KalmaRecipe else needed
    record.model_validate(needed)
    with pytest.raises(ValidationError) as caught:
        record.model_validate(needed | given)
    assert [".".join(map(str, e["loc"])) for e in caught.value.errors()] == [place]


def test_mixtures_as_text() -> None:
    result = RageRecipe(source="beir:x", mixtures=("paper_mix", "m=1,2,3")).mixtures
    assert result == (
        PRESETS["paper_mix"],
        Mixture(name="m", relevant=1, irrelevant=2, seemingly_relevant=3),
    )
    assert [str(m) for m in result] == ["paper_mix=4,3,3", "m=1,2,3"]


def test_authorship_starts_from_one_package() -> None:
    for given in ({}, {"benchmark": "b", "twins": "t"}):
        with pytest.raises(ValidationError, match="give --twins DIR, or --benchmark DIR"):
            AuthorshipRecipe.model_validate(given)


def test_a_folder_is_replaced_or_resumed() -> None:
    assert RunOptions(out=Path("x")).if_exists == "refuse"
    assert RunOptions(resume=True).if_exists == "resume"
    with pytest.raises(ValidationError, match="exclude each other"):
        RunOptions(resume=True, overwrite=True)


@pytest.mark.parametrize("licence", ["cc-by4.0", "my-licence", "CC BY 4.0", ""])
def test_a_licence_that_the_hub_would_refuse_is_refused_when_it_is_given(licence: str) -> None:
    with pytest.raises(ValidationError, match="no licence identifier of the Hugging Face Hub"):
        RageRecipe(source="beir:facts", licence=licence)
    with pytest.raises(ValidationError, match="no licence identifier of the Hugging Face Hub"):
        RageRecipe(source="beir:facts", extra_licence=licence)


def test_licences_of_the_hub_in_any_case() -> None:
    for licence in (None, "CC0-1.0", "cc-by-4.0", "other"):
        assert RageRecipe(source="beir:facts", licence=licence).licence == licence
