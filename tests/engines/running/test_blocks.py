"""What workers do with blocks, shares and addresses; no Ray is started."""

import importlib.util
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import citeforge as cf
from citeforge.engines.judge.records import Decision, Pair, Verdict
from citeforge.engines.models.vectors import VectorShard
from citeforge.engines.running.ray_cluster import (
    AttemptCounter,
    Pool,
    Worker,
    divide_machines,
    make_windows,
    require_reachable,
)
from citeforge.engines.running.ray_work import ClusterEmbedder, ClusterJudge, search_shards
from citeforge.engines.running.setup import make_runner
from citeforge.schemas import errors
from citeforge.schemas.recipes.ray import RayOptions
from citeforge.schemas.version import __version__
from conftest import EXAMPLES, Inline, refused
from servers.dying import DyingEmbedder, DyingJudge, no_model


def work(
    make: Callable[[], Any],
    *block: object,
    version: str = __version__,
    begun: int = 0,
    facts: dict[str, Any] | None = None,
) -> Any:
    """The result of a worker, or its error, as it arrives; of a block that others began."""
    pool = ClusterEmbedder(make, "cpu", RayOptions())
    if facts is not None:
        vars(pool)["facts"] = facts
    tries = AttemptCounter({7: begun})
    ((row,),) = make_windows([("the block", block)], 1)
    batch = pa.table({name: [value] for name, value in (row | {"number": 7}).items()})
    (reply,) = Worker(pool, version, tries.add)(batch).to_pylist()
    assert reply["number"] == 7
    return pickle.loads(reply["result"])


def fails_with(error: Any, code: str, kind: type[cf.CiteforgeError], **place: object) -> str:
    with refused(code, kind, **place) as caught:
        raise error
    return str(caught.value)


def test_an_error_that_the_user_can_correct_arrives_whole() -> None:
    fails_with(work(no_model, ["a"], "query"), "missing-model", cf.InputError, path="here")


def test_any_other_error_names_the_block() -> None:
    text = fails_with(
        work(DyingEmbedder, ["raises"], "query"), "failed-workers", cf.InputError, path="the block"
    )
    assert "RuntimeError: a kernel failed" in text
    assert text.endswith("Run again, a build with --resume, which keeps what is done")


def test_a_block_of_which_three_workers_died_is_not_tried_again() -> None:
    assert work(DyingEmbedder, ["bb"], "query", begun=2).tolist() == [[2, 1]]
    text = fails_with(
        work(DyingEmbedder, ["bb"], "query", begun=3),
        "failed-workers", cf.InputError, path="the block",
    )  # fmt: skip
    assert "3 workers died of it" in text


def test_a_worker_that_computes_otherwise_is_refused() -> None:
    facts = DyingEmbedder().fingerprint()
    assert work(DyingEmbedder, ["bb"], "query", facts=facts).tolist() == [[2, 1]]
    other = work(DyingEmbedder, ["bb"], "query", facts=facts | {"dtype": "bfloat16"})
    text = fails_with(other, "not-comparable", cf.InputError)
    assert "'dtype': 'float32'" in text and "'dtype': 'bfloat16'" in text
    other = work(DyingEmbedder, ["bb"], "query", facts=facts, version="0.0.1")
    assert "0.0.1" in fails_with(other, "not-comparable", cf.InputError)


def test_a_block_of_a_slice_holds_no_other_texts() -> None:
    """Arrow pickles all of the array that a slice is of."""
    sizes: list[int] = []

    class Measured(ClusterEmbedder):
        def run(self, blocks: Any) -> Any:
            sizes.extend(len(pickle.dumps(block)) for block in blocks)
            return iter(())

    texts = pa.array([f"{i:03}" * 100 for i in range(100)])  # 300 bytes each
    Measured(DyingEmbedder, "cpu", RayOptions()).encode_each([texts.slice(0, 5)], "passage")
    assert 5 * 300 < sizes[0] < 6 * 300


def test_blocks_travel_in_windows_of_bounded_size() -> None:
    taken: list[str] = []

    def blocks() -> Any:
        for i in range(5):
            taken.append(chr(97 + i) * 150)  # pickled, over 150 bytes: three are over 400
            yield taken[-1], taken[-1]

    sizes = []
    for window in make_windows(blocks(), 400):
        sizes.append(len(window))
        assert len(taken) == sum(sizes)  # none is taken before it is needed
    assert sizes == [3, 2]


