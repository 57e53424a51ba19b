"""Replies of an endpoint that are not what was asked for: rows or one clear line, nothing else."""

import copy
import json
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import citeforge as cf
from citeforge.kg.domain import load_domain
from citeforge.kg.endpoint import (
    EndpointEngine,
    EndpointOptions,
)
from citeforge.kg.engines import make_engine
from citeforge.kg.graph import KnowledgeGraph
from citeforge.kg.replies import ReplyStore, TruncatedError, parse_rows
from conftest import EXAMPLES, Inline, refused
from servers.sparql import Faults, Proxy, proxy

Mutate = Callable[[bytes], bytes]


@pytest.fixture(scope="module")
def running() -> Iterator[Proxy]:
    with proxy(EXAMPLES / "people" / "graph.ttl") as result:
        yield result


@pytest.fixture
def server(running: Proxy) -> Proxy:
    """Answers queries; replies are changed by ``config.mutate``."""
    running.config = Faults()
    return running


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


PEOPLE = load_domain("people")

ASKED: dict[str, Callable[[KnowledgeGraph], Any]] = {
    "subgraphs": lambda kg: kg.subgraphs(["Q901", "Q902", "Q903"]),
    "find": lambda kg: kg.find(["Marie Curie", "Sorbonne"]),
    "properties": lambda kg: kg.properties(["spouse", "father"]),
    "pairs": lambda kg: kg.statements(["P26", "P22"]),
    "aliases": lambda kg: kg.aliases(["Q901", "Q902"]),
    "labels": lambda kg: kg.labels_of_class(),
}


@pytest.mark.parametrize("asked", ASKED)
def test_every_reply_is_rows_or_one_line(server: Proxy, asked: str) -> None:
    options = EndpointOptions(timeout=3600, attempts=1, pause=0.0)
    whole = ASKED[asked](KnowledgeGraph(EndpointEngine(server.url, options), PEOPLE))
    assert whole
    n_refused = 0
    for seed in range(60):
        rng = random.Random(f"{asked} {seed}")
        server.config.mutate = lambda body, rng=rng: mutated(body, rng)
        kg = KnowledgeGraph(EndpointEngine(server.url, options), PEOPLE)
        try:
            ASKED[asked](kg)
        except cf.InputError as error:
            n_refused += 1
            assert "\n" not in str(error), seed
            assert error.code in ("bad-reply", "endpoint-failed"), (seed, error.code)
    assert n_refused > 15  # most of the changes are seen


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"null", b'{"results": {}}', b'{"results": {"bindings": [1]}}',
     b'{"results": {"bindings": [{"x": {"type": ["uri"], "value": "y"}}]}}',
     b'{"results": {"bindings": [{"x": {"type": "uri", "value": 3}}]}}',
     b'{"head": {"vars": []},'
     b' "results": {"bindings": [{"x": {"type": "uri", "value": "\\ud800"}}]}}',
     b'{"head": {"vars": []},'
     b' "results": {"bindings": [{"x": {"type": "uri", "value": "\xff"}}]}}',
     b'{"results": {"bindings": []}}', b"[" * 200_000],
)  # fmt: skip
def test_replies_of_another_form(body: bytes) -> None:
    with pytest.raises(TruncatedError, match="the reply is not whole"):
        parse_rows(body, ())


def test_a_damaged_reply_in_the_store(server: Proxy, tmp_path: Path) -> None:
    path = tmp_path / "replies.db"
    store = ReplyStore(path)
    engine = EndpointEngine(server.url, EndpointOptions(attempts=1), store)
    query = "SELECT ?x WHERE { ?x ?y ?z } LIMIT 1"
    engine.select(query)
    store.put(server.url, query, b'{"results": {"bindings": [')
    with refused("bad-reply", path=path):
        engine.select(query)
    store.close()
    with refused("bad-reply", path=path):
        make_engine(f"replay:{path}", cf.RunOptions()).select(query)


def changed(name: str, value: str) -> Mutate:
    """Every value of a variable becomes another."""

    def mutate(body: bytes) -> bytes:
        content = json.loads(body)
        for row in content["results"]["bindings"]:
            if name in row:
                row[name]["value"] = value
        return json.dumps(content).encode()

    return mutate


def renamed(body: bytes) -> bytes:
    """A reply to another query: every variable has another name."""
    content = json.loads(body)
    content["head"]["vars"] = [f"{name}_" for name in content["head"]["vars"]]
    content["results"]["bindings"] = [
        {f"{name}_": term for name, term in row.items()} for row in content["results"]["bindings"]
    ]
    return json.dumps(content).encode()


def empty(body: bytes) -> bytes:
    """No row, and other variables."""
    return b'{"head": {"vars": ["x"]}, "results": {"bindings": []}}'


