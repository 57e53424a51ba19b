"""Reading of a package's manifest, and comparison of the package's files with it."""

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from citeforge.engines.files import digest, read_json, sha256_file
from citeforge.engines.folders import (
    AMENDING,
    files_below,
    finish_amendments,
    is_temporary,
    partial_of,
)
from citeforge.engines.textfiles import validated
from citeforge.schemas.errors import InputError
from citeforge.schemas.manifest import Manifest, benchmark_hash, file_name
from citeforge.schemas.tables import SCHEMA_VERSION

MANIFEST = "manifest.json"
STATS = "stats.json"
CARD = "README.md"
AUDIT, SCORES, BY_HAND = "audit.json", "reference_scores.json", "card.md"
FORM = "form.json"
"""Audit of what the form of passages tells about hidden labels; never in a public half."""
PUBLIC = "public.json"
"""Hashes of the public halves of a package with hidden gold; no part of the package."""
SIGNATURE = "model.sig"
"""Signature of all other files, under the name that model-signing gives it; not in the manifest."""
FRESH_COPY = "a fresh copy of the package"
_A_FILE = "a copy of the file"
_VERSION = ("schema_version", SCHEMA_VERSION)
BESIDE = (AUDIT, FORM, SCORES, BY_HAND, "croissant.json", "eval.yaml")
"""Files that may join a package after its build; the manifest then knows them."""


def pretty_json(value: object) -> str:
    """Format a value as indented JSON with a final line end; equal values give equal text."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with a package.

    Attributes:
        file: relative file or table name.
        message: what is wrong.
        code: kind of problem, as of an error.
    """

    file: str
    message: str
    code: str = "schema-mismatch"

    def __str__(self) -> str:
        """Format the problem as file and message."""
        return f"{self.file}: {self.message}"


def damaged(
    message: str,
    path: Path,
    code: str,
    *,
    field: str | None = None,
    allowed: str = f"{FRESH_COPY}; see: citeforge verify",
) -> InputError:
    """Make the error for a damaged package, which asks for a fresh copy."""
    return InputError(message, path=path, field=field, allowed=allowed, code=code)


def no_package(path: Path) -> InputError:
    """Make the error for a path that is no package: it is missing, unfinished, or inside one."""
    unfinished = partial_of(path)
    around = next((one for one in path.parents if is_manifest(one / MANIFEST)), None)
    allowed = "expected a folder that `citeforge build` made"
    if unfinished.is_dir():
        allowed = (
            f"its build is not finished ({unfinished}): run the same command again with --resume"
        )
    elif path.exists() and around is not None:
        allowed = f"it is part of one: give the folder {around}"
    is_missing = not path.exists() and not unfinished.is_dir()
    message = "does not exist" if is_missing else "is not a benchmark package"
    return InputError(message, path=path, allowed=allowed, code="not-a-package")


def is_manifest(path: Path) -> bool:
    """Whether a file is the manifest of a package, going by its name."""
    return path.name == MANIFEST and path.is_file()


Figure = str | int | float | None
_Stats = dict[str, Figure | list[Figure] | dict[str, Figure]]


def read_stats(folder: Path) -> dict[str, Any]:
    """Read the statistics of a package from its ``stats.json``.

    Raises:
        InputError: it is missing, no JSON, or holds something else.
    """
    path = folder / STATS
    try:
        return dict(msgspec.convert(read_json(path), _Stats))
    except msgspec.ValidationError as error:
        message = f"is not a table of statistics ({error})"
        raise damaged(message, path, "wrong-type", allowed=FRESH_COPY) from error


def load_manifest(folder: Path, has_links: bool = False) -> Manifest:
    """Read a manifest; raise an error if changed or (unless ``has_links``) a link leads outside.

    Args:
        folder: package.
        has_links: accept links that lead out of the package, which ``verify`` lists itself.

    Raises:
        InputError: missing, damaged, changed, or written by a newer version; or a file of the
            package is a link that leads out of it.
    """
    finish_amendments(folder)
    path = folder / MANIFEST
    if not path.is_file():
        raise no_package(folder)
    content = read_json(resolve_package_file(folder, MANIFEST))
    manifest = validated(Manifest, content, path, version=_VERSION)
    # Of what the file says, not of the record made from it: a newer record has more fields.
    own = digest({**content, "manifest_sha256": ""})
    if manifest.manifest_sha256 != own or path.read_bytes() != pretty_json(content).encode():
        message = "was changed after the build (it does not match its own sha256)"
        raise damaged(message, path, "hash-mismatch", allowed=FRESH_COPY)
    actual = benchmark_hash(manifest.files)
    if manifest.benchmark_hash != actual:
        raise InputError(
            f"{manifest.benchmark_hash} does not match the tables, which give {actual}",
            path=path,
            field="benchmark_hash",
            allowed="download the package again",
            code="hash-mismatch",
        )
    for problem in () if has_links else unsafe_files(folder, manifest):
        raise damaged(problem.message, folder / problem.file, problem.code, allowed=_A_FILE)
    return manifest


