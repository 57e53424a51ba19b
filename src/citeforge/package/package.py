"""The one reader of finished benchmark packages, whose tables `builders.package` writes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from citeforge.engines.report_table import Displayed, Table
from citeforge.engines.retrieval.records import Rankings, Retrieved
from citeforge.engines.tables import iter_batches, read_table, rows_of, rows_with
from citeforge.package.items import Gold, GoldRows, Item, by_query, replace_texts
from citeforge.package.kinds import Kind, kind_of
from citeforge.package.manifest import damaged, list_splits, load_intact
from citeforge.schemas.citations.grammar import Grammar
from citeforge.schemas.errors import UnknownValueError, extras_named
from citeforge.schemas.manifest import Manifest
from citeforge.schemas.tables import (
    CORPUS,
    COSINES,
    LABELS,
    SEEMINGLY_RELEVANT,
    TWINS,
)

if TYPE_CHECKING:
    import pandas


class Package(Displayed):
    """A benchmark on disk, read table by table when a table is asked for.

    Attributes:
        folder: where it is.
        manifest: its manifest, checked.
        query_subset: the queries that are looked at; None for all. Rows of others are read as if
            the package had none.
    """

    query_subset: frozenset[str] | None = None

    def __init__(
        self, folder: Path, manifest: Manifest | None = None, check_tables: bool = True
    ) -> None:
        """Open a package and check its files' sha256; ``check_tables`` refuses inconsistent tables.

        Args:
            folder: where it is.
            manifest: its manifest, where its files have been checked already.
            check_tables: refuse tables that do not fit together; ``verify`` reports these itself.

        Raises:
            InputError: not a package, or a file differs from its recorded sha256.
        """
        self.folder = folder
        self.manifest = manifest or load_intact(folder)
        self.check_tables = check_tables

    def _headline(self) -> str:
        """Summarise the benchmark in one line: kind, name, queries and contexts."""
        contexts = ", ".join(self.contexts)
        return (
            f"{self.manifest.kind} benchmark {self.label}: {len(self.query_ids):,} queries, "
            f"contexts {contexts}"
        )

    def __len__(self) -> int:
        """Number of queries in the benchmark."""
        return len(self.query_ids)

    def _tables(self) -> Iterator[Table]:
        """Yield a table of the benchmark's kind, licence, context sets and sources."""
        m = self.manifest
        yield Table(["", m.name], [
            ("kind", m.kind), ("queries", f"{len(self):,}"), ("licence", m.licence or "not stated"),
            *((f"context {name}", info.description) for name, info in m.contexts.items()),
            ("sources", ", ".join(s.spec for s in m.sources)), ("hash", m.benchmark_hash),
        ], left=2)  # fmt: skip

    @extras_named()
    def to_pandas(self, context: str | None = None) -> pandas.DataFrame:
        """Make a data frame with one row per passage or triple that a context set shows.

        Queries alone are a frame by ``.queries.to_pandas()``.

        Args:
            context: context set; None for the only one, or the first.

        Raises:
            UnknownValueError: no such context set.
            MissingExtraError: pandas is not installed.
        """
        import pandas

        return pandas.DataFrame([
            {"query_id": item.query_id, "query": item.query, "number": number, **vars(passage)}
            for item in self.items(context)
            for number, passage in enumerate(item.evidence, 1)
        ])  # fmt: skip

    @property
    def name(self) -> str:
        """Name of the benchmark."""
        return self.manifest.name

    @property
    def hash(self) -> str:
        """sha256 over the benchmark's tables, 64 hexadecimal digits."""
        return self.manifest.benchmark_hash

    @property
    def label(self) -> str:
        """Name of the benchmark with the first 8 digits of its hash: ``NAME@HASH``."""
        return f"{self.manifest.name}@{self.manifest.benchmark_hash[:8]}"

    @property
    def contexts(self) -> list[str]:
        """Names of a benchmark's context sets; each has a fixed list of passages per query."""
        return list(self.manifest.contexts)

    @cached_property
    def splits(self) -> dict[str, list[str]]:
        """Splits with rows of each table config, such as ``contexts``, in file order."""
        return list_splits(self.manifest)

    @property
    def grammar(self) -> Grammar:
        """Grammar of the citation marks that this benchmark's prompts ask for."""
        return Grammar(self.manifest.grammar.base, self.manifest.grammar.form)

    @cached_property
    def kind(self) -> Kind:
        """Kind of the benchmark: its tables, default measures and checks.

        Raises:
            InputError: a kind that this installation does not know.
        """
        return kind_of(self.manifest, self.folder)

    @property
    def has_graphs(self) -> bool:
        """Whether systems are shown triples instead of passages."""
        return self.kind.facts.shows == "triples"

    def shards(self, config: str, split: str) -> list[Path]:
        """List the Parquet files of a table in order; none if the table is empty."""
        name = re.compile(rf"{re.escape(config)}/{re.escape(split)}-\d{{5}}-of-\d{{5}}\.parquet")
        return [self.folder / n for n in sorted(self.manifest.files) if name.fullmatch(n)]

    def table(self, config: str, split: str) -> pa.Table:
        """Read a whole table of the package; no rows if the package does not have it.

        Raises:
            UnknownValueError: no such config in this kind of benchmark.
            InputError: a file is damaged.
        """
        schemas = self.kind.facts.tables
        if config not in schemas:
            raise UnknownValueError("config", config, schemas)
        table = read_table(self.shards(config, split), schemas[config])
        return table if self.query_subset is None else rows_about(table, config, self.query_subset)

    @cached_property
    def queries(self) -> pa.Table:
        """Table of the benchmark's queries (schema QUERIES); for KaLMA, the specific questions.

        Raises:
            InputError: it is damaged, or an id comes twice.
        """
        split = self.kind.facts.questions
        table = self.table("queries", split)
        n_ids = pc.count_distinct(table["_id"], mode="all").as_py()
        if self.check_tables and n_ids < table.num_rows:
            path = self.folder / "queries" / split
            raise damaged("has a duplicate query id", path, "duplicate-id")
        return table

    @cached_property
    def query_ids(self) -> list[str]:
        """Ids of the queries, in the order of the benchmark."""
        ids: list[str] = self.queries["_id"].to_pylist()
        return ids

    @cached_property
    def row_of(self) -> dict[str, int]:
        """Row number of each query in the table of queries, by id."""
        return {name: row for row, name in enumerate(self.query_ids)}

    def questions(self, context: str) -> list[str]:
        """Get the texts of the queries as worded for a context set, in order."""
        texts: list[str] = self.queries_of(context)["text"].to_pylist()
        return texts

    def queries_of(self, context: str) -> pa.Table:
        """Get the table of queries as worded for a context set (schema QUERIES).

        Raises:
            InputError: the package lacks that form.
        """
        form = self.kind.facts.other_questions.get(context, self.kind.facts.questions)
        if form not in self.forms:
            message = f"the {form} queries are missing, which the context set {context} asks"
            raise damaged(message, self.folder, "missing-field")
        return self.forms[form]

    @cached_property
    def forms(self) -> dict[str, pa.Table]:
        """Tables of queries by form of question, such as ``general``; the main form first."""
        splits = dict.fromkeys(self.kind.facts.other_questions.values())
        others = {split: self.table("queries", split) for split in splits}
        return {
            self.kind.facts.questions: self.queries,
            **{s: t for s, t in others.items() if t.num_rows},
        }

    def context_table(self, context: str) -> pa.Table:
        """Read which passages or triples a context set shows (schema CONTEXTS or KG_CONTEXTS).

        Args:
            context: its name.

        Raises:
            UnknownValueError: no such context set.
            InputError: its rows are not those of the queries.
        """
        if context not in self.manifest.contexts:
            raise UnknownValueError("context", context, self.manifest.contexts)
        table = self.table("contexts", context)
        if self.check_tables and not table["query_id"].equals(self.queries["_id"]):
            message = "does not have the queries of the benchmark"
            raise damaged(message, self.folder / "contexts" / context, "schema-mismatch")
        return table

    @cached_property
    def mappings(self) -> dict[str, pa.Table]:
        """Tables of (query, passage) pairs by relevance label (schema MAPPING).

        Raises:
            InputError: one is damaged, or is about a query that the benchmark lacks.
        """
        return {label: self.mapping(label) for label in LABELS}

    def mapping(self, label: str) -> pa.Table:
        """Read the (query, passage) pairs with one label, or the undecided ones (schema MAPPING).

        Raises:
            InputError: the table is damaged.
        """
        return self._read_query_table("mapping", label, "query-id")

    @cached_property
    def gold(self) -> pa.Table:
        """Table of gold answers (schema GOLD) or gold triples (KG_GOLD).

        Raises:
            InputError: it is damaged, or is about a query that the benchmark lacks.
        """
        return self._read_query_table("gold", "gold", "query_id")

    def _read_query_table(self, config: str, split: str, column: str) -> pa.Table:
        """Read a table; raise an error if its query column has an unknown query id.

        Args:
            config: config of the table, such as ``gold``.
            split: split of the config.
            column: name of the column with the id of a query.
        """
        table = self.table(config, split)
        if not self.check_tables:
            return table
        mask = pc.is_in(table[column], value_set=self.queries["_id"].combine_chunks())
        if not pc.all(mask).as_py() and table.num_rows:
            unknown = table[column].filter(pc.invert(mask))[0].as_py()
            message = f"names the unknown query {unknown!r}"
            raise damaged(message, self.folder / config / split, "unknown-query")
        return table

    @cached_property
    def gold_rows(self) -> list[GoldRows]:
        """Gold records of each query, in the order of the benchmark."""
        rows = by_query(self.gold.to_pylist())
        return [GoldRows(map(Gold.from_row, rows.get(query, []))) for query in self.query_ids]

    @cached_property
    def twins(self) -> pa.Table:
        """Table of LLM rewrites of passages, called twins (schema TWINS); may be empty."""
        return read_table(self.shards("twins", "twins"), TWINS)

    def written_questions(self) -> pa.Table:
        """Read the table of all questions that an LLM wrote, including rejected ones."""
        return self.table("questions", "questions")

    @cached_property
    def cosines(self) -> pa.Table:
        """Table of cosines between queries and mined passages (schema COSINES); may be empty."""
        return read_table(self.shards("cosines", SEEMINGLY_RELEVANT), COSINES)

    def passages(self, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Stream the passages of the benchmark's corpus in batches (schema CORPUS).

        Args:
            columns: only these.

        Raises:
            InputError: a file is damaged.
        """
        return iter_batches(self.corpus, columns, schema=CORPUS)

    def candidates(self, retriever: str | None = None) -> Rankings:
        """Read the ranked passages that a retriever found: query id to list, maybe empty.

        Args:
            retriever: split of ``candidates``; None for the one that contexts are made of.

        Raises:
            UnknownValueError: no such split.
        """
        retrievers = self.manifest.config.get("candidates") or self.splits.get("candidates", [])
        if retriever not in (None, *retrievers):
            raise UnknownValueError("retriever", str(retriever), retrievers)
        rankings: Rankings = {query: [] for query in self.query_ids}
        name = retriever or next(iter(retrievers), None)
        if name is not None:
            for query, passage, rank, score in rows_of(self.table("candidates", name)):
                rankings[query].append(Retrieved(query, passage, rank, score))
        return rankings

    def condensed(self, form: str) -> dict[tuple[str, str], str]:
        """Read shortened passages, as ``form`` says: (query id, passage id) to summary or snippet.

        Args:
            form: split of ``condensed``.

        Raises:
            UnknownValueError: the package has none of that form.
        """
        if form not in self.splits.get("condensed", []):
            raise UnknownValueError("form", form, self.splits.get("condensed", []))
        rows = rows_of(self.table("condensed", form))
        return {(query, passage): text for query, passage, text, idle in rows if not idle}

    def authors(self, context: str) -> pa.Table:
        """Read the author labels of the passages in a context set (schema AUTHORS)."""
        return self.table("authors", context)

    def absent(self, context: str) -> pa.Table:
        """Read the triples that were removed from a context set (schema KG_ABSENT)."""
        return self.table("absent", context)

    @property
    def evolution(self) -> pa.Table:
        """Table of how each question evolved, round by round (schema KG_EVOLUTION)."""
        return self.table("evolution", "evolution")

    @property
    def corpus(self) -> list[Path]:
        """Parquet files of the corpus (schema CORPUS), in order."""
        return self.shards("corpus", "corpus")

    def texts(self, ids: Iterable[str] | pa.Array) -> dict[str, tuple[str, str]]:
        """Read passages of the corpus: id to (title, text); unknown ids are absent.

        Args:
            ids: of passages; those that the corpus lacks are absent from the result.
        """
        return read_texts(self.corpus, ids)

    def shown_texts(self, ids: Iterable[str], context: str = "") -> dict[str, tuple[str, str]]:
        """Read passages that contexts show: id to (title, text); raise an error if one is missing.

        Args:
            ids: of passages.
            context: context set that shows them, for the error; empty for several.

        Raises:
            InputError: the corpus lacks one.
        """
        names = list(ids)
        texts = self.texts(names)
        missing = next((name for name in names if name not in texts), None)
        if missing is not None:
            message = f"names the unknown passage {missing!r}"
            raise damaged(message, self.folder / "contexts" / context, "unknown-id")
        return texts

    def items(
        self, context: str | None = None, query_id: str | None = None, show: str | None = None
    ) -> Iterator[Item]:
        """Yield a context set's queries with gold and evidence (``show``: summaries or snippets).

        Holds the passages that the context set names, not the corpus.

        Args:
            context: context set; None for the only one, or the first.
            query_id: only this query.
            show: form of ``condensed`` that stands for the text of a passage that has one.

        Raises:
            UnknownValueError: no such context set, query or form.
        """
        name = self.contexts[0] if context is None and self.contexts else context or ""
        if query_id is not None and query_id not in self.row_of:
            raise UnknownValueError("query", query_id, self.query_ids)
        items = self.kind.items(self, name, query_id)
        return items if show is None else replace_texts(items, self.condensed(show))


def rows_about(table: pa.Table, config: str, queries: frozenset[str]) -> pa.Table:
    """Select a package table's rows about some queries; all rows if no column names queries.

    Args:
        table: table of a package.
        config: its config, such as ``contexts``.
        queries: ids of the queries.
    """
    column = "_id" if config == "queries" else None
    column = column or next((c for c in ("query_id", "query-id") if c in table.column_names), None)
    if column is None:
        return table
    return rows_with(table, column, queries)


def read_texts(corpus: list[Path], ids: Iterable[str] | pa.Array) -> dict[str, tuple[str, str]]:
    """Read passages from corpus files: id to (title, text).

    Args:
        corpus: shards of a corpus.
        ids: ids of passages; those that the corpus lacks are absent from the result.
    """
    wanted = ids if isinstance(ids, pa.Array) else pa.array(sorted(set(ids)), pa.string())
    return {
        name: (title, text)
        for batch in iter_batches(corpus, CORPUS.names[:3], schema=CORPUS)
        for name, title, text in rows_of(rows_with(batch, "_id", wanted))
    }


def short_answers(queries: pa.Table, relevant: pa.Table, gold: pa.Table) -> list[list[str]]:
    """Collect the gold short answers, a list per query in the table's order.

    Args:
        queries: schema QUERIES.
        relevant: judgements, whose ``short_answers`` are JSON lists (schema MAPPING).
        gold: gold rows, whose ``aliases`` are short answers, too (schema GOLD).
    """
    row_of = {name: row for row, name in enumerate(queries["_id"].to_pylist())}
    by_row: list[dict[str, None]] = [{} for _ in row_of]
    for name, text in rows_of(relevant, "query-id", "short_answers"):
        if text is not None:
            by_row[row_of[name]].update(dict.fromkeys(json.loads(text)))
    for name, aliases in rows_of(gold, "query_id", "aliases"):
        if aliases and name in row_of:
            by_row[row_of[name]].update(dict.fromkeys(aliases))
    return [list(answers) for answers in by_row]
