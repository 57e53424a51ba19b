"""Requests that end, whatever a server sends: slow, endless, elsewhere, in circles."""

import json
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote_plus

import pytest

import citeforge as cf
from citeforge.engines import http
from citeforge.kg.endpoint import EndpointEngine, EndpointOptions, TooLongError
from citeforge.kg.transport import BoundedSparqlWrapper
from citeforge.kg.values import literal, query
from conftest import ROOT, Inline, refused
from patience import patience
from servers.bytes_server import Behaviour, Say, redirect, serving

QUERY = "SELECT ?x WHERE { ?x ?y ?z }"
REPLY = json.dumps(
    {"head": {"vars": ["x"]}, "results": {"bindings": [{"x": {"type": "literal", "value": "1"}}]}}
).encode()
HURRIED = EndpointOptions(timeout=0.2, attempts=1, pause=0.0)
PATIENT = EndpointOptions(timeout=60, attempts=1, pause=0.0)


def select(url: str, options: EndpointOptions) -> object:
    return EndpointEngine(url, options).select(QUERY)


def whole(_: str, say: Say) -> None:
    say(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(REPLY) + REPLY)


def test_a_whole_reply() -> None:
    with serving(whole) as server:
        assert len(EndpointEngine(server.url, PATIENT).select(QUERY)) == 1


def typed(kind: str, body: bytes) -> Behaviour:
    """A whole reply of a media type."""
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
    return lambda _, say: say(head.encode() + body)


@pytest.mark.parametrize(
    "kind",
    ["application/sparql-results+json;charset=utf-8", "application/json", "text/javascript",
     "text/plain", "application/octet-stream", "application/sparql-results+xml", "x",
     "application/json; was=application/ld+json; or=application/rdf+xml"],
)  # fmt: skip
def test_json_is_read_whatever_its_type(kind: str, recwarn: pytest.WarningsRecorder) -> None:
    with serving(typed(kind, REPLY)) as server:
        assert len(EndpointEngine(server.url, PATIENT).select(QUERY)) == 1
    assert not recwarn.list


BOMB = b'<!DOCTYPE x [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]><x>&b;</x>'


@pytest.mark.parametrize(
    ("kind", "body"),
    [("text/html; charset=utf-8", b"<html>Down for now</html>"), ("text/plain", b"\nno agent\n"),
     ("application/sparql-results+xml", BOMB), ("application/rdf+xml", BOMB),
     ("text/turtle", b"<http://x/a> a <http://x/b> ."), ("text/csv", b"x\r\n1\r\n")],
)  # fmt: skip
def test_a_reply_in_another_format_is_named_by_its_type(kind: str, body: bytes) -> None:
    with (
        serving(typed(kind, body)) as server,
        refused("endpoint-refused", path=server.url) as caught,
    ):
        select(server.url, PATIENT)
    assert f"answered {kind.partition(';')[0]}, and no JSON results" in str(caught.value)
    assert body.decode().strip().splitlines()[0] in str(caught.value)


def test_a_page_that_calls_itself_json_is_named() -> None:
    kind = "application/sparql-results+json"
    with (
        serving(typed(kind, b"\n<!DOCTYPE html>\n<p>Down")) as server,
        refused("endpoint-refused", path=server.url) as caught,
    ):
        select(server.url, PATIENT)
    assert f"answered a page or XML as {kind}" in str(caught.value)
    assert "<!DOCTYPE html>" in str(caught.value)


def test_nothing_that_json_ld_names_is_fetched() -> None:
    with serving(whole) as other:
        body = json.dumps({"@context": other.url, "@id": other.url}).encode()
        with (
            serving(typed("application/ld+json", body)) as server,
            pytest.raises(TooLongError, match="the reply is not whole"),
        ):
            select(server.url, PATIENT)
        assert other.requests == []


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"null", b"\xff", b'{"x": "\\ud800"}', b'{"x": ' + b"[" * 200_000,
     b'{"x": ' + b"9" * 5000 + b"}", b'{"x": 1' + b"0" * 400 + b"}", b'{"x": NaN}'],
)  # fmt: skip
def test_a_reply_of_another_form_counts_as_cut(body: bytes) -> None:
    with (
        serving(typed("application/sparql-results+json", body)) as server,
        pytest.raises(TooLongError, match="the reply is not"),
    ):
        select(server.url, PATIENT)


