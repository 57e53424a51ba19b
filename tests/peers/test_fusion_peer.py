"""Attributed-IR's ``query_aggregation.py`` beside our fusion."""

import importlib
import random
import sys
import types
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from citeforge.engines.retrieval import fusion
from peers.frozen import FrozenNumbers, Program

FUSION = Program(
    "attributed_ir_fusion",
    "hanane-djeddal/Attributed-IR",
    "query_aggregation.py: sort_all_scores(), combSum(), rerank_against_query() and PM2_post(), "
    "with rankings in place of a search engine",
    "test_fusion_peer.py",
)
Ranking = list[tuple[str, float]]
QUERIES = [str(i) for i in range(5)]


class Ranker:
    """Their retriever, with rankings that are there already."""

    def __init__(self, lists: list[Ranking]) -> None:
        self.lists = lists

    def search(self, query: str) -> list[dict[str, Any]]:
        return [{"id": i, "text": i, "score": s} for i, s in self.lists[int(query)]]


class MonoT5:
    """Their reranker: the lowest number first."""

    def rerank(self, query: str, docs: list[dict[str, Any]]) -> list[dict[str, Any]]:
        scored = [{**d, "score": -float(d["id"][1:])} for d in docs]
        return sorted(scored, key=lambda d: -d["score"])


def fuse(theirs: Any, lists: list[Ranking]) -> dict[str, Ranking]:
    """Rankings of all their ways but PM2."""
    given = QUERIES[0], QUERIES[1:], Ranker(lists)
    fused = {
        "sort": theirs.sort_all_scores(*given),
        "comb_sum": theirs.combSum(*given),
        "comb_mnz": theirs.combSum(*given, MNZ=True),
        "rerank": theirs.rerank_against_query(*given, MonoT5()),
    }
    return {name: list(zip(ids, scores, strict=True)) for name, (ids, _, scores) in fused.items()}


def pm2(theirs: Any, lists: list[Ranking]) -> list[str]:
    """Ids by PM2, whose last query is the original one."""
    ordered = [*lists[1:], lists[0]]
    ids: list[str] = theirs.PM2_post(
        [[s for _, s in ranking] for ranking in ordered],
        [[i for i, _ in ranking] for ranking in ordered],
    )[0]
    return ids


def run_all(
    fuse: Callable[[Any, list[Ranking]], Any], checkout: Path, every: list[list[Ranking]]
) -> list[Any]:
    """What a function makes of every case, with their module."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("spacy", "pyserini", "pyserini.search", "pyserini.search.lucene"):
            stub = types.ModuleType(name)
            stub.LuceneSearcher = object  # type: ignore[attr-defined]
            patch.setitem(sys.modules, name, stub)
        patch.setattr(sys, "path", [str(checkout / "src" / "retrieval"), *sys.path])
        theirs = importlib.import_module("query_aggregation")
        del sys.modules["query_aggregation"]
        return [fuse(theirs, lists) for lists in every]


def drawn(rng: random.Random, n: int, ids: list[str]) -> Ranking:
    """A ranking of n passages."""
    return sorted(((i, rng.uniform(-9, 0)) for i in rng.sample(ids, n)), key=lambda p: -p[1])


def test_sort_comb_sum_comb_mnz_and_rerank(printed: FrozenNumbers) -> None:
    rng = random.Random(5)
    ids = [f"d{i:02}" for i in range(25)]
    every = [[drawn(rng, rng.randint(2, 10), ids) for _ in QUERIES] for _ in range(10)]
    theirs = printed(FUSION, "drawn rankings", partial(run_all, fuse), every)
    for lists, expected in zip(every, theirs, strict=True):
        functions = {
            "sort": fusion.comb_max,
            "comb_sum": fusion.comb_sum,
            "comb_mnz": fusion.comb_mnz,
        }
        for name, function in functions.items():
            ours = function(lists)
            assert dict(ours) == pytest.approx(dict(expected[name])), name
            # Equal sums are in any order there.
            assert [s for _, s in ours] == pytest.approx([s for _, s in expected[name]]), name
        reranked = fusion.rerank(lists, lambda pool: [-float(i[1:]) for i in pool])
        assert [list(pair) for pair in reranked] == expected["rerank"]


def test_pm2_where_every_query_found_the_same_passages(printed: FrozenNumbers) -> None:
    """Theirs looks for the next passage in the ranking of the query whose turn it is alone, the
    algorithm (Dang and Croft 2012) among all; it is the same where all hold the same passages."""
    rng = random.Random(6)
    every = []
    for _ in range(40):
        ids = [f"d{i:02}" for i in range(rng.randint(2, 15))]
        every.append([drawn(rng, len(ids), ids) for _ in QUERIES])
    theirs = printed(FUSION, "the same passages", partial(run_all, pm2), every)
    assert [[i for i, _ in fusion.pm2(lists)] for lists in every] == theirs
