"""Sources of ad hoc retrieval: TREC folders, MIRACL, and data sets of ir_datasets."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from citeforge.ir_convert.registry import declared_sources
from citeforge.ir_convert.source import JudgedSource, Judgements, Place, PlacedPassage, ReadOptions
from citeforge.plugins.trec.folders import open_miracl, open_trec
from citeforge.schemas.benchmarks.sources import SourceInfo
from citeforge.schemas.errors import InputError, extras_named

_TEXTS = ("text", "body", "abstract", "paragraph", "content")
_QUERIES = ("text", "query", "title", "description")


def open_ir_datasets(argument: str, split: str | None, options: ReadOptions) -> JudgedSource:
    """Open the source ``ir-datasets:ID``; the library ir_datasets downloads missing files.

    Raises:
        MissingExtraError: ir_datasets is not installed.
        InputError: no such data set, or it has no documents, queries or judgements.
    """
    with extras_named():
        import ir_datasets
    try:
        data: Any = ir_datasets.load(argument)
    except KeyError as error:
        raise InputError(
            "is not a data set of ir_datasets", path=argument, allowed="an id of its catalogue",
            code="unknown-name"
        ) from error  # fmt: skip
    parts = ("docs",) if options.passages_only else ("docs", "queries", "qrels")
    for part in parts:
        if not getattr(data, f"has_{part}")():
            raise InputError(
                f"has no {part}", path=argument, allowed="a data set with all three",
                code="unsupported"
            )  # fmt: skip
    queries: Iterable[Any] = ()
    rows: Iterable[Any] = ()
    if not options.passages_only:
        queries, rows = data.queries_iter(), data.qrels_iter()
    texts = {str(q.query_id): (n, _text(q, _QUERIES, argument)) for n, q in enumerate(queries, 1)}
    judged = Judgements(f"ir-datasets:{argument} qrels")
    for number, row in enumerate(rows, 1):
        judged.add(number, str(row.query_id), str(row.doc_id), int(row.relevance))

    def stream() -> Iterator[PlacedPassage]:
        """Yield the documents of the data set, with their places for errors."""
        for number, doc in enumerate(data.docs_iter(), 1):
            title = getattr(doc, "title", "") or ""
            place = Place(f"ir-datasets:{argument} docs", number)
            yield place, str(doc.doc_id), str(title), _text(doc, _TEXTS, argument), None

    info = SourceInfo(spec=f"ir-datasets:{argument}", kind="ir-datasets", split=split)
    topics = f"ir-datasets:{argument} queries"
    return JudgedSource(info, texts, judged, stream, options, topics=topics)


def _text(row: Any, names: tuple[str, ...], where: str) -> str:
    """Get a record's text from the first of some fields, else from its method ``default_text``."""
    for name in names:
        value = getattr(row, name, None)
        if isinstance(value, str):
            return value
    text = getattr(row, "default_text", None)
    if callable(text):
        return str(text())
    raise InputError(
        f"has no field for the text ({', '.join(type(row)._fields)})", path=where,
        code="missing-field"
    )  # fmt: skip


_SOURCES = declared_sources(
    Path(__file__).parent / "data",
    {"trec": open_trec, "miracl": open_miracl, "ir-datasets": open_ir_datasets},
)
TREC, MIRACL, IR_DATASETS = _SOURCES.values()
