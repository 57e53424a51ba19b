"""Fusion by hand, and beside ranx."""

import math
import random

import pytest

from citeforge.engines.retrieval import fusion

ASKED = [("a", 9.0), ("b", 5.0), ("c", 1.0)]
FIRST = [("b", 30.0), ("d", 20.0), ("a", 10.0)]
SECOND = [("d", 2.0)]


def test_min_max() -> None:
    assert fusion.min_max(ASKED) == [("a", 1.0), ("b", (5 - 1) / (9 - 1)), ("c", 0.0)]
    assert fusion.min_max(SECOND) == [("d", 1.0)]
    assert fusion.min_max([("x", 3.0), ("y", 3.0)]) == [("x", 1.0), ("y", 1.0)]
    assert fusion.min_max([]) == []


def test_sort_takes_the_highest_score() -> None:
    assert fusion.comb_max([ASKED, FIRST, SECOND]) == [
        ("b", 30.0), ("d", 20.0), ("a", 10.0), ("c", 1.0),
    ]  # fmt: skip


def test_comb_sum_and_comb_mnz() -> None:
    a, b, c, d = 1 + 0, 1 / 2 + 1, 0, 1 / 2 + 1
    lists = [ASKED, FIRST, SECOND]
    assert fusion.comb_sum(lists) == [("b", b), ("d", d), ("a", a), ("c", c)]
    assert fusion.comb_mnz(lists) == [("b", 2 * b), ("d", 2 * d), ("a", 2 * a), ("c", 1 * c)]


def test_comb_mnz_prefers_what_many_found() -> None:
    lists = [[("x", 4.0), ("y", 2.0), ("z", 0.0)], [("w", 4.0), ("y", 1.0), ("z", 0.0)]]
    # y: 2/4 + 1/4 in two rankings, x and w: 1 in one.
    assert fusion.comb_sum(lists) == [("w", 1.0), ("x", 1.0), ("y", 0.75), ("z", 0.0)]
    assert fusion.comb_mnz(lists) == [("y", 2 * 0.75), ("w", 1.0), ("x", 1.0), ("z", 0.0)]


def test_sums_that_differ_by_rounding_are_ties() -> None:
    low, high = [("t", 0.1), ("b", 0.0), ("z", 1.0)], [("t", 0.2), ("b", 0.3), ("z", 1.0)]
    lists = [[*low, ("0", 0.0)], [*high, ("0", 0.0)]]
    assert 0.1 + 0.2 > 0.3
    assert [name for name, _ in fusion.comb_sum(lists)] == ["z", "b", "t", "0"]


def test_rerank_scores_every_passage_once() -> None:
    seen: list[str] = []

    def scorer(ids: list[str]) -> list[float]:
        seen.extend(ids)
        return [{"a": 0.2, "b": 0.9, "c": 0.2, "d": 0.5}[i] for i in ids]

    result = fusion.rerank([ASKED, FIRST, SECOND], scorer)
    assert seen == ["a", "b", "c", "d"]
    assert result == [("b", 0.9), ("d", 0.5), ("a", 0.2), ("c", 0.2)]


def test_pm2_by_hand() -> None:
    third = math.log(3)  # softmax of (log 3, 0) is (3/4, 1/4)
    first = [("x", third), ("y", 0.0)]
    second = [("z", third), ("y", 0.0)]
    result = fusion.pm2([first, second], query_weights=(0.6, 0.4), lambda_=0.5)
    # Seat 1 is the first query's (0.6 against 0.4): x .5 * .6 * 3/4, y .5 * (.6 + .4) * 1/4, z
    # .5 * .4 * 3/4. x is about the first query alone, which has now taken a whole seat.
    assert result[0] == ("x", pytest.approx(0.5 * 0.6 * 3 / 4))
    # Seat 2 is the second's, 0.6 / (2 * 1 + 1) = 0.2 against 0.4: z .5 * .4 * 3/4 against
    # y .5 * (.2 + .4) * 1/4.
    assert result[1] == ("z", pytest.approx(0.5 * 0.4 * 3 / 4))
    # Seat 3: 0.2 against 0.4 / 3.
    assert result[2] == ("y", pytest.approx(0.5 * (0.2 + 0.4 / 3) * 1 / 4))
    assert len(result) == 3
    assert [n for n, _ in fusion.pm2([first, second], (0.6, 0.4), 0.5, depth=2)] == ["x", "z"]


def test_pm2_with_lambda_one_serves_the_query_whose_turn_it_is() -> None:
    lists = [[("a", 2.0), ("b", 1.0), ("c", 0.0)], [("c", 2.0), ("b", 1.0), ("a", 0.0)]]
    assert [n for n, _ in fusion.pm2(lists, (0.5, 0.5), 1.0)] == ["a", "c", "b"]


def test_pm2_with_more_queries_than_votes() -> None:
    lists = [[(f"p{i}", 1.0)] for i in range(7)]
    # Seats by votes .38 .24 .16 .10 .12 .10 .10: the fifth goes before the fourth.
    assert [n for n, _ in fusion.pm2(lists, lambda_=1.0)] == [
        "p0", "p1", "p2", "p4", "p3", "p5", "p6",
    ]  # fmt: skip


@pytest.mark.parametrize("how", sorted({*fusion.FUSIONS.names()} - {"query"}))
def test_empty_rankings_are_no_error(how: str) -> None:
    def scorer(ids: list[str]) -> list[float]:
        return [1.0] * len(ids)

    fuse = fusion.FUSIONS.maker(how)()
    assert fuse([[], []], scorer) == []
    assert fuse([], scorer) == []
    assert [n for n, _ in fuse([[], ASKED, []], scorer)] == ["a", "b", "c"]


def test_scores_far_apart_do_not_vanish() -> None:
    result = fusion.pm2([[("a", 1e6), ("b", -1e6)]])
    assert [n for n, _ in result] == ["a", "b"]


def drawn(rng: random.Random) -> list[tuple[str, float]]:
    ids = rng.sample([f"d{i:02}" for i in range(30)], rng.randint(2, 20))
    return sorted(((i, rng.uniform(-9, 9)) for i in ids), key=lambda pair: -pair[1])


def test_beside_ranx() -> None:
    ranx = pytest.importorskip("ranx", reason="needs ranx (numba); try it in a venv of its own")
    rng = random.Random(3)
    queries = [[drawn(rng) for _ in range(5)] for _ in range(100)]
    runs = [
        ranx.Run({f"q{n}": dict(lists[m]) for n, lists in enumerate(queries)}) for m in range(5)
    ]
    ways = {"mnz": fusion.comb_mnz, "sum": fusion.comb_sum, "max": fusion.comb_max}
    for name, ours in ways.items():
        norm = None if name == "max" else "min-max"
        theirs = ranx.fuse(runs, norm=norm, method=name).to_dict()
        for n, lists in enumerate(queries):
            mine, other = dict(ours(lists)), theirs[f"q{n}"]
            assert mine == pytest.approx(other, abs=1e-9)
            assert list(mine) == sorted(mine, key=lambda i: (-round(other[i], 9), i))
