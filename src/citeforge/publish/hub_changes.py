"""What publishing does to the files of a package: before, as a plan, and afterwards."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

State = Literal["new", "changed", "same", "removed"]


@dataclass(frozen=True)
class LocalFile:
    """A file of a package.

    Attributes:
        path: where it is.
        sha256: as its manifest says; hashed once, when the package was checked.
    """

    path: Path
    sha256: str


@dataclass(frozen=True)
class Change:
    """What publishing does to one file.

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
    """What publishing would do.

    Attributes:
        repo_id: repository.
        exists: whether it is there; None where the Hub could not be asked.
        changes: every file.
    """

    repo_id: str
    exists: bool | None
    changes: list[Change] = field(default_factory=list)

    def moving(self) -> list[Change]:
        """Files that a commit would touch."""
        return [c for c in self.changes if c.state != "same"]


@dataclass(frozen=True)
class Published:
    """What was published.

    Attributes:
        repo_id: repository.
        commit: commit that holds the version.
        tag: tag of the version.
        n_files: files of the package.
    """

    repo_id: str
    commit: str
    tag: str
    n_files: int
