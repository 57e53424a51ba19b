"""Records of publishing: local files, planned changes of a repository, published versions."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from citeforge.package.manifest import SIGNATURE

if TYPE_CHECKING:
    from huggingface_hub.hf_api import RepoFile

State = Literal["new", "changed", "same", "removed"]


def git_blob_id(content: bytes) -> str:
    """Compute the git object id of a file's content."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


@dataclass(frozen=True)
class LocalFile:
    """A file of a package.

    Attributes:
        path: path of the local file.
        sha256: hash in the manifest, which was checked with the package.
        content: bytes that are published in its place; None for the file itself.
    """

    path: Path
    sha256: str
    content: bytes | None = None

    @property
    def size(self) -> int:
        """Number of bytes of the file's published content."""
        return self.path.stat().st_size if self.content is None else len(self.content)

    def equals(self, other: RepoFile | None) -> bool:
        """Whether a file in a Hub repository has the same content as this one."""
        if other is None or other.size != self.size:
            return False
        if other.lfs is not None:
            return other.lfs.sha256 == self.sha256
        return other.blob_id == git_blob_id(self.content or self.path.read_bytes())


@dataclass(frozen=True)
class Change:
    """Change that publishing makes to one file.

    Attributes:
        path: name in the repository.
        size: bytes, of the local file or of the removed one.
        state: compared with what is there.
    """

    path: str
    size: int
    state: State


@dataclass
class PublishPlan:
    """Changes that publishing would make.

    Attributes:
        repo_id: repository.
        exists: whether it is there; None where the Hub could not be asked.
        changes: every file.
    """

    repo_id: str
    exists: bool | None
    changes: list[Change]

    def uploads_and_deletions(self) -> list[Change]:
        """List the planned changes without unchanged files: uploads and deletions."""
        return [c for c in self.changes if c.state != "same"]


@dataclass(frozen=True)
class Published:
    """Record of a published version.

    Attributes:
        repo_id: repository.
        commit: commit that holds the version.
        tag: tag of the version; empty for a gold half, which has none.
        n_files: files of the package.
    """

    repo_id: str
    commit: str
    tag: str
    n_files: int


def list_changes(files: Mapping[str, LocalFile], remote: Mapping[str, RepoFile]) -> list[Change]:
    """List the changes that publishing local files makes to a Hub repository.

    Tables that only the old version has are removed, and a signature of other content; other files
    of the repository stay.

    Args:
        files: files to publish, by name.
        remote: files of the repository, by name.
    """
    changes = []
    for name, file in files.items():
        same: State = "same" if file.equals(remote.get(name)) else "changed"
        changes.append(Change(name, file.size, same if name in remote else "new"))
    gone = sorted(n for n in remote if n not in files and n.endswith(".parquet"))
    if SIGNATURE in remote and SIGNATURE not in files and any(c.state != "same" for c in changes):
        gone.append(SIGNATURE)
    return changes + [Change(n, remote[n].size, "removed") for n in gone]