QUERIES = sorted(path.stem for path in (ROOT / "src/citeforge/kg/queries").glob("*.rq"))
UPDATES = ["DELETE", "INSERT", "MOVE", "\nREMOVED\n", "# DROP", "PREFIX x: <y> CLEAR"]


@pytest.mark.parametrize("name", QUERIES)
def test_no_query_is_sent_as_an_update(name: str) -> None:
    """SPARQLWrapper guesses by words; this name would take its own pattern hours."""
    endless = "PREFIX a:<" * 3000
    literals = " ".join(map(literal, [*UPDATES, endless]))
    places = (
        "names",
        "entities",
        "properties",
        "languages",
        "class",
        "instance_of",
        "direct",
        "condition",
    )
    text = query(name, **dict.fromkeys(places, literals))
    wrapper = BoundedSparqlWrapper("http://127.0.0.1:1/query")
    wrapper.setQuery(text)
    assert wrapper.isSparqlQueryRequest()
    assert wrapper.queryType == "SELECT"
    assert wrapper.queryString == text


def test_what_is_sent_is_the_protocol_and_nothing_else() -> None:
    with serving(whole) as server:
        select(f"{server.url}?graph=a", PATIENT)
        (request,) = server.requests
    line, *headers = request.split("\r\n\r\n")[0].split("\r\n")
    sent = {name.lower(): value for name, value in (h.split(": ", 1) for h in headers)}
    assert line == "POST /query?graph=a HTTP/1.1"
    assert sent["content-type"] == "application/x-www-form-urlencoded"
    assert sent["accept"] == "application/sparql-results+json"
    assert sent["accept-encoding"] == "identity"
    assert int(sent["content-length"]) == len(f"query={quote_plus(QUERY)}")


HEAD = b"HTTP/1.1 %s\r\nConnection: close\r\n"


@pytest.mark.parametrize(
    ("head", "drops"),
    [
        (HEAD % b"200 OK" + b"\r\n", REPLY),
        (HEAD % b"200 OK" + b"Content-Length: %d\r\n\r\n" % len(REPLY), REPLY),
        (HEAD % b"200 OK" + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n" * 12),
        (HEAD % b"200 OK", b"X-Slow: 1\r\n" * 6 + b"\r\n"),
        (b"", b"HTTP/1.1 200 OK\r\n" + b"X: 1\r\n" * 6),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 3),
    ],
)
def test_a_slow_drip_ends_at_the_deadline(head: bytes, drops: bytes) -> None:
    # 0.1 s a byte and 60 bytes and more are 6 s and more; the deadline is 0.2 s for the whole.
    with serving(lambda _, say: server.drip(head, drops, say)) as server:
        with pytest.raises(TooLongError, match=r"no whole reply within 0\.2 s"):
            select(server.url, HURRIED)
        assert server.sent < len(head) + len(drops)


def test_the_drip_of_a_refusal_ends_at_the_deadline() -> None:
    head = HEAD % b"400 Bad Request" + b"\r\n"
    # The head arrives in time on a slow machine, too.
    options = replace(HURRIED, timeout=patience(0.5))
    with serving(lambda _, say: server.drip(head, b"bad query" * 20, say)) as server:
        with refused("endpoint-refused", path=server.url):
            select(server.url, options)
        assert server.sent < len(head) + 180


@pytest.mark.parametrize(
    "status", [b"400 Bad Request", b"401 No", b"404 No", b"414 Long", b"500 X"]
)
def test_endless_refusals_are_not_read(status: bytes) -> None:
    def endless(_: str, say: Say) -> None:
        say(HEAD % status + b"\r\n")
        for _ in range(1024):
            say(b"x" * 65536)

    with serving(endless) as server:
        with pytest.raises((cf.InputError, TooLongError)) as error:
            select(server.url, PATIENT)
        # 64 MiB are there to be had; buffers of the system take a few.
        assert server.sent < 32 << 20
    assert len(str(error.value)) < 400


def test_endless_replies_have_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "MAX_BYTES", 1 << 20)

    def endless(_: str, say: Say) -> None:
        say(HEAD % b"200 OK" + b"Transfer-Encoding: chunked\r\n\r\n")
        for _number in range(1024):
            say(b"10000\r\n" + b"x" * 65536 + b"\r\n")

    with serving(endless) as server, pytest.raises(TooLongError, match="longer than 1,048,576"):
        select(server.url, PATIENT)


