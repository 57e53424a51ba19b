"""Replies of an endpoint that are not what was asked for: rows or one clear line, nothing else."""

from __future__ import annotations

import copy
import json
import random
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pyoxigraph
import pytest

from citeforge.kg.domain import load_domain
from citeforge.kg.endpoint import EndpointEngine, EndpointOptions
from citeforge.kg.engines import make_engine
from citeforge.kg.graph import KnowledgeGraph
from citeforge.kg.replies import ReplyStore, TruncatedError, parse_rows
from citeforge.schemas.errors import CiteforgeError, InputError
from conftest import EXAMPLES

Mutate = Callable[[bytes], bytes]


class Server:
    """Answers SPARQL queries over loopback, each reply changed by ``mutate``."""

    def __init__(self) -> None:
        self.mutate: Mutate = lambda body: body
        store = pyoxigraph.Store()
        store.bulk_load(
            path=str(EXAMPLES / "people" / "graph.ttl"), format=pyoxigraph.RdfFormat.TURTLE
        )
        known: dict[str, bytes] = {}
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.reply(parse_qs(urlsplit(self.path).query)["query"][0])

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                self.reply(parse_qs(body.decode())["query"][0])

            def reply(self, query: str) -> None:
                if query not in known:
                    found: Any = store.query(query)
                    known[query] = found.serialize(format=pyoxigraph.QueryResultsFormat.JSON)
                body = outer.mutate(known[query])
                self.send_response(200)
                self.send_header("Content-Type", "application/sparql-results+json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: Any) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}/query"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    running = Server()
    yield running
    running.http.shutdown()
    running.http.server_close()


OTHERS: tuple[Any, ...] = (
    None, True, 0, -1, 1.5, 10**400, "", "x", "Q1", "\u0000", "9" * 5000, [], {}, [[]],
    {"type": "uri"}, {"type": "uri", "value": None}, {"type": "literal", "value": "-3"},
    {"type": "triple", "value": {}}, {"type": "uri", "value": "http://www.wikidata.org/entity/"},
    {"type": "literal", "value": "2020-13-40T00:00:00Z",
     "datatype": "http://www.w3.org/2001/XMLSchema#dateTime"},
)  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths of all values inside a JSON document."""
    yield path
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from places(inner, (*path, name))
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from places(inner, (*path, at))


def mutated(body: bytes, rng: random.Random) -> bytes:
    """One to three changes of the document, or of its bytes."""
    if rng.random() < 0.25:
        at = rng.randrange(len(body))
        ways = (body[:at], body[:at] + bytes([rng.randrange(256)]) + body[at + 1 :], body[at:],
                body + body, b"[" * 100_000, b"", body.replace(b'"', b'"\\ud800', 9))  # fmt: skip
        return rng.choice(ways)
    content = json.loads(body)
    for _ in range(rng.randint(1, 3)):
        path = rng.choice(list(places(content)))
        if not path:
            return json.dumps(rng.choice(OTHERS)).encode()
        holder = content
        for step in path[:-1]:
            holder = holder[step]
        way = rng.randrange(3)
        if way == 0:
            holder[path[-1]] = copy.deepcopy(rng.choice(OTHERS))
        elif way == 1:
            del holder[path[-1]]
        elif isinstance(holder, list):
            holder.append(copy.deepcopy(holder[path[-1]]))
        else:
            holder[rng.choice(("x", "entity", "count", "value"))] = holder.pop(path[-1])
    return json.dumps(content).encode()


ASKED: dict[str, Callable[[KnowledgeGraph], Any]] = {
    "subgraphs": lambda kg: kg.subgraphs(["Q901", "Q902", "Q903"]),
    "find": lambda kg: kg.find(["Marie Curie", "Sorbonne"], of_class=False),
    "properties": lambda kg: kg.properties(["spouse", "father"]),
    "pairs": lambda kg: kg.pairs(["P26", "P22"]),
    "aliases": lambda kg: kg.aliases(["Q901", "Q902"]),
    "labels": lambda kg: kg.labels_of_class(),
}


@pytest.mark.parametrize("asked", ASKED)
def test_every_reply_is_rows_or_one_line(server: Server, asked: str) -> None:
    options = EndpointOptions(timeout=3600, attempts=1, pause=0.0)
    server.mutate = lambda body: body
    whole = ASKED[asked](KnowledgeGraph(EndpointEngine(server.url, options), load_domain("people")))
    assert whole
    refused = 0
    for seed in range(60):
        rng = random.Random(f"{asked} {seed}")
        server.mutate = lambda body, rng=rng: mutated(body, rng)
        kg = KnowledgeGraph(EndpointEngine(server.url, options), load_domain("people"))
        try:
            ASKED[asked](kg)
        except CiteforgeError as error:
            refused += 1
            assert "\n" not in str(error), seed
            assert isinstance(error, InputError), seed
    assert refused > 15  # most of the changes are seen


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"null", b'{"results": {}}', b'{"results": {"bindings": [1]}}',
     b'{"results": {"bindings": [{"x": {"type": ["uri"], "value": "y"}}]}}',
     b'{"results": {"bindings": [{"x": {"type": "uri", "value": 3}}]}}',
     b'{"results": {"bindings": [{"x": {"type": "uri", "value": "\\ud800"}}]}}',
     b'{"results": {"bindings": [{"x": {"type": "uri", "value": "\xff"}}]}}', b"[" * 200_000],
)  # fmt: skip
def test_replies_of_another_form(body: bytes) -> None:
    with pytest.raises(TruncatedError, match="the reply is not whole"):
        parse_rows(body)


def test_a_damaged_reply_in_the_store(server: Server, tmp_path: Path) -> None:
    server.mutate = lambda body: body
    path = tmp_path / "replies.db"
    store = ReplyStore(path)
    engine = EndpointEngine(server.url, EndpointOptions(attempts=1), store)
    query = "SELECT ?x WHERE { ?x ?y ?z } LIMIT 1"
    engine.select(query)
    store.put(server.url, query, b'{"results": {"bindings": [')
    with pytest.raises(InputError, match=r"replies\.db: holds a damaged reply"):
        engine.select(query)
    store.close()
    with pytest.raises(InputError, match="damaged reply"):
        make_engine(f"replay:{path}").select(query)
