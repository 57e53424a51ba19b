"""Cells of bundles: what is shown, and what must hold between them."""

from __future__ import annotations

from pathlib import Path

import pytest

from citeforge.builders.bundles.build import build_deflection, build_faithfulness, build_position
from citeforge.builders.bundles.verify import wrong_bundle
from citeforge.builders.verify import verify
from citeforge.package.package import Package
from citeforge.schemas.errors import InputError
from citeforge.schemas.recipes import (
    DeflectionRecipe,
    FaithfulnessRecipe,
    PositionRecipe,
    RunOptions,
)
from citeforge.schemas.recipes.mixture import Mixture
from citeforge.schemas.refusals import RULES, checked_detector, is_refusal
from conftest_bundles import N, sixty


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sixty(tmp_path_factory.mktemp("sixty"))


def labels(package: Package, cell: str) -> list[list[str]]:
    rows = package.context_table(cell)["docs"].to_pylist()
    return [[d["label"] for d in row] for row in rows]


def ids(package: Package, cell: str) -> list[list[str]]:
    rows = package.context_table(cell)["docs"].to_pylist()
    return [[d["corpus-id"] for d in row] for row in rows]


def test_deflection(base: Path, tmp_path: Path) -> None:
    manifest = build_deflection(DeflectionRecipe(benchmark=base), RunOptions(out=tmp_path / "d"))
    package = Package(tmp_path / "d")
    assert list(verify(tmp_path / "d")) == []
    assert manifest.counts["queries with one relevant passage, whose partial cell counts nowhere"] \
        == N // 2  # fmt: skip
    answerable, partial, related = (labels(package, c) for c in package.contexts)
    for row in range(N):
        n = 4 if row % 2 == 0 else 1
        assert answerable[row].count("relevant") == n
        assert partial[row].count("relevant") == n // 2  # 2 of 4, 0 of 1
        assert related[row].count("relevant") == 0
        assert {len(c[row]) for c in (answerable, partial, related)} == {5}
    # What is not taken away stays where it was.
    for a, r, label in zip(ids(package, "answerable")[0], ids(package, "related")[0],
                           answerable[0], strict=True):  # fmt: skip
        assert (a == r) == (label != "relevant")


def test_faithfulness(base: Path, tmp_path: Path) -> None:
    build_faithfulness(FaithfulnessRecipe(benchmark=base), RunOptions(out=tmp_path / "f"))
    package = Package(tmp_path / "f")
    assert list(verify(tmp_path / "f")) == []
    original, removed, decoy = (ids(package, c) for c in package.contexts)
    for row in range(N):
        assert labels(package, "original")[row].count("relevant") == 1
        assert "relevant" not in labels(package, "removed")[row]
        (gone,) = [i for i, (a, b) in enumerate(zip(original[row], removed[row], strict=True))
                   if a != b]  # fmt: skip
        assert labels(package, "original")[row][gone] == "relevant"
        (new,) = [b for a, b in zip(original[row], decoy[row], strict=True) if a != b]
        text = package.texts([new])[new][1]
        # The decoy ends with the sentence that holds the answer.
        assert text.endswith(f"It is long. Town {row} was founded in {1000 + row}.")


def test_position(base: Path, tmp_path: Path) -> None:
    build_position(PositionRecipe(benchmark=base, k=4), RunOptions(out=tmp_path / "p"))
    package = Package(tmp_path / "p")
    assert list(verify(tmp_path / "p")) == []
    assert package.contexts == [f"rotation_{i}" for i in range(4)]
    for row in range(N):
        rotations = [ids(package, c)[row] for c in package.contexts]
        a, b, c, d = rotations[0]
        assert rotations[1:] == [[d, a, b, c], [c, d, a, b], [b, c, d, a]]
        assert labels(package, "rotation_0")[row].count("relevant") == (2 if row % 2 == 0 else 1)


