"""Attributed-IR's ``query_aggregation.py`` beside our fusion."""

import importlib
import random
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from citeforge.plugins.published_systems.attributed_ir import fusion

N_CASES = 100


class Ranker:
    """Their retriever, with rankings that are there already."""

    def __init__(self, lists: list[list[tuple[str, float]]]) -> None:
        self.lists = lists

    def search(self, query: str) -> list[dict[str, Any]]:
        return [{"id": i, "text": i, "score": s} for i, s in self.lists[int(query)]]


@pytest.fixture
def theirs(peer: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> Any:
    pytest.importorskip("torch")
    checkout = peer("Attributed-IR")
    for name in ("spacy", "pyserini", "pyserini.search", "pyserini.search.lucene"):
        stub = types.ModuleType(name)
        stub.LuceneSearcher = object  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, name, stub)
    monkeypatch.setattr(sys, "path", [str(checkout / "src" / "retrieval"), *sys.path])
    monkeypatch.delitem(sys.modules, "query_aggregation", raising=False)
    return importlib.import_module("query_aggregation")


def cases() -> list[list[list[tuple[str, float]]]]:
    rng = random.Random(5)
    result = []
    for _ in range(N_CASES):
        lists = []
        for _ in range(5):
            ids = rng.sample([f"d{i:02}" for i in range(25)], rng.randint(2, 10))
            lists.append(sorted(((i, rng.uniform(-9, 0)) for i in ids), key=lambda p: -p[1]))
        result.append(lists)
    return result


def test_sort_comb_sum_and_comb_mnz(theirs: Any) -> None:
    queries = [str(i) for i in range(5)]
    for lists in cases():
        ranker = Ranker(lists)
        for made, ours in (
            (theirs.sort_all_scores(queries[0], queries[1:], ranker), fusion.sort),
            (theirs.combSum(queries[0], queries[1:], ranker), fusion.comb_sum),
            (theirs.combSum(queries[0], queries[1:], ranker, MNZ=True), fusion.comb_mnz),
        ):
            ids, _, scores = made
            mine = ours(lists)
            assert dict(mine) == pytest.approx(dict(zip(ids, scores, strict=True)))
            # Equal sums stand in any order there.
            assert [s for _, s in mine] == pytest.approx(scores)


def test_rerank(theirs: Any) -> None:
    class MonoT5:
        def rerank(self, query: str, docs: list[dict[str, Any]]) -> list[dict[str, Any]]:
            scored = [{**d, "score": -float(d["id"][1:])} for d in docs]
            return sorted(scored, key=lambda d: -d["score"])

    queries = [str(i) for i in range(5)]
    for lists in cases():
        ids, _, scores = theirs.rerank_against_query("0", queries[1:], Ranker(lists), MonoT5())
        mine = fusion.rerank(lists, lambda pool: [-float(i[1:]) for i in pool])
        assert mine == list(zip(ids, scores, strict=True))


def test_pm2_where_every_query_found_the_same_passages(theirs: Any) -> None:
    """Theirs looks for the next passage in the ranking of the query whose turn it is alone, the
    algorithm (Dang and Croft 2012) among all; it is the same where all hold the same passages."""
    rng = random.Random(6)
    for _ in range(N_CASES):
        ids = [f"d{i:02}" for i in range(rng.randint(2, 15))]
        lists = [
            sorted(((i, rng.uniform(-3, 0)) for i in ids), key=lambda p: -p[1]) for _ in range(5)
        ]
        ordered = [*lists[1:], lists[0]]  # theirs wants the original query last
        result, _ = theirs.PM2_post(
            [[s for _, s in ranking] for ranking in ordered],
            [[i for i, _ in ranking] for ranking in ordered],
        )
        assert [i for i, _ in fusion.pm2(lists)] == result
