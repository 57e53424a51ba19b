"""Converted models on this disk, by the hash of what they were made from."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from citeforge.engines.io.files import (
    canonical_json,
    read_json,
    remove_tree,
    sha256_file,
    storage_errors,
    write_text,
)
from citeforge.schemas.errors import InputError

VARIABLE = "CITEFORGE_CACHE"
_MARKER = "whole.json"


def root() -> Path:
    """``CITEFORGE_CACHE``, or ``citeforge`` in the user's cache folder."""
    folder = os.environ.get(VARIABLE)
    if folder:
        return Path(folder)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "citeforge"


def kept(key: str, make: Callable[[Path], None]) -> Path:
    """The folder of a key; made when it is not there or not whole.

    Args:
        key: digest of everything that the content depends on.
        make: fills an empty folder.

    Raises:
        InputError: the disk does not take it.
    """
    folder = root() / "models" / key
    if _is_whole(folder):
        return folder
    with storage_errors(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix=".new-", dir=folder.parent))
        try:
            make(fresh)
            content = {p.name: sha256_file(p) for p in sorted(fresh.iterdir())}
            write_text(fresh / _MARKER, canonical_json(content) + "\n")
            if not _is_whole(folder):  # another process may have been faster
                remove_tree(folder)
                fresh.rename(folder)
        finally:
            remove_tree(fresh)
    return folder


def _is_whole(folder: Path) -> bool:
    try:
        content = read_json(folder / _MARKER)
        return bool(content) and all(sha256_file(folder / n) == s for n, s in content.items())
    except (InputError, OSError, AttributeError, TypeError):
        return False  # a damaged marker vouches for nothing: the model is converted again