@pytest.mark.parametrize(
    "place",
    ["ftp://127.0.0.1/x", "file:///etc/passwd", "https://127.0.0.1/query", "http://localhost:1/x",
     "//127.0.0.1:1/x", "http://u:p@127.0.0.1/x", "http://[::1", "gopher:x", "data:,x",
     "http://127.0.0.1:99999999/", "/other?query=1", "/query?again=1"],
)  # fmt: skip
def test_redirects_are_refused(place: str) -> None:
    with serving(redirect(place)) as server:
        with refused("endpoint-refused") as caught:
            select(server.url, PATIENT)
        assert len(server.requests) == 1
    assert str(caught.value.path).startswith(server.url)
    assert "redirects to " in str(caught.value)
    assert "u:p" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_another_server_is_never_asked() -> None:
    with serving(whole) as other, serving(redirect(other.url)) as server:
        with refused("endpoint-refused") as caught:
            select(server.url, PATIENT)
        assert other.requests == []
    assert server.host in str(caught.value)
    assert f"redirects to {other.url!r}, where nothing was sent" in str(caught.value)


@pytest.mark.parametrize("after", ["1e308", "9" * 300, "inf", "Fri, 31 Dec 9999 23:59:59 GMT"])
def test_a_wait_without_end_is_short_to_read(after: str) -> None:
    line = f"HTTP/1.1 429 Slow\r\nRetry-After: {after}\r\nContent-Length: 0\r\n\r\n"
    with (
        serving(lambda _, say: say(line.encode())) as server,
        refused("endpoint-refused", path=server.url) as caught,
    ):
        select(server.url, PATIENT)
    assert "a wait of 31,622,400 s" in str(caught.value)  # 366 days of 86,400 s
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    "line",
    [b"400 \x1b[31mBad\r\nContent-Length: 9\r\n\r\n\x1b[2Jgone\r",
     b"418 \x1b[31mTea\r\nContent-Length: 0\r\n\r\n"],
)  # fmt: skip
def test_what_a_server_says_is_shown_escaped(line: bytes) -> None:
    with (
        serving(lambda _, say: say(b"HTTP/1.1 " + line)) as server,
        refused("endpoint-refused", path=server.url) as caught,
    ):
        select(server.url, PATIENT)
    assert line[:3].decode() in str(caught.value)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    "url",
    ["http://user:hush@127.0.0.1:1/q", "http://hush@127.0.0.1:1/q", "http://user:hu/hush@h/q",
     "https://a:hush@h@h/q", "ftp://user:hush@127.0.0.1/q", "user:hush@127.0.0.1",
     "http://127.0.0.1:1/q?api-key=hush", "http://127.0.0.1:1/q?x=1&access_token=hush"],
)  # fmt: skip
def test_a_password_reaches_nothing(url: str, inline: Inline, tmp_path: Path) -> None:
    store, out = tmp_path / "replies.db", tmp_path / "b"
    names = ("--kg-store", store, "--domain", "people")
    builds = ("build", "kalma", "--pairs-from-kg", "spouse", "--out", out)
    for command in (("kg", "profile"), builds):
        done = inline(*command, "--kg", f"sparql:{url}", *names)
        assert done.code in ("bad-option", "unknown-name")
        assert "hush" not in done.stdout + done.stderr
    for path in tmp_path.rglob("*"):
        assert path.is_dir() or b"hush" not in path.read_bytes()


@pytest.mark.parametrize(
    "url",
    [
        "http://",
        "http://[::1",
        "http://a b/",
        "http://h:x/",
        "http://é/",
        "http://" + "a" * 70 + ".org/",
        "http://a..b/",
        "http://h/\x7f",
    ],
)
def test_what_is_no_address(url: str) -> None:
    with refused("bad-option", field="--kg") as caught:
        EndpointEngine(url)
    assert str(caught.value).isprintable()


def test_a_proxy_that_cannot_be_used_is_one_line(
    inline: Inline, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks://127.0.0.1:1080")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    with serving(whole) as server:
        ask = ("kg", "profile", "--kg", f"sparql:{server.url}", "--domain", "people")
        done = inline.fails(1, "bad-option", *ask)
        assert done.stderr.startswith("error: ALL_PROXY: names the proxy 'socks://127.0.0.1:1080'")
        assert len(done.stderr.splitlines()) == 1
        assert server.requests == []
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        inline(*ask)
        assert server.requests != []
