"""Interface of readers, which compute a table's values from files of published outputs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from citeforge.engines.judge.session import JudgeSession
from citeforge.schemas.errors import UsageError

FileGroups = Sequence[Sequence[Sequence[Path]]]
"""Groups of files; a file is one path, or several with the same content in another layout."""
Values = Mapping[str, float | str]


@dataclass
class ReaderTools:
    """Resources that readers share while tables are computed.

    Attributes:
        folder: temporary folder for benchmarks.
        judge: decides entailment; None without.
        models: whether other models may be loaded.
        benchmarks: hash of a benchmark's questions to its folder.
    """

    folder: Path
    judge: JudgeSession | None = None
    models: bool = False
    benchmarks: dict[str, Path] = field(default_factory=dict)


Reader = Callable[[FileGroups, dict[str, Any], Sequence[str], ReaderTools], Values]
"""Maps (files, options, names of wanted values, tools) to values by name; a text in place of a
value explains why it cannot be computed. Raises UsageError for an unknown option or value, and
InputError for a file with other content than expected."""


def only_file(files: FileGroups, reader_name: str) -> Sequence[Path]:
    """Get the paths of a table row's only file (or its parts); raise an error if it has several.

    Args:
        files: the row's groups of files, each file as its paths.
        reader_name: name of the reader, for the error.

    Raises:
        UsageError: the row names several.
    """
    paths = [paths for group in files for paths in group]
    if len(paths) != 1:
        raise UsageError(
            f"a row of the reader {reader_name!r} names one file, not {len(paths)}",
            code="bad-option",
        )
    return paths[0]
