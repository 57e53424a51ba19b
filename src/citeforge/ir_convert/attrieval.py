"""AttriEval's saved data sets, and MS MARCO's QA rows: ``passages{passage_text, is_selected}``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from citeforge.engines.files import digest_folder, sha256_file
from citeforge.engines.jsonlines import read_blocks
from citeforge.engines.tables import table_of
from citeforge.ir_convert.collect import PassageCollector
from citeforge.ir_convert.judged import JudgedSource, Judgements, Place
from citeforge.ir_convert.source import ReadOptions
from citeforge.schemas.errors import InputError
from citeforge.schemas.sources import SourceInfo
from citeforge.schemas.tables import GOLD, MAPPING, SEEMINGLY_RELEVANT


class _Row(msgspec.Struct):
    """A row of JSON Lines; further fields are not needed here."""

    query: str
    passages: dict[str, Any]
    query_id: Any = None
    org_answers: Any = None
    answers: Any = None


def open_attrieval(argument: str, split: str | None, options: ReadOptions) -> JudgedSource:
    """Open ``attrieval:PATH``: a folder that ``datasets`` saved, or JSON Lines of such rows.

    A passage is known by its text; selected ones are relevant, the others of the same query are
    its seemingly relevant ones, ranked as they are listed: a retriever found them, and people did
    not select them. ``org_answers`` (or MS MARCO's ``answers``) become gold.

    Raises:
        InputError: another layout.
    """
    path = Path(argument)
    rows = list(_rows(path))
    collector = PassageCollector(path, options.skip_empty)
    texts: dict[str, tuple[int, str]] = {}
    judged = Judgements(str(path), skip_contradictions=options.skip_contradictions)
    listed: dict[tuple[str, str], int] = {}
    gold: list[dict[str, object]] = []
    passages: dict[str, tuple[int, str, str]] = {}
    for number, row in rows:
        try:
            query = str(row["query"])
            shown = row["passages"]
            pairs = list(zip(shown["passage_text"], shown["is_selected"], strict=True))
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"is no AttriEval row ({error!r})", path=path, line=number,
                allowed="query, passages{passage_text[], is_selected[]}",
            ) from error  # fmt: skip
        name = str(row.get("query_id") if row.get("query_id") is not None else f"q{number}")
        if name in texts:
            raise InputError(f"the query {name!r} comes twice", path=path, line=number)
        texts[name] = (number, query)
        for rank, (text, selected) in enumerate(pairs, 1):
            ident = _ident(str(text))
            listed.setdefault((name, ident), rank)
            if collector.add(number, ident, "", str(text)):
                passages.setdefault(ident, (number, "", str(text)))
                judged.add(number, name, ident, int(bool(selected)))
        answers = row.get("org_answers") or row.get("answers")
        found = [answers] if isinstance(answers, str) else list(answers or [])
        if found:
            gold.append(
                {"query_id": name, "kind": "short_answer", "position": 0, "aliases": found}
            )  # fmt: skip

    def stream() -> Iterator[tuple[Place, str, str, str]]:
        for ident, (line, title, text) in passages.items():
            yield Place(path, line), ident, title, text

    info = SourceInfo(spec=f"attrieval:{argument}", kind="attrieval", split=split)
    info.files = {path.name: digest_folder(path) if path.is_dir() else sha256_file(path)}
    info.rules = {"relevant": "is_selected"}
    table = pa.Table.from_pylist(gold, schema=GOLD)
    unselected = [
        (query, passage, None, None, listed[query, passage])
        for (query, passage), score in judged.scores.items()
        if not score
    ]
    negatives = {SEEMINGLY_RELEVANT: table_of(unselected, MAPPING)} if unselected else {}
    return JudgedSource(info, texts, judged, stream, options, (), table, negatives)


def _ident(text: str) -> str:
    import hashlib

    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    if path.is_dir():
        import datasets

        try:
            table = datasets.load_from_disk(str(path))
        except (FileNotFoundError, OSError, ValueError) as error:
            raise InputError(f"is not a saved data set ({error})", path=path) from error
        if isinstance(table, datasets.DatasetDict):
            raise InputError(
                "holds several splits", path=path, allowed=", ".join(str(path / n) for n in table)
            )
        for number, row in enumerate(table, 1):
            yield number, dict(row)
        return
    for block in read_blocks(path, _Row):
        for line, row in zip(block.lines, block.rows, strict=True):
            yield line, msgspec.structs.asdict(row)
