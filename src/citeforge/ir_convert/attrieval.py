"""Read AttriEval's data sets, saved by ``datasets``, and MS MARCO's QA rows in the same layout."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import msgspec
import pyarrow as pa

from citeforge.engines.extra_fields import count_extra_fields, read_known_fields
from citeforge.engines.files import digest_path
from citeforge.engines.tables import table_of
from citeforge.ir_convert.judged import JudgedSource, Judgements, LocatedQuery
from citeforge.ir_convert.source import LocatedPassage, ReadOptions
from citeforge.schemas.errors import InputError
from citeforge.schemas.sources import SourceInfo
from citeforge.schemas.tables import GOLD, MAPPING, SEEMINGLY_RELEVANT

Row = TypeVar("Row", bound=msgspec.Struct)


def read_saved(
    path: Path, row_type: type[Row], counts: dict[str, int] | None = None
) -> Iterator[tuple[int, Row]]:
    """Yield (row number, row) of a saved ``datasets.Dataset``; count extra columns.

    Args:
        path: folder.
        row_type: msgspec structure of a row, whose field types are enforced.
        counts: takes in the columns that such rows do not have; None where they are known.

    Raises:
        InputError: not such a folder, damaged, or with several splits; or a field has another type
            (names row and field).
    """
    import datasets

    try:
        data = datasets.load_from_disk(str(path))
    except (
        OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError,
        pa.ArrowException,
    ) as error:  # fmt: skip
        # Errors of `datasets` and pyarrow about damaged files have no common type.
        raise _not_saved(path, error) from error
    if isinstance(data, datasets.DatasetDict):
        raise InputError(
            "contains several splits",
            path=path,
            allowed=", ".join(str(path / n) for n in data),
            code="missing-option",
        )
    try:
        # The file is memory-mapped: without this check, damaged offsets would be followed.
        data.data.table.validate(full=True)
        if counts is not None:
            known = {field.encode_name for field in msgspec.structs.fields(row_type)}
            extra = set(data.column_names) - known
            count_extra_fields(counts, "rows", extra, data.num_rows * bool(extra), "ignore")
        rows = enumerate(data.with_format("arrow").iter(1), 1)
        for number, table in rows:
            (content,) = table.to_pylist()
            yield number, msgspec.convert(content, row_type)
    except msgspec.ValidationError as error:
        names = (f.name for f in msgspec.structs.fields(row_type))
        raise InputError(
            str(error),
            path=path,
            field=f"row {number}",
            allowed=f"fields: {', '.join(names)}",
            code="missing-field",
        ) from error
    except (OSError, UnicodeDecodeError, pa.ArrowException) as error:
        raise _not_saved(path, error) from error


def _not_saved(path: Path, error: Exception) -> InputError:
    """Make the error for a folder that is not a readable saved data set."""
    detail = "" if isinstance(error, FileNotFoundError) else f" ({str(error)[:200]})"
    return InputError(
        f"is not a readable saved data set{detail}",
        path=path,
        allowed="expected a file, or a folder that Dataset.save_to_disk made",
        code="wrong-type",
    )


class _Passages(msgspec.Struct):
    """Texts, and whether each was selected."""

    passage_text: list[str]
    is_selected: list[bool | int]


class _Row(msgspec.Struct):
    """A row of AttriEval or MS MARCO; further fields are counted."""

    query: str
    passages: _Passages
    query_id: str | int | None = None
    org_answers: str | list[str] | None = None
    answers: str | list[str] | None = None


class _KnownRow(_Row, forbid_unknown_fields=True):
    """A row whose further fields are counted."""


class AttrievalSource(JudgedSource):
    """A folder saved by ``datasets``, or rows as JSON Lines: the source ``attrieval:PATH``.

    Passages are identified by their text. Selected ones are relevant; the others of the query are
    seemingly relevant, ranked in their order: a retriever found them, and people did not select
    them. ``org_answers`` (or MS MARCO's ``answers``) become gold.
    """

    def __init__(self, argument: str, split: str | None, options: ReadOptions) -> None:
        """Read all rows of AttriEval's folder, or of rows in JSON Lines, at ``argument``.

        Args:
            argument: path of it.
            split: name recorded in the provenance.
            options: permissions.

        Raises:
            InputError: the file has another layout.
        """
        path = Path(argument)
        info = SourceInfo(spec=f"attrieval:{argument}", kind="attrieval", split=split)
        judged = Judgements(str(path), skip_contradictions=options.skip_contradictions)
        super().__init__(info, options, judged)
        self.path = path
        self._passages: dict[str, LocatedPassage] = {}
        self._ranks: dict[tuple[str, str], int] = {}
        self._gold: list[dict[str, object]] = []
        rows = (
            read_saved(path, _Row, info.counts) if path.is_dir()
            else read_known_fields(path, _KnownRow, "ignore", info.counts, "rows")
        )  # fmt: skip
        for number, row in rows:
            self._add_row(number, row)
        info.files = {path.name: digest_path(path)}
        info.rules = {"relevant": "is_selected"}

    def _add_row(self, number: int, row: _Row) -> None:
        """Add a row's query, passages with their ranks and judgements, and gold answers.

        Args:
            number: number of the row, from 1.
            row: the row.

        Raises:
            InputError: its lists have different lengths, or its query came before.
        """
        texts, selected = row.passages.passage_text, row.passages.is_selected
        if len(texts) != len(selected):
            raise InputError(
                f"has {len(texts)} passage_text and {len(selected)} is_selected",
                path=self.path,
                line=number,
                field="passages",
                allowed="one for each",
                code="wrong-value",
            )
        query = str(row.query_id) if row.query_id is not None else f"q{number}"
        if query in self.query_rows:
            raise InputError(
                f"duplicate id {query!r}",
                path=self.path,
                line=number,
                field="query_id",
                code="duplicate-id",
            )
        self.query_rows[query] = LocatedQuery(number, row.query)
        for rank, (text, is_selected) in enumerate(zip(texts, selected, strict=True), 1):
            passage = hashlib.sha256(text.encode()).hexdigest()[:16]
            self._ranks.setdefault((query, passage), rank)
            located = LocatedPassage(self.path, number, passage, "", text)
            self._passages.setdefault(passage, located)
            if text.strip():
                self.judged.add(number, query, passage, int(bool(is_selected)))
        answers = row.org_answers or row.answers
        aliases = [answers] if isinstance(answers, str) else list(answers or [])
        if aliases:
            self._gold.append(
                {"query_id": query, "kind": "short_answer", "position": 0, "aliases": aliases}
            )

    def rows(self) -> Iterator[LocatedPassage]:
        """Yield the passages of all rows, each once, with the number of its first row."""
        yield from self._passages.values()

    def gold(self) -> pa.Table:
        """Return the gold answers of all rows (schema GOLD)."""
        return pa.Table.from_pylist(self._gold, schema=GOLD)

    def mined(self) -> dict[str, pa.Table]:
        """Return passages that annotators did not select, with ranks, as mined negatives."""
        rows = [
            (query, passage, None, None, self._ranks[query, passage])
            for (query, passage), score in self.judged.scores.items()
            if not score
        ]
        return {SEEMINGLY_RELEVANT: table_of(rows, MAPPING)} if rows else {}
