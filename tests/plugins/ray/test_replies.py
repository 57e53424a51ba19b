"""Replies of workers that are wrong; no Ray is started."""

import pickle
from collections.abc import Iterable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

import citeforge as cf
from citeforge.engines.embedding.embedder import FailedShard
from citeforge.engines.judge.records import Decision, JudgeFailure, Pair
from citeforge.engines.llm.records import Failure, Request
from citeforge.plugins.ray import pool as pools
from citeforge.plugins.ray.judging import ClusterJudge
from citeforge.plugins.ray.pool import WorkerPool
from citeforge.plugins.ray.share import Share
from citeforge.plugins.ray.worker import Raised, Started, Worked, Worker
from citeforge.plugins.ray.writing import Writers
from citeforge.schemas.version import __version__
from conftest import refused


class _Wrong(WorkerPool[Any, Any]):
    """A pool whose workers reply to every piece with the same."""

    def __init__(self, reply: Any) -> None:
        self.share = Share(1, 1, 0)
        self._reply = reply

    def run(self, pieces: Iterable[Any]) -> Iterator[tuple[int, Any]]:
        for index, _ in enumerate(pieces):
            yield index, self._reply


@pytest.mark.parametrize(
    ("reply", "said"),
    [([], "0 results"), ([1, 2, 3], "3 results"), (None, "NoneType"), ("ab", "str")],
)
def test_a_wrong_number_of_decisions_is_a_failure_of_each_pair(reply: Any, said: str) -> None:
    judge = ClusterJudge.__new__(ClusterJudge)
    judge._pool, judge._size = _Wrong(reply), 128
    pairs = [Pair("premise", "one"), Pair("premise", "two")]
    assert judge.count_tokens(pairs) is None
    decisions: dict[int, Decision] = {}
    judge.decide(pairs, decisions.update)
    failure = JudgeFailure(f"1 worker failed on it, the last one so: its reply to 1 was {said}")
    assert decisions == {0: failure, 1: failure}


def test_a_wrong_number_of_answers_is_a_failure_of_each_request() -> None:
    writers = Writers.__new__(Writers)
    writers._pool, writers._rows = _Wrong([]), 16
    requests = {key: Request((("user", key),)) for key in "ab"}
    failure = Failure("exhausted", str(FailedShard(1, "its reply to 1 was 0 results")))
    assert dict(writers.answers(requests)) == {"a": failure, "b": failure}


def start_raising(error: Exception) -> Raised:
    """Reply of a worker whose start fails, as it arrives."""

    def fail() -> Worked[Any, Any]:
        raise error

    reply = pickle.loads(pickle.dumps(Worker(fail).start()))
    assert isinstance(reply, Raised)
    return reply


@pytest.mark.parametrize("kind", [cf.InputError, cf.UsageError, cf.FailuresError])
def test_an_error_that_the_user_can_correct_arrives_whole(kind: type[cf.CiteforgeError]) -> None:
    place = {"path": "m", "line": 3, "field": "text"} if kind is cf.InputError else {}
    with refused("wrong-value", kind, **place):
        start_raising(kind("is wrong", code="wrong-value", **place)).raise_for_user()


def test_any_other_error_is_a_failed_try() -> None:
    reply = start_raising(ValueError("a kernel failed"))
    reply.raise_for_user()  # nothing is raised: the piece is tried again
    assert reply == Raised("ValueError: a kernel failed")


class _Silent:
    """As much of Ray as a pool needs; nobody replies but, if told so, to a start."""

    class exceptions:
        RayError = TimeoutError

    def __init__(self, starts: bool) -> None:
        self.starts = starts
        self.killed = 0

    def remote(self, _: type) -> Any:
        call = SimpleNamespace(remote=lambda *_: object())
        start = SimpleNamespace(remote=lambda: "start" if self.starts else object())
        actor = SimpleNamespace(start=start, do=call)
        made = SimpleNamespace(remote=lambda _: actor)
        return SimpleNamespace(options=lambda **_: made)

    def available_resources(self) -> dict[str, float]:
        return {"CPU": 1}

    def wait(self, refs: list[Any], **_: Any) -> tuple[list[Any], list[Any]]:
        return [ref for ref in refs if ref == "start"], []

    def get(self, ref: Any, timeout: float) -> Any:
        if ref != "start":
            raise TimeoutError("not ready")
        return Started("here", __version__, {})

    def kill(self, _: Any) -> None:
        self.killed += 1


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Makes a pool on a cluster that never says anything, and waits for nothing."""
    monkeypatch.setattr(pools, "_START_SECONDS", -1.0)
    monkeypatch.setattr(pools, "_PIECE_SECONDS", -1.0)

    def make(starts: bool) -> tuple[_Silent, WorkerPool[Any, Any]]:
        pool: WorkerPool[Any, Any] = WorkerPool.__new__(WorkerPool)
        pool._ray, pool.share, pool._work = _Silent(starts), Share(1, 1, 0), dict
        pool._workers, pool._failed_starts, pool._first = [], 0, None
        return pool._ray, pool

    yield make
    pools._pools.clear()


def test_workers_that_never_start_are_told_of(silent: Any) -> None:
    ray, pool = silent(starts=False)
    with refused("failed-workers", path="Ray") as caught:
        pool.identity()
    assert "last error: it has said nothing of its start for -1 s" in str(caught.value)
    assert ray.killed == pools.TRIES


def test_a_piece_of_which_nothing_is_heard_is_given_up(silent: Any) -> None:
    ray, pool = silent(starts=True)
    silence = "it has said nothing of a piece for -1 s"
    assert list(pool.run(["piece"])) == [(0, FailedShard(pools.TRIES, silence))]
    assert (ray.killed, pool._workers) == (pools.TRIES, [])
