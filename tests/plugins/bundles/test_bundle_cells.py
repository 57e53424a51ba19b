"""Cells of bundles: what is shown, and what must hold between them."""

import re
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace

import pytest

import citeforge as cf
from citeforge.builders.verify import verify
from citeforge.engines.judge.records import Pair, Verdict
from citeforge.engines.text.refusals import is_refusal
from citeforge.evaluator.submissions.tools import ScoringTools
from citeforge.package.package import Package
from citeforge.plugins.bundles.build import build_bundle, find_problems
from citeforge.plugins.bundles.design import DeflectionRecipe, FaithfulnessRecipe, PositionRecipe
from citeforge.plugins.bundles.measures import _judge_refusals
from citeforge.schemas.recipes.rage import Mixture
from citeforge.schemas.refusals import LANGUAGES, checked_detector
from conftest import ROOT, refused
from conftest_bundles import N


def labels(package: Package, cell: str) -> list[list[str]]:
    rows = package.context_table(cell)["docs"].to_pylist()
    return [[d["label"] for d in row] for row in rows]


def ids(package: Package, cell: str) -> list[list[str]]:
    rows = package.context_table(cell)["docs"].to_pylist()
    return [[d["corpus-id"] for d in row] for row in rows]


def test_deflection(base: Path, tmp_path: Path) -> None:
    manifest = build_bundle(DeflectionRecipe(benchmark=base), cf.RunOptions(out=tmp_path / "d"))
    package = Package(tmp_path / "d")
    assert list(verify(tmp_path / "d")) == []
    assert manifest.counts["queries_with_one_relevant_passage"] \
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
    build_bundle(FaithfulnessRecipe(benchmark=base), cf.RunOptions(out=tmp_path / "f"))
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
    build_bundle(PositionRecipe(benchmark=base, k=4), cf.RunOptions(out=tmp_path / "p"))
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
    first = build_bundle(recipe, cf.RunOptions(out=tmp_path / "a"))
    second = build_bundle(recipe, cf.RunOptions(out=tmp_path / "b"))
    assert first.benchmark_hash != ""
    changed = {f for f in first.files if first.files[f] != second.files.get(f)}
    assert changed <= {"README.md", "stats.json"}  # its folder's name
    assert len(Package(tmp_path / "a").query_ids) == 10
    other = build_bundle(recipe.model_copy(update={"seed": 1}), cf.RunOptions(out=tmp_path / "c"))
    assert other.benchmark_hash != first.benchmark_hash


def test_bundles_that_cannot_be(base: Path, tmp_path: Path) -> None:
    run = cf.RunOptions(out=tmp_path / "x")
    with refused("no-queries", path=base) as caught:
        build_bundle(FaithfulnessRecipe(benchmark=base, k=30), run)
    assert "60 queries with fewer than 30" in str(caught.value)
    with refused("not-a-package", path=tmp_path):
        build_bundle(PositionRecipe(benchmark=tmp_path), run)


def test_a_bundle_with_wrong_cells_is_told(base: Path, tmp_path: Path) -> None:
    build_bundle(PositionRecipe(benchmark=base, k=3), cf.RunOptions(out=tmp_path / "p"))
    manifest = Package(tmp_path / "p").manifest
    cells = {**manifest.config["bundle"], "cells": ["rotation_0", "rotation_2", "rotation_1"]}
    for config, message in (
        ({"bundle": cells}, "are not the context sets"),
        ({}, "cannot be read"),
    ):
        changed = manifest.model_copy(update={"config": config})
        (result,) = find_problems(Package(tmp_path / "p", changed))
        assert message in result[1]


SENTENCES = ROOT / "tests" / "evaluator"
Sentence = tuple[str, bool, str, bool]


def test_a_judge_is_asked_about_texts_in_the_order_of_the_answers() -> None:
    asked: list[str] = []

    class Recorder:
        def ask(self, pairs: Iterable[Pair]) -> dict[Pair, Verdict]:
            known = {pair: Verdict(True) for pair in pairs}
            asked.extend(pair.premise for pair in known)
            return known

    texts = [f"text {n}" for n in range(20)]
    answers = {n: SimpleNamespace(text=text) for n, text in enumerate([*texts, texts[0]])}
    tools = ScoringTools(Recorder())  # type: ignore[arg-type]
    judged = _judge_refusals(SimpleNamespace(tools=tools, by_cell={"cell": answers}))  # type: ignore[arg-type]
    assert asked == list(judged) == texts


def sentences(name: str = "refusals.txt") -> list[Sentence]:
    """(language, whether it refuses, sentence without marks, whether it cites)."""
    lines = (SENTENCES / name).read_text(encoding="utf-8").splitlines()
    rows = [line.split(" ", 2) for line in lines if not line.startswith("#")]
    plain = [re.sub(r" *\[\d+\]", "", text) for *_, text in rows]
    return [(r[0], r[1] == "+", text, text != r[2]) for r, text in zip(rows, plain, strict=True)]


def test_refusals_of_every_language() -> None:
    result = sentences()
    assert {language for language, *_ in result} == set(LANGUAGES)
    for language in LANGUAGES:
        for refuses in (True, False):
            n = sum(s[:2] == (language, refuses) for s in result)
            assert n >= 15, (language, refuses)
    wrong = [x for x in result if is_refusal(x[2], f"rules:{x[0]}", x[3]) != x[1]]
    assert not wrong


def test_refusals_that_the_rules_were_not_written_with() -> None:
    """docs/bundles.md has these figures."""
    told: dict[tuple[str, bool], list[bool]] = {}
    for language, refuses, text, cites in sentences("refusals_held_out.txt"):
        right = is_refusal(text, f"rules:{language}", cites) == refuses
        told.setdefault((language, refuses), []).append(right)
    assert {k[0]: (sum(v), len(v)) for k, v in told.items() if k[1]} == {
        "en": (11, 20), "de": (4, 6), "fr": (5, 6), "es": (6, 6), "zh": (4, 6)
    }  # fmt: skip
    assert all(all(right) for (_, refuses), right in told.items() if not refuses)


def test_rules_are_of_their_language() -> None:
    """Which is why one must be named."""
    german = "Die Frage kann anhand der Texte nicht beantwortet werden."
    assert not is_refusal(german, "rules:en")
    assert is_refusal(german, "rules:en,de")
    assert is_refusal("  ", "rules:en")
    # No answer of another language is taken for a refusal by all rules together.
    every = "rules:" + ",".join(LANGUAGES)
    assert not [s for s in sentences() if not s[1] and is_refusal(s[2], every, s[3])]


def test_what_an_answer_quotes_or_cites_is_no_refusal() -> None:
    assert is_refusal("I don’t know.", "rules:en")
    assert is_refusal('"I don\'t know."', "rules:en")
    assert not is_refusal('"I do not know", said Socrates to the court.', "rules:en")
    # Of the world, where something is cited; of what was shown, it is one all the same.
    world = "There is no information about him before 1564."
    assert is_refusal(world, "rules:en")
    assert not is_refusal(world, "rules:en", cites=True)
    assert is_refusal("The passages do not say when he was born.", "rules:en", cites=True)


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
        with pytest.raises(ValueError, match="is reserved: in submissions it means answers with"):
            Mixture(name=name, relevant=1, irrelevant=0, seemingly_relevant=0)
