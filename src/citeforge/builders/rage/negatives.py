"""The mapping stage: irrelevant and seemingly relevant passages of each query."""

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from citeforge.builders.build import Workspace
from citeforge.builders.rage.exclusions import FINE, Exclusions, find_exclusions
from citeforge.builders.rage.hidden_negatives import count_near_candidates
from citeforge.builders.rage.material import Material
from citeforge.builders.rage.mining import Negative, SeeminglyRelevant, mine_ranked
from citeforge.engines.draws import distinct_below, generator
from citeforge.engines.models.compute import MANY_PASSAGES
from citeforge.engines.models.embedder import Refinable
from citeforge.engines.models.precomputed import PrecomputedVectors, passage_shards, query_rows
from citeforge.engines.progress import progress
from citeforge.engines.retrieval.certain import CertainSearch, CorpusModel
from citeforge.engines.retrieval.records import Rankings
from citeforge.engines.retrieval.settings import RetrieverSettings
from citeforge.engines.running.names import make_retriever
from citeforge.engines.running.setup import make_runner
from citeforge.engines.tables import (
    count_rows,
    iter_batches,
    read_ids_and_ranks,
    read_table,
    rows_with,
    shard_paths,
    table_of,
    write_table,
)
from citeforge.schemas.counts import count_key
from citeforge.schemas.manifest import COMPARED, FAR
from citeforge.schemas.tables import (
    COSINES,
    IRRELEVANT,
    MAPPING,
    RELEVANT,
    SEEMINGLY_RELEVANT,
    UNSURE,
)
from citeforge.schemas.version import __version__

Models = dict[str, dict[str, Any]]
_RANDOM_PASSAGES = 50
"""Passages of the corpus, drawn once, whose median cosine is the level of random passages."""
_QUERIES_AT_ONCE = 1000
"""Queries whose cosines are held at once."""


@dataclass(frozen=True)
class MadeMappings:
    """Relevant passages and negatives of the queries, and the models that chose them.

    Attributes:
        tables: label to rows, schema MAPPING.
        models: role (``embedder`` or ``candidates``) to identity of the model in it.
        cosines: known ones of seemingly relevant passages, schema COSINES; empty where nothing was
            mined by vectors.
        computed: numeric format and device of the vectors, and passages decided at each precision.
    """

    tables: dict[str, pa.Table]
    models: Models = field(default_factory=dict)
    cosines: pa.Table = field(default_factory=COSINES.empty_table)
    computed: dict[str, Any] = field(default_factory=dict)


def make_mappings(material: Material, workspace: Workspace, draw_seed: int) -> MadeMappings:
    """Make tables of relevant, mined and random passages, or take the source's own.

    Args:
        material: material of the build.
        workspace: working folder of the build.
        draw_seed: seed of the draws; secret in a build with hidden labels, which the draws would
            reveal.

    Raises:
        InputError: a mapping of the source names passages that there are not.
        UsageError: ``--exclude-answers`` without gold answers.
    """
    sources = material.sources
    source_mappings = {} if sources.recipe.remine else sources.source.mined()
    if source_mappings:
        return MadeMappings(_add_source_mappings(material, source_mappings, draw_seed))
    models, rankings = _choose_miner(material)
    key = _mining_key(material, models)
    drawn = {**key, "draws": draw_seed} if material.recipe.hidden else key
    record = workspace.read_finished("mapping", drawn)
    if record is None:
        files, record = _mine_and_draw(material, workspace, rankings, draw_seed)
        record = workspace.finish("mapping", drawn, files, record)
    material.counts.update(record["counts"])
    folder = workspace.stage("mapping")
    mined = {
        label: read_table(shard_paths(folder, label), MAPPING)
        for label in (IRRELEVANT, SEEMINGLY_RELEVANT)
    }
    cosines = read_table(shard_paths(folder, "cosines"), COSINES)
    return MadeMappings({RELEVANT: material.relevant, **mined}, models, cosines, record["computed"])


def read_unsure(material: Material) -> pa.Table:
    """Read a build's (query, passage) pairs of unsure relevance from its source (MAPPING).

    Raises:
        InputError: they name passages that there are not.
    """
    unsure = material.sources.source.unsure()
    return _locate_rows(material, UNSURE, unsure)[0].combine_chunks() if unsure.num_rows else unsure


