"""What every source offers to the builders."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from citeforge.engines.io.files import sha256_file
from citeforge.schemas.benchmarks.sources import SourceInfo
from citeforge.schemas.benchmarks.tables import GOLD
from citeforge.schemas.recipes.base import ExtraFields

if TYPE_CHECKING:
    from citeforge.engines.judge.session import JudgeSession


@dataclass(frozen=True)
class ReadOptions:
    """Explicit permissions to pass over flawed rows; each use is counted.

    Attributes:
        skip_empty: passages and queries without text.
        skip_dangling: judgements that name a missing passage or query.
        workdir: folder for unpacked archives; removed by whoever made it.
        skip_contradictions: judgements of a passage that another row judges relevant.
        passages_only: the source is only asked for passages, and needs nothing else.
        extra_fields: what becomes of fields that a strict format does not know.
        judge: decides relevance where a source has claims in place of judgements; None for nobody.
    """

    skip_empty: bool = False
    skip_dangling: bool = False
    workdir: Path = field(default_factory=Path)
    skip_contradictions: bool = False
    judge: JudgeSession | None = None
    passages_only: bool = False
    extra_fields: ExtraFields = "refuse"


class Source(Protocol):
    """Records of one data set, streamed.

    ``passages`` may be read several times and always gives the same rows in the same order.
    ``info().counts`` is complete once every other method was read to its end.
    """

    def info(self) -> SourceInfo:
        """Provenance so far."""
        ...

    def passages(self) -> Iterator[pa.RecordBatch]:
        """Batches of schema CORPUS with distinct ids."""
        ...

    def queries(self) -> pa.Table:
        """Schema QUERIES, the queries of the split, distinct ids."""
        ...

    def relevant(self) -> pa.Table:
        """Schema MAPPING, the judgements above zero, distinct pairs."""
        ...

    def gold(self) -> pa.Table:
        """Schema GOLD; without rows when the source has no gold answers."""
        return GOLD.empty_table()

    def mined(self) -> dict[str, pa.Table]:
        """Negative mapping tables that the source brings along, by label."""
        return {}

    def where(self, query_id: str, corpus_id: str) -> tuple[str, int | None]:
        """File and line of a judgement, for error messages."""
        ...


class FileSource(Source, Protocol):
    """A source of files, which are hashed when its provenance is first asked for.

    Attributes:
        source: provenance.
        files: name in it to the file.
    """

    source: SourceInfo
    files: Mapping[str, Path]

    def info(self) -> SourceInfo:
        if not self.source.files:
            self.source.files = {name: sha256_file(path) for name, path in self.files.items()}
        return self.source
