"""The passages: a corpus, cut where that is asked for, and the candidates of each question.

Candidates are retrieved from the corpus, or the documents that items bring.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from citeforge.engines.io.tables import batch_of
from citeforge.engines.retrieval.records import Rankings, ranked
from citeforge.engines.retrieval.registry import RetrieverSettings, make_retriever
from citeforge.engines.runner import make_runner
from citeforge.engines.setup import run_embedder
from citeforge.ir_convert.alce import AlceItem, passage_id
from citeforge.ir_convert.source import Source
from citeforge.schemas.benchmarks.tables import CORPUS
from citeforge.schemas.errors import InputError
from citeforge.schemas.recipes.answers import Retrieving
from citeforge.schemas.recipes.run import RunOptions

DOCUMENTS = "documents"
"""Split of the candidates that ALCE's items bring."""
_SIGN = "#"


def split_names(specs: Sequence[str]) -> dict[str, str]:
    """Split of ``candidates`` to the retriever whose it is: ``bm25``, ``dense``, ``run_STEM``."""
    spec_of: dict[str, str] = {}
    for spec in dict.fromkeys(specs):
        name, _, argument = spec.partition(":")
        if argument:
            name = f"{name}_{Path(argument).name.split('.')[0]}"
        name = re.sub(r"\W+", "_", name, flags=re.ASCII)
        while name in spec_of:
            name += "_"
        spec_of[name] = spec
    return spec_of


def retrieve_all(
    retrieving: Retrieving,
    run: RunOptions,
    questions: Mapping[str, str],
    corpus: list[Path],
    folder: Path,
    counts: Counter[str],
) -> tuple[dict[str, Rankings], dict[str, dict[str, Any]]]:
    """Ask every retriever.

    Args:
        retrieving: which, and how deep.
        run: where models run.
        questions: query to its text.
        corpus: Parquet shards.
        folder: where vectors are kept.
        counts: told of questions for which nothing is found.

    Returns:
        (split to rankings, role to identity of what made them).

    Raises:
        InputError: a retriever finds nothing for any question, or a run is at fault.
    """
    settings = RetrieverSettings(
        corpus,
        lambda: run_embedder(retrieving.embedder, run, revision=retrieving.embedder_revision),
        folder,
        run.shard_rows,
        make_runner(run).first_stage(run.device),
    )
    rankings, models = {}, {}
    for name, spec in split_names(retrieving.retrievers).items():
        retriever = make_retriever(spec, settings)
        rankings[name] = retriever.rank(questions, retrieving.depth)
        empty = sum(not row for row in rankings[name].values())
        if empty == len(questions):
            raise InputError(
                f"finds nothing for any of {len(questions)} questions",
                path=spec,
                allowed="another --retriever, or a --corpus about these questions",
            )
        if empty:
            counts[f"questions for which {name} finds nothing"] = empty
        models[f"retriever {name}"] = retriever.identity()
    return rankings, models


def documents(items: Sequence[AlceItem]) -> Rankings:
    """The documents of ALCE's items in their order; where scores are, 1 / rank stands."""
    rankings: Rankings = {}
    for item in items:
        ids = dict.fromkeys(passage_id(doc) for doc in item.docs)
        rankings[item.query_id] = ranked(
            item.query_id, ((name, round(1 / rank, 6)) for rank, name in enumerate(ids, 1))
        )
    return rankings


def pieces(text: str, size: int) -> list[str]:
    """A text in consecutive pieces of ``size`` words, the last one shorter; words are what white
    space separates, and are joined by single spaces."""
    words = text.split()
    return [" ".join(words[at : at + size]) for at in range(0, len(words), size)]


def piece_id(passage: str, number: int) -> str:
    """Id of a piece, numbered from 0. All pieces have such ids, so that none is another's."""
    return f"{passage}{_SIGN}{number}"


def whole_id(piece: str) -> str:
    """Id of the passage that a piece was cut from."""
    return piece.rpartition(_SIGN)[0]


def passage_chunks(source: Source, size: int) -> Iterator[pa.RecordBatch]:
    """The passages of a source (schema CORPUS) in pieces, each with title and metadata of its
    passage; what was cut is counted in ``source.info().counts``.

    Raises:
        InputError: no passage has a word.
    """
    counts: Counter[str] = Counter()
    for batch in source.passages():
        rows = []
        for name, title, text, metadata in zip(
            *(c.to_pylist() for c in batch.columns), strict=True
        ):
            chunks = pieces(text, size)
            counts["passages before cutting"] += 1
            counts["passages without a word, left out"] += not chunks
            rows += [(piece_id(name, i), title, t, metadata) for i, t in enumerate(chunks)]
        counts["passages after cutting"] += len(rows)
        if rows:
            yield batch_of(rows, CORPUS)
    if not counts["passages after cutting"]:
        raise InputError("has no passage with a word", path=source.info().spec)
    source.info().counts.update({what: n for what, n in counts.items() if n})