def _locate_rows(
    material: Material, label: str, table: pa.Table
) -> tuple[pa.Table, npt.NDArray[np.int64]]:
    """Return (rows with known passages, every row's corpus position or −1); count unknown ones.

    Returns:
        Rows of known passages, and the position of each row's passage; negative if unknown.

    Raises:
        InputError: a passage is unknown, unless ``--skip-dangling`` is given.
    """
    asked = rows_with(table, "query-id", material.queries["_id"])
    mapping, rows = material.locate(asked)
    if (rows < 0).any():
        material.refuse_dangling(asked, rows)
        n_unknown = int((rows < 0).sum())
        material.counts[count_key("mapped_rows_of_unknown_passages", label)] = n_unknown
    return mapping, rows


def _add_source_mappings(
    material: Material, source_tables: dict[str, pa.Table], draw_seed: int
) -> dict[str, pa.Table]:
    """Take queries' labelled passages from the source; draw irrelevant ones if it has none.

    What the source labels is never drawn. Rows of unknown passages are an error or, with
    ``--skip-dangling``, counted.

    Args:
        material: material of the build.
        source_tables: label to the source's rows, schema MAPPING.
        draw_seed: seed of the draws.

    Returns:
        Label to rows of the build's queries, schema MAPPING.
    """
    mining = material.recipe.mining
    tables = {RELEVANT: material.relevant}
    listed: dict[str, list[Negative]] = {q: [] for q in material.ids}
    for label, table in source_tables.items():
        mapping, rows = _locate_rows(material, label, table)
        tables[label] = mapping
        passages = rows[rows >= 0].tolist()
        for query, position in zip(mapping["query-id"].to_pylist(), passages, strict=True):
            listed[query].append(Negative(position))
    if IRRELEVANT not in source_tables and mining.irrelevant:
        exclusions = find_exclusions(material)
        drawn = draw_irrelevant(material.ids, exclusions, list(listed.values()), draw_seed)
        tables[IRRELEVANT] = mapping_table(material.corpus, material.ids, drawn)
        material.counts.update(exclusions.counts)
    return tables


def _choose_miner(material: Material) -> tuple[Models, Rankings | None]:
    """Choose the source of mined negatives: (its identity by role, rankings; None for vectors).

    Returns:
        (role to identity of the model, rankings of all queries or None for an embedder).
    """
    recipe = material.recipe
    if not recipe.mining.seemingly_relevant:
        return {}, None
    if recipe.candidates is None:
        return {"embedder": material.sources.fingerprint()}, None
    retriever = make_retriever(recipe.candidates, RetrieverSettings(material.corpus))
    texts = material.queries["text"].to_pylist()
    # All that a run, or BM25, has for the queries.
    rankings = retriever.rank(dict(zip(material.ids, texts, strict=True)), sys.maxsize)
    return {"candidates": retriever.identity()}, rankings


def _mining_key(material: Material, models: Models) -> dict[str, Any]:
    """Collect the inputs that mined negatives depend on, as the cache key of that build step."""
    recipe, vectors = material.recipe, material.sources.vectors
    return {
        "vectors": None if vectors is None else [v.sha256 for v in vectors],
        "models": models,
        "queries": material.ids,
        "texts": material.queries["text"].to_pylist(),
        "relevant": material.relevant.to_pydict(),
        "gold": material.gold["aliases"].to_pylist(),
        "corpus": [i.files for i in material.infos],
        "mining": recipe.mining.model_dump(mode="json"),
        "seed": recipe.seed,
        "citeforge": __version__,
    }


