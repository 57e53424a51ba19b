"""Replies of two days: their span, and what an endpoint answers otherwise than before."""

from pathlib import Path

import pytest

import citeforge as cf
from citeforge.kg.endpoint import EndpointEngine, EndpointOptions
from citeforge.kg.engines import make_engine
from citeforge.kg.replies import ReplyStore, RetrievalTimes, describe_change
from citeforge.kg.values import Row, Term
from citeforge.package.manifest import load_intact
from conftest import EXAMPLES, Inline, refused
from servers.sparql import Faults, proxy

GRAPH = EXAMPLES / "people" / "graph.ttl"
DAY = 86400
QUERIES = [f"SELECT ?y WHERE {{ ?x ?y ?z }} ORDER BY ?y LIMIT {n}" for n in range(1, 31)]
BUILD = ("build", "kalma", "--pairs-from-kg", "spouse,father,child", "--limit", "3")


def old_store(path: Path, url: str, days: float) -> ReplyStore:
    """A store with 30 replies that came some days ago."""
    store = ReplyStore(path)
    engine = EndpointEngine(url, EndpointOptions(timeout=3600), store)
    for query in QUERIES:
        engine.select(query)
    store.rows("UPDATE replies SET fetched = fetched - ?", days * DAY)
    return store


def renamed(old: str, new: str) -> Faults:
    """The endpoint's graph has another name in place of one."""
    return Faults(mutate=lambda body: body.replace(old.encode(), new.encode()))


NEW = "SELECT ?x WHERE { ?x ?y ?z } LIMIT 1"


@pytest.mark.parametrize(
    ("days", "is_changed", "compared", "changed"),
    [(0.9, True, 0, 0), (1.1, False, 20, 0), (1.1, True, 20, 20)],
)
def test_a_sample_of_old_replies_is_asked_for_again(
    tmp_path: Path, days: float, is_changed: bool, compared: int, changed: int
) -> None:
    with proxy(GRAPH) as running:
        store = old_store(tmp_path / "kg.db", running.url, days)
        if is_changed:
            running.config = renamed("http://", "https://")
        options = EndpointOptions(timeout=3600, accept_changed=True)
        engine = EndpointEngine(running.url, options, store)
        for query in QUERIES:
            engine.select(query)
        assert len(running.requests()) == 30  # nothing new is asked for: nothing is mixed
        engine.select(NEW)
        engine.select(NEW.replace("1", "2"))
        assert len(running.requests()) == 30 + compared + 2
        assert engine.counts["replies_compared"] == compared
        assert engine.counts["replies_changed"] == changed
        # What was found is kept with the replies.
        assert store.comparison_counts(running.url) == engine.counts
        # The stored replies stay as they were.
        assert engine.retrieved.span()["replies"] == 32


def test_more_than_one_changed_reply_stops_the_run(tmp_path: Path) -> None:
    with proxy(GRAPH) as running:
        store = old_store(tmp_path / "kg.db", running.url, 2)
        running.config = renamed("http://", "https://")
        engine = EndpointEngine(running.url, EndpointOptions(timeout=3600), store)
        with refused("endpoint-changed", path=running.url) as caught:
            engine.select(NEW)
        running.config = Faults()
        EndpointEngine(running.url, EndpointOptions(timeout=3600), store).select(NEW)
    text = str(caught.value)
    assert "of 20 asked for again, 20 differ (was (y '" in text
    assert text.count("; was ") == 2  # three examples
    assert "--accept-changed" in text


def test_one_changed_reply_of_twenty_is_counted_alone(tmp_path: Path) -> None:
    with proxy(GRAPH) as running:
        store = old_store(tmp_path / "kg.db", running.url, 2)
        changes = iter([b"https://"])

        def once(body: bytes) -> bytes:
            return body.replace(b"http://", next(changes, b"http://"))

        running.config = Faults(mutate=once)
        engine = EndpointEngine(running.url, EndpointOptions(timeout=3600), store)
        engine.select(NEW)
    assert engine.counts == {"replies_compared": 20, "replies_changed": 1}


