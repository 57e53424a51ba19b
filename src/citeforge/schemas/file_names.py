"""Names of files that every system takes."""

import re

_RESERVED = re.compile(
    r"(?:con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])(?=\.|$)", re.IGNORECASE
)
"""Devices of Windows, whatever ending follows."""


def portable_name(name: str) -> str:
    """Add an underscore to the name of a file or folder that Windows keeps for a device.

    Args:
        name: without other forbidden characters; ``con.html`` becomes ``con_.html``.
    """
    match = _RESERVED.match(name)
    return name if match is None else f"{match[0]}_{name[match.end() :]}"


def is_reserved(name: str) -> bool:
    """Whether Windows keeps the name of a file or folder for a device, such as ``aux.jsonl``."""
    return _RESERVED.match(name) is not None
