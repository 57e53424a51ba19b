"""People's labels of relevance, as ``labels import`` writes them."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from citeforge.engines.jsonlines import read_rows
from citeforge.schemas.errors import InputError


class RelevanceLabel(msgspec.Struct):
    """A line of ``labels import``; further fields are not needed here."""

    query_id: str
    passage: str
    question: str | None = None
    label: str | None = None


class LocatedLabel(NamedTuple):
    """A label with its file and line."""

    path: Path
    line: int
    row: RelevanceLabel

    @property
    def is_relevant(self) -> bool:
        """Whether a person labelled the passage as relevant."""
        return self.row.label == "relevant"

    def unknown_query(self) -> InputError:
        """Make the error for a relevance label whose query the build does not have."""
        return InputError(
            f"this build has no question {self.row.query_id!r}",
            path=self.path, line=self.line, field="query_id",
            allowed="labels of this build: the same options, and --store with its "
            "OUT.replay.db", code="unknown-query",
        )  # fmt: skip


def read_relevance_labels(files: Sequence[Path]) -> Iterator[LocatedLabel]:
    """Yield people's relevance labels of files with their lines; undecided ones are None.

    Raises:
        InputError: a file cannot be read, or has an unknown label.
    """
    for path in files:
        for line, row in read_rows(path, RelevanceLabel):
            if row.label not in (None, "relevant", "not relevant"):
                raise InputError(
                    f"unknown label {row.label!r}", path=path, line=line, field="label",
                    allowed="relevant, not relevant", code="wrong-value",
                )  # fmt: skip
            yield LocatedLabel(path, line, row)
