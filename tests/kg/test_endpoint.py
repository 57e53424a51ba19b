"""The endpoint engine against a real SPARQL server, behind a proxy that misbehaves."""

import itertools
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from citeforge.kg.domain import load_domain
from citeforge.kg.endpoint import (
    CONTACT_VARIABLE,
    EndpointEngine,
    EndpointOptions,
    Limits,
    ReplayEngine,
    ReplyStore,
    TooLongError,
)
from citeforge.kg.engines import GRAPHS, StoreEngine
from citeforge.kg.graph import KnowledgeGraph
from citeforge.schemas.benchmarks.kg import Graph
from citeforge.schemas.errors import InputError
from citeforge.schemas.recipes.base import RunOptions
from conftest import EXAMPLES
from patience import patience
from servers.sparql import Proxy, proxy, sparql_server

PEOPLE = [f"Q9{n:02d}" for n in range(1, 12)]
GRAPH = EXAMPLES / "people" / "graph.ttl"
NEVER = 3600
"""A timeout of queries that are answered, however slow the machine is."""
QUICK = EndpointOptions(timeout=NEVER, attempts=4, pause=0.01)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with sparql_server(GRAPH, tmp_path_factory.mktemp("server")) as url:
        yield url


@pytest.fixture(scope="module")
def expected() -> dict[str, Graph]:
    kg = KnowledgeGraph(StoreEngine(GRAPH), load_domain("people"))
    return kg.subgraphs(PEOPLE)


def ask(
    url: str, batch: int = 50, options: EndpointOptions = QUICK, store: ReplyStore | None = None
) -> tuple[dict[str, Graph], KnowledgeGraph, EndpointEngine]:
    engine = EndpointEngine(url, options, store)
    kg = KnowledgeGraph(engine, load_domain("people"), batch=batch)
    return kg.subgraphs(PEOPLE), kg, engine


def test_both_engines_give_the_same(server: str, expected: dict[str, Graph]) -> None:
    result, kg, engine = ask(server)
    assert result == expected
    assert engine.requests == 1
    other = KnowledgeGraph(StoreEngine(GRAPH), load_domain("people"))
    names = ["Paul Langevin", "Sorbonne", "Madame Curie"]
    assert kg.find(names) == other.find(names)
    assert not kg.find(names)["Sorbonne"]  # no person
    properties = kg.properties(["spouse", "father"])
    assert properties == other.properties(["spouse", "father"])
    ids = [i for result in properties.values() for i in result]
    assert kg.pairs(ids) == other.pairs(ids)
    assert kg.aliases(PEOPLE) == other.aliases(PEOPLE)
    assert kg.labels_of_class() == other.labels_of_class()


def test_batches_and_long_queries_go_by_post(
    server: str, expected: dict[str, Graph], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CONTACT_VARIABLE, "somebody@example.org\nX-Evil: 1")
    with proxy(server, tmp_path / "log") as running:
        result, kg, _ = ask(running.url, batch=4)
        assert kg.properties(["spouse"]) == {"spouse": ["P26"]}
        requests = running.requests()
    assert result == expected
    assert [r["entities"] for r in requests[:3]] == [4, 4, 3]  # never one request an entity
    assert {r["method"] for r in requests[:3]} == {"POST"}
    assert requests[3]["method"] == "GET"  # short queries stay cacheable
    assert all(r["agent"].startswith("citeforge/") for r in requests)
    assert all("somebody@example.org" in r["agent"] for r in requests)
    # One at a time: no request begins before the last one ended.
    assert all(a["end"] <= b["start"] for a, b in itertools.pairwise(requests))


@pytest.mark.parametrize("after", [1, "date", None])
@pytest.mark.parametrize("fault", ["429", "503"])
def test_throttling_is_obeyed(
    server: str, expected: dict[str, Graph], tmp_path: Path, fault: str, after: object
) -> None:
    with proxy(server, tmp_path / "log", faults=[fault], retry_after=after) as running:
        result, _, _ = ask(running.url)
        first, second = running.requests()
    assert result == expected
    assert (first["status"], second["status"]) == (int(fault), 200)
    if after == 1:
        assert second["start"] - first["end"] >= 1.0


def test_a_timeout_splits_the_batch_in_two(
    server: str, expected: dict[str, Graph], tmp_path: Path
) -> None:
    with proxy(server, tmp_path / "log", slow_over=3) as running:
        result, kg, _ = ask(running.url)
        sizes = [r["entities"] for r in running.requests()]
    assert result == expected
    # 11 → 5 + 6; 5 → 2 + 3; 6 → 3 + 3.
    assert sizes == [11, 5, 2, 3, 6, 3, 3]
    assert kg.counts["batches split in two"] == 3


def test_a_silent_endpoint_counts_as_a_timeout(
    server: str, expected: dict[str, Graph], tmp_path: Path
) -> None:
    options = EndpointOptions(timeout=patience(3), attempts=3, pause=0.01)
    with proxy(server, tmp_path / "log", faults=["hang"]) as running:
        result, kg, _ = ask(running.url, options=options)
    assert result == expected
    assert kg.counts["batches split in two"] >= 1  # a machine in want of time may add some