def test_the_span_of_retrieval_times() -> None:
    times = RetrievalTimes()
    assert times.span() == {}
    times.add("a", 0.5)
    times.add("b", DAY + 61)
    times.add("a", 0.5)
    expected = {"first": "1970-01-01T00:00:00Z", "last": "1970-01-02T00:01:01Z", "replies": 2}
    assert times.span() == expected


def test_rows_differ_in_any_order() -> None:
    one: Row = {"entity": Term("uri", "http://x/Q1"), "label": Term("literal", "AC/DC", "en")}
    two: Row = {"entity": Term("uri", "http://x/Q2")}
    assert describe_change([one, two], [two, one]) == ""
    assert describe_change([one, one], [one]) == "was (entity 'Q1', label 'AC/DC'), is nothing"
    mine, other = ({"entity": Term("bnode", name)} for name in "ab")
    assert describe_change([mine], [other]) == ""
    assert describe_change([two], [one]) == "was (entity 'Q2'), is (entity 'Q1', label 'AC/DC')"


def test_a_build_over_two_days_says_so(tmp_path: Path, inline: Inline) -> None:
    with proxy(GRAPH) as running:
        where = ("--kg", f"sparql:{running.url}", "--kg-store", "kg.db", "--kg-batch", "2")
        running.config = Faults(faults=[""] * 7, then="400")
        assert inline(*BUILD, *where, "--out", "k").code == "endpoint-refused"
        with ReplyStore(tmp_path / "kg.db") as store:
            # Twelve hours before the epoch's second day ends: the day is no accident of today.
            store.rows("UPDATE replies SET fetched = ?", DAY / 2)
        running.config = renamed("Curie", "Courie")
        done = inline.fails(1, "endpoint-changed", *BUILD, *where, "--out", "k")
        assert "Curie" in done.stderr
        assert not (tmp_path / "k").exists()
        inline.ok(*BUILD, *where, "--accept-changed", "--out", "k")
    manifest = load_intact(tmp_path / "k")
    assert manifest.counts["replies_compared"] == 7
    assert manifest.counts["replies_changed"] >= 2
    assert manifest.computed["retrieved"]["first"] == "1970-01-01T12:00:00Z"
    card = (tmp_path / "k" / "README.md").read_text()
    assert "were retrieved from 1970-01-01 to 2" in card
    assert "replies that the endpoint has changed since" in card
    # A rebuild from the store is the same to the byte, with its batch size.
    inline.ok(*BUILD, "--kg", "replay:kg.db", "--out", "again/k")
    assert load_intact(tmp_path / "again" / "k") == manifest


def test_times_of_retrieval_do_not_change_the_hash(tmp_path: Path, inline: Inline) -> None:
    with proxy(GRAPH) as running:
        where = ("--kg", f"sparql:{running.url}", "--kg-store", "kg.db")
        inline.ok(*BUILD, *where, "--out", "first")
    with ReplyStore(tmp_path / "kg.db") as store:
        store.rows("UPDATE replies SET fetched = fetched - ?", 9 * DAY)
    inline.ok(*BUILD, "--kg", "replay:kg.db", "--out", "second")
    first, second = (load_intact(tmp_path / name) for name in ("first", "second"))
    assert first.computed != second.computed
    assert first.benchmark_hash == second.benchmark_hash


def test_a_store_of_two_batch_sizes_takes_the_one_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "kg.db"
    with proxy(GRAPH) as running, ReplyStore(path) as store:
        EndpointEngine(running.url, store=store).select(NEW)
        for size in (5, 50):
            store.add_batch_size(size)
    engine = make_engine(f"replay:{path}", cf.RunOptions())
    assert [engine.choose_batch(n) for n in (5, 50)] == [5, 50]  # type: ignore[attr-defined]
    with refused("not-stored", path=path) as caught:
        engine.select(QUERIES[0])
    assert "--kg-batch included (its runs had 5, 50)" in str(caught.value)
