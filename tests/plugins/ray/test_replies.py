"""What workers reply, and how the driver reads it; no Ray is started."""

import pickle
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import citeforge as cf
from citeforge.engines.models.embedder import FailedShard
from citeforge.plugins.ray.pool import Loaded, Pool, Reply, Tries, Worker
from conftest import refused


def pool_of(replies: list[Reply]) -> Pool:
    """A pool whose workers reply so, piece after piece."""
    pool = Pool.__new__(Pool)
    pool._workers, pool._first = 1, None
    pool._replies = lambda window: enumerate(replies[: len(window)])  # type: ignore[method-assign]
    return pool


def reply_to(do: Callable[[Any], Any], piece: Any = "piece") -> Reply:
    """The reply of a worker, as it arrives."""
    worker = Worker(lambda: Loaded(lambda: {"name": "m"}, do), Tries().begin)
    row = pa.table({"index": [7], "piece": pa.array([pickle.dumps(piece)], pa.large_binary())})
    (result,) = worker(row).to_pylist()
    assert result["index"] == 7
    reply = pickle.loads(result["reply"])
    assert isinstance(reply, Reply)
    return reply


def raising(error: Exception) -> Callable[[Any], Any]:
    def do(_: Any) -> Any:
        raise error

    return do


@pytest.mark.parametrize("kind", [cf.InputError, cf.UsageError, cf.FailuresError])
def test_an_error_that_the_user_can_correct_arrives_whole(kind: type[cf.CiteforgeError]) -> None:
    place = {"path": "m", "line": 3, "field": "text"} if kind is cf.InputError else {}
    reply = reply_to(raising(kind("is wrong", code="wrong-value", **place)))
    with refused("wrong-value", kind, **place):
        list(pool_of([reply]).run(["piece"]))


def test_any_other_error_loses_the_piece_and_the_others_go_on() -> None:
    replies = [reply_to(raising(ValueError("a kernel failed"))), reply_to(str.upper)]
    lost = FailedShard(1, "ValueError: a kernel failed")
    assert list(pool_of(replies).run(["a", "b"])) == [(0, lost), (1, "PIECE")]


def test_a_model_that_cannot_be_loaded_ends_the_run() -> None:
    def load() -> Loaded:
        raise RuntimeError("no such kernel")

    with refused("failed-workers", path="Ray") as caught:
        list(pool_of([Worker(load, Tries().begin).reply(0, None)]).run([None]))
    assert "RuntimeError: no such kernel" in str(caught.value)


def test_a_piece_whose_worker_died_three_times_is_left_out() -> None:
    begin, done = Tries().begin, []
    for _ in range(3):  # each of these workers died of it
        begin(7)
    worker = Worker(lambda: Loaded(dict, done.append), begin)
    lost = worker.reply(7, "fatal")
    worker.reply(8, "harmless")
    assert done == ["harmless"]
    ((_, result),) = pool_of([lost]).run(["fatal"])
    assert str(result).startswith("3 workers failed on it, the last one so: it died")


def test_many_lost_pieces_end_the_run_after_those_that_were_done() -> None:
    """As where a driver of a GPU has crashed: the fault is not the pieces'."""
    failing = reply_to(raising(RuntimeError("CUDA error")))
    done = []
    with refused("failed-workers", path="Ray") as caught:
        for index, _ in pool_of([reply_to(str.upper), *[failing] * 20]).run("a" * 21):
            done.append(index)
    assert done == list(range(12))  # one result, ten that may be lost, and the one too many
    assert "11 pieces failed, the last one so: RuntimeError: CUDA error" in str(caught.value)


def test_a_worker_that_computes_otherwise_is_named() -> None:
    first = Reply("head", {**reply_to(str.upper).identity, "dtype": "bfloat16"}, "A")
    with refused("not-comparable", path="node") as caught:
        list(pool_of([first, Reply("node", {**first.identity, "dtype": "float32"}, "B")]).run("ab"))
    assert "dtype 'float32' (on head 'bfloat16')" in str(caught.value)


def test_a_worker_of_another_version_is_refused() -> None:
    with refused("not-comparable", path="node") as caught:
        list(pool_of([Reply("node", {"citeforge": "0.0.1", "name": "m"}, "A")]).run("a"))
    assert "citeforge '0.0.1'" in str(caught.value)


def test_pieces_travel_in_windows_of_bounded_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("citeforge.plugins.ray.pool._WINDOW_BYTES", 200)
    pool = pool_of([])
    pool._workers = 2
    taken: list[str] = []

    def pieces() -> Any:
        for i in range(5):
            taken.append(chr(97 + i) * 150)  # pickled, over 150 bytes: three are over 2 * 200
            yield taken[-1]

    sizes = []
    for window in pool._windows(pieces()):
        sizes.append(len(window))
        assert len(taken) == sum(sizes)  # none is taken before it is needed
    assert sizes == [3, 2]
