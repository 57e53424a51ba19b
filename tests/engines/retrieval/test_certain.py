"""Certain search against brute force in float64, over vectors whose errors are known."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from citeforge.builders.rage import mining
from citeforge.builders.rage.exclusions import Exclusions
from citeforge.builders.rage.mining import SeeminglyRelevant
from citeforge.engines.models.vectors import VectorShard
from citeforge.engines.retrieval.certain import CertainSearch, best_first, find_undecided
from citeforge.engines.retrieval.dense import find_nearest
from citeforge.engines.tables import shard_paths, write_table
from citeforge.schemas.recipes.rage import Mining
from citeforge.schemas.tables import CORPUS

pytestmark = pytest.mark.numeric
QUERIES, DIMENSION = 20, 16
FORMATS = {1: "<f4", 2: "<f8"}


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


class World:
    """Passages ``text i`` with known exact vectors, approximate ones, and float32 between them."""

    def __init__(self, folder: Path, exact: np.ndarray, noise: float) -> None:
        rng = np.random.default_rng(1)
        self.folder, self.n = folder, len(exact)
        self.exact = unit(exact)
        self.single = unit(self.exact + 1e-8 * rng.normal(size=exact.shape))
        self.first = unit(self.exact + noise * rng.normal(size=exact.shape))
        self.queries = unit(rng.normal(size=(QUERIES, DIMENSION)))
        self.embedded = {1: 0, 2: 0}
        self.ids = [f"p{i:04}" for i in rng.permutation(self.n)]
        texts = [f"text {i}" for i in range(self.n)]
        table = pa.table([self.ids, [""] * self.n, texts, [None] * self.n], schema=CORPUS)
        write_table(folder, "corpus", table)
        self.corpus = shard_paths(folder, "corpus")

    def shard(self, name: str, rows: np.ndarray, dtype: str) -> list[VectorShard]:
        path = self.folder / name
        rows.astype(dtype).tofile(path)
        return [VectorShard(path, len(rows), DIMENSION, name, dtype=dtype)]

    def embed(self, level: int, name: str, texts: pa.Array) -> list[VectorShard]:
        rows = [int(t.split()[1]) for t in texts.to_pylist()]
        self.embedded[level] += len(rows)
        return self.shard(name, {1: self.single, 2: self.exact}[level][rows], FORMATS[level])

    def search(self) -> CertainSearch:
        search = CertainSearch(self.shard("first", self.first, "<f2"))
        search.refine_by(self.corpus, 3, self.embed)
        return search.set_queries(self.queries.astype(np.float32), lambda rows: self.queries[rows])

    def miner(self, search: CertainSearch, **options: float) -> SeeminglyRelevant:
        relevant = [[q, q + QUERIES] for q in range(QUERIES)]
        itself = [set(r) for r in relevant]
        nothing = Exclusions(
            self.corpus, Mining.model_validate(options), relevant, itself, [[] for _ in relevant]
        )
        return SeeminglyRelevant(search, nothing)

    def expected(self, **options: float) -> list[list[int]]:
        """The definition, written out in float64."""
        scores = self.queries @ self.exact.T
        lists = []
        for row in range(QUERIES):
            best = max(scores[row, row], scores[row, row + QUERIES])
            order = sorted(
                (i for i in range(self.n) if i not in (row, row + QUERIES)),
                key=lambda i: (-round(scores[row, i], 12), self.ids[i]),
            )[int(options.get("skip_top", 0)) :]
            limit = min(options.get("max_score", 2), best - options.get("margin", -9))
            fitting = [i for i in order if scores[row, i] <= limit + 1e-11]
            lists.append(sorted(fitting[: int(options.get("seemingly_relevant", 10))]))
        return lists


def positions(lists: Sequence[Sequence[mining.Negative]]) -> list[list[int]]:
    return [[m.position for m in row] for row in lists]


def spread(n: int = 600) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(n, DIMENSION))


def near_copies(gap: float, n: int = 1000) -> np.ndarray:
    """Passages that differ by no more than ``gap`` from one of three, and one copy of each."""
    rng = np.random.default_rng(0)
    base = unit(rng.normal(size=(3, DIMENSION)))[rng.integers(0, 3, n)]
    return np.concatenate([spread(60), base, base[:5], base + gap * rng.normal(size=base.shape)])


@pytest.mark.parametrize(
    "options",
    [{}, {"margin": 0.1}, {"skip_top": 2, "seemingly_relevant": 3}, {"max_score": 0.3}],
    ids=str,
)
@pytest.mark.parametrize("noise", [0.001, 0.03, 0.3])
def test_the_lists_are_those_of_exact_vectors(
    tmp_path: Path, noise: float, options: dict[str, float]
) -> None:
    world = World(tmp_path, spread(), noise)
    lists = world.miner(world.search(), **options).mine()
    assert positions(lists) == world.expected(**options)
    assert world.embedded[1] <= world.n  # no passage twice


@pytest.mark.slow
@pytest.mark.parametrize("gap", [1e-6, 1e-3, 1e-5])
def test_a_thousand_near_copies_are_told_apart(tmp_path: Path, gap: float) -> None:
    world = World(tmp_path, near_copies(gap), 0.003)
    lists = world.miner(world.search(), seemingly_relevant=7).mine()
    assert positions(lists) == world.expected(seemingly_relevant=7)


def test_little_noise_decides_little_in_finer_numbers(tmp_path: Path) -> None:
    embedded = []
    for noise in (0.001, 0.3):
        folder = tmp_path / str(noise)
        folder.mkdir()
        world = World(folder, spread(2000), noise)
        world.miner(world.search(), seemingly_relevant=2).mine()
        embedded.append(world.embedded[1])
        assert world.embedded[2] <= 16 + 2 * QUERIES
    # 200 passages of the sample, and some of each query's.
    assert 200 <= embedded[0] < 300 < embedded[1]


def test_bounds_hold_for_every_pair(tmp_path: Path) -> None:
    world = World(tmp_path, spread(), 0.03)
    search = world.search()
    rows, places = np.repeat(np.arange(QUERIES), world.n), np.tile(np.arange(world.n), QUERIES)
    scores, bounds = search.scores(rows, places)
    exact = (world.queries @ world.exact.T).ravel()
    assert (np.abs(scores - exact) <= bounds + 1e-12).all()
    assert search.bounds[2] == 0 < search.bounds[1] < search.bounds[0]


def test_bounds_are_measured_on_later_queries_too(tmp_path: Path) -> None:
    exact = spread()
    exact[:, 0] = 0
    world = World(tmp_path, exact, 0.0)
    # Approximate vectors err along the first axis, which the first queries do not see.
    world.first[:, 0] = 0.05 * np.random.default_rng(2).choice([-1, 1], world.n)
    world.queries[:, 0] = 0
    search = world.search()
    assert search.bounds[0] < 0.01
    world.queries[:, 0] = 1
    world.queries = unit(world.queries)
    search.set_queries(world.queries.astype(np.float32), lambda rows: world.queries[rows])
    assert search.bounds[0] > 0.03
    assert positions(world.miner(search).mine()) == world.expected()


def test_the_bound_of_one_query_is_no_matter_of_luck(tmp_path: Path) -> None:
    world = World(tmp_path, spread(), 0.03)
    search, one = world.search(), world.queries[:1]
    search.bounds[0] = 0
    search.set_queries(one.astype(np.float32), lambda rows: one[rows])
    errors = (one @ (world.first - world.exact).T).ravel()
    # The largest of 200 normal errors is some 2.8 deviations, and 1.5 times that 4.2.
    assert search.bounds[0] > 5 * np.sqrt(np.mean(errors**2))


def test_a_list_that_stood_by_too_small_a_bound_is_looked_at_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path, spread(), 0.0)
    monkeypatch.setattr("citeforge.engines.retrieval.certain._SAMPLE_PASSAGES", 2)
    # Exactly the best of the first query, and about its 40th.
    hidden = int(np.argsort(-world.queries[0] @ world.exact.T)[40])
    world.exact[hidden] = world.single[hidden] = world.queries[0]
    # The last query cannot tell two passages apart, one of which is as far off.
    second, telling = np.argsort(-world.queries[-1] @ world.exact.T)[[1, 100]]
    world.first[telling] = world.first[second]
    world.exact[telling] = world.single[telling] = world.queries[-1]
    monkeypatch.setattr(mining, "_MATRIX_ENTRIES", 1)  # one query after another
    monkeypatch.setattr(mining, "_SPARE_CANDIDATES", 4)
    lists = world.miner(world.search(), seemingly_relevant=2).mine()
    assert positions(lists) == world.expected(seemingly_relevant=2)
    assert hidden in positions(lists)[0]


@pytest.mark.parametrize("depth", [1, 20, 5000])
@pytest.mark.parametrize("gap", [1e-3, 1e-6])
def test_rankings_are_those_of_exact_vectors(tmp_path: Path, gap: float, depth: int) -> None:
    world = World(tmp_path, near_copies(gap, 300), 0.003)
    where, cosines = find_nearest(world.search(), world.corpus, QUERIES, depth)
    scores = world.queries @ world.exact.T
    number = min(depth, world.n)
    for row in range(QUERIES):
        order = sorted(range(world.n), key=lambda i: (-round(scores[row, i], 12), world.ids[i]))[
            :number
        ]
        assert where[row].tolist() == order
        assert cosines[row].tolist() == np.round(scores[row, order], 3).tolist()


def test_equal_scores_go_by_id() -> None:
    scores = np.array([0.5, 0.5 + 1e-13, 0.7, 0.5 - 1e-13])
    assert best_first(scores, np.array([3, 1, 9, 2])).tolist() == [2, 1, 3, 0]


@given(
    st.lists(
        st.tuples(st.floats(0, 1), st.sampled_from([0.0, 0.01, 0.2]), st.integers(0, 3)),
        min_size=1, max_size=12,
    )
)  # fmt: skip
def test_undecided_by_every_pair_and_the_middle_between_classes(
    scores: list[tuple[float, float, int]],
) -> None:
    values = sorted((s for s, _, _ in scores), reverse=True)
    classes = sorted(c for _, _, c in scores)  # higher scores have lower classes
    widths = [e for _, e, _ in scores]
    low = np.array(values) - widths
    high = np.array(values) + widths
    found = find_undecided(low, high, np.array(classes)).tolist()
    middle = (low + high) / 2
    overlaps = []
    for i, mine in enumerate(classes):
        pairs = [(i, j) if mine < c else (j, i) for j, c in enumerate(classes) if c != mine]
        overlaps.append(high[i] > low[i] and any(low[a] <= high[b] for a, b in pairs))
        boundaries = []
        for better in ([c <= mine for c in classes], [c < mine for c in classes]):
            if any(better) and not all(better):
                worst = min(m for m, b in zip(middle, better, strict=True) if b)
                best = max(m for m, b in zip(middle, better, strict=True) if not b)
                boundaries.append((worst + best) / 2)
        contains = any(low[i] <= boundary <= high[i] for boundary in boundaries)
        assert found[i] <= (overlaps[i] and contains)
    assert any(found) == any(overlaps)