def unsafe_files(folder: Path, manifest: Manifest) -> Iterator[Problem]:
    """Yield a problem for each file of a package that is a link or no regular file.

    Every reader refuses a package with such a file, and ``verify`` lists them.
    """
    for name in dict.fromkeys((*manifest.files, STATS, CARD, *BESIDE, PUBLIC)):
        if not os.path.lexists(folder / name):
            continue
        try:
            resolve_package_file(folder, name)
        except InputError as error:
            yield Problem(name, error.message, error.code)


def damaged_files(folder: Path, manifest: Manifest) -> Iterator[Problem]:
    """Yield a problem for each file of a package that is missing, a link, or changed."""
    unsafe = {problem.file: problem for problem in unsafe_files(folder, manifest)}
    yield from (problem for name, problem in unsafe.items() if name not in manifest.files)
    for name, expected in manifest.files.items():
        try:
            actual = sha256_file(resolve_package_file(folder, name))
        except InputError as error:
            yield Problem(name, error.message, error.code)
            continue
        if actual != expected:
            message = f"has the sha256 {actual}, and the manifest says {expected}"
            yield Problem(name, message, "hash-mismatch")


def resolve_package_file(folder: Path, name: str) -> Path:
    """Get the path of a package's file; raise an error for links, except into the Hub's cache.

    Links are followed to the ``blobs`` of the Hub's cache alone.

    Raises:
        InputError: it is missing, a link, or something else than a file (a pipe would never end).
        ValueError: not the name of a file of a package.
    """
    path = folder / file_name(name)
    home = folder.resolve()
    real = Path(os.path.realpath(path))
    if real != home / name and real.parent != home.parent.parent / "blobs":
        raise InputError(
            "is a link, or in a folder that is one",
            path=path,
            allowed=_A_FILE,
            code="link-outside",
        )
    if not real.is_file():
        raise InputError(
            "is not a regular file" if real.exists() else "is missing",
            path=path,
            code="missing-file",
        )
    return path


def list_splits(manifest: Manifest) -> dict[str, list[str]]:
    """Map each table config, such as ``contexts``, to its splits with rows, in file order."""
    splits: dict[str, list[str]] = {}
    for name in manifest.files:
        if name.endswith(".parquet"):
            config, file = name.split("/")
            split = re.sub(r"-\d{5}-of-\d{5}\.parquet$", "", file)
            if split not in splits.setdefault(config, []):
                splits[config].append(split)
    return splits


def unknown_files(folder: Path) -> list[str]:
    """List the files in a package's folder that citeforge did not write, and ``card.md``.

    Raises:
        InputError: not a package, going by what its manifest says.
    """
    advice = "another --out; only what citeforge built is ever replaced"
    path = folder / MANIFEST
    if not path.is_file():
        raise InputError(
            "exists already and is not a benchmark package",
            path=folder,
            allowed=advice,
            code="output-exists",
        )
    manifest = validated(Manifest, read_json(path), path, allowed=advice, version=_VERSION)
    ours = {*manifest.files, *BESIDE, MANIFEST, STATS, CARD, PUBLIC, SIGNATURE} - {BY_HAND}
    return [
        name
        for name in files_below(folder)
        if (folder / name).is_symlink()
        or not (name in ours or name.split("/")[0] == AMENDING or is_temporary(folder / name))
    ]


def load_intact(folder: Path, allow_edited: bool = False) -> Manifest:
    """Read a manifest and check all files' sha256, except (``allow_edited``) hand-written ones.

    Args:
        folder: package.
        allow_edited: accept changed files that people edit beside the tables, such as card.md; the
            card is about to be rendered again.

    Raises:
        InputError: names the first file that has not.
    """
    manifest = load_manifest(folder)
    for problem in damaged_files(folder, manifest):
        if allow_edited and problem.file in BESIDE:
            continue
        if allow_edited and problem.file == CARD:
            if not (folder / CARD).exists():
                continue
            raise InputError(
                "was changed by hand",
                path=folder / CARD,
                allowed="your text in card.md beside it; remove README.md and run this again",
                code="hash-mismatch",
            )
        raise damaged(problem.message, folder / problem.file, problem.code)
    return manifest
