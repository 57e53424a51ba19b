"""What a reader is: files of one table become the values that its numbers are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from citeforge.engines.judge.session import JudgeSession
from citeforge.schemas.errors import UsageError

FileGroups = Sequence[Sequence[Sequence[Path]]]
"""Groups of files, a file being one path, or those that hold the same in another layout."""
Values = Mapping[str, float | str]


@dataclass
class ReaderTools:
    """What readers share while tables are computed.

    Attributes:
        folder: for benchmarks that are made on the way.
        judge: decides entailment; None without.
        models: whether other models may be loaded.
        benchmarks: hash of what a benchmark was made of to its folder.
    """

    folder: Path
    judge: JudgeSession | None = None
    models: bool = False
    benchmarks: dict[str, Path] = field(default_factory=dict)


class Reader(Protocol):
    """Reads files, and gives what numbers are made of."""

    def __call__(
        self, files: FileGroups, options: dict[str, Any], wanted: Sequence[str], tools: ReaderTools
    ) -> Values:
        """Values by name, those wanted or all that there are; a text instead says why one cannot be
        computed.

        Raises:
            UsageError: an option or a value that there is not.
            InputError: a file that is another than was expected.
        """


def only_file(files: FileGroups, reader: str) -> Sequence[Path]:
    """The one file that a row names.

    Raises:
        UsageError: it names several.
    """
    paths = [paths for group in files for paths in group]
    if len(paths) != 1:
        raise UsageError(f"a row of the reader {reader!r} names one file, not {len(paths)}")
    return paths[0]
