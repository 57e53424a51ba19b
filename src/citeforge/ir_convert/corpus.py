"""The source ``corpus:PATH``: files of passages without queries, from which negatives are mined."""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import msgspec
import pyarrow as pa

from citeforge.engines.extra_fields import metadata_text, read_known_fields
from citeforge.engines.tables import iter_batches, read_schema
from citeforge.ir_convert.columns import map_columns, read_columns
from citeforge.ir_convert.source import Location, PassagesAlone, ReadOptions, corpus_batches
from citeforge.schemas.errors import InputError
from citeforge.schemas.recipes.base import ExtraFields
from citeforge.schemas.sources import SourceInfo
from citeforge.schemas.tables import CORPUS

_ENDINGS = (".parquet", ".jsonl", ".jsonl.gz")
ALLOWED = "a .jsonl, .jsonl.gz or .parquet file, or a folder of them (in it, or in its corpus/)"


class PassageRow(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """A line of a corpus, with the usual names of its fields."""

    text: str | None = None
    contents: str | None = None
    passage: str | None = None
    title: str | None = ""
    underscored: str | int | None = msgspec.field(default=None, name="_id")
    id: str | int | None = None
    docid: str | int | None = None
    doc_id: str | int | None = None
    pid: str | int | None = None
    metadata: msgspec.Raw = msgspec.Raw(b"")

    @property
    def name(self) -> str:
        """Id of the passage; empty if it has none."""
        ids = (self.underscored, self.id, self.docid, self.doc_id, self.pid)
        return next((str(v) for v in ids if v is not None), "")

    @property
    def body(self) -> str:
        """Text of the passage; empty if it has none."""
        return next((v for v in (self.text, self.contents, self.passage) if v is not None), "")


def read_passage_rows(
    paths: Iterable[Path], extra_fields: ExtraFields, counts: dict[str, int]
) -> Iterator[tuple[Path, int, PassageRow]]:
    """Yield (file, line, passage) of JSON Lines files; unknown fields are counted, or kept.

    Args:
        paths: the files.
        extra_fields: ``keep`` to put other fields into the metadata; else they are left out.
        counts: the number of rows with other fields is added, at the end.
    """
    total = Counter[str]()
    for path in paths:
        of_file: dict[str, int] = {}
        how: ExtraFields = "keep" if extra_fields == "keep" else "ignore"
        for line, row in read_known_fields(path, PassageRow, how, of_file, "passages"):
            yield path, line, row
        total.update(of_file)
    counts.update(total)


def open_corpus_files(argument: str, options: ReadOptions) -> "CorpusFiles":
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


class CorpusFiles(PassagesAlone):
    """Passages of JSON Lines and Parquet files, streamed; a source without queries."""

    id_field = "_id"

    def __init__(self, files: list[Path], argument: str, options: ReadOptions) -> None:
        """Keep the files to read, in order, and the source name ``corpus:ARGUMENT``."""
        info = SourceInfo(spec=f"corpus:{argument}", kind="corpus")
        super().__init__(info, options, {path.name: path for path in files})

    def read_batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the unchecked rows of all files in batches of schema CORPUS."""
        total = Counter[str]()
        for path in self.files.values():
            of_file: dict[str, int] = {}
            yield from self._batches(path, of_file)
            total.update(of_file)
        self.provenance.counts.update(total)

    def locate_row(self, number: int) -> Location:
        """Find the file and line of a row by its number, from 0 over all files."""
        rows = (
            Location(path, line)
            for path in self.files.values()
            for line in range(1, 1 + sum(batch.num_rows for batch in self._batches(path, {})))
        )
        return next(islice(rows, number, None))

    def _batches(self, path: Path, counts: dict[str, int]) -> Iterator[pa.RecordBatch]:
        """Yield the unchecked rows of one file in batches of schema CORPUS.

        Args:
            path: a file of JSON Lines or Parquet.
            counts: the number of rows with other fields is added, at the end.
        """
        option = self.options.extra_fields
        if path.suffix == ".parquet":
            schema = read_schema(path)
            known = map_columns(schema.names, CORPUS)
            # Vectors and pictures are not worth reading to count them.
            large = [f.name for f in schema if f.name not in known and _is_large(f.type)]
            unread = [] if option == "keep" else large
            columns = [name for name in schema.names if name not in unread]
            tables = (pa.Table.from_batches([b]) for b in iter_batches([path], columns))
            for table in read_columns(
                tables, CORPUS, str(path), option, counts, "passages", unread
            ):
                yield from table.combine_chunks().to_batches()
            return
        yield from corpus_batches(
            (row.name, row.title or "", row.body, metadata_text(row.metadata, path, line))
            for path, line, row in read_passage_rows([path], option, counts)
        )


def _is_large(data_type: pa.DataType) -> bool:
    """Whether values of an Arrow type may be large, such as vectors and pictures."""
    return any(
        f(data_type) for f in (pa.types.is_nested, pa.types.is_binary, pa.types.is_large_binary)
    )
