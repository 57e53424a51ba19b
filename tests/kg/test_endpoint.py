"""The endpoint engine against SPARQL servers whose replies go wrong."""

import io
import itertools
import random
import socket
import time
from collections.abc import Iterator
from email.message import Message
from pathlib import Path
from urllib.error import HTTPError

import pytest

import citeforge as cf
from citeforge.engines import http
from citeforge.kg import endpoint
from citeforge.kg.domain import load_domain
from citeforge.kg.endpoint import (
    CONTACT_VARIABLE,
    EndpointEngine,
    EndpointOptions,
    QueryBudget,
    ReplayEngine,
    TooLongError,
)
from citeforge.kg.engines import StoreEngine, make_engine
from citeforge.kg.graph import KnowledgeGraph
from citeforge.kg.replies import ReplyStore
from citeforge.schemas.kg import Graph
from conftest import EXAMPLES, refused
from patience import patience
from servers.sparql import proxy, sparql_server

PEOPLE = [f"Q9{n:02d}" for n in range(1, 12)]
GRAPH = EXAMPLES / "people" / "graph.ttl"
NEVER = 3600
"""A timeout of queries that are answered, however slow the machine is."""
QUICK = EndpointOptions(timeout=NEVER, attempts=4, pause=0.01)


@pytest.fixture(scope="module", params=["thread", pytest.param("oxigraph", marks=pytest.mark.slow)])
def upstream(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str | Path]:
    """What answers behind the proxy: the file itself, or a real SPARQL server."""
    if request.param == "thread":
        yield GRAPH
    else:
        with sparql_server(GRAPH, tmp_path_factory.mktemp("server")) as url:
            yield url


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds for which the engine would have waited between requests."""
    result: list[float] = []
    monkeypatch.setattr(endpoint, "time", FakeTime(result))
    return result


class FakeTime:
    """A clock that runs on by what is slept alone."""

    def __init__(self, slept: list[float]) -> None:
        self.slept = slept
        self.start = time.monotonic()
        self.time = time.time

    def monotonic(self) -> float:
        return self.start + sum(self.slept)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


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


def test_both_engines_give_the_same(
    upstream: str | Path, expected: dict[str, Graph], tmp_path: Path
) -> None:
    with proxy(upstream) as running:
        result, kg, engine = ask(running.url)
        assert result == expected
        assert engine.requests == 1
        other = KnowledgeGraph(StoreEngine(GRAPH), load_domain("people"))
        names = ["Paul Langevin", "Sorbonne", "Madame Curie"]
        assert kg.find(names) == other.find(names)
        assert not kg.find(names)["Sorbonne"]  # no person
        properties = kg.properties(["spouse", "father"])
        assert properties == other.properties(["spouse", "father"])
        ids = [i for result in properties.values() for i in result]
        assert kg.statements(ids) == other.statements(ids)
        assert kg.aliases(PEOPLE) == other.aliases(PEOPLE)
        assert kg.labels_of_class() == other.labels_of_class()


def test_all_queries_go_by_post_in_batches(
    upstream: str | Path, expected: dict[str, Graph], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CONTACT_VARIABLE, "somebody@example.org\nX-Evil: 1")
    with proxy(upstream) as running:
        result, kg, _ = ask(running.url, batch=4)
        assert kg.properties(["spouse"]) == {"spouse": ["P26"]}
        requests = running.requests()
    assert result == expected
    assert [r["entities"] for r in requests[:3]] == [4, 4, 3]  # never one request an entity
    assert {r["method"] for r in requests} == {"POST"}
    assert all(r["agent"].startswith("citeforge/") for r in requests)
    assert all("somebody@example.org" in r["agent"] for r in requests)
    # One at a time: no request begins before the last one ended.
    assert all(a["end"] <= b["start"] for a, b in itertools.pairwise(requests))


@pytest.mark.parametrize(
    ("fault", "after", "least", "most"),
    [("429", 1, 1, 1), ("503", 1, 1, 1), ("429", "date", 0, 1), ("503", None, 0.01, 0.01)],
)
def test_throttling_is_obeyed(
    expected: dict[str, Graph],
    pauses: list[float],
    fault: str,
    after: object,
    least: float,
    most: float,
) -> None:
    with proxy(GRAPH, faults=[fault], retry_after=after) as running:
        result, _, _ = ask(running.url)
        assert [r["status"] for r in running.requests()] == [int(fault), 200]
    assert result == expected
    (pause,) = pauses
    assert least <= pause <= most


def test_a_timeout_splits_the_batch_in_two(expected: dict[str, Graph]) -> None:
    with proxy(GRAPH, slow_over=3) as running:
        result, kg, _ = ask(running.url)
        sizes = [r["entities"] for r in running.requests()]
    assert result == expected
    # 11 → 5 + 6; 5 → 2 + 3; 6 → 3 + 3.
    assert sizes == [11, 5, 2, 3, 6, 3, 3]
    assert kg.counts["batches_split"] == 3


@pytest.mark.slow
def test_a_silent_endpoint_counts_as_a_timeout(expected: dict[str, Graph]) -> None:
    options = EndpointOptions(timeout=patience(3), attempts=3, pause=0.01)
    with proxy(GRAPH, faults=["hang"]) as running:
        result, kg, _ = ask(running.url, options=options)
    assert result == expected
    assert kg.counts["batches_split"] >= 1  # a machine in want of time may add some


@pytest.mark.parametrize("fault", ["truncated", "rows"])
def test_a_200_that_is_not_whole_is_noticed(
    upstream: str | Path, expected: dict[str, Graph], fault: str
) -> None:
    with proxy(upstream, faults=[fault]) as running:
        result, kg, _ = ask(running.url)
    assert result == expected
    assert kg.counts["batches_split"] == 1


def test_a_cut_connection_is_tried_again(expected: dict[str, Graph]) -> None:
    with proxy(GRAPH, faults=["cut", "cut"]) as running:
        result, _, _ = ask(running.url)
        assert [r["fault"] for r in running.requests()] == ["cut", "cut", ""]
    assert result == expected


@pytest.mark.parametrize(
    ("config", "code", "hint"),
    [
        ({"then": "403"}, "endpoint-refused", "refused the request: 403"),
        ({"then": "429"}, "endpoint-refused", "throttled the query 4 times"),
        ({"then": "429", "retry_after": 100_000}, "endpoint-refused", "for a wait of 100,000 s"),
        ({"then": "400"}, "endpoint-refused", "refused the query: 400"),
        ({"then": "rows"}, "endpoint-failed", "does not answer even for Q9"),
    ],
)
def test_what_waiting_does_not_mend_is_one_line(
    config: dict[str, object], code: str, hint: str
) -> None:
    with proxy(GRAPH, **config) as running, refused(code, path=running.url) as caught:
        ask(running.url)
    assert hint in str(caught.value)
    assert "Wikimedia" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "is_wikimedia"),
    [
        ("https://query.wikidata.org/sparql", True),
        ("https://commons-query.wikimedia.org/sparql", True),
        ("https://sparql.example.org/wikidata.org", False),
        ("https://query.notwikidata.org/sparql", False),
    ],
)
def test_a_refusal_has_the_words_of_its_own_endpoint(url: str, is_wikimedia: bool) -> None:
    engine = EndpointEngine(url)
    refusal = HTTPError(url, 403, "Forbidden", Message(), io.BytesIO(b"Set a user agent\nmore"))
    with refused("endpoint-refused", path=url) as caught:
        engine._read_wait(refusal)
    assert "refused the request: 403: 'Set a user agent'" in str(caught.value)
    assert ("Wikimedia bans" in str(caught.value)) is is_wikimedia
    assert "\n" not in str(caught.value)


def test_an_endpoint_that_is_not_there(pauses: list[float]) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{probe.getsockname()[1]}/query"
    engine = EndpointEngine(url)
    with refused("endpoint-failed", path=url):
        engine.select("SELECT * WHERE { ?a ?b ?c } LIMIT 1")
    assert (engine.requests, pauses) == (3, [1, 2])  # of five tries that a broken connection gets


def busiest(rows: list[tuple[float, float, bool]], window: float) -> tuple[float, int]:
    """Most query seconds, and most errors, in any window, of (start, end, failed)."""
    seconds, errors = 0.0, 0
    for start in [s for s, _, _ in rows] + [max(0.0, e - window) for _, e, _ in rows]:
        end = start + window
        seconds = max(seconds, sum(max(0.0, min(e, end) - max(s, start)) for s, e, _ in rows))
        errors = max(errors, sum(failed and start <= e < end for _, e, failed in rows))
    return seconds, errors


@pytest.mark.parametrize(("seed", "failing"), [(0, 1.0), (1, 0.3), (2, 0.0)])
def test_the_grant_is_never_exceeded(pauses: list[float], seed: int, failing: float) -> None:
    """200 queries of 4 to 6 s, or of 0.1 s that all fail: 20 s and 30 errors in any minute."""
    options, rng, rows = EndpointOptions(seconds=20, errors=30), random.Random(seed), []
    budget = QueryBudget(options)
    for _ in range(200):
        seconds = 0.1 if failing == 1 else rng.uniform(4, 6)
        assert budget.wait() >= seconds  # no query is cut short
        start = endpoint.time.monotonic()
        endpoint.time.sleep(seconds)
        rows.append((start, endpoint.time.monotonic(), rng.random() < failing))
        budget.record_end(start, rows[-1][2])
    seconds, errors = busiest(rows, options.window)
    assert seconds <= options.seconds + 1e-6
    assert errors <= options.errors
    assert budget.waited > 0
    # It does not wait for longer than the grant asks for.
    assert seconds > 15 or errors == options.errors - 1


@pytest.mark.slow
def test_the_granted_query_seconds_are_never_passed(expected: dict[str, Graph]) -> None:
    """As an endpoint sees it, by its own clock."""
    options = EndpointOptions(timeout=NEVER, seconds=patience(1.5), window=patience(3))
    with proxy(GRAPH, latency=patience(0.2)) as running:
        result, _, engine = ask(running.url, batch=1, options=options)
        rows = [(r["start"], r["end"], False) for r in running.requests()]
    assert len(rows) == len(PEOPLE)
    assert result == expected
    assert busiest(rows, options.window)[0] <= options.seconds
    # 11 queries of 0.2 s are 2.2 s of work: without a budget it would all fall into one window.
    assert engine.budget.waited > 0


def test_the_granted_errors_are_never_passed() -> None:
    options = EndpointOptions(timeout=NEVER, attempts=6, pause=0.001, errors=3, window=0.2)
    with proxy(GRAPH, then="429") as running:
        with refused("endpoint-refused", path=running.url):
            ask(running.url, options=options)
        rows = [(r["start"], r["end"], True) for r in running.requests()]
    assert len(rows) == 6
    assert busiest(rows, options.window)[1] <= options.errors


def test_replies_are_kept_and_replayed(
    upstream: str | Path, expected: dict[str, Graph], tmp_path: Path
) -> None:
    store = ReplyStore(tmp_path / "replies.db")
    with proxy(upstream) as running:
        result, _, engine = ask(running.url, store=store)
        again, _, second = ask(running.url, store=store)
        assert len(running.requests()) == 1
    assert (engine.requests, second.requests) == (1, 0)
    assert result == again == expected
    store.close()
    replay = KnowledgeGraph(
        make_engine(f"replay:{tmp_path / 'replies.db'}", cf.RunOptions()), load_domain("people")
    )
    assert replay.subgraphs(PEOPLE) == expected
    with refused("not-stored", path=tmp_path / "replies.db"):
        replay.subgraphs(["Q901"])
    assert isinstance(replay.engine, ReplayEngine)
    assert replay.identity() == {"name": "sparql", "endpoint": engine.url, "languages": ["en"]}


@pytest.mark.parametrize("fault", ["500", "502", "520"])
def test_a_server_at_fault_is_waited_for(
    expected: dict[str, Graph], pauses: list[float], fault: str
) -> None:
    with proxy(GRAPH, faults=[fault] * 3) as running:
        result, kg, _ = ask(running.url)
        assert [r["status"] for r in running.requests()] == [int(fault)] * 3 + [200]
    assert result == expected
    assert pauses == [0.01, 0.02, 0.04]
    assert kg.counts["batches_split"] == 0


def test_a_new_server_that_only_fails_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "PATIENCE", 0.0)
    with proxy(GRAPH, then="500") as running:
        with refused("endpoint-failed", path=running.url) as caught:
            ask(running.url)
        assert len(running.requests()) == 1
    assert "answers nothing but 500" in str(caught.value)


@pytest.mark.parametrize(
    "text",
    ["java.util.concurrent.TimeoutException", "Query timed out", "Tried to exceed memory limit",
     "Virtuoso 42000 Error The estimated execution time 5221 (sec) exceeds the limit of 400"],
)  # fmt: skip
def test_a_query_that_asks_for_too_much_is_split_without_a_pause(
    pauses: list[float], text: str
) -> None:
    engine = EndpointEngine("http://127.0.0.1:1/query", QUICK)
    body = io.BytesIO(text.encode())
    error = HTTPError(engine.url, 500, "Server Error", Message(), body)

    def fail(*_: object) -> bytes:
        raise error

    with (
        pytest.MonkeyPatch.context() as patch,
        pytest.raises(TooLongError, match="the endpoint answered 500: "),
    ):
        patch.setattr(engine, "_send", fail)
        engine.select("SELECT ?x WHERE { ?x ?y ?z }")
    assert pauses == []


def test_a_query_that_cannot_be_split_is_an_error() -> None:
    with proxy(GRAPH, then="500") as running:
        kg = KnowledgeGraph(EndpointEngine(running.url, QUICK), load_domain("people"))
        with refused("endpoint-failed", path=running.url) as caught:
            kg.statements(["P26"])
    assert "cannot be split" in str(caught.value)
