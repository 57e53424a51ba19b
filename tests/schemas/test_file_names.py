"""Names of files that Windows, and disks that ignore case, take."""

import ntpath
from pathlib import PureWindowsPath

import pytest
from pydantic import ValidationError

from citeforge.builders.package import safe_name
from citeforge.library import systems
from citeforge.plugins.leaderboard.views import slug
from citeforge.schemas.file_names import portable_name
from citeforge.schemas.recipes.rage import RageRecipe
from citeforge.schemas.recipes.systems import System


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("con", "con_"),
        ("CON.html", "CON_.html"),
        ("Nul.tar.gz", "Nul_.tar.gz"),
        ("com1", "com1_"),
        ("lpt³.txt", "lpt³_.txt"),
        ("con.icon", "con_.icon"),
        ("console.html", "console.html"),
        ("com10", "com10"),
        ("a.con", "a.con"),
    ],
)
def test_names_of_devices_get_an_underscore(name: str, expected: str) -> None:
    assert portable_name(name) == expected
    assert not PureWindowsPath(expected).is_reserved()


def named(name: str) -> System:
    """Declare a system of a name."""
    return System(name=name, argument="", help="", factory=list)


@pytest.mark.parametrize("name", ["aux", "exec:python C:\\my.py", "http://h:8000/a?b=c", "a*|<>"])
def test_files_named_after_what_users_type(name: str) -> None:
    for made in (safe_name(name), slug(name, set()), *systems._file_names([named(name)])):
        assert not PureWindowsPath(made).is_reserved()
        assert not set(made) & set('<>:"/\\|?* ')
        assert ntpath.basename(made) == made
        assert not made.endswith((".", " "))


def test_names_differ_in_more_than_case() -> None:
    names = systems._file_names([named("exec:a"), named("exec:A"), named("exec:a!")])
    assert len({name.casefold() for name in names}) == 3
    with pytest.raises(ValidationError, match="duplicate mixture name"):
        RageRecipe(source="beir:x", mixtures=("mix=1,1,1", "Mix=1,1,0"))
