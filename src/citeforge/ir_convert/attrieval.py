"""Read AttriEval's data sets, saved by ``datasets``, and MS MARCO's QA rows in the same layout."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import msgspec
import pyarrow as pa

from citeforge.engines.extra_fields import count_extra_fields, read_known_fields
from citeforge.engines.files import digest_folder, sha256_file
from citeforge.engines.tables import table_of
from citeforge.ir_convert.source import (
    JudgedSource,
    Judgements,
    LocatedPassage,
    Location,
    ReadOptions,
)
from citeforge.schemas.errors import InputError
from citeforge.schemas.sources import SourceInfo
from citeforge.schemas.tables import GOLD, MAPPING, SEEMINGLY_RELEVANT

Row = TypeVar("Row", bound=msgspec.Struct)


def read_saved(
    path: Path, row_type: type[Row], counts: dict[str, int] | None = None
) -> Iterator[tuple[int, Row]]:
    """Yield (number, row) from a folder made by ``Dataset.save_to_disk``.

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


def open_attrieval(argument: str, split: str | None, options: ReadOptions) -> JudgedSource:
    """Open the source ``attrieval:PATH``: a folder saved by ``datasets``, or rows as JSON Lines.

    Passages are identified by their text. Selected ones are relevant; the others of the query are
    seemingly relevant, ranked in their order: a retriever found them, and people did not select
    them. ``org_answers`` (or MS MARCO's ``answers``) become gold.

    Raises:
        InputError: the file has another layout.
    """
    path = Path(argument)
    info = SourceInfo(spec=f"attrieval:{argument}", kind="attrieval", split=split)
    rows = list(
        read_saved(path, _Row, info.counts) if path.is_dir()
        else read_known_fields(path, _KnownRow, "ignore", info.counts, "rows")
    )  # fmt: skip
    texts: dict[str, tuple[int, str]] = {}
    judged = Judgements(str(path), skip_contradictions=options.skip_contradictions)
    listed: dict[tuple[str, str], int] = {}
    gold: list[dict[str, object]] = []
    passages: dict[str, LocatedPassage] = {}
    for number, row in rows:
        query, listing = row.query, row.passages
        if len(listing.passage_text) != len(listing.is_selected):
            raise InputError(
                f"has {len(listing.passage_text)} passage_text and {len(listing.is_selected)} "
                "is_selected",
                path=path,
                line=number,
                field="passages",
                allowed="one for each",
                code="wrong-value",
            )
        pairs = list(zip(listing.passage_text, listing.is_selected, strict=True))
        name = str(row.query_id) if row.query_id is not None else f"q{number}"
        if name in texts:
            raise InputError(
                f"duplicate id {name!r}",
                path=path,
                line=number,
                field="query_id",
                code="duplicate-id",
            )
        texts[name] = (number, query)
        for rank, (text, selected) in enumerate(pairs, 1):
            ident = hashlib.sha256(text.encode()).hexdigest()[:16]
            listed.setdefault((name, ident), rank)
            passages.setdefault(ident, (Location(path, number), ident, "", text, None))
            if text.strip():
                judged.add(number, name, ident, int(bool(selected)))
        answers = row.org_answers or row.answers
        aliases = [answers] if isinstance(answers, str) else list(answers or [])
        if aliases:
            gold.append(
                {"query_id": name, "kind": "short_answer", "position": 0, "aliases": aliases}
            )  # fmt: skip

    info.files = {path.name: digest_folder(path) if path.is_dir() else sha256_file(path)}
    info.rules = {"relevant": "is_selected"}
    table = pa.Table.from_pylist(gold, schema=GOLD)
    unselected = [
        (query, passage, None, None, listed[query, passage])
        for (query, passage), score in judged.scores.items()
        if not score
    ]
    negatives = {SEEMINGLY_RELEVANT: table_of(unselected, MAPPING)} if unselected else {}
    return JudgedSource(
        info, texts, judged, lambda: iter(passages.values()), options,
        gold_table=table, negatives=negatives,
    )  # fmt: skip
