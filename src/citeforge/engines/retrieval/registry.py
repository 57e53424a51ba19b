"""Retrievers by their names."""

from pathlib import Path

from citeforge.engines.registry import Registry, expected
from citeforge.engines.retrieval.bm25 import Bm25
from citeforge.engines.retrieval.dense import DenseCorpus
from citeforge.engines.retrieval.records import Retriever
from citeforge.engines.retrieval.runs import TrecRun
from citeforge.schemas.models.choices import RETRIEVERS as CHOICES
from citeforge.schemas.models.choices import Choice

RETRIEVERS: Registry[Choice, Retriever] = Registry(
    "retriever",
    "retrievers",
    CHOICES,
    {
        "bm25": lambda settings: Bm25.of(settings.corpus),
        "dense": DenseCorpus.of,
        "run": lambda file, settings: TrecRun(Path(file), settings.corpus),
    },
    "identity rank",
    expected("--retriever", CHOICES),
)
make_retriever = RETRIEVERS.make