def _mine_and_draw(
    material: Material,
    workspace: Workspace,
    rankings: Rankings | None,
    draw_seed: int,
) -> tuple[dict[str, str], dict[str, Any]]:
    """Mine and draw each query's negatives into files: (names and hashes, counts and settings).

    Args:
        material: material of the build.
        workspace: working folder of the build.
        rankings: rankings to mine from; None to mine by vectors.
        draw_seed: seed of the draws.

    Returns:
        (file names with sha256, record of the stage: ``counts`` and how vectors were ``computed``).
    """
    ids, corpus, recipe = material.ids, material.corpus, material.recipe
    exclusions = find_exclusions(material)
    counts = exclusions.counts
    mined: list[list[Negative]] = [[] for _ in ids]
    with_cosines = mined
    computed: dict[str, Any] = {}
    if rankings is not None:
        mined = mine_ranked(rankings, exclusions)
    elif recipe.mining.seemingly_relevant:
        search, computed = open_search(material, workspace)
        n_relevant = [len(passages) for passages in exclusions.relevant]
        numbers = count_near_candidates(recipe, n_relevant) if recipe.hidden else None
        miner = SeeminglyRelevant(search, exclusions, numbers)
        with_cosines = miner.mine()
        # Known digits of cosines depend on the processor, so they are in a table of their own.
        mined = [[Negative(one.position) for one in row] for row in with_cosines]
        exclusions.count_dropped(SEEMINGLY_RELEVANT, miner.dropped)
        for option, n in miner.above.items():
            counts[count_key("candidates_above", option)] = n
        counts |= count_easy_negatives(search, exclusions.relevant, with_cosines, recipe.seed)
        computed |= _count_refined(search)
    irrelevant = draw_irrelevant(ids, exclusions, mined, draw_seed)
    folder = workspace.start("mapping")
    files = write_table(folder, SEEMINGLY_RELEVANT, mapping_table(corpus, ids, mined))
    files |= write_table(folder, IRRELEVANT, mapping_table(corpus, ids, irrelevant))
    files |= write_table(folder, "cosines", _cosine_table(corpus, ids, with_cosines))
    # In the order in which a resumed build reads it back.
    return files, {"counts": dict(sorted(counts.items())), "computed": computed}


def draw_irrelevant(
    query_ids: list[str], exclusions: Exclusions, mined: list[list[Negative]], seed: int
) -> list[list[Negative]]:
    """Draw random passages for each query, except relevant and seemingly relevant ones.

    Args:
        query_ids: ids, which key the draws.
        exclusions: passages that must not be drawn.
        mined: seemingly relevant passages of each query.
        seed: seed of the draws.

    Returns:
        Passages of each query in the order drawn. Those dropped for their text are counted.
    """
    number = exclusions.mining.irrelevant
    size = count_rows(exclusions.corpus)
    drawn: list[list[Negative]] = [[] for _ in query_ids]
    dropped: Counter[int] = Counter()
    open_rows = list(range(len(query_ids)))
    ask = 2 * number + 6 if exclusions.reads_texts else number
    while open_rows and number:
        candidates = []
        for row in open_rows:
            barred = exclusions.forbidden[row] | {one.position for one in mined[row]}
            # From the start again: first come the passages of the last round, then further ones.
            rng = generator(seed, "irrelevant", query_ids[row])
            candidates.append(distinct_below(size, ask, rng, barred))
        sizes = [len(positions) for positions in candidates]
        rows = np.repeat(np.array(open_rows, np.int64), sizes)
        positions = np.array([p for of_query in candidates for p in of_query], np.int64)
        verdicts = np.split(exclusions.classify(rows, positions), np.cumsum(sizes)[:-1])
        still_open = []
        for row, of_query, verdict in zip(open_rows, candidates, verdicts, strict=True):
            fitting = [Negative(p) for p, v in zip(of_query, verdict, strict=True) if v == FINE]
            drawn[row] = fitting[:number]
            if len(fitting) < number and len(of_query) == ask:
                still_open.append(row)
            else:
                dropped.update(verdict[verdict != FINE].tolist())
        open_rows = still_open
        ask *= 4
    exclusions.count_dropped(IRRELEVANT, dropped)
    return drawn


def open_search(material: Material, workspace: Workspace) -> tuple[CertainSearch, dict[str, Any]]:
    """Open the vector search over the corpus: (search, how its vectors are computed).

    Args:
        material: material of the build; the number of shortened queries is counted.
        workspace: working folder, which keeps the vectors if the run names no other folder.
    """
    folder = material.sources.run.embeddings or workspace.stage("embeddings")
    if material.sources.vectors is not None:
        return _search_given_vectors(material, *material.sources.vectors, folder), {}
    model = _corpus_model(material, folder)
    texts = pa.concat_arrays(material.queries["text"].chunks)
    material.counts.update(model.count_cut(texts))
    return model.search(texts), model.computed()


def _corpus_model(material: Material, folder: Path) -> CorpusModel:
    """Make the model that embeds the corpus, in the numeric format chosen or fastest here.

    Raises:
        UsageError: ``--compute`` of an embedder that does not compute here.
    """
    run, corpus, embedder = material.sources.run, material.corpus, material.sources.embedder
    compute = run.compute
    few = count_rows(corpus) < MANY_PASSAGES * material.queries.num_rows
    if compute == "auto" and few and isinstance(embedder, Refinable):
        compute = "fp32"  # most passages would be embedded twice
    search = make_runner(run).first_stage(run.device)
    return CorpusModel(embedder, corpus, folder, compute, run.shard_rows, search)