@pytest.fixture
def without_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks are done in this process, the last one first."""

    def run(pool: Pool, blocks: Any) -> Iterator[tuple[int, Any]]:
        facts, do = pool.load()
        for number, (_, block) in reversed(list(enumerate(blocks))):
            yield number, facts if block is None else do(*block)

    monkeypatch.setattr(Pool, "run", run)


@pytest.mark.usefixtures("without_ray")
def test_results_in_any_order_are_put_where_they_belong(tmp_path: Path) -> None:
    judge = ClusterJudge(DyingJudge, "cpu", RayOptions(), 8)
    assert (judge.signature, judge.comparable) == ("dying", False)
    assert judge.identity() == DyingJudge().identity()
    pairs = [Pair("premise" + "!" * (i % 7), str(i)) for i in range(300)] + [Pair("a", "a")]
    assert judge.count_tokens(pairs) == sum(len(pair.premise) for pair in pairs)
    decided: dict[int, Decision] = {}
    judge.decide(pairs, decided.update)
    entailed = [i for i, v in decided.items() if isinstance(v, Verdict) and v.entailed]
    assert (len(decided), entailed) == (301, [300])

    embedder = ClusterEmbedder(DyingEmbedder, "cpu", RayOptions())
    assert embedder.fingerprint() == DyingEmbedder().fingerprint()
    assert embedder.encode(["bb", "c"], "query").tolist() == [[2, 2], [1, 2]]
    shards = embedder.encode_each([pa.array(["a"]), pa.array(["bb", "c"])], "passage")
    assert {n: v.tolist() for n, v in shards} == {0: [[1, 1]], 1: [[2, 2], [1, 2]]}

    rows = np.eye(6, 3, dtype=np.float32)  # the first three are unit vectors, the others zeros
    parts = []
    for i, part in enumerate(np.split(rows, [1, 4])):
        part.astype("<f4").tofile(tmp_path / f"{i}.vectors")
        parts.append(VectorShard(tmp_path / f"{i}.vectors", len(part), 3, str(i)))
    scores, where = search_shards(RayOptions(), "cpu", rows[:3], parts, 1, lambda *_: None)
    assert (scores.tolist(), where.tolist()) == ([[1], [1], [1]], [[0], [1], [2]])


@pytest.mark.parametrize(
    ("wanted", "device", "resources", "shares"),
    [
        (None, "auto", {"CPU": 16}, (2, 8, 0)),
        (3, "auto", {"CPU": 16}, (3, 4, 0)),  # two on one machine: 8 // 2
        (99, "auto", {"CPU": 16}, (16, 1, 0)),
        (None, "auto", {"CPU": 64, "GPU": 8}, (8, 8, 1)),
        (None, "cpu", {"CPU": 64, "GPU": 8}, (2, 32, 0)),
        (4, "cuda", {"CPU": 64, "GPU": 8}, (4, 16, 1)),
        (20, "cuda", {"CPU": 64, "GPU": 8}, (20, 3, 1 / 3)),  # ten on a machine: 32 // 10
    ],
)
def test_shares_of_two_machines(
    wanted: int | None,
    device: str,
    resources: dict[str, float],
    shares: tuple[int, int, float],
) -> None:
    assert divide_machines(wanted, device, 2, resources) == shares


def test_a_pool_without_facts_does_what_it_makes() -> None:
    assert Pool(lambda: "".join, "cpu", RayOptions()).load() == ({}, "".join)


def test_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    assert require_reachable(None) is None
    assert require_reachable("local") is None
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    assert require_reachable("local") is None
    for wrong in (None, "head", "ray://127.0.0.1:1", "127.0.0.1:", ":1", "127.0.0.1:99999"):
        with refused("no-cluster", path=wrong or "127.0.0.1:1"):
            require_reachable(wrong)


def test_a_cluster_that_does_not_answer_is_told_before_any_work(
    inline: Inline, tmp_path: Path
) -> None:
    result = inline.fails(1, "no-cluster", 
        "build", "rage", "--source", f"beir:{EXAMPLES / 'facts'}", "--out", "out",
        "--embedder", "offline", "--engine", "ray", "--ray-address", "127.0.0.1:1",
    )  # fmt: skip
    assert result.stderr.startswith("error: 127.0.0.1:1: no Ray cluster answers within 5 s; expect")
    assert not list(tmp_path.glob("out*"))


def test_without_ray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    result = importlib.util.find_spec
    monkeypatch.setattr(errors, "find_spec", lambda name: None if name == "ray" else result(name))
    with refused("missing-extra", cf.MissingExtraError, extra="ray"):
        make_runner(cf.RunOptions(engine="ray")).require()
    make_runner(cf.RunOptions()).require()  # needs none


def test_options_of_ray_go_with_the_engine(inline: Inline) -> None:
    words = ("build", "rage", "--source", "beir:x", "--out", "out", "--ray-workers", "2")
    inline.fails(2, "option-without-effect", *words)
