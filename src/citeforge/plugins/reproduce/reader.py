"""Interface of readers, which compute the values of a table from its files."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from citeforge.engines.judge.session import JudgeSession
from citeforge.schemas.errors import UsageError

FileGroups = Sequence[Sequence[Sequence[Path]]]
"""Groups of files, a file being one path, or those that hold the same in another layout."""
Values = Mapping[str, float | str]


@dataclass
class ReaderTools:
    """Resources that readers share while tables are computed.

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


Reader = Callable[[FileGroups, dict[str, Any], Sequence[str], ReaderTools], Values]
"""Files, options, names of the values wanted, tools: to values by name, those wanted or all that
there are; a text instead says why one cannot be computed. Raises UsageError for an option or a
value that there is not, InputError for a file that is another than was expected."""


def only_file(files: FileGroups, reader: str) -> Sequence[Path]:
    """Get the one file that a row names; refuse several.

    Raises:
        UsageError: it names several.
    """
    paths = [paths for group in files for paths in group]
    if len(paths) != 1:
        raise UsageError(
            f"a row of the reader {reader!r} names one file, not {len(paths)}", code="bad-option"
        )
    return paths[0]
