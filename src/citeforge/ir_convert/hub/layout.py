"""Data sets in the Hub's layouts, read through ``datasets``: BEIR's and RAGE's."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from citeforge.engines.io.files import digest
from citeforge.engines.io.tables import rows_with
from citeforge.ir_convert.hub.client import Repository, split_revision, unreachable
from citeforge.ir_convert.passages import Place, checked_passages
from citeforge.ir_convert.source import ReadOptions, Source
from citeforge.schemas.benchmarks.sources import SourceInfo
from citeforge.schemas.benchmarks.tables import (
    CORPUS,
    GOLD,
    LABELS,
    MAPPING,
    QUERIES,
    RELEVANT,
)
from citeforge.schemas.errors import InputError, UnknownValueError

_BATCH = 4096


def open_beir_hub(argument: str, split: str | None, options: ReadOptions) -> "HubSource":
    """Open ``beir-hub:REPO[@revision]``: configs ``corpus`` and ``queries``, qrels in
    ``REPO-qrels``, a data set of its own."""
    return _open_judged("beir-hub", argument, split, options, "-qrels", ("default",))


def open_mteb(argument: str, split: str | None, options: ReadOptions) -> "HubSource":
    """Open ``mteb:REPO[@revision]`` or a folder; judgements in ``default`` or ``qrels``."""
    return _open_judged("mteb", argument, split, options, "", ("default", "qrels"))


def _open_judged(
    kind: str,
    argument: str,
    split: str | None,
    options: ReadOptions,
    ending: str,
    configs: Sequence[str],
) -> "HubSource":
    """A data set whose judgements are in one of some configs: its own, or of another data set,
    whose name has an ending more."""
    if options.passages_only:
        return open_corpus_hub(argument, split, options, kind)
    repo = Repository.named(*split_revision(argument))
    judged = Repository.named(f"{repo.name}{ending}") if ending else repo
    split = split or "test"
    splits: Any = next(filter(None, map(judged.config, configs)), {})
    if split not in splits:
        raise UnknownValueError(f"--split of {judged.name}", split, splits)
    info = _info(kind, argument, split, *dict.fromkeys((repo, judged)))
    return HubSource(repo, {RELEVANT: _judged(splits[split], judged)}, info, options)


def open_corpus_hub(
    argument: str, split: str | None, options: ReadOptions, kind: str = "corpus-hub"
) -> "HubSource":
    """Open ``corpus-hub:REPO[@revision]`` or a folder: passages alone, in the config ``corpus`` or
    in its only one."""
    repo = Repository.named(*split_revision(argument))
    options = replace(options, passages_only=True)
    return HubSource(repo, {}, _info(kind, argument, split, repo), options)


def open_rage(argument: str, split: str | None, options: ReadOptions) -> "HubSource":
    """Open ``rage:PATH``, a local package in RAGE's layout."""
    return _open_rage("rage", argument, Repository.named(argument), options)


def open_rage_hub(argument: str, split: str | None, options: ReadOptions) -> "HubSource":
    """Open ``rage-hub:REPO[@revision]``, a package in RAGE's layout on the Hub."""
    return _open_rage("rage-hub", argument, Repository.named(*split_revision(argument)), options)


def _open_rage(kind: str, argument: str, repo: Repository, options: ReadOptions) -> "HubSource":
    splits = {} if options.passages_only else repo.config("mapping") or {}
    if not options.passages_only and RELEVANT not in splits:
        raise InputError("has no mapping of relevant passages", path=repo.name)
    tables = {name: _judged(splits[name], repo) for name in LABELS if name in splits}
    return HubSource(repo, tables, _info(kind, argument, None, repo), options)


def _info(kind: str, argument: str, split: str | None, *repos: Repository) -> SourceInfo:
    info = SourceInfo(spec=f"{kind}:{argument}", kind=kind, split=split)
    info.revision = repos[0].commit()
    info.files = {Path(r.name).resolve().name: r.content for r in repos if r.content}
    return info


