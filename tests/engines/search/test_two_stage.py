"""Two stages against brute force over the exact vectors."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from citeforge.builders.rage import mining
from citeforge.builders.rage.exclusions import Exclusions
from citeforge.builders.rage.mining import SeeminglyRelevant
from citeforge.engines.embedding.vectors import VectorShard
from citeforge.engines.io.tables import shard_paths, write_table
from citeforge.engines.search import two_stage
from citeforge.engines.search.two_stage import ExactSearch, TwoStageSearch
from citeforge.schemas.benchmarks.tables import CORPUS
from citeforge.schemas.recipes.rage import Mining

pytestmark = pytest.mark.numeric
N, QUERIES, DIMENSION = 600, 20, 16


class World:
    """Passages ``text i`` whose exact vectors are known, and rough ones beside them."""

    def __init__(self, folder: Path, noise: float, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.folder, self.asked = folder, [0]
        self.exact = self._unit(rng.normal(size=(N, DIMENSION)))
        quantized = self._unit(self.exact + noise * rng.normal(size=(N, DIMENSION)))
        self.queries = self._unit(rng.normal(size=(QUERIES, DIMENSION))).astype(np.float32)
        texts = [f"text {i}" for i in range(N)]
        ids = [f"p{i:03}" for i in range(N)]
        write_table(folder, "corpus", pa.table([ids, [""] * N, texts, [None] * N], schema=CORPUS))
        self.corpus = shard_paths(folder, "corpus")
        self.quantized = self.shard("rough", quantized)
        self.all = self.shard("all", self.exact)

    @staticmethod
    def _unit(rows: np.ndarray) -> np.ndarray:
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def shard(self, name: str, rows: np.ndarray) -> list[VectorShard]:
        path = self.folder / f"{name}.f16"
        rows.astype("<f2").tofile(path)
        return [VectorShard(path, len(rows), DIMENSION, name)]

    def embed(self, name: str, texts: pa.Array) -> list[VectorShard]:
        rows = [int(t.split()[1]) for t in texts.to_pylist()]
        self.asked[0] += len(rows)
        return self.shard(name, self.exact[rows])

    def search(self, sample: int = 30) -> TwoStageSearch:
        rows = np.arange(0, N, N // sample)
        return TwoStageSearch(self.corpus, self.queries, self.quantized, self.embed, rows)

    def miner(self, search: ExactSearch | TwoStageSearch, **options: float) -> SeeminglyRelevant:
        relevant = [[q] for q in range(QUERIES)]
        mining, itself = Mining.model_validate(options), [{q} for q in range(QUERIES)]
        nothing = Exclusions(self.corpus, mining, relevant, itself, [[] for _ in relevant])
        return SeeminglyRelevant(search, nothing)


@pytest.mark.parametrize("options", [{}, {"margin": 0.1}, {"skip_top": 2, "seemingly_relevant": 3}])
@pytest.mark.parametrize("noise", [0.001, 0.03, 0.3])
def test_the_lists_are_those_of_exact_vectors(
    tmp_path: Path, noise: float, options: dict[str, float]
) -> None:
    world = World(tmp_path, noise)
    expected = world.miner(ExactSearch(world.queries, world.all), **options).mine()
    search = world.search()
    miner = world.miner(search, **options)
    assert miner.mine() == expected
    assert search.embedded == world.asked[0] <= N  # no passage twice
    assert miner.n_unsettled == 0
    assert miner.n_measured <= QUERIES


def test_little_noise_embeds_little_and_much_noise_nominates_deeper(tmp_path: Path) -> None:
    embedded, margins, measured = [], [], []
    for i, noise in enumerate((0.001, 0.3)):
        (tmp_path / str(i)).mkdir()
        world = World(tmp_path / str(i), noise)
        search = world.search()
        miner = world.miner(search, seemingly_relevant=2)
        miner.mine()
        embedded.append(search.embedded)
        margins.append(search.margin)
        measured.append(miner.n_measured)
    assert embedded[0] < N / 2 < embedded[1]
    assert margins[0] < 0.01 < margins[1]
    assert measured == [QUERIES, QUERIES]


def test_only_what_can_reach_a_list_is_embedded(tmp_path: Path) -> None:
    world = World(tmp_path, 0.03)
    search = world.search()
    first = 3 + 6 + 1  # asked, in reserve, may be relevant
    miner = world.miner(search, seemingly_relevant=3)
    lists = miner.mine()
    quantized = world.queries @ _read(world.quantized).T
    order = np.argsort(-quantized, axis=1)
    wanted = set(np.arange(0, N, N // 30))
    for row, chosen in enumerate(lists):
        wanted.update(order[row, :first])
        reach = np.flatnonzero(quantized[row] + search.margin >= chosen[-1].score)
        assert {m.position for m in chosen} <= set(reach)
        wanted.update(reach)
    known = {int(i) for rows, _ in search._rounds for i in rows}
    assert wanted <= known
    # The first pass knows the last of a list too low by a little: some more can reach that.
    assert len(known) <= 1.2 * len(wanted) < N / 2


def test_a_list_that_stood_by_too_small_a_margin_is_looked_at_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path, 0.0)
    # Exactly the best of the first query, and roughly its 40th: its nominations do not tell.
    hidden = int(np.argsort(-world.queries[0] @ world.exact.T)[40])
    world.exact[hidden] = world.queries[0]
    # The last query nominates a passage that is as far off.
    telling = int(np.argsort(-world.queries[-1] @ world.exact.T)[5])
    world.exact[telling] = world.queries[-1]
    world.all = world.shard("all", world.exact)
    monkeypatch.setattr(mining, "_MATRIX_ENTRIES", 1)  # one query after another
    miner = world.miner(world.search(sample=2), seemingly_relevant=2)
    result = miner.mine()
    assert result[0][0].position == hidden
    assert result == world.miner(ExactSearch(world.queries, world.all), seemingly_relevant=2).mine()
    assert miner.n_measured == QUERIES


def _read(shards: list[VectorShard]) -> np.ndarray:
    rows = np.fromfile(shards[0].path, "<f2").reshape(shards[0].rows, -1).astype(float)
    return World._unit(rows)


def test_the_margin_is_the_largest_excess_seen_and_a_quarter(tmp_path: Path) -> None:
    world = World(tmp_path, 0.03)
    everything = np.arange(N)
    search = TwoStageSearch(world.corpus, world.queries, world.quantized, world.embed, everything)
    differences = world.queries @ (_read(world.all) - _read(world.quantized)).T
    assert search.margin == pytest.approx(1.25 * differences.max(), abs=1.1e-4)
    assert search.margin >= 1.25 * differences.max()


def test_what_no_depth_settles_is_decided_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(two_stage, "_MOST_NOMINATIONS_FACTOR", 1)
    world = World(tmp_path, 0.3)
    miner = world.miner(world.search(), seemingly_relevant=2)
    result = miner.mine()
    assert 0 < miner.n_unsettled <= QUERIES
    assert miner.n_unsettled + miner.n_measured == QUERIES
    assert all(len(row) == 2 for row in result)
