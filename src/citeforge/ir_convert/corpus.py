"""The source ``corpus:PATH``: files of passages without queries, from which negatives are mined."""

from collections.abc import Iterator, Mapping
from itertools import chain, islice
from pathlib import Path

import msgspec
import pyarrow as pa

from citeforge.engines.jsonlines import read_rows
from citeforge.engines.tables import iter_batches, read_schema
from citeforge.ir_convert.hub import conform, map_columns
from citeforge.ir_convert.source import (
    FileSource,
    Place,
    ReadOptions,
    checked_passages,
    corpus_batches,
    without_queries,
)
from citeforge.schemas.errors import InputError
from citeforge.schemas.sources import SourceInfo
from citeforge.schemas.tables import CORPUS

_ENDINGS = (".parquet", ".jsonl", ".jsonl.gz")
ALLOWED = "a .jsonl, .jsonl.gz or .parquet file, or a folder of them (in it, or in its corpus/)"


class PassageRow(msgspec.Struct, gc=False):
    """A line of a corpus, with the usual names of its fields; further ones are not needed here."""

    text: str | None = None
    contents: str | None = None
    passage: str | None = None
    title: str | None = ""
    underscored: str | int | None = msgspec.field(default=None, name="_id")
    id: str | int | None = None
    docid: str | int | None = None
    doc_id: str | int | None = None
    pid: str | int | None = None

    @property
    def name(self) -> str:
        """Id of the passage; empty if it has none."""
        ids = (self.underscored, self.id, self.docid, self.doc_id, self.pid)
        return next((str(v) for v in ids if v is not None), "")

    @property
    def body(self) -> str:
        """Text of the passage; empty if it has none."""
        return next((v for v in (self.text, self.contents, self.passage) if v is not None), "")


def open_corpus_files(argument: str, split: str | None, options: ReadOptions) -> "CorpusFiles":
    """Open the source ``corpus:PATH``: a file of passages, or all such files in a folder.

    Raises:
        InputError: there is no such file, or none in the folder.
    """
    path = Path(argument)
    if not path.exists():
        raise InputError("does not exist", path=path, allowed=ALLOWED, code="missing-file")
    files = [path] if path.is_file() and path.name.endswith(_ENDINGS) else []
    for folder in (path / "corpus", path):
        if not files and folder.is_dir():
            files = sorted(p for p in folder.iterdir() if p.name.endswith(_ENDINGS))
            if (folder / "queries.jsonl").is_file():  # a BEIR folder: that is no corpus
                files = [p for p in files if p.name.startswith("corpus.")]
    if not files:
        raise InputError("contains no passages", path=path, allowed=ALLOWED, code="empty-file")
    return CorpusFiles(files, argument, options)


class PassagesAlone(FileSource):
    """Base of sources with passages but no queries and judgements, which raise an error."""

    contents = "passages"

    def __init__(self, info: SourceInfo, files: Mapping[str, Path]) -> None:
        """Keep the provenance, and the files whose hashes it will list."""
        self.provenance, self.files = info, files

    def queries(self) -> pa.Table:
        """Raise an InputError: the source has no queries."""
        raise without_queries(self.provenance.spec, self.contents)

    relevant = queries

    def locate_judgement(self, query_id: str, corpus_id: str) -> tuple[str, int | None]:
        """Return (name of the source, None), since it has no judgements."""
        return self.provenance.spec, None


class CorpusFiles(PassagesAlone):
    """Passages of JSON Lines and Parquet files, streamed; a source without queries."""

    def __init__(self, files: list[Path], argument: str, options: ReadOptions) -> None:
        """Keep the files to read, in order, and the source name ``corpus:ARGUMENT``."""
        self.options = options
        info = SourceInfo(spec=f"corpus:{argument}", kind="corpus")
        super().__init__(info, {path.name: path for path in files})

    def passages(self) -> Iterator[pa.RecordBatch]:
        """Yield the passages of all files in batches, each id once."""
        return checked_passages(
            self._read, self._find_place, self.provenance.counts, self.options.skip_empty
        )

    def _read(self) -> Iterator[pa.RecordBatch]:
        """Yield the unchecked rows of all files in batches."""
        return chain.from_iterable(map(self._batches, self.files.values()))

    def _find_place(self, number: int) -> Place:
        """Find the file and line of a row by its number, from 0 over all files."""
        rows = (
            Place(path, line)
            for path in self.files.values()
            for line in range(1, 1 + sum(batch.num_rows for batch in self._batches(path)))
        )
        return next(islice(rows, number, None))

    def _batches(self, path: Path) -> Iterator[pa.RecordBatch]:
        """Yield the unchecked rows of one file in batches of schema CORPUS."""
        if path.suffix == ".parquet":
            columns = map_columns(read_schema(path).names)
            for batch in iter_batches([path], list(columns)):
                table = pa.Table.from_batches([batch.rename_columns([columns[n] for n in columns])])
                yield from conform(table, CORPUS, str(path)).combine_chunks().to_batches()
            return
        rows = (row for _, row in read_rows(path, PassageRow))
        yield from corpus_batches((r.name, r.title or "", r.body, None) for r in rows)
