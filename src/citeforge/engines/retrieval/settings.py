"""Settings of retrievers, and dense retrieval."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from citeforge.engines.models.embedder import Embedder
from citeforge.engines.models.vectors import SHARD_ROWS
from citeforge.engines.retrieval.certain import CorpusModel
from citeforge.engines.retrieval.dense import DenseCorpus
from citeforge.engines.retrieval.exact import FirstStage, retrieve_candidates
from citeforge.engines.retrieval.records import Retriever
from citeforge.schemas.errors import UsageError
from citeforge.schemas.recipes.base import Compute


def _no_embedder() -> Embedder:
    """Raise the error that dense retrieval requires an embedder."""
    raise UsageError("dense retrieval requires --embedder", code="missing-option")


@dataclass(frozen=True)
class RetrieverSettings:
    """Settings of a retriever, apart from its argument.

    Attributes:
        corpus: Parquet shards (schema CORPUS) of what is searched.
        embedder: makes the embedder of dense retrieval, when it is needed.
        folder: folder for its vectors.
        compute: numbers that all passages are embedded in.
        shard_rows: passages per shard of vectors.
        first_stage: function that searches them.
    """

    corpus: list[Path]
    embedder: Callable[[], Embedder] = _no_embedder
    folder: Path = field(default_factory=Path)
    compute: Compute = "fp32"
    shard_rows: int = SHARD_ROWS
    first_stage: FirstStage = retrieve_candidates


def make_dense(settings: RetrieverSettings) -> Retriever:
    """Make the retriever that ranks passages by the cosines of an embedder's vectors."""
    model = CorpusModel(
        settings.embedder(),
        settings.corpus,
        settings.folder,
        settings.compute,
        settings.shard_rows,
        settings.first_stage,
    )
    return DenseCorpus(model)
