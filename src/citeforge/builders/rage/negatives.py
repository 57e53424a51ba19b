"""The mapping stage: which passages are irrelevant or seemingly relevant to which query."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from citeforge.builders.rage.material import Material
from citeforge.builders.rage.mining import Mined, SeeminglyRelevant, draw_irrelevant, mine_ranked
from citeforge.builders.stages.build import Workspace
from citeforge.builders.stages.embedding import CorpusEmbedding, Embedded, from_others
from citeforge.builders.stages.shards import EMBEDDINGS, from_shards, merged
from citeforge.engines.draws import distinct_below, generator
from citeforge.engines.io.corpus import names_at
from citeforge.engines.io.tables import (
    read_table,
    rows_with,
    shard_paths,
    table_of,
    write_table,
)
from citeforge.engines.retrieval.records import Rankings
from citeforge.engines.retrieval.registry import RetrieverSettings, make_retriever
from citeforge.engines.runner import make_runner
from citeforge.engines.search.two_stage import ExactSearch, TwoStageSearch
from citeforge.schemas.benchmarks.manifest import COMPARED, FAR
from citeforge.schemas.benchmarks.tables import IRRELEVANT, MAPPING, RELEVANT, SEEMINGLY_RELEVANT
from citeforge.schemas.version import __version__

Models = dict[str, dict[str, Any]]
_RANDOM_PASSAGES = 50
"""Passages of the corpus, drawn once, whose median cosine is the level of random passages."""
_QUERIES_AT_ONCE = 1000
"""Queries whose cosines are held at once."""


def make_mappings(
    material: Material, place: Workspace, draw_seed: int
) -> tuple[dict[str, pa.Table], Models]:
    """Mapping tables by label, and the models that had a part in them.

    Args:
        material: of the build.
        place: where stages lie.
        draw_seed: of the draws that tell labels to whoever can make them again; a secret in a build
            whose labels are to be hidden.

    Raises:
        InputError: a mapping of the source names passages that there are not.
        UsageError: ``--exclude-answers`` without gold answers.
    """
    sources = material.sources
    theirs = {} if sources.recipe.remine else sources.source.mined()
    positions = material.relevant_positions()
    if theirs:
        return _source_mappings(material, theirs, positions, draw_seed), {}
    models, candidates = _candidates(material, place)
    embedded = candidates if isinstance(candidates, Embedded) else None
    key = mining_key(material, embedded)
    if "candidates" in models:
        key["candidates"] = models["candidates"]
    drawn = {**key, "draws": draw_seed} if material.recipe.hidden else key
    record = place.finished("mapping", drawn)
    if record is None:
        files, record = _mine(material, place, key, candidates, positions, draw_seed)
        place.finish("mapping", drawn, files, record)
    material.counts.update(record["counts"])
    if embedded is not None and embedded.first_stage:
        models["nominator"] = {**embedded.first_stage, **record["measured"]}
    mined = {
        label: read_table(shard_paths(place.stage("mapping"), label), MAPPING)
        for label in (IRRELEVANT, SEEMINGLY_RELEVANT)
    }
    return {RELEVANT: material.relevant, **mined}, models


def _source_mappings(
    material: Material, theirs: dict[str, pa.Table], positions: np.ndarray, draw_seed: int
) -> dict[str, pa.Table]:
    """The mappings that a source brings; irrelevant passages are drawn where it has none."""
    mining = material.recipe.mining
    tables = {RELEVANT: material.relevant}
    mined: dict[str, list[Mined]] = {q: [] for q in material.ids}
    for label, table in theirs.items():
        mapping, rows = material.locate(rows_with(table, "query-id", material.queries["_id"]))
        if (rows < 0).any():
            material.refuse_dangling(table, rows)
            material.counts[f"{label} rows of unknown passages, skipped"] = int((rows < 0).sum())
        tables[label] = mapping
        passages = rows[rows >= 0].tolist()
        for query, position in zip(mapping["query-id"].to_pylist(), passages, strict=True):
            mined[query].append(Mined(position))
    if IRRELEVANT not in theirs and mining.irrelevant:
        exclusions = material.exclusions(positions)
        drawn = draw_irrelevant(list(mined), exclusions, list(mined.values()), draw_seed)
        tables[IRRELEVANT] = mapping_table(material.corpus, list(mined), drawn)
        material.counts.update(exclusions.counts)
    return tables


def _candidates(material: Material, place: Workspace) -> tuple[Models, Embedded | Rankings | None]:
    """What seemingly relevant passages come from, vectors or somebody's ranking, and what made it,
    by role; None where there are to be no such passages."""
    recipe = material.recipe
    if not recipe.mining.seemingly_relevant:
        return {}, None
    if recipe.candidates is None:
        folder = material.sources.run.embeddings or place.stage(EMBEDDINGS)
        models = {"embedder": material.sources.fingerprint()}
        return models, make_vectors(material, folder)
    retriever = make_retriever(recipe.candidates, RetrieverSettings(material.corpus))
    texts = material.queries["text"].to_pylist()
    # All that a run, or BM25, has for the queries.
    rankings = retriever.rank(dict(zip(material.ids, texts, strict=True)), sys.maxsize)
    return {"candidates": retriever.identity()}, rankings


def make_vectors(material: Material, folder: Path) -> Embedded:
    """The vectors: of others, of shards, or made now.

    Args:
        material: of the build.
        folder: where vectors are kept.

    Raises:
        InputError: vectors of others, or shards, are not of this build.
    """
    sources, recipe = material.sources, material.recipe
    run, corpus = sources.run, material.corpus
    rows, queries, shares = run.shard_rows, material.queries["text"], run.from_shards
    if shares is not None:
        return from_shards(shares, corpus, queries)
    if sources.vectors is not None:
        names = sources.source.queries()["_id"].to_pylist()
        return from_others(sources.vectors, corpus, names, material.ids, folder, rows)
    embedder, search = sources.embedder(), make_runner(run).first_stage(run.device)
    work = CorpusEmbedding(embedder, corpus, folder, rows, recipe.seed, search)
    return work.of(queries, recipe.mining)


def mining_key(material: Material, embedded: Embedded | None) -> dict[str, Any]:
    """Everything that mining depends on."""
    recipe = material.recipe
    return {
        "vectors": [] if embedded is None else embedded.key,
        "queries": material.ids,
        "relevant": material.relevant.to_pydict(),
        "gold": material.gold["aliases"].to_pylist(),
        "corpus": [i.files for i in material.infos],
        "mining": recipe.mining.model_dump(mode="json"),
        "seed": recipe.seed,
        "citeforge": __version__,
    }


def _mine(
    material: Material,
    place: Workspace,
    key: dict[str, Any],
    candidates: Embedded | Rankings | None,
    positions: np.ndarray,
    draw_seed: int,
) -> tuple[dict[str, str], dict[str, Any]]:
    """Mine and draw; the files of both tables with sha256, and what the stage records."""
    ids, corpus = material.ids, material.corpus
    exclusions = material.exclusions(positions)
    counts = exclusions.counts
    mined: list[list[Mined]] = [[] for _ in ids]
    measured: dict[str, Any] = {}
    if isinstance(candidates, Embedded):
        search = candidates.search()
        miner = SeeminglyRelevant(search, exclusions)
        shares = material.sources.run.from_shards
        by_shares = None if shares is None else merged(shares, key, miner)
        mined = miner.mine() if by_shares is None else by_shares
        exclusions.note_dropped("seemingly relevant", miner.dropped)
        for option, n in miner.above.items():
            counts[f"seemingly relevant candidates dropped: above {option}"] = n
        if isinstance(search, TwoStageSearch):
            counts["passages embedded in float32"] = search.embedded
            counts["queries settled by a measured margin, not by proof"] = miner.n_measured
            counts["queries not settled by nominations of any depth"] = miner.n_unsettled
            measured = {"margin": search.margin}
        counts |= count_far(search, exclusions.relevant, mined, material.recipe.seed)
    elif candidates is not None:
        mined = mine_ranked(candidates, exclusions)
    irrelevant = draw_irrelevant(ids, exclusions, mined, draw_seed)
    folder = place.start("mapping")
    files = write_table(folder, SEEMINGLY_RELEVANT, mapping_table(corpus, ids, mined))
    files |= write_table(folder, IRRELEVANT, mapping_table(corpus, ids, irrelevant))
    # In the order in which a resumed build reads it back.
    return files, {"counts": dict(sorted(counts.items())), "measured": measured}


def mapping_table(
    corpus: list[Path], ids: list[str], passages: Sequence[Sequence[Mined]]
) -> pa.Table:
    """Schema MAPPING, queries in order, and the passages of each in theirs."""
    flat = [(query, one) for query, row in zip(ids, passages, strict=True) for one in row]
    names, _ = names_at(corpus, np.array([one.position for _, one in flat], np.int64))
    rows = [
        (query, name, None, *((one.score, one.rank) if one.rank else (None, None)))
        for (query, one), name in zip(flat, names, strict=True)
    ]
    return table_of(rows, MAPPING)


def count_far(
    search: ExactSearch | TwoStageSearch,
    relevant: Sequence[Sequence[int]],
    mined: Sequence[Sequence[Mined]],
    seed: int,
) -> dict[str, int]:
    """Mined passages whose cosine is not above the middle between random and relevant passages.

    The level of random passages is the median over a draw of the corpus, that of relevant ones
    their mean, both for the same query. Queries without relevant or mined passages do not count.

    Args:
        search: gives cosines.
        relevant: positions of the relevant passages of each query.
        mined: seemingly relevant passages of each query.
        seed: of the draw.

    Returns:
        How many were compared, and how many are not above, by their names in manifests.
    """
    draw = distinct_below(search.size, _RANDOM_PASSAGES, generator(seed, "nearness"), ())
    random = np.sort(np.array(draw, np.int64))
    rows_of_both = [row for row, passages in enumerate(mined) if passages and relevant[row]]
    far = 0
    for start in range(0, len(rows_of_both), _QUERIES_AT_ONCE):
        rows = np.array(rows_of_both[start : start + _QUERIES_AT_ONCE], np.int64)
        pairs = np.repeat(rows, len(random)), np.tile(random, len(rows))
        levels = np.median(search.rescore(*pairs).reshape(len(rows), -1), axis=1)
        positions = [np.array(relevant[row], np.int64) for row in rows]
        ends = np.cumsum([len(p) for p in positions])
        scores = search.rescore(
            np.repeat(rows, np.diff(ends, prepend=0)), np.concatenate(positions)
        )
        for i, cosines in enumerate(np.split(scores, ends[:-1])):
            middle = (levels[i] + cosines.mean()) / 2
            far += sum(bool(passage.score <= middle) for passage in mined[rows[i]])
    return {COMPARED: sum(len(mined[row]) for row in rows_of_both), FAR: far}
