"""The files of a folder, in an order that depends on their names alone."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HIDDEN, LINK = "hidden", "a link"
"""Why a file or folder is not looked at."""


@dataclass(frozen=True)
class FolderEntry:
    """A file, or what is passed over.

    Attributes:
        name: path in the folder, with slashes; bytes that are no UTF-8 as escapes.
        path: where it lies.
        passed_over: why it is not looked at; empty for a file that is.
    """

    name: str
    path: Path
    passed_over: str = ""


def folder_entries(folder: Path) -> Iterator[FolderEntry]:
    """All files below a folder; a folder that is passed over comes as one entry."""
    yield from _entries(folder, folder)


def _entries(folder: Path, root: Path) -> Iterator[FolderEntry]:
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda e: os.fsencode(e.name))
    except OSError as error:
        reason = f"not to be opened ({error.strerror or error})"
        yield FolderEntry(_name(folder, root), folder, reason)
        return
    for entry in entries:
        path = Path(entry.path)
        name = _name(path, root)
        if entry.name.startswith("."):
            yield FolderEntry(name, path, HIDDEN)
        elif entry.is_symlink():
            yield FolderEntry(name, path, LINK)
        elif entry.is_dir():
            yield from _entries(path, root)
        elif entry.is_file():
            yield FolderEntry(name, path)
        else:
            yield FolderEntry(name, path, "no file")


def _name(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix().encode("utf-8", "backslashreplace").decode()
