"""Settings file of a machine (``citeforge.toml``): limits, prices and timeouts of all commands."""

import os
import tomllib
from collections.abc import Collection
from pathlib import Path
from typing import Any

from citeforge.schemas.errors import InputError, suggestion

# In two parts: as one text it would look like the name of a module.
FILE = Path("citeforge").with_suffix(".toml")
NAMED = "CITEFORGE_CONFIG"


def settings_file() -> Path | None:
    """Find the settings file: CITEFORGE_CONFIG's, else ``./citeforge.toml``; None if missing.

    Returns:
        None where neither is there.

    Raises:
        InputError: ``CITEFORGE_CONFIG`` names no file.
    """
    text = os.environ.get(NAMED)
    path = Path(text) if text else FILE
    if path.is_file():
        return path
    if text:
        raise InputError(
            f"{NAMED} does not name a file",
            path=path,
            allowed="a file like citeforge.toml",
            code="missing-file",
        )
    return None


def read_settings(path: Path, legal_names: Collection[str]) -> dict[str, str]:
    """Read a TOML settings file: option names and values, as typed on a command line.

    Args:
        path: TOML file with one value per key.
        legal_names: legal keys, names of options without the dashes.

    Raises:
        InputError: no TOML, a key that is no setting, or a value that no option takes.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"is not TOML ({error})", path=path, code="bad-toml") from error
    words = {}
    for key, value in content.items():
        if key not in legal_names:
            raise InputError(
                f"unknown setting {key!r}{suggestion(key, legal_names)}",
                path=path,
                field=key,
                allowed=f"settings: {', '.join(sorted(legal_names))}",
                code="unknown-field",
            )
        words[key] = _option_text(path, key, value)
    return words


def _option_text(path: Path, key: str, value: Any) -> str:
    """Write the value of a setting as it would be typed on a command line.

    Args:
        path: the settings file, for the error.
        key: name of the setting.
        value: its value in TOML.
    """
    if isinstance(value, list) and value and all(isinstance(v, int | float | str) for v in value):
        return ",".join(map(str, value))
    if isinstance(value, int | float | str):
        return str(value)
    raise InputError(
        "is neither a number nor a text",
        path=path,
        field=key,
        allowed='such as rpm = 60, price = [0.15, 0.60] or device = "cpu"',
        code="wrong-type",
    )