def _search_given_vectors(
    material: Material, passages: PrecomputedVectors, queries: PrecomputedVectors, folder: Path
) -> CertainSearch:
    """Open the search over passage and query vectors that the user supplies.

    Args:
        material: material of the build.
        passages: vectors of the passages.
        queries: vectors of the queries.
        folder: folder for blocks of vectors.

    Raises:
        InputError: they are not of these passages or queries, or no vectors.
    """
    corpus, rows = material.corpus, material.sources.run.shard_rows
    total = count_rows(corpus)
    ids = (pa.array(b["_id"]) for b in iter_batches(corpus, ["_id"], rows=rows))
    with progress("checking vectors", total, "vectors") as advance:
        shards = passage_shards(passages, ids, total, folder, advance)
    all_queries = material.sources.source.queries()["_id"].to_pylist()
    return CertainSearch(shards).set_queries(query_rows(queries, all_queries, material.ids))


def _count_refined(search: CertainSearch) -> dict[str, Any]:
    """Report error bounds of cosines, and how many passages were embedded more precisely.

    Args:
        search: search that has been made, with vectors of one to three precisions.
    """
    if len(search.bounds) == 1:
        return {}
    names = ("float64",) if len(search.bounds) == 2 else ("float32", "float64")
    decided = zip(names, search.n_refined[1:], strict=True)
    return {
        "bounds": [float(b) for b in search.bounds],
        **{f"passages_decided_in_{name}": n for name, n in decided},
    }


def _cosine_table(
    corpus: list[Path], query_ids: list[str], passages: Sequence[Sequence[Negative]]
) -> pa.Table:
    """Make the table of mined passages' cosines and ranks (schema COSINES), by query.

    Args:
        corpus: Parquet files.
        query_ids: ids of the queries.
        passages: mined passages of each query.
    """
    named = _with_passage_ids(corpus, query_ids, passages)
    return table_of([(q, name, round(one.score, 6), one.rank) for q, name, one in named], COSINES)


def mapping_table(
    corpus: list[Path], query_ids: list[str], negatives: Sequence[Sequence[Negative]]
) -> pa.Table:
    """Make the table of each query's negatives (schema MAPPING), in the given order.

    Args:
        corpus: Parquet files.
        query_ids: ids of the queries.
        negatives: negatives of each query.
    """
    rows = [
        (query, name, None, *((one.score, one.rank) if one.rank else (None, None)))
        for query, name, one in _with_passage_ids(corpus, query_ids, negatives)
    ]
    return table_of(rows, MAPPING)


def _with_passage_ids(
    corpus: list[Path], query_ids: list[str], negatives: Sequence[Sequence[Negative]]
) -> Iterator[tuple[str, str, Negative]]:
    """Yield (query id, passage id, negative) for negatives that are given by corpus position.

    Args:
        corpus: Parquet files.
        query_ids: ids of the queries.
        negatives: negatives of each query, by corpus position.
    """
    flat = [(query, one) for query, row in zip(query_ids, negatives, strict=True) for one in row]
    names, _ = read_ids_and_ranks(corpus, np.array([one.position for _, one in flat], np.int64))
    return ((query, name, one) for (query, one), name in zip(flat, names, strict=True))


def count_easy_negatives(
    search: CertainSearch,
    relevant: Sequence[Sequence[int]],
    mined: Sequence[Sequence[Negative]],
    seed: int,
) -> dict[str, int]:
    """Count negatives with a cosine nearer to random passages than to relevant ones.

    The level of random passages is the median over a draw of the corpus, that of relevant ones
    their mean, both for the same query. Queries without relevant or mined passages do not count.

    Args:
        search: gives cosines.
        relevant: positions of the relevant passages of each query.
        mined: seemingly relevant passages of each query.
        seed: seed of the draw.

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
        levels = np.median(search.scores(*pairs)[0].reshape(len(rows), -1), axis=1)
        positions = [np.array(relevant[row], np.int64) for row in rows]
        ends = np.cumsum([len(p) for p in positions])
        scores, _ = search.scores(
            np.repeat(rows, np.diff(ends, prepend=0)), np.concatenate(positions)
        )
        for i, cosines in enumerate(np.split(scores, ends[:-1])):
            middle = (levels[i] + cosines.mean()) / 2
            far += sum(bool(passage.score <= middle) for passage in mined[rows[i]])
    return {COMPARED: sum(len(mined[row]) for row in rows_of_both), FAR: far}