class HubSource(Source):
    """Records of a data set read through ``datasets``; Arrow tables mapped from its cache.

    See :class:`citeforge.ir_convert.source.Source`.
    """

    def __init__(
        self,
        repo: Repository,
        tables: dict[str, pa.Table],
        info: SourceInfo,
        options: ReadOptions,
    ) -> None:
        self.repo = repo.name
        self.options = options
        self._relevant = tables.get(RELEVANT, MAPPING.empty_table())
        self._mined = {label: table for label, table in tables.items() if label != RELEVANT}
        self._info = info
        self._repo = repo
        self._corpus = self._only_split("corpus")
        self._queries = None if options.passages_only else self._only_split("queries")

    def _only_split(self, config: str) -> Any:
        splits = self._repo.config(config)
        if not splits and self.options.passages_only:
            splits = self._repo.config("default")
        if not splits:
            raise InputError(f"has no config {config!r}", path=self.repo)
        return splits.get(config) or next(iter(splits.values()))

    def info(self) -> SourceInfo:
        if not self._info.files:
            # `datasets` makes its fingerprints of the commit, the config and the split.
            for name, data in (("corpus", self._corpus), ("queries", self._queries)):
                if data is None:
                    continue
                self._info.files[name] = digest([data._fingerprint, data.num_rows])
        return self._info

    def passages(self) -> Iterator[pa.RecordBatch]:
        return self._checked(self._read, "corpus", "passages")

    def _checked(
        self, read: Callable[[], Iterator[pa.RecordBatch]], config: str, what: str
    ) -> Iterator[pa.RecordBatch]:
        return checked_passages(
            read, lambda number: Place(self.repo, number + 1), self._info.counts,
            self.options.skip_empty, f"{config}.", what=what,
        )  # fmt: skip

    def _read(self) -> Iterator[pa.RecordBatch]:
        for table in self._corpus.with_format("arrow").iter(_BATCH):
            yield from conform(_renamed(table), CORPUS, self.repo).to_batches()

    def queries(self) -> pa.Table:
        judged = self._relevant["query-id"].unique()
        if self._queries is None:
            raise InputError(
                "holds passages alone, without queries",
                path=self._info.spec,
                allowed="--extra-corpus beside a --source with queries, or build alce --corpus",
            )
        table = conform(self._queries.with_format("arrow")[:], QUERIES, self.repo)
        batches = self._checked(lambda: iter(table.to_batches()), "queries", "queries")
        table = pa.Table.from_batches(batches, QUERIES)
        missing = pc.filter(judged, pc.invert(pc.is_in(judged, value_set=table["_id"])))
        if len(missing) and not self.options.skip_dangling:
            raise InputError(
                f"judgements name the query {missing[0].as_py()!r}, which is missing",
                path=self.repo,
                allowed="another revision, or pass --skip-dangling",
            )
        if len(missing):
            self._info.counts["judgements of unknown queries, skipped"] = len(missing)
        return rows_with(table, "_id", judged)

    def relevant(self) -> pa.Table:
        scores = self._relevant["score"]
        relevant = self._relevant.filter(pc.greater(pc.fill_null(scores, 1.0), 0))
        if relevant.num_rows < self._relevant.num_rows:
            dropped = self._relevant.num_rows - relevant.num_rows
            self._info.counts["judgements of zero or less"] = dropped
        return relevant

    def gold(self) -> pa.Table:
        splits = self._repo.config("gold")
        if not splits:
            return super().gold()
        return conform(next(iter(splits.values())).with_format("arrow")[:], GOLD, self.repo)

    def mined(self) -> dict[str, pa.Table]:
        return self._mined

    def where(self, query_id: str, corpus_id: str) -> tuple[str, int | None]:
        return self.repo, None


def _judged(data: Any, repo: Repository) -> pa.Table:
    return conform(data.with_format("arrow")[:], MAPPING, repo.name)


_IDS = ("_id", "id", "docid", "doc_id", "pid")
_TEXTS = ("text", "contents", "passage")


def named_as_here(names: list[str]) -> dict[str, str]:
    """Columns of a corpus of anybody's making, to their names here; others are left out."""
    renames: dict[str, str] = {}
    for choices, ours in ((_IDS, "_id"), (_TEXTS, "text"), (("title",), "title"),
                        (("metadata",), "metadata")):  # fmt: skip
        theirs = next((name for name in choices if name in names), None)
        if theirs is not None:
            renames[theirs] = ours
    return renames


def _renamed(table: pa.Table) -> pa.Table:
    renames = named_as_here(table.column_names)
    return table.select(list(renames)).rename_columns(list(renames.values()))


def conform(table: pa.Table, schema: pa.Schema, where: str) -> pa.Table:
    """Give a table the columns of ``schema``; absent nullable ones become null.

    Numbers as ids become their digits, structures as metadata become JSON.

    Raises:
        InputError: a required column is missing or cannot be converted.
    """
    columns = []
    for field in schema:
        if field.name in table.column_names:
            columns.append(_convert(table[field.name], field, where))
        elif field.nullable:
            columns.append(pa.nulls(table.num_rows, field.type))
        elif field.name == "title":
            columns.append(pa.array([""] * table.num_rows))
        else:
            raise InputError(
                f"lacks the column {field.name!r}",
                path=where,
                allowed=f"columns: {', '.join(schema.names)}",
            )
    return pa.table(columns, schema=schema)


def _convert(column: pa.ChunkedArray, field: pa.Field, where: str) -> pa.ChunkedArray:
    try:
        column.validate(full=True)  # strings of a file may be anything
        if pa.types.is_string(field.type) and pa.types.is_nested(column.type):
            values = column.to_pylist()
            texts = [None if v is None else json.dumps(v, ensure_ascii=False) for v in values]
            return pa.chunked_array([pa.array(texts, pa.string())])
        converted = column.cast(field.type)
    except pa.ArrowException as error:
        raise unreachable(where, error) from error
    if field.name == "title":
        converted = pc.fill_null(converted, "")
    if not field.nullable and converted.null_count:
        raise InputError(f"has an empty value in the column {field.name!r}", path=where)
    return converted
