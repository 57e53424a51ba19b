"""How a field of a record is said in one word of a command line, and what its help says: the text
below it in the source, read when somebody asks.

pydantic's ``use_attribute_docstrings`` reads it whenever a class is made, which took a tenth of
the time of a short command, and a third where much had been imported before.
"""

import ast
import inspect
import textwrap
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator


def docstring(record: type[BaseModel], name: str) -> str:
    """The text below a field in the class that declares it last; empty where there is none."""
    declaring = (c for c in record.__mro__ if name in vars(c).get("__annotations__", {}))
    return _docstrings(next(declaring)).get(name, "")


def with_docstrings(schema: dict[str, Any], record: type[BaseModel]) -> None:
    """Texts below fields as descriptions of a JSON schema (pydantic's ``json_schema_extra``)."""
    fields = {field.alias or name: name for name, field in record.model_fields.items()}
    for word, content in schema.get("properties", {}).items():
        text = docstring(record, fields[word]) if word in fields else ""
        if text and "description" not in content:
            content["description"] = text


@cache
def _docstrings(declaring: type) -> dict[str, str]:
    """Texts by field; none of a class without source, as one of an interactive session."""
    try:
        source = textwrap.dedent(inspect.getsource(declaring))
    except (OSError, TypeError):
        return {}
    body = next(n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.ClassDef)).body
    return {
        field.target.id: inspect.cleandoc(text.value.value)
        for field, text in pairwise(body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and isinstance(text.value.value, str)
    }


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