@pytest.mark.parametrize("fault", ["truncated", "rows"])
def test_a_200_that_is_not_whole_is_noticed(
    server: str, expected: dict[str, Graph], tmp_path: Path, fault: str
) -> None:
    with proxy(server, tmp_path / "log", faults=[fault]) as running:
        result, kg, _ = ask(running.url)
    assert result == expected
    assert kg.counts["batches split in two"] == 1


def test_a_cut_connection_is_tried_again(
    server: str, expected: dict[str, Graph], tmp_path: Path
) -> None:
    with proxy(server, tmp_path / "log", faults=["cut", "cut"]) as running:
        result, _, _ = ask(running.url)
        assert [r["fault"] for r in running.requests()] == ["cut", "cut", ""]
    assert result == expected


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"then": "403"}, "CITEFORGE_CONTACT"),
        ({"then": "429"}, "throttled the query 4 times"),
        ({"then": "429", "retry_after": 100_000}, "asks us to wait 100,000 s"),
        ({"then": "400"}, "refused the query"),
        ({"then": "rows"}, "does not answer even for"),
    ],
)
def test_what_waiting_does_not_mend_is_said_in_one_line(
    server: str, tmp_path: Path, config: dict[str, object], message: str
) -> None:
    with (
        proxy(server, tmp_path / "log", **config) as running,
        pytest.raises(InputError, match=message) as error,
    ):
        ask(running.url)
    assert "\n" not in str(error.value)


def test_an_endpoint_that_is_not_there() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with pytest.raises(InputError, match="cannot be reached"):
        ask(f"http://127.0.0.1:{port}/query")


def busiest(running: Proxy, window: float) -> tuple[float, int]:
    """Most query seconds, and most errors, in any window, by the proxy's own clock."""
    rows = running.requests()
    seconds, errors = 0.0, 0
    for start in [r["start"] for r in rows] + [max(0.0, r["end"] - window) for r in rows]:
        end = start + window
        used = sum(max(0.0, min(r["end"], end) - max(r["start"], start)) for r in rows)
        seconds = max(seconds, used)
        errors = max(errors, sum(r["status"] != 200 and start <= r["end"] < end for r in rows))
    return seconds, errors


def test_the_granted_query_seconds_are_never_passed(
    server: str, expected: dict[str, Graph], tmp_path: Path
) -> None:
    limits = Limits(seconds=patience(1.5), errors=30, window=patience(3))
    options = EndpointOptions(timeout=NEVER, limits=limits)
    with proxy(server, tmp_path / "log", latency=patience(0.2)) as running:
        result, _, engine = ask(running.url, batch=1, options=options)
        used, _ = busiest(running, limits.window)
        assert len(running.requests()) == len(PEOPLE)
    assert result == expected
    assert used <= limits.seconds
    # 11 queries of 0.2 s are 2.2 s of work: without a budget it would all fall into one window.
    assert engine.budget.waited > 0


def test_the_granted_errors_are_never_passed(server: str, tmp_path: Path) -> None:
    limits = Limits(seconds=60.0, errors=3, window=1.0)
    options = EndpointOptions(timeout=NEVER, attempts=8, pause=0.001, limits=limits)
    with proxy(server, tmp_path / "log", then="429") as running:
        with pytest.raises(InputError, match="throttled"):
            ask(running.url, options=options)
        rows = running.requests()
        _, errors = busiest(running, limits.window)
    assert len(rows) == 8
    assert errors <= limits.errors


def test_replies_are_kept_and_replayed(
    server: str, expected: dict[str, Graph], tmp_path: Path
) -> None:
    store = ReplyStore(tmp_path / "replies.db")
    with proxy(server, tmp_path / "log") as running:
        result, _, engine = ask(running.url, store=store)
        again, _, second = ask(running.url, store=store)
        assert len(running.requests()) == 1
    assert (engine.requests, second.requests) == (1, 0)
    assert result == again == expected
    store.close()
    replay = KnowledgeGraph(
        GRAPHS.make(f"replay:{tmp_path / 'replies.db'}", RunOptions()), load_domain("people")
    )
    assert replay.subgraphs(PEOPLE) == expected
    with pytest.raises(InputError, match="no reply to one of the queries"):
        replay.subgraphs(["Q901"])
    assert isinstance(replay.engine, ReplayEngine)
    assert replay.identity() == {"name": "sparql", "endpoint": engine.url, "languages": ["en"]}


def test_a_query_that_cannot_be_split_says_so(server: str, tmp_path: Path) -> None:
    with proxy(server, tmp_path / "log", then="500") as running:
        kg = KnowledgeGraph(EndpointEngine(running.url, QUICK), load_domain("people"))
        with pytest.raises(InputError, match="cannot be split"):
            kg.pairs(["P26"])
    assert issubclass(TooLongError, Exception)
