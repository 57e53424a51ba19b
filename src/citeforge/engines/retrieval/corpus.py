"""Vectors of a corpus and of queries by one embedder, and the search over them."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from citeforge.engines.corpus import embedding_texts, join_titles, take_rows
from citeforge.engines.draws import distinct_below, generator
from citeforge.engines.models.embedder import (
    CALIBRATION,
    Embedder,
    Kind,
    Quantizable,
    Refinable,
)
from citeforge.engines.models.vectors import (
    SHARD_ROWS,
    VectorShard,
    ensure_shards,
    gather,
    unit_vectors,
)
from citeforge.engines.progress import progress
from citeforge.engines.retrieval.certain import CertainSearch, Rows
from citeforge.engines.retrieval.exact import FirstStage, retrieve_candidates
from citeforge.engines.tables import count_rows
from citeforge.schemas.errors import UsageError
from citeforge.schemas.recipes.base import Compute

_FINER: dict[str, tuple[Compute, ...]] = {"float64": (), "float32": ("fp64",)}
"""Numeric format of the first vectors to the formats that decide what these leave open."""


@dataclass(frozen=True)
class CorpusModel:
    """An embedder and a corpus; makes a :class:`CertainSearch` for queries.

    Attributes:
        embedder: turns texts into vectors.
        corpus: Parquet files of the passages (schema CORPUS).
        folder: folder for vectors of passages.
        compute: numbers that all passages are embedded in; the lists do not depend on it.
        shard_rows: texts a shard of vectors.
        first_stage: function that searches vectors in float32.
        query_folder: folder for all other vectors; None for ``folder``, which no other process
            may then use.
    """

    embedder: Embedder
    corpus: list[Path]
    folder: Path
    compute: Compute = "fp32"
    shard_rows: int = SHARD_ROWS
    first_stage: FirstStage = retrieve_candidates
    query_folder: Path | None = None

    def __post_init__(self) -> None:
        """Check that the embedder can compute in the requested numeric format.

        Raises:
            UsageError: numbers are requested of an embedder that does not compute here.
        """
        if not isinstance(self.embedder, Refinable) and self.compute not in ("auto", "fp32"):
            name = self.embedder.fingerprint()["name"]
            raise UsageError(
                f"--compute {self.compute}: {name} does not compute here; leave it out",
                code="option-without-effect",
            )

    @cached_property
    def size(self) -> int:
        """Number of passages."""
        return count_rows(self.corpus)

    @property
    def passages(self) -> list[VectorShard]:
        """Vectors of all passages; embedded at the first call."""
        return self._embedded[0]

    @cached_property
    def _embedded(self) -> tuple[list[VectorShard], dict[str, Any]]:
        """Embed all passages; return their vectors, and facts about format and device."""
        first = self.embedder
        if isinstance(first, Refinable):
            first = first.at(self.compute)
        if self.compute == "int8" and isinstance(first, Quantizable):
            first = first.quantized(self._draw_calibration())
        computed: dict[str, Any] = first.fingerprint().get("computed", {})
        dtype = computed.get("dtype")
        stage = f"embedding passages in {dtype}" if dtype else "embedding passages"
        texts = embedding_texts(self.corpus, self.shard_rows)
        with progress(stage, self.size, "passages") as advance:
            name = f"passages-{dtype or 'given'}"
            shards = ensure_shards(
                self.folder, name, texts, first, "passage", advance, self._read_id
            )
        return shards, computed

    def computed(self) -> dict[str, Any]:
        """Get the numeric format and device of the passage vectors; empty if not computed here."""
        return self._embedded[1]

    def search(self, queries: pa.Array) -> CertainSearch:
        """Make the search for some queries; it replaces an earlier search for others."""
        embedder = self.embedder
        if not isinstance(embedder, Refinable):
            vectors = unit_vectors(self._embed_texts("queries", queries, embedder, "query"))
            return self._search.set_queries(vectors)
        search = self._search  # its passages come first: one model is in memory at a time
        vectors = unit_vectors(self._embed_texts("queries", queries, embedder.at("fp32"), "query"))

        def embed_queries(rows: Rows) -> npt.NDArray[np.float64]:
            """Embed the queries at some rows, in float64."""
            texts = queries.take(pa.array(rows))
            shards = self._embed_texts("exact-queries", texts, embedder.at("fp64"), "query")
            return gather(shards, np.arange(len(rows)))

        return search.set_queries(vectors, embed_queries)

    @cached_property
    def _search(self) -> CertainSearch:
        """Search over the passages; refinable if the embedder has finer numeric formats."""
        search = CertainSearch(self.passages, self.first_stage)
        embedder = self.embedder
        if isinstance(embedder, Refinable):
            finer = _FINER.get(str(self.computed().get("dtype")), ("fp32", "fp64"))

            def embed_passages(level: int, name: str, texts: pa.Array) -> list[VectorShard]:
                """Embed texts in the numeric format of a level, kept under a name."""
                return self._embed_texts(name, texts, embedder.at(finer[level - 1]), "passage")

            search.refine_by(self.corpus, len(finer) + 1, embed_passages)
        return search

    def count_cut(self, queries: pa.Array) -> dict[str, int]:
        """Count texts longer than the model reads, by the names of the counts in manifests."""
        if not isinstance(self.embedder, Refinable):
            return {}
        counts = {}
        texts: dict[Kind, Iterator[pa.Array]] = {
            "passage": embedding_texts(self.corpus, self.shard_rows),
            "query": iter([queries]),
        }
        for kind, pieces in texts.items():
            if (found := self.embedder.count_cut(pieces, kind)) is not None:
                plural = {"passage": "passages", "query": "queries"}[kind]
                counts[f"{plural} cut by the embedder after {found[1]} tokens"] = found[0]
        return counts

    def _embed_texts(
        self, name: str, texts: pa.Array, embedder: Embedder, kind: Kind
    ) -> list[VectorShard]:
        """Embed texts, or read their vectors from the folder if they are there."""
        folder = self.query_folder or self.folder
        stage = {"query": "embedding queries", "passage": "deciding what is near"}[kind]
        pieces = (texts.slice(i, self.shard_rows) for i in range(0, len(texts), self.shard_rows))
        with progress(stage, len(texts), "texts") as advance:
            return ensure_shards(
                folder, name, pieces, embedder, kind, advance, lambda i: str(texts[i])[:60]
            )

    def _draw_calibration(self) -> list[str]:
        """Draw the passages at random on which int8 is calibrated."""
        drawn = distinct_below(self.size, CALIBRATION, generator(0, "calibration"), ())
        positions = np.sort(np.array(drawn, np.int64))
        texts: list[str] = join_titles(
            take_rows(self.corpus, positions, ["title", "text"])
        ).to_pylist()
        return texts

    def _read_id(self, position: int) -> str:
        """Read the id of the passage at a position, for error messages."""
        return str(take_rows(self.corpus, np.array([position]), ["_id"])["_id"][0])
