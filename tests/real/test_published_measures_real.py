"""Readers of numbers and quotations on real answers: what they find in the passages shown."""

from pathlib import Path

import pytest

import citeforge as cf
from citeforge.builders.alce.frozen import build_hagrid
from citeforge.schemas.recipes.answers import HagridRecipe
from citeforge.schemas.recipes.base import RunOptions
from conftest import real_data

pytestmark = pytest.mark.slow


def test_numbers_and_quotations_of_a_real_system(tmp_path: Path) -> None:
    """Of 716 answers of a small model with two passages each."""
    data = real_data()
    recipe = HagridRecipe(source=f"hagrid:{data / 'hagrid' / 'dev.jsonl'}")
    build_hagrid(recipe, RunOptions(out=tmp_path / "gold"))
    names = ["Numbers", "Numbers.Shown", "Quotes.Shown", "CVCP"]
    path = data / "attributed_ir" / "zephyr_RTG_vanilla.jsonl"
    found = cf.score(path, tmp_path / "gold", names, context="own")
    assert {name: round(found[name].value or 0, 2) for name in names} == {
        "Numbers": 55.44, "Numbers.Shown": 96.47, "Quotes.Shown": 92.98, "CVCP": 0.36
    }  # fmt: skip
