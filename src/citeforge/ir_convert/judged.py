"""Sources of queries with judged passages, whose judgements are kept in memory."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from citeforge.engines.tables import table_of
from citeforge.ir_convert.source import ReadOptions, Source, empty_text
from citeforge.schemas.counts import count_key
from citeforge.schemas.errors import InputError
from citeforge.schemas.sources import SourceInfo
from citeforge.schemas.tables import MAPPING, QUERIES


class LocatedQuery(NamedTuple):
    """A query of a source, and the line that it is from.

    Attributes:
        line: line or number, from 1.
        text: text of the query.
        metadata: JSON object as text; None for none.
    """

    line: int
    text: str
    metadata: str | None = None


@dataclass
class Judgements:
    """Judgements of (query, passage) pairs of one split.

    Attributes:
        path: file, for messages.
        scores: (query, passage) to judgement.
        lines: (query, passage) to the line of the judgement.
        skip_contradictions: whether the higher of two judgements is kept and the other counted.
        contradicted: number of judgements that were not kept.
    """

    path: str
    scores: dict[tuple[str, str], int] = field(default_factory=dict)
    lines: dict[tuple[str, str], int] = field(default_factory=dict)
    skip_contradictions: bool = False
    contradicted: int = 0

    def add(self, line: int, query: str, passage: str, score: int) -> None:
        """Add the relevance score of a (query, passage) pair, and the line that states it.

        Args:
            line: number of the line.
            query: id of the query.
            passage: id of the passage.
            score: judgement; above zero is relevant.

        Raises:
            InputError: it differs from an earlier judgement of the pair.
        """
        pair = (query, passage)
        before = self.scores.get(pair, score)
        if before != score and not self.skip_contradictions:
            raise InputError(
                f"judges {query!r}, {passage!r} otherwise than line {self.lines[pair]}",
                path=self.path,
                line=line,
                allowed="one judgement, or pass --skip-contradictions to keep the higher one",
                code="duplicate-id",
            )
        self.contradicted += before != score
        self.scores[pair] = max(before, score)
        self.lines.setdefault(pair, line)


class JudgedSource(Source):
    """Source whose judgements are in memory; unjudged queries are left out unless they are wanted.

    Attributes:
        judged: judgements.
        query_rows: query id to its row, in order; blank ones are skipped or refused.
        query_file: file of the queries, for messages; None for that of the judgements.
    """

    def __init__(
        self,
        provenance: SourceInfo,
        options: ReadOptions,
        judged: Judgements,
        files: Mapping[str, Path] | None = None,
    ) -> None:
        """Store judgements, provenance and options of a source; subclasses add its queries."""
        super().__init__(provenance, options, files)
        self.judged = judged
        self.query_rows: dict[str, LocatedQuery] = {}
        self.query_file: Path | str | None = None

    def queries(self) -> pa.Table:
        """Return the judged queries (or all); unknown or blank ones are errors unless skipped."""
        judged = {query for query, _ in self.judged.scores}
        if self.options.keeps_unjudged:
            judged |= self.query_rows.keys()
        missing = [pair for pair in self.judged.scores if pair[0] not in self.query_rows]
        if missing and not self.options.skip_dangling:
            raise InputError(
                f"names the query {missing[0][0]!r}, which is not in the topics",
                path=self.judged.path,
                line=self.judged.lines[missing[0]],
                field="query-id",
                allowed="add the query, or pass --skip-dangling",
                code="unknown-query",
            )
        if missing:
            self.provenance.counts["judgements_of_unknown_queries"] = len(missing)
        rows = {name: row for name, row in self.query_rows.items() if name in judged}
        blank = [row.line for row in rows.values() if not row.text.strip()]
        if blank and not self.options.skip_empty:
            raise empty_text(self.query_file or self.judged.path, blank[0])
        if blank:
            self.provenance.counts[count_key("rows_without_text", "queries")] = len(blank)
        kept = [(n, row.text, row.metadata) for n, row in rows.items() if row.text.strip()]
        return table_of(kept, QUERIES)

    def relevant(self) -> pa.Table:
        """Return the judgements above zero, and count the others."""
        pairs = self.judged.scores
        rows = [(q, p, None, float(s), None) for (q, p), s in pairs.items() if s > 0]
        if len(rows) < len(pairs):
            self.provenance.counts["judgements_of_zero_or_less"] = len(pairs) - len(rows)
        if self.judged.contradicted:
            self.provenance.counts["contradicting_judgements"] = self.judged.contradicted
        return table_of(rows, MAPPING)

    def locate_judgement(self, query_id: str, corpus_id: str) -> tuple[str, int | None]:
        """Return the file of the judgements, and the line of the given pair in it."""
        return self.judged.path, self.judged.lines.get((query_id, corpus_id))