def test_builds_are_the_same_again_and_sampled(base: Path, tmp_path: Path) -> None:
    recipe = DeflectionRecipe(benchmark=base, sample=10, refusals="rules:en,de")
    first = build_deflection(recipe, RunOptions(out=tmp_path / "a"))
    second = build_deflection(recipe, RunOptions(out=tmp_path / "b"))
    assert first.benchmark_hash != ""
    changed = {f for f in first.files if first.files[f] != second.files.get(f)}
    assert changed <= {"README.md", "stats.json"}  # its folder's name
    assert len(Package(tmp_path / "a").query_ids) == 10
    other = build_deflection(recipe.model_copy(update={"seed": 1}), RunOptions(out=tmp_path / "c"))
    assert other.benchmark_hash != first.benchmark_hash


def test_bundles_that_cannot_be(base: Path, tmp_path: Path) -> None:
    run = RunOptions(out=tmp_path / "x")
    with pytest.raises(InputError, match=r"no query qualifies \(60 queries with fewer than 30"):
        build_faithfulness(FaithfulnessRecipe(benchmark=base, k=30), run)
    with pytest.raises(InputError):
        build_position(PositionRecipe(benchmark=tmp_path), run)


def test_a_bundle_with_wrong_cells_is_told(base: Path, tmp_path: Path) -> None:
    build_position(PositionRecipe(benchmark=base, k=3), RunOptions(out=tmp_path / "p"))
    manifest = Package(tmp_path / "p").manifest
    cells = {**manifest.config["bundle"], "cells": ["rotation_0", "rotation_2", "rotation_1"]}
    for config, message in (
        ({"bundle": cells}, "are not the context sets"),
        ({}, "cannot be read"),
    ):
        changed = manifest.model_copy(update={"config": config})
        (found,) = wrong_bundle(Package(tmp_path / "p", changed))
        assert message in found[1]


SAID = {
    "en": "I cannot answer this from the passages.",
    "de": "Die Frage kann anhand der Texte nicht beantwortet werden.",
    "es": "No puedo responder a la pregunta.",
    "fr": "Les passages ne contiennent pas la réponse.",
    "it": "Non è possibile rispondere alla domanda.",
    "nl": "Ik kan deze vraag niet beantwoorden.",
    "pt": "Não é possível responder à pergunta.",
}
ANSWERED = {
    "en": "The bridge was not built before 1831; no other bridge is older.",
    "de": "Die Brücke wurde 1831 gebaut.",
    "es": "El puente se construyó en 1831.",
    "fr": "Le pont a été construit en 1831.",
    "it": "Il ponte fu costruito nel 1831.",
    "nl": "De brug werd in 1831 gebouwd.",
    "pt": "A ponte foi construída em 1831.",
}


def test_refusals_of_every_language() -> None:
    assert set(SAID) == set(RULES)
    for language, said in SAID.items():
        assert is_refusal(said, f"rules:{language}"), language
        assert not is_refusal(ANSWERED[language], f"rules:{language}"), language
    # Rules of one language do not see the others', which is why one must be named.
    assert not is_refusal(SAID["de"], "rules:en")
    assert is_refusal(SAID["de"], "rules:en,de")
    assert is_refusal("  ", "rules:en")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("rules", "need a language"),
        ("rules:", "need a language"),
        ("rules:en,xx", "no rules for the language 'xx'"),
        ("words", "detects no refusals"),
    ],
)
def test_detectors_that_are_refused(given: str, message: str, base: Path) -> None:
    with pytest.raises(ValueError, match=message):
        checked_detector(given)
    with pytest.raises(ValueError, match=message):
        DeflectionRecipe(benchmark=base, refusals=given)


def test_names_that_submissions_use_are_no_mixtures() -> None:
    for name in ("own", "none"):
        with pytest.raises(ValueError, match="cannot be scored"):
            Mixture(name=name, relevant=1, irrelevant=0, seemingly_relevant=0)
