"""Negatives that are chosen for all queries together."""

from collections import Counter
from dataclasses import replace

import pytest

from citeforge.builders.rage.hidden_negatives import (
    Candidates,
    Chosen,
    Pairs,
    choose_negatives,
    sort_by_shared_words,
    word_weights,
)

SIZE, NEAR = 9, 6


def allow(pairs: Pairs) -> Pairs:
    """Refuse nothing."""
    return set()


def sources(n: int, n_passages: int) -> list[Candidates]:
    """Queries with 1, 2 and 3 relevant passages in turn, and the ten next ones as near ones."""
    names = [f"p{i:04d}" for i in range(n_passages)]
    result = []
    for q in range(n):
        at = 3 * q
        relevant = [names[(at + i) % n_passages] for i in range(1 + q % 3)]
        near = [names[(at + 3 + i) % n_passages] for i in range(10)]
        far = [names[(at + 50 + 7 * i) % n_passages] for i in range(20)]
        result.append(Candidates(relevant, near, [p for p in far if p not in (*relevant, *near)]))
    return result


def shown(queries: list[Candidates], chosen: Chosen) -> list[list[str]]:
    rows = zip(queries, chosen.near, chosen.far, strict=True)
    return [[*query.relevant, *near, *far] for query, near, far in rows]


def test_every_passage_is_shown_equally_often_and_every_context_is_alike() -> None:
    """60 contexts of 9 are 540 places; 120 are of relevant passages. Shown twice, they and 150
    others fill them; shown once, they and 420 others would, and there are but 300 passages."""
    queries = sources(60, 300)
    chosen = choose_negatives(queries, SIZE, NEAR, 7, allow)
    contexts = shown(queries, chosen)
    assert all(len(set(ids)) == SIZE for ids in contexts)
    assert [len(q.relevant) + len(n) for q, n in zip(queries, chosen.near, strict=True)] == [
        NEAR
    ] * 60
    assert (chosen.repeats, chosen.n_short, chosen.n_uneven) == (2, 0, 0)
    counts = Counter(p for ids in contexts for p in ids)
    assert set(counts.values()) == {2}
    assert len(counts) == 540 / 2
    for query, near, far in zip(queries, chosen.near, chosen.far, strict=True):
        assert set(near) <= set(query.near)
        assert not set(far) & {*query.relevant, *query.near}


def test_a_passage_is_shown_for_each_query_that_it_is_relevant_to() -> None:
    """Of the irrelevant ones as many are shown twice as often: half of the relevant passages."""
    queries = [
        Candidates(
            [f"r{q // 2}"] if q % 4 < 2 else [f"r0{q}"],
            [f"n{q * 10 + i}" for i in range(10)],
            [f"f{q * 10 + i}" for i in range(10)],
        )
        for q in range(200)
    ]
    chosen = choose_negatives(queries, SIZE, 3, 0, allow)
    assert (chosen.repeats, chosen.n_short) == (1, 0)
    counts = Counter(p for ids in shown(queries, chosen) for p in ids)
    assert {counts[p] for q in queries for p in q.relevant} == {1, 2}
    # 50 of 150 relevant passages are shown twice; of others a third, within four standard errors.
    others = Counter(n for p, n in counts.items() if p[0] != "r")
    assert set(others) == {1, 2}
    n = others.total()
    assert abs(others[2] / n - 1 / 3) < 4 * (1 / 3 * 2 / 3 / n) ** 0.5


def test_what_is_refused_goes_to_another_query() -> None:
    refused = {(row, f"p{i:04d}") for row in range(60) for i in range(row % 2, 300, 2)}
    queries = [
        replace(query, far=[p for p in query.far if (row, p) not in refused])
        for row, query in enumerate(sources(60, 300))
    ]
    chosen = choose_negatives(queries, SIZE, NEAR, 7, lambda pairs: pairs & refused)
    assert not any((row, p) in refused for row, far in enumerate(chosen.far) for p in far)
    assert chosen.n_uneven <= 9  # of 180 places
    again = choose_negatives(queries, SIZE, NEAR, 7, lambda pairs: pairs & refused)
    assert again == chosen
    assert choose_negatives(queries, SIZE, NEAR, 8, allow).far != chosen.far


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_queries_get_what_there_is(n: int) -> None:
    queries = [
        Candidates([f"r{q}"], [f"n{i}" for i in range(5)], [f"f{i}" for i in range(3)])
        for q in range(n)
    ]
    contexts = shown(queries, choose_negatives(queries, SIZE, NEAR, 0, allow))
    assert [len(set(ids)) for ids in contexts] == [SIZE] * n


def test_a_short_pool_is_counted() -> None:
    """Nothing is near: of 6 places for near ones, a query with one relevant passage misses 5."""
    queries = [Candidates([f"r{q}"], [], [f"f{q}{i}" for i in range(9)]) for q in range(4)]
    chosen = choose_negatives(queries, SIZE, NEAR, 0, allow)
    assert (chosen.n_short, [len(far) for far in chosen.far]) == (4 * 5, [8] * 4)


def test_shared_words_decide_what_comes_first() -> None:
    """``a`` is in all 4 texts, (4 // 4).bit_length() = 1; ``b`` in 2: 2; ``c`` in 1: 3."""
    texts = {"w": "a", "x": "A c", "y": "a b", "z": "a b"}
    weights = word_weights(texts.values())
    assert weights == {"a": 1, "b": 2, "c": 3}
    assert sort_by_shared_words("a b c?", ["z", "w", "y", "x"], texts, weights) == [
        "x",
        "z",
        "y",
        "w",
    ]
