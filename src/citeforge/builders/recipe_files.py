"""Recipe files (YAML or JSON): reading with errors by line, and writing with comments."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError

from citeforge.engines.files import read_json
from citeforge.engines.pipes import readable_path
from citeforge.engines.textfiles import line_of_path, read_yaml, record_error
from citeforge.package.kinds import recipe_named, recipes
from citeforge.package.manifest import is_manifest
from citeforge.schemas.errors import InputError
from citeforge.schemas.recipes.base import RECIPE_VERSION, Recipe
from citeforge.schemas.recipes.flags import Flag, list_flags
from citeforge.schemas.recipes.rage import Mixture

_LINE_BREAK = re.compile("[\x85\u2028\u2029]|\\\\(?:x85|u202[89])")
"""Line breaks of Unicode, also as lists show them."""
_NO_YAML = re.compile(r"[^\n -~]")


def read_recipe(path: Path) -> Recipe:
    """Read a recipe file; ``.json`` is JSON, everything else YAML.

    Raises:
        InputError: it cannot be read, or a field is unknown, missing or wrong; names the line, the
            field and what would be right.
    """
    if is_manifest(path):
        raise InputError(
            "is the manifest of a package, not a recipe", path=path,
            allowed=f"to build it again: citeforge build --from {path.parent}",
            code="wrong-kind",
        )  # fmt: skip
    content, root = _parse(path)
    if not isinstance(content, dict):
        raise InputError(
            "is not a recipe", path=path, line=1, allowed="fields with values", code="wrong-type"
        )
    kind = content.pop("kind", None)
    record = recipe_named(kind) if isinstance(kind, str) else None
    if record is None:
        raise InputError(
            "is missing" if kind is None else f"is {kind!r}",
            path=path,
            line=_field_line(root, ["kind"]),
            field="kind",
            allowed=f"one of {', '.join(recipes())}",
            code="missing-field" if kind is None else "unknown-name",
        )
    version = content.pop("recipe", RECIPE_VERSION)
    if not isinstance(version, int) or not 1 <= version <= RECIPE_VERSION:
        raise InputError(
            f"is {version!r}; this citeforge reads recipes up to {RECIPE_VERSION}",
            path=path,
            line=_field_line(root, ["recipe"]),
            field="recipe",
            code="wrong-version",
        )
    try:
        return record.model_validate(content)
    except ValidationError as error:
        raise record_error(record, error, path, root, f"a {record.kind} recipe") from error


def _parse(path: Path) -> tuple[Any, yaml.Node | None]:
    """Parse a recipe file: (content, YAML node with line numbers or None)."""
    if path.suffix != ".json":
        content = read_yaml(path)
        root = yaml.compose(readable_path(path).read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
    else:
        content = read_json(path)
        # YAML knows no tabs and few signs; the lines stay.
        text = _NO_YAML.sub(" ", readable_path(path).read_text(encoding="utf-8-sig"))
        try:
            root = yaml.compose(text, Loader=yaml.SafeLoader)
        except yaml.YAMLError:
            root = None  # JSON that YAML cannot read, as one with long keys: errors have no lines
    return content, root


def _field_line(node: yaml.Node | None, json_path: Sequence[str | int]) -> int | None:
    """Find the line of a recipe's field, or of the nearest field around it.

    Args:
        node: YAML node of the file, which knows lines; None for a file without.
        json_path: names and positions that lead to the field.

    Returns:
        The line from 1; None without a node.
    """
    return None if node is None else line_of_path(node, json_path) or node.start_mark.line + 1


def recipe_text(recipe: Recipe | type[Recipe], fill_placeholders: Callable[[str], str]) -> str:
    """Write a recipe as YAML with a comment for every field.

    Args:
        recipe: with its values, or the class alone: defaults, and nothing where a value is needed.
        fill_placeholders: replaces ``{judges}`` and its like in the help of a field.
    """
    record, values = (recipe, None) if isinstance(recipe, type) else (type(recipe), recipe)
    title = (record.__doc__ or "").strip().splitlines()[0]
    lines = [f"# {title}", f"kind: {record.kind}", f"recipe: {RECIPE_VERSION}"]
    inside: tuple[str, ...] = ()
    for flag in list_flags(record):
        for depth, name in enumerate(flag.field_path[:-1]):
            if flag.field_path[: depth + 1] != inside[: depth + 1]:
                lines += ["", f"{'  ' * depth}{name}:"]
        inside = flag.field_path[:-1]
        margin = "  " * len(inside)
        lines += [] if inside else [""]
        lines.append(f"{margin}# {fill_placeholders(_field_comment(flag))}")
        lines.append(f"{margin}{flag.field_path[-1]}: {_scalar(_value(flag, values))}".rstrip(" "))
    return "\n".join(lines) + "\n"


def _field_comment(flag: Flag) -> str:
    """Write the YAML comment of a recipe's field: its help, bounds and choices."""
    words = {"ge": "at least {}", "gt": "above {}", "le": "at most {}", "lt": "below {}"}
    notes = [words[name].format(f"{limit:g}") for name, limit in flag.bounds.items()]
    if flag.choices:
        notes.append(f"one of {', '.join(map(str, flag.choices))}")
    notes += ["needed"] if flag.field.is_required() else []
    return f"{flag.help} ({'; '.join(notes)})" if notes else flag.help


def _value(flag: Flag, recipe: Recipe | None) -> Any:
    """Get the value of a recipe field to write in a recipe file: the recipe's, or the default.

    Args:
        flag: field of a kind of recipes.
        recipe: recipe with values; None for defaults.
    """
    if recipe is None and flag.field.is_required():
        return None
    return _to_yaml_value(flag.field.get_default() if recipe is None else flag.read_from(recipe))


def _to_yaml_value(value: Any) -> Any:
    """Convert a recipe's value to YAML types: lists, mappings, texts and numbers."""
    if isinstance(value, tuple):
        return [_to_yaml_value(one) for one in value]
    if isinstance(value, Mixture | Path):
        return str(value)
    return value.model_dump(mode="json") if isinstance(value, BaseModel) else value


def _scalar(value: Any) -> str:
    """Write a recipe field's value on one line of YAML; empty for None."""
    if value is None:
        return ""
    several_lines = isinstance(value, str) and "\n" in value
    # YAML folds other line breaks, too, unless they are escaped.
    dumped = yaml.safe_dump(
        value, default_flow_style=True, width=float("inf"),
        allow_unicode=not _LINE_BREAK.search(str(value)),
        default_style='"' if several_lines else None,
    )  # fmt: skip
    return dumped.removesuffix("\n").removesuffix("\n...")
