"""What stands below the fields of a record in its source, read when somebody asks.

pydantic's ``use_attribute_docstrings`` reads it whenever a class is made, which took a tenth of
the time of a short command, and a third where much had been imported before.
"""

import ast
import inspect
import textwrap
from functools import cache
from itertools import pairwise
from typing import Any

from pydantic import BaseModel


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
