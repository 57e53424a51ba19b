"""The folder in which a build happens until it is whole.

A build of ``OUT`` works in ``OUT.partial`` beside it; only a finished package takes the name
``OUT``, in one rename. Stages leave a marker with a key of everything they depend on; a resumed
build takes a stage only when the key is the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from citeforge.engines.files import (
    canonical_json,
    digest,
    read_json,
    remove_tree,
    sha256_file,
    sync_folder,
    write_text,
)
from citeforge.schemas.errors import InputError

IfExists = Literal["refuse", "overwrite", "resume"]


class Workspace:
    """Where a build keeps its stages, and where its package grows.

    Attributes:
        out: final name of the package.
        root: ``OUT.partial``.
        package: the package while it is not whole.
    """

    def __init__(self, out: Path, if_exists: IfExists) -> None:
        """Prepare the folder.

        Raises:
            InputError: something is there already, and neither overwriting nor resuming was asked.
        """
        self.out = out
        self.root = out.with_name(f"{out.name}.partial")
        self.package = self.root / "package"
        taken = out.exists() and not (out.is_dir() and not any(out.iterdir()))
        # A finished package may be resumed: the builder compares its configuration.
        resumable = if_exists == "resume" and (out / "manifest.json").is_file()
        if taken and if_exists != "overwrite" and not resumable:
            raise InputError(
                "exists already and is not empty",
                path=out,
                allowed="another --out, or --overwrite, or --resume to continue a build",
            )
        if self.root.exists():
            if if_exists == "refuse":
                raise InputError(
                    "is left from an unfinished build",
                    path=self.root,
                    allowed="--resume to continue it, or --overwrite to start anew",
                )
            if if_exists == "overwrite":
                remove_tree(self.root)
        self._had_stages = self.root.exists()
        self.root.mkdir(parents=True, exist_ok=True)

    def stage(self, name: str) -> Path:
        """Folder of a stage."""
        return self.root / name

    def finished(self, name: str, key: Any) -> dict[str, Any] | None:
        """What a finished stage recorded, if its key is ``key`` and its files are intact."""
        marker = self.root / f"{name}.json"
        if not marker.is_file():
            return None
        try:
            content = read_json(marker)
        except InputError:
            return None  # a damaged marker vouches for nothing: the stage is done again
        if not isinstance(content, dict) or content.get("key") != digest(key):
            return None
        for file, expected in content.get("files", {}).items():
            path = self.root / name / file
            if not path.is_file() or sha256_file(path) != expected:
                return None
        record: dict[str, Any] = content["record"]
        return record

    def start(self, name: str) -> Path:
        """Empty folder for a stage that is to be done (again)."""
        folder = self.stage(name)
        (self.root / f"{name}.json").unlink(missing_ok=True)
        remove_tree(folder)
        folder.mkdir(parents=True)
        return folder

    def finish(self, name: str, key: Any, files: dict[str, str], record: dict[str, Any]) -> None:
        """Record that a stage is whole: its key, its files with sha256, and its results."""
        content = {"key": digest(key), "files": files, "record": record}
        write_text(self.root / f"{name}.json", canonical_json(content) + "\n")

    def publish(self) -> None:
        """Give the package its final name and remove the rest."""
        if self.out.exists():
            remove_tree(self.out)
        self.package.rename(self.out)
        sync_folder(self.out.parent)
        remove_tree(self.root)

    @contextmanager
    def building(self) -> Iterator[Workspace]:
        """Publish when the block ends well; on an error leave nothing behind that helps nobody."""
        try:
            yield self
        except Exception:
            self.discard_if_new()
            raise
        self.publish()

    def remove(self) -> None:
        """Remove the working folder; the final name is not touched."""
        remove_tree(self.root)

    def discard_if_new(self) -> None:
        """After an error: leave nothing behind, unless finished work is worth resuming."""
        if not self._had_stages and not any(self.root.rglob("*.f16")):
            remove_tree(self.root)
