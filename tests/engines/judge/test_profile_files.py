"""A judge profile is what its file says, wherever that lies."""

import re
from pathlib import Path

from citeforge.builders.rebuild import _find_profiles
from citeforge.engines.judge.profiles import named_profile, profile_version
from citeforge.schemas.recipes.base import Judging
from citeforge.schemas.recipes.rage import RageRecipe

GOOD = {"name": "mine", "architecture": "seq2seq", "prompt": "{premise} {hypothesis}"}


def test_a_profile_is_what_it_says_wherever_it_lies(tmp_path: Path) -> None:
    text = "\n".join([*(f"{k}: '{v}'" for k, v in GOOD.items()), "supported: ['1']"])
    places = [tmp_path / "here" / "judge.yaml", tmp_path / "there" / "other.yaml"]
    for place in places:
        place.parent.mkdir()
        place.write_text(text)
    one, same = (profile_version(named_profile(str(place))) for place in places)
    assert one == same
    assert re.fullmatch(rf"{GOOD['name']}@[0-9a-f]{{8}}", one)
    places[0].write_text(text.replace("['1']", "['0']"))
    assert profile_version(named_profile(str(places[0]))) != one
    # A manifest names the file, not the folder that it lay in.
    told = [
        RageRecipe(
            source="beir:x", judging=Judging(judge="hf:x", judge_profile=str(folder / "judge.yaml"))
        ).recorded()
        for folder in (tmp_path / "here", tmp_path / "there")
    ]
    assert told[0] == told[1]
    assert told[0]["judging"]["judge_profile"] == "judge.yaml"


def test_rebuild_looks_for_a_profile_beside_the_package(tmp_path: Path) -> None:
    recipe = RageRecipe(source="beir:x", judging=Judging(judge="hf:x", judge_profile="judge.yaml"))
    assert _find_profiles(recipe, tmp_path / "package") == {}
    (tmp_path / "judge.yaml").write_text("")
    (result,) = _find_profiles(recipe, tmp_path / "package").values()
    assert result.judge_profile == str(tmp_path / "judge.yaml")