def without(name: str) -> Mutate:
    """No row has the variable."""

    def mutate(body: bytes) -> bytes:
        content = json.loads(body)
        for row in content["results"]["bindings"]:
            row.pop(name, None)
        return json.dumps(content).encode()

    return mutate


@pytest.mark.parametrize(
    ("mutate", "code", "detail"),
    [(changed("entities", "9" * 5000), "bad-reply", "'99999"),
     (changed("entities", "١٢"), "bad-reply", "'١٢'"), (changed("values", "²"), "bad-reply", "'²'"),
     (changed("values", "-1"), "bad-reply", "'-1'"), (renamed, "endpoint-failed", "no ?class"),
     (empty, "endpoint-failed", "no ?class"), (without("class"), "endpoint-failed", "?class"),
     (without("prop"), "endpoint-failed", "?prop"),
     (lambda b: b"{}", "endpoint-failed", "not whole")],
)  # fmt: skip
def test_a_profile_of_wrong_replies_is_one_line(
    server: Proxy, mutate: Mutate, code: str, detail: str, inline: Inline
) -> None:
    server.config.mutate = mutate
    done = inline.fails(
        1, code, "kg", "profile", "--kg", f"sparql:{server.url}", "--domain", "people"
    )
    assert detail in done.stderr
    assert server.url in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("mutate", [renamed, empty])
def test_a_reply_to_another_query_is_no_empty_answer(
    server: Proxy, asked: str, mutate: Mutate
) -> None:
    server.config.mutate = mutate
    engine = EndpointEngine(server.url, EndpointOptions(attempts=1, pause=0.0))
    with refused("endpoint-failed", path=server.url):
        ASKED[asked](KnowledgeGraph(engine, PEOPLE))


STRANGE = "http://elsewhere.example/entity/P26"


@pytest.mark.parametrize(
    ("asked", "variable"),
    [("subgraphs", "prop"), ("properties", "prop"), ("pairs", "prop"), ("pairs", "first"),
     ("pairs", "second"), ("labels", "entity")],
)  # fmt: skip
@pytest.mark.parametrize("value", [STRANGE, "http://www.wikidata.org/entity/", "P26",
                                   "http://www.wikidata.org/entity/P26> <x"])  # fmt: skip
def test_ids_of_another_graph_are_refused(
    server: Proxy, asked: str, variable: str, value: str
) -> None:
    server.config.mutate = changed(variable, value)
    engine = EndpointEngine(server.url, EndpointOptions(attempts=1, pause=0.0))
    with refused("endpoint-failed", path=server.url) as caught:
        ASKED[asked](KnowledgeGraph(engine, PEOPLE))
    assert "not below http://www.wikidata.org/entity/" in str(caught.value)


def test_snapshots_hold_no_control_or_bidi_characters(
    server: Proxy, inline: Inline, tmp_path: Path
) -> None:
    def dirty(body: bytes) -> bytes:
        content = json.loads(body)
        for row in content["results"]["bindings"]:
            for name in {"label", "propLabel", "alias"} & set(row):
                row[name]["value"] += "\n\x1b[2J\u202egnp.exe\u2066\x85"
        return json.dumps(content).encode()

    server.config.mutate = dirty
    (tmp_path / "ids.txt").write_text("Q901\nQ902\n")
    out = tmp_path / "s.nt"
    done = inline.ok("kg", "snapshot", "--kg", f"sparql:{server.url}", "--domain", "people",
               "--entities", tmp_path / "ids.txt", "--out", out)  # fmt: skip
    assert "labels that held control, bidi or invisible characters, now without" in done.stdout
    text = out.read_text("utf-8")
    assert '[2J gnp.exe"@en' in text
    assert not any(c in text for c in "\x1b\u202e\u2066\x85")
    assert "\\n" not in text
    assert not re.search(r"\\u00[01]", text)


def test_rows_that_come_twice_are_called_so(server: Proxy) -> None:
    def doubled(body: bytes) -> bytes:
        content = json.loads(body)
        rows = content["results"]["bindings"]
        content["results"]["bindings"] = rows + [r for r in rows if "value" in r]
        return json.dumps(content).encode()

    server.config.mutate = doubled
    engine = EndpointEngine(server.url, EndpointOptions(attempts=1, pause=0.0))
    with refused("endpoint-failed", path=server.url) as caught:
        KnowledgeGraph(engine, PEOPLE).subgraphs(["Q901"])
    found = re.search(r"the reply has ([\d,]+) rows of Q901 and counts ([\d,]+)", str(caught.value))
    assert found is not None
    assert int(found[1]) == 2 * int(found[2])
