"""Mining against brute force, on vectors made to be awkward."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from citeforge.builders.rage.exclusions import ANSWER, Exclusions
from citeforge.builders.rage.mining import SeeminglyRelevant
from citeforge.builders.rage.negatives import draw_irrelevant
from citeforge.engines.draws import distinct_below, generator
from citeforge.engines.models.vectors import VectorShard
from citeforge.engines.retrieval.certain import CertainSearch
from citeforge.engines.tables import shard_paths, write_table
from citeforge.schemas.recipes.rage import Mining
from citeforge.schemas.tables import CORPUS

pytestmark = pytest.mark.numeric


def make_world(
    folder: Path, vectors: np.ndarray, ids: list[str]
) -> tuple[list[Path], list[VectorShard]]:
    n = len(vectors)
    table = pa.table([ids, [""] * n, [f"text {i}" for i in range(n)], [None] * n], schema=CORPUS)
    write_table(folder, "corpus", table)
    path = folder / "vectors"
    path.write_bytes(vectors.astype("<f4").tobytes())
    return shard_paths(folder, "corpus"), [VectorShard(path, n, vectors.shape[1], "k")]


def brute_force(
    vectors: np.ndarray, query: np.ndarray, ids: list[str], forbidden: set[int], mining: Mining
) -> list[tuple[int, float, int]]:
    """The definition, written out: cosine in float64; ties by id; in the corpus's order."""
    wide = vectors.astype(np.float64)
    asked = query.astype(np.float64)
    norms = np.linalg.norm(wide, axis=1) * np.linalg.norm(asked)
    scores = np.round(wide @ asked / norms, 11)
    order = sorted(
        (i for i in range(len(vectors)) if i not in forbidden), key=lambda i: (-scores[i], ids[i])
    )
    ranked = [(i, scores[i], rank) for rank, i in enumerate(order, 1)]
    limit = 2 if mining.max_score is None else mining.max_score
    kept = [t for t in ranked if t[2] > mining.skip_top and t[1] <= limit]
    return sorted(kept[: mining.seemingly_relevant])


@given(
    seed=st.integers(0, 10_000),
    n=st.integers(3, 120),
    distinct=st.integers(1, 40),
    wanted=st.integers(1, 30),
    skip=st.integers(0, 5),
    max_score=st.none() | st.floats(-0.5, 1),
)
def test_equals_brute_force_with_many_ties(
    tmp_path_factory: pytest.TempPathFactory,
    seed: int,
    n: int,
    distinct: int,
    wanted: int,
    skip: int,
    max_score: float | None,
) -> None:
    rng = np.random.default_rng(seed)
    # Few distinct directions among many passages: candidates end inside groups of equal scores.
    base = rng.normal(size=(distinct, 8)).astype(np.float32)
    vectors = base[rng.integers(0, distinct, n)]
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    ids = [f"id{k}" for k in rng.permutation(n)]
    queries = rng.normal(size=(4, 8)).astype(np.float32)
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)
    forbidden = [set(rng.choice(n, rng.integers(0, 3), replace=False).tolist()) for _ in range(4)]
    corpus, shards = make_world(tmp_path_factory.mktemp("world"), vectors, ids)
    mining = Mining(seemingly_relevant=wanted, skip_top=skip, max_score=max_score)
    exclusions = Exclusions(
        corpus, mining, [[] for _ in range(4)], forbidden, [[] for _ in range(4)]
    )
    result = SeeminglyRelevant(CertainSearch(shards).set_queries(queries), exclusions).mine()
    for row in range(4):
        expected = brute_force(vectors, queries[row], ids, forbidden[row], mining)
        got = [(m.position, m.score, m.rank) for m in result[row]]
        assert [g[0] for g in got] == [e[0] for e in expected]
        assert np.allclose([g[1] for g in got], [e[1] for e in expected], atol=2e-6)
        assert [g[2] for g in got] == [e[2] for e in expected]


