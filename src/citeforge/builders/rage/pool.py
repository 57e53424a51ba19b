"""Judgements by a model in place of people's: a pool of passages for each query, graded.

The pool of a query has its first passages by BM25 and by the embedder. Further passages measure
the judge's error: some at random, which are hardly relevant, and some that people judged.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from citeforge.builders.build import Stats, Workspace
from citeforge.builders.rage.kept_queries import KeptQueries
from citeforge.builders.rage.material import Material
from citeforge.builders.rage.negatives import Models, open_search
from citeforge.builders.rage.pool_judges import PoolJudge, PoolPair
from citeforge.builders.rage.relevance_labels import read_relevance_labels
from citeforge.builders.shares import share_with_interval
from citeforge.engines.draws import distinct_below, generator, sample_ids
from citeforge.engines.llm.writers import require_askable
from citeforge.engines.plugins import warn
from citeforge.engines.retrieval.bm25 import Bm25
from citeforge.engines.retrieval.dense import find_nearest
from citeforge.engines.tables import count_rows, rows_of, rows_with, table_of, take_rows
from citeforge.engines.textfiles import count_text
from citeforge.ir_convert.judged import JudgedSource
from citeforge.schemas.counts import count_key
from citeforge.schemas.errors import InputError
from citeforge.schemas.tables import MAPPING

_RANDOM, _KNOWN, _KNOWN_OTHERS = "random", "relevant by people", "not relevant by people"
_ERRORS = {
    _RANDOM: "random passages: called relevant",
    _KNOWN: "passages that people call relevant: not called relevant",
    _KNOWN_OTHERS: "passages that people do not call relevant: called relevant",
}
"""Controls to their error."""
_BY_PEOPLE = 1.0
"""Score of passages that people label relevant."""
PairKey = tuple[str, int]
"""Query id and corpus position."""


@dataclass(frozen=True)
class Pooled:
    """Material with the relevant passages that the judge found.

    Attributes:
        material: material whose judgements are those of people and of the judge.
        unsure: pairs that may be relevant, schema MAPPING; shown to no system.
        stats: grades, and errors of the judge.
        models: embedder that ranked the pool, by role.
    """

    material: Material
    unsure: pa.Table
    stats: Stats
    models: Models


@dataclass(frozen=True)
class _Pool:
    """Pairs to judge.

    Attributes:
        ranked: pairs of the rankings without those that people judged.
        controls: control to its pairs.
    """

    ranked: list[PairKey]
    controls: dict[str, list[PairKey]]

    def pairs(self) -> list[PairKey]:
        """List the pairs to judge (ranked ones and controls), each once."""
        return list(dict.fromkeys([*self.ranked, *(p for c in self.controls.values() for p in c)]))


def judge_pool(
    material: Material,
    judge: PoolJudge,
    workspace: Workspace,
    kept_queries: KeptQueries | None = None,
) -> Pooled:
    """Let a judge grade candidate passages (pool) per query; drop queries without relevant ones.

    People's judgements stay as they are, and their labels correct those of the judge.

    Args:
        material: material of the build, with the judgements of people, if there are some.
        judge: the judge.
        workspace: working folder of the build.
        kept_queries: queries of an earlier package, which are not judged again; None for none.

    Raises:
        InputError: no query has a relevant passage.
    """
    require_askable(judge.llm)
    run = material.sources.run
    if run.compute == "auto":
        # The pool is searched before queries are left out: one precision, so that passages are
        # embedded once.
        run = run.model_copy(update={"compute": "fp32"})
        material = replace(material, sources=replace(material.sources, run=run))
    people = _judged_by_people(material)
    pool = _collect_pool(material, workspace, people)
    keys = pool.pairs()
    grades = dict(zip(keys, judge.grade(_read_pairs(material, keys)), strict=True))
    least = judge.relevant_from
    failed = sum(grade is None for grade in grades.values())
    material.counts["pool_pairs_judged"] = len(keys)
    material.counts["pool_pairs_that_the_judge_failed_on"] = failed
    if failed and not run.dry_run:
        warn(f"the judge failed on {count_text(failed, 'pair')}, shown to no system")
    found = {key: grades[key] for key in pool.ranked}
    # A random passage that seems relevant may be: it is no negative.
    open_keys = [k for k, g in found.items() if g is None or 0 < g < least]
    open_keys += [k for k in pool.controls[_RANDOM] if grades[k] != 0]
    relevant = {k: g for k, g in found.items() if g is not None and g >= least}
    for key, is_relevant in _read_labels(material, people, kept_queries).items():
        relevant.pop(key, None)
        open_keys = [other for other in open_keys if other != key]
        if is_relevant:
            relevant[key] = _BY_PEOPLE
    material.counts["pool_passages_unsure"] = len(open_keys)
    labelled = _make_mapping(material, relevant)
    judged = pa.concat_tables([material.relevant, labelled]).combine_chunks()
    unsure = _make_mapping(material, {key: grades[key] for key in open_keys})
    answerable = _drop_queries(
        replace(material, relevant=judged), may_drop_all=kept_queries is not None
    )
    unsure = rows_with(unsure, "query-id", answerable.queries["_id"]).combine_chunks()
    stats: Stats = {"pool_grades": _count_grades(found.values())}
    for control, pairs in pool.controls.items():
        values = [g for key in pairs if (g := grades[key]) is not None]
        if values:
            wrong = sum((g >= least) != (control == _KNOWN) for g in values)
            stats[count_key("pool_error", _ERRORS[control])] = share_with_interval(
                wrong, len(values)
            )
    return Pooled(answerable, unsure, stats, {"embedder": material.sources.fingerprint()})


def _judged_by_people(material: Material) -> dict[PairKey, bool]:
    """Map the (query, corpus position) pairs that people judged to whether they are relevant."""
    source = material.sources.source
    assert isinstance(source, JudgedSource)
    queries = set(material.ids)
    rows = [
        (query, passage, None, float(score), None)
        for (query, passage), score in source.judged.scores.items()
        if query in queries
    ]
    mapping, positions = material.locate(table_of(rows, MAPPING))
    known = rows_of(mapping, "query-id", "score")
    return {
        (query, position): score > 0
        for (query, score), position in zip(known, positions[positions >= 0].tolist(), strict=True)
    }


def _read_labels(
    material: Material, judged_by_source: Mapping[PairKey, bool], kept_queries: KeptQueries | None
) -> dict[PairKey, bool]:
    """Map (query, corpus position) pairs of label files to their relevance; count the labels.

    Pairs that the source judges alike are left out.

    Args:
        material: material of the build, whose recipe names the files.
        judged_by_source: pairs that the source judges.
        kept_queries: queries of an earlier package, which has their labels; None for none.

    Raises:
        InputError: an unknown query or passage, or the source judges a pair otherwise.
    """
    given = [x for x in read_relevance_labels(material.recipe.labels) if x.row.label is not None]
    if kept_queries is not None:
        given = list(kept_queries.select_labels(given, material.counts))
    texts = dict(rows_of(material.queries, "_id", "text"))
    for label in given:
        text = texts.get(label.row.query_id)
        if text is None or label.row.question not in (None, text):  # of another data set
            raise label.unknown_query()
    rows = [(x.row.query_id, x.row.passage, None, None, None) for x in given]
    _, positions = material.locate(table_of(rows, MAPPING))
    found: dict[PairKey, bool] = {}
    for label, position in zip(given, positions.tolist(), strict=True):
        key = (label.row.query_id, position)
        before = judged_by_source.get(key, found.get(key, label.is_relevant))
        if position < 0 or before != label.is_relevant:
            raise InputError(
                f"names the passage {label.row.passage!r}, which "
                + ("is not in the corpus" if position < 0 else "is judged otherwise elsewhere"),
                path=label.path, line=label.line, field="passage",
                allowed="labels of this build, one for each pair", code="unknown-id",
            )  # fmt: skip
        name = count_key("passages_people_call", str(label.row.label))
        material.counts[name] = material.counts.get(name, 0) + 1
        if key not in judged_by_source:
            found[key] = label.is_relevant
    return found


def _collect_pool(
    material: Material, workspace: Workspace, judged_by_source: Mapping[PairKey, bool]
) -> _Pool:
    """Collect (query, passage) pairs to judge: nearest by BM25 and vectors, and control pairs.

    Args:
        material: material of the build.
        workspace: working folder, which keeps the vectors.
        judged_by_source: pairs that people judged; they are judged again only as controls.
    """
    recipe, ids, corpus = material.recipe, material.ids, material.corpus
    depth, n_controls = recipe.pool.depth, recipe.pool.controls
    texts = material.queries["text"].to_pylist()
    by_words = Bm25.from_corpus(corpus).rank(dict(zip(ids, texts, strict=True)), depth)
    rows = [(q, r.docid, None, None, None) for q in ids for r in by_words[q]]
    mapping, positions = material.locate(table_of(rows, MAPPING))
    nearest: dict[str, list[int]] = {query: [] for query in ids}
    for query, position in zip(mapping["query-id"].to_pylist(), positions.tolist(), strict=True):
        nearest[query].append(position)
    search, _ = open_search(material, workspace)
    by_vectors, _ = find_nearest(search, corpus, len(ids), depth)
    size = count_rows(corpus)
    ranked: list[PairKey] = []
    controls: dict[str, list[PairKey]] = {control: [] for control in _ERRORS}
    judged: dict[str, list[PairKey]] = {query: [] for query in ids}
    for key in judged_by_source:
        judged[key[0]].append(key)
    for query, near in zip(ids, by_vectors.tolist(), strict=True):
        pool = dict.fromkeys([*nearest[query], *near])
        ranked += [(query, p) for p in pool if (query, p) not in judged_by_source]
        barred = {*pool, *(position for _, position in judged[query])}
        rng = generator(recipe.seed, "pool controls", query)
        controls[_RANDOM] += [(query, p) for p in distinct_below(size, n_controls, rng, barred)]
        for control, is_relevant in ((_KNOWN, True), (_KNOWN_OTHERS, False)):
            some = [key for key in judged[query] if judged_by_source[key] == is_relevant]
            controls[control] += sample_ids(some, n_controls, recipe.seed, f"pool: {control}")
    return _Pool(ranked, controls)


def _read_pairs(material: Material, keys: Iterable[PairKey]) -> list[PoolPair]:
    """Read the question and passage texts of (query, corpus position) pairs."""
    listed = list(keys)
    positions = np.unique(np.array([position for _, position in listed], np.int64))
    read = take_rows(material.corpus, positions, ["title", "text"])
    passages = dict(zip(positions.tolist(), rows_of(read, "title", "text"), strict=True))
    questions = dict(rows_of(material.queries, "_id", "text"))
    return [PoolPair(questions[query], *passages[position]) for query, position in listed]


def _make_mapping(material: Material, grades: Mapping[PairKey, float | None]) -> pa.Table:
    """Make a MAPPING table of (query, corpus position) pairs, with grades as scores."""
    positions = np.unique(np.array([position for _, position in grades], np.int64))
    names = take_rows(material.corpus, positions, ["_id"])["_id"].to_pylist()
    ids = dict(zip(positions.tolist(), names, strict=True))
    rows = [(query, ids[at], None, grade, None) for (query, at), grade in grades.items()]
    return table_of(rows, MAPPING)


def _drop_queries(material: Material, may_drop_all: bool) -> Material:
    """Drop queries without a relevant passage, unless the recipe keeps them; count and warn.

    Args:
        material: material of the queries that were judged.
        may_drop_all: whether the build has other queries, so that none of these may be left.

    Raises:
        InputError: no query is left.
    """
    with_relevant = rows_with(material.queries, "_id", material.relevant["query-id"])
    n_without = material.queries.num_rows - with_relevant.num_rows
    if with_relevant.num_rows == 0 and not may_drop_all:
        raise InputError(
            "the judge found no relevant passage for any query", path=material.recipe.source,
            allowed="a greater --pool-depth, a lower --relevant-from, or another --judge-pool",
            code="no-relevant",
        )  # fmt: skip
    if not n_without:
        return material
    if material.recipe.allow_no_relevant:
        material.counts["queries_without_a_relevant_passage"] = n_without
        return material
    material.counts["queries_without_relevant_passages"] = n_without
    if not material.sources.run.dry_run:
        warn(
            f"queries left out, as their pools have no relevant passage: {n_without:,} "
            "(--allow-no-relevant keeps them)"
        )
    queries = with_relevant.combine_chunks()
    gold = rows_with(material.gold, "query_id", queries["_id"]).combine_chunks()
    return replace(material, queries=queries, gold=gold)


def _count_grades(grades: Iterable[float | None]) -> dict[str, int]:
    """Count the (query, passage) pairs of each grade, in order; failures (``none``) last."""
    counts = Counter(grades)
    known = sorted(g for g in counts if g is not None)
    named = {f"{grade:g}": counts[grade] for grade in known}
    return named | ({"none": counts[None]} if None in counts else {})
