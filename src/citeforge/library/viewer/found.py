"""Packages, submissions, score files, reports and running commands below folders."""

import hashlib
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from pathlib import Path
from typing import Literal

from citeforge.engines.jsonlines import read_start
from citeforge.engines.progress_files import PATTERN, Work, read_progress
from citeforge.evaluator.compare import HEADER_OR_ANSWER
from citeforge.package.manifest import MANIFEST
from citeforge.schemas.errors import InputError

Sort = Literal["sites", "packages", "submissions", "scores", "reports"]
REPORTS = (".html", ".htm", ".svg", ".png", ".pdf")
"""Endings of reports and plots, which the list shows."""
_START = 1 << 10
_SCORES = b'"scores_version"'
_SKIPPED = ("node_modules", "__pycache__")
CHUNKS = (".data", ".partial")
"""Endings of the folders of a report's data, and of unfinished folders."""


@dataclass(frozen=True)
class Found:
    """A file or package that the list shows.

    Attributes:
        sort: what it is.
        path: where it is.
        root: number of its folder among those that are viewed.
        name: path below that folder; of several, with the folder's name before it.
        changed: time of its last change, in nanoseconds.
        size: bytes of the file, or of the manifest.
    """

    sort: Sort
    path: Path
    root: int
    name: str
    changed: int
    size: int

    @property
    def key(self) -> str:
        """Short id of a file in the viewer's URLs, a hash of its path."""
        place = f"{self.root}/".encode() + os.fsencode(self.name)
        return hashlib.sha256(place).hexdigest()[:12]

    @property
    def state(self) -> tuple[str, int, int]:
        """State of a file, which changes with it: (id, modification time, size)."""
        return self.key, self.changed, self.size


@dataclass(frozen=True)
class Listing:
    """All that is below the folders.

    Attributes:
        found: newest first.
        works: commands that run, with the folder of what they make.
    """

    found: tuple[Found, ...] = ()
    works: tuple[tuple[str, Work], ...] = ()

    def select(self, sort: Sort) -> list[Found]:
        """List the files of one sort, such as packages, scores or reports."""
        return [one for one in self.found if one.sort == sort]


@dataclass
class Folders:
    """Folders that are viewed, without what is hidden or leads out of them.

    Attributes:
        roots: their real paths.
    """

    roots: Sequence[Path]
    _sorts: dict[str, tuple[tuple[str, int, int], Sort | None]] = field(default_factory=dict)

    @staticmethod
    def open(folders: Sequence[Path]) -> "Folders":
        """Check that the folders to view exist, and resolve their real paths.

        Raises:
            InputError: one is no folder.
        """
        for folder in folders:
            if not folder.is_dir():
                what = "a folder with packages, answers or scores"
                raise InputError(
                    "is not a folder" if folder.exists() else "does not exist", path=folder,
                    allowed=f"the folder of it: {folder.parent}" if folder.exists() else what,
                    code="not-a-folder",
                )  # fmt: skip
        return Folders([*dict.fromkeys(folder.resolve() for folder in folders)])

    def scan(self) -> Listing:
        """List packages, answers, scores and reports below the folders, and running commands.

        What is below two of the folders is listed once, below the first.
        """
        found: list[Found] = []
        works: list[tuple[str, Work]] = []
        seen: set[Path] = set()
        for number, root in enumerate(self.roots):
            for folder, names in _walk(root):
                if folder in seen:
                    continue
                seen.add(folder)
                for name in names:
                    path = folder / name
                    if name.startswith("."):
                        if fnmatch(name, PATTERN) and (work := read_progress(path)) is not None:
                            works.append((self._label(folder, number), work))
                    elif (one := self._describe_file(path, number)) is not None:
                        found.append(one)
        found.sort(key=lambda one: (-one.changed, one.name))
        return Listing(tuple(found), tuple(sorted(works, key=lambda w: (w[0], w[1].out))))

    def _describe_file(self, path: Path, root_number: int) -> Found | None:
        """Describe a file for the viewer's list; None for one that the list does not show."""
        ending = ".jsonl" if path.name.endswith(".jsonl.gz") else path.suffix.lower()
        if ending not in (*REPORTS, ".json", ".jsonl"):
            return None
        try:
            status = path.stat()
        except OSError:  # gone by now, or a link to nothing
            return None
        if not stat.S_ISREG(status.st_mode) or self.resolve(path) is None:
            return None
        is_package = path.name == MANIFEST
        shown = path.parent if is_package else path
        name = self._label(shown, root_number)
        one = Found("packages", shown, root_number, name, status.st_mtime_ns, status.st_size)
        if is_package:
            return one
        state, sort = self._sorts.get(one.key, (None, None))
        if state != one.state:
            sort = _detect_sort(path, ending)
            self._sorts[one.key] = one.state, sort
        return None if sort is None else replace(one, sort=sort)

    def _label(self, path: Path, root_number: int) -> str:
        """Write a path below one of the folders, with the folder's name if there are several."""
        folder = self.roots[root_number]
        below = _relative_name(path, folder)
        if len(self.roots) == 1 or path == folder:
            return below
        is_clear = [one.name for one in self.roots].count(folder.name) == 1
        return f"{folder.name if is_clear else folder.as_posix()}/{below}"

    def resolve(self, path: Path) -> Path | None:
        """Return the real path of a file; None if it is hidden or outside, or there is none."""
        try:
            real = path.resolve(strict=True)
        except (OSError, RuntimeError, ValueError):
            return None
        below = [real.relative_to(root) for root in self.roots if real.is_relative_to(root)]
        return real if any(not _is_hidden(path) for path in below) else None


def _walk(root: Path) -> Iterator[tuple[Path, list[str]]]:
    """Yield (folder, file names) of all folders below; of a package or site its main file only."""
    for place, inner, names in os.walk(root):
        folder = Path(place)
        inner[:] = sorted(
            n for n in inner
            if not n.startswith(".") and n not in _SKIPPED and not n.endswith(CHUNKS)
        )  # fmt: skip
        if MANIFEST in names:
            inner.clear()
            names = [MANIFEST]
        elif is_leaderboard(names):
            inner.clear()  # its first page leads to the others
            names = ["index.html"]
        yield folder, names


def _is_hidden(path: Path) -> bool:
    """Whether a name in a path below a folder begins with a dot."""
    return any(part.startswith(".") for part in path.parts)


def is_leaderboard(names: Sequence[str]) -> bool:
    """Whether the files of a folder are those of a leaderboard, which begins with index.html."""
    return "index.html" in names and ("ranking.js" in names or "matrix.js" in names)


def _relative_name(path: Path, root: Path) -> str:
    """Write a path relative to a folder; the folder itself by its name."""
    return root.name or "/" if path == root else path.relative_to(root).as_posix()


def _detect_sort(path: Path, suffix: str) -> Sort | None:
    """Detect by suffix and content if a file is a report, site, scores or submission; else None."""
    if suffix in REPORTS and path.name != "index.html":
        return "reports"
    try:
        if suffix in REPORTS:
            names = [one.name for one in path.parent.iterdir()]
            return "sites" if is_leaderboard(names) else "reports"
        start = read_start(path, _START)
    except (OSError, InputError):
        return None
    if suffix == ".json":
        return "scores" if _SCORES in start else None
    return "submissions" if HEADER_OR_ANSWER.match(start) else None