@pytest.mark.parametrize("margin", [0.1, 0.0, -0.2])
def test_margin_is_right_for_negative_similarities(tmp_path: Path, margin: float) -> None:
    angles = np.linspace(0.1, np.pi, 40)
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    query = np.array([[1.0, 0.0]], np.float32)
    relevant = 30  # its cosine to the query is negative
    best = float(np.cos(angles[relevant]))
    assert best < 0
    corpus, shards = make_world(tmp_path, vectors, [f"{i:03d}" for i in range(40)])
    mining = Mining(seemingly_relevant=40, margin=margin)
    exclusions = Exclusions(corpus, mining, [[relevant]], [{relevant}], [[]])
    (result,) = SeeminglyRelevant(CertainSearch(shards).set_queries(query), exclusions).mine()
    expected = {i for i in range(40) if i != relevant and np.cos(angles[i]) <= best - margin}
    near = {i for i in range(40) if abs(np.cos(angles[i]) - (best - margin)) < 1e-3}
    assert {m.position for m in result} - near == expected - near


@pytest.mark.parametrize("relevant", [5, 30])
def test_a_relative_margin_is_a_share_of_the_best_relevant_score(
    tmp_path: Path, relevant: int
) -> None:
    angles = np.linspace(0.1, np.pi, 40)
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    query = np.array([[1.0, 0.0]], np.float32)
    best = float(np.cos(angles[relevant]))
    corpus, shards = make_world(tmp_path, vectors, [f"{i:03d}" for i in range(40)])
    mining = Mining(seemingly_relevant=40, relative_margin=0.9)
    exclusions = Exclusions(corpus, mining, [[relevant, 39]], [{relevant, 39}], [[]])
    miner = SeeminglyRelevant(CertainSearch(shards).set_queries(query), exclusions)
    (result,) = miner.mine()
    # A tenth of the score below it; of a negative score, too.
    limit = 0.9 * best if best > 0 else 1.1 * best
    expected = {i for i in range(39) if i != relevant and np.cos(angles[i]) <= limit}
    near = {i for i in range(40) if abs(np.cos(angles[i]) - limit) < 1e-3}
    assert {m.position for m in result} - near == expected - near
    assert miner.above == {"--relative-margin": 38 - len(result)}


def test_irrelevant_draws_avoid_what_is_taken(tmp_path: Path) -> None:
    vectors = np.eye(8, dtype=np.float32)[np.arange(40) % 8]
    corpus, shards = make_world(tmp_path, vectors, [f"{i:03d}" for i in range(40)])
    mining = Mining(seemingly_relevant=5, irrelevant=30)
    exclusions = Exclusions(corpus, mining, [[0]], [{0, 8}], [[]])
    taken = SeeminglyRelevant(CertainSearch(shards).set_queries(vectors[:1]), exclusions).mine()
    (result,) = draw_irrelevant(["q"], exclusions, taken, seed=1)
    drawn = [m.position for m in result]
    barred = {0, 8} | {m.position for m in taken[0]}
    assert len(drawn) == len(set(drawn)) == 30
    assert not set(drawn) & barred
    assert not exclusions.counts
    assert drawn == distinct_below(40, 30, generator(1, "irrelevant", "q"), barred)
    exclusions.mining = Mining(seemingly_relevant=5, irrelevant=36)
    (result,) = draw_irrelevant(["q"], exclusions, taken, seed=1)
    assert {m.position for m in result} == set(range(40)) - barred


def test_what_holds_an_answer_is_passed_over_and_counted(tmp_path: Path) -> None:
    angles = np.arange(8) / 10  # the later, the farther from the query, which is passage 0's text
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    corpus, shards = make_world(tmp_path, vectors, [f"{i}" for i in range(8)])
    mining = Mining(seemingly_relevant=3, irrelevant=3, exclude_answers=True)
    exclusions = Exclusions(corpus, mining, [[0]], [{0}], [["text 2"]])
    miner = SeeminglyRelevant(CertainSearch(shards).set_queries(vectors[:1]), exclusions)
    taken = miner.mine()
    assert [(m.position, m.rank) for m in taken[0]] == [(1, 1), (3, 3), (4, 4)]
    assert miner.dropped == {ANSWER: 1}
    # Left are 2, which holds the answer, and 5, 6, 7.
    (drawn,) = draw_irrelevant(["q"], exclusions, taken, seed=1)
    assert sorted(m.position for m in drawn) == [5, 6, 7]
    assert exclusions.counts == {"candidates_with_an_answer[irrelevant]": 1}
