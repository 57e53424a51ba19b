"""The folder in which a build happens until it is whole.

A build of ``OUT`` works in ``OUT.partial`` beside it; only a finished package takes the name
``OUT``, in one rename. Stages leave a marker with a key of everything they depend on; a resumed
build takes a stage only when the key is the same, and a finished package only when its recipe is.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from citeforge.builders.recipes.changes import recipe_of, require_same, require_same_choices
from citeforge.engines.io.files import (
    canonical_json,
    digest,
    read_json,
    remove_tree,
    sha256_file,
    storage_errors,
    write_text,
)
from citeforge.engines.io.folders import (
    is_taken,
    partial_of,
    put_in_place,
    refuse_strangers,
    staging_directory,
)
from citeforge.package.manifest import load_intact, load_manifest, unknown_files
from citeforge.schemas.benchmarks.manifest import SECRET, Manifest
from citeforge.schemas.errors import InputError
from citeforge.schemas.recipes.base import Recipe
from citeforge.schemas.recipes.run import IfExists

_RECIPE = "recipe.json"
_STAGES = ("archives", "corpus", "mapping", "embeddings", "package", "hiding")
_KNOWN = (_RECIPE, SECRET, *_STAGES, *(f"{s}.json" for s in _STAGES))


class Workspace:
    """Where a build keeps its stages, and where its package grows.

    Attributes:
        out: final name of the package.
        root: ``OUT.partial``.
        package: the package while it is not whole.
    """

    def __init__(self, out: Path, if_exists: IfExists) -> None:
        self.out = out
        self.if_exists = if_exists
        self.root = partial_of(out)
        self.package = self.root / "package"
        self._had_stages = False
        self._taken: Manifest | None = None

    @contextmanager
    def building(self) -> "Iterator[Workspace]":
        """Hold the folder; publish when the block ends well, unless a finished package was taken.

        On an error nothing is left behind that helps nobody.

        Raises:
            InputError: something is there already that may not be replaced, or another process
                builds there.
        """
        with staging_directory(self.out, _KNOWN):
            self._had_stages = any(
                p.name.removesuffix(".json") in _STAGES for p in self.root.iterdir()
            )
            try:
                self._admit()
                yield self
            except Exception:
                # Nothing is left behind, unless finished work is worth resuming.
                if not self._had_stages and not any(self.root.rglob("*.f16")):
                    self._clear()
                raise
            with storage_errors(self.out):
                if self._taken is None:
                    put_in_place(self.package, self.out)
                self._clear()

    def _admit(self) -> None:
        """Only a package of ours is ever replaced, and only when that was asked for."""
        if is_taken(self.out):
            names = unknown_files(self.out)
            if names:
                refuse_strangers(self.out, names)
            if self.if_exists == "refuse":
                raise InputError(
                    "exists already and is not empty",
                    path=self.out,
                    allowed="another --out, or --overwrite, or --resume to continue a build",
                )
        if self._had_stages and self.if_exists == "refuse":
            raise InputError(
                "is left from an unfinished build",
                path=self.root,
                allowed="--resume to continue it, or --overwrite to start anew",
            )
        if self.if_exists == "overwrite":
            self._clear()
            self._had_stages = False

    def taken(self, draft: Manifest) -> Manifest | None:
        """The finished package at ``out``, when this build is to resume it and is the same.

        A half-done build goes on only by the same recipe, too.

        Args:
            draft: all of the manifest that is known before the tables are made.

        Returns:
            Its manifest; None when there is something to build.

        Raises:
            InputError: it was made by another recipe (names what differs), or is damaged.
        """
        if self.if_exists == "resume" and is_taken(self.out):
            self._taken = load_intact(self.out)
            require_same(self._taken, draft, self.out)
            return self._taken
        if begun := self._half_done():
            require_same_choices(begun, draft, self.root)
        write_text(self.root / _RECIPE, canonical_json(draft.model_dump(mode="json")) + "\n")
        return None

    def _half_done(self) -> Manifest | None:
        marker = self.root / _RECIPE
        if not (self._had_stages and marker.is_file()):
            return None
        return Manifest.model_validate(read_json(marker))

    def begun(self) -> Recipe | None:
        """The recipe of what is here already: a finished package, or a half-done build."""
        begun = load_manifest(self.out) if is_taken(self.out) else self._half_done()
        return None if begun is None else recipe_of(begun)

    def stage(self, name: str) -> Path:
        """Folder of a stage."""
        return self.root / name

    def alone(self, name: str) -> AbstractContextManager[object]:
        """While a stage is looked for and, if need be, made: the whole folder is ours anyway."""
        return nullcontext()

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
        files, record = content.get("files"), content.get("record")
        if not (isinstance(files, dict) and isinstance(record, dict)):
            return None
        for file, expected in files.items():
            path = self.root / name / file
            if not path.is_file() or sha256_file(path) != expected:
                return None
        return record

    def start(self, name: str) -> Path:
        """Empty folder for a stage that is to be done (again)."""
        folder = self.stage(name)
        with storage_errors(self.out):
            (self.root / f"{name}.json").unlink(missing_ok=True)
            remove_tree(folder)
            folder.mkdir(parents=True)
        return folder

    def finish(self, name: str, key: Any, files: dict[str, str], record: dict[str, Any]) -> None:
        """Record that a stage is whole: its key, its files with sha256, and its results."""
        content = {"key": digest(key), "files": files, "record": record}
        write_text(self.root / f"{name}.json", canonical_json(content) + "\n")

    def _clear(self) -> None:
        for name in _KNOWN:
            remove_tree(self.root / name)
