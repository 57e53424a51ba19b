"""Texts below the fields of records, as help and as descriptions."""

from typing import Annotated

from pydantic import ConfigDict, Field

from citeforge.schemas.recipes.base import Option, Part, Recipe, docstring
from citeforge.schemas.recipes.flags import list_flags


class Inner(Part):
    deep: Annotated[int, Option(flag="--depth")] = 3
    """How deep,
    in metres."""
    plain: int = 1


class Outer(Recipe):
    """Text of the class is no field's."""

    first: int = Field(1, description="Said in the field.")
    """Not said here."""
    inner: Inner = Inner()

    def method(self) -> None:
        """Nor is that of a method."""


class Narrower(Outer):
    model_config = ConfigDict(title="narrower")

    first: int = 2
    """Said again."""


def test_help_is_what_stands_below_a_field() -> None:
    assert {flag.name: flag.help for flag in list_flags(Outer)} == {
        "--name": "Name in signatures and card (default: the folder's).",
        "--first": "Said in the field.",
        "--depth": "How deep, in metres.",
        "--plain": "",
    }
    assert {flag.name: flag.help for flag in list_flags(Narrower)}["--first"] == "Said again."


def test_schemas_describe_fields() -> None:
    schema = Narrower.model_json_schema()
    assert schema["title"] == "narrower"
    assert schema["properties"]["first"]["description"] == "Said again."
    deep = schema["$defs"]["Inner"]["properties"]["deep"]
    assert deep["description"] == "How deep,\nin metres."
    assert "description" not in schema["$defs"]["Inner"]["properties"]["plain"]
    assert Outer.model_json_schema()["properties"]["first"]["description"] == "Said in the field."


def test_a_class_of_a_session_has_no_texts() -> None:
    space = {"Part": Part, "__name__": "session"}
    exec('class Typed(Part):\n    seen: int = 1\n    """Lost."""\n', space)
    typed = space["Typed"]
    assert isinstance(typed, type) and issubclass(typed, Part)
    assert docstring(typed, "seen") == ""
    assert typed.model_json_schema()["properties"]["seen"]["default"] == 1
