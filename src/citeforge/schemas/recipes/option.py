"""How a field of a recipe is said in one word of a command line."""

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BeforeValidator


@dataclass(frozen=True)
class Option:
    """Stands beside a field's type (``Annotated``) where its name does not say enough.

    Attributes:
        flag: name of the option; None for the field's name with dashes.
        metavar: what stands for the value in help texts; None for the type's name.
        joined: the parts of a tuple stand in one word, with commas; otherwise the option repeats.
        hidden: understood, and not listed by ``--help``.
        input: names something that is read: a source, a package, a file, a model.
    """

    flag: str | None = None
    metavar: str | None = None
    joined: bool = False
    hidden: bool = False
    input: bool = False


def _parts(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    return tuple(part.strip() for part in value.split(",") if part.strip())


def _pair(expected: str) -> BeforeValidator:
    def read(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        try:
            one, two = (float(part) for part in value.split(","))
        except ValueError as error:
            raise ValueError(f"expected {expected}") from error
        return one, two

    return BeforeValidator(read)


Words = Annotated[tuple[str, ...], BeforeValidator(_parts)]
"""Several words; as text with commas between them."""
Ratio = Annotated[tuple[float, float], _pair("LOW,HIGH, e.g. 0.8,1.25")]
"""Least and greatest share; as text ``LOW,HIGH``."""
Prices = Annotated[tuple[float, float], _pair("IN,OUT per million tokens, e.g. 0.15,0.60")]
"""Prices of a million prompt and completion tokens; as text ``IN,OUT``."""
