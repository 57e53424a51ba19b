"""Proxies that the environment names, and replies that are not read."""

import gzip
from importlib.util import find_spec
from urllib.request import Request

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

import citeforge as cf
from citeforge.engines import http
from citeforge.engines.http import (
    NoConnectionError,
    ServerPatience,
    send_request,
    uses_proxies,
)
from conftest import refused
from patience import patience
from servers.bytes_server import Behaviour, serving

VARIABLES = [
    n for kind in ("http", "https", "all", "no") for n in (f"{kind}_proxy".upper(), f"{kind}_proxy")
]
SERVER = "http://127.0.0.1:8080/v1"


def answer(headers: bytes, body: bytes) -> Behaviour:
    """Send a whole reply."""
    head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n%s\r\n" % (len(body), headers)
    return lambda _, say: say(head + body)


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    """No proxy of the machine that runs the tests."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def without_socksio(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where httpx2 is installed without its extra."""
    monkeypatch.setattr(
        http, "find_spec", lambda name: None if name == "socksio" else find_spec(name)
    )


BAD = {
    "socks://127.0.0.1:1080": "socks5://HOST:PORT",
    "socks4a://127.0.0.1:1080": "socks5://HOST:PORT",
    "socks5://127.0.0.1:1080": "pip install 'httpx2[socks]'",
    "SOCKS5H://127.0.0.1:1080": "pip install 'httpx2[socks]'",
    "ftp://proxy.example": "http://HOST:PORT",
    "http://": "http://HOST:PORT",
    "http://proxy.example:port": "http://HOST:PORT",
}


@pytest.mark.usefixtures("without_socksio")
@pytest.mark.parametrize("name", ["ALL_PROXY", "all_proxy", "HTTP_PROXY", "https_proxy"])
@pytest.mark.parametrize("proxy", BAD)
def test_a_proxy_that_cannot_be_used_is_named(
    monkeypatch: pytest.MonkeyPatch, name: str, proxy: str
) -> None:
    monkeypatch.setenv(name, proxy)
    with refused("bad-option", path=name) as caught:
        uses_proxies(SERVER)
    assert proxy in str(caught.value) and BAD[proxy] in str(caught.value)
    assert "NO_PROXY=127.0.0.1 to reach 127.0.0.1 without" in str(caught.value)
    for hosts in ("127.0.0.1", "localhost, 127.0.0.1:8080", "*"):
        monkeypatch.setenv("NO_PROXY", hosts)
        assert not uses_proxies(SERVER)
    monkeypatch.setenv("NO_PROXY", "localhost")
    with refused("bad-option", path=name):
        uses_proxies(SERVER)


@pytest.mark.parametrize("hosts", ["::1", "[::1]"])
def test_a_host_of_ipv6_is_reached_without_a_proxy(
    monkeypatch: pytest.MonkeyPatch, hosts: str
) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks://h")
    monkeypatch.setenv("NO_PROXY", hosts)
    assert not uses_proxies("http://[::1]:8080/v1")


def test_the_lower_case_name_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "http://proxy.example")
    monkeypatch.setenv("all_proxy", "socks://h")
    with refused("bad-option", path="all_proxy"):
        uses_proxies(SERVER)
    monkeypatch.setenv("all_proxy", "")  # as curl and urllib have it: no proxy
    assert uses_proxies(SERVER)


def test_a_password_of_a_proxy_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    for proxy in ("socks://user:hush@h", "user:hush@h:x", "http://user:hush@:x"):
        monkeypatch.setenv("ALL_PROXY", proxy)
        with refused("bad-option", path="ALL_PROXY") as caught:
            uses_proxies(SERVER)
        assert "hush" not in str(caught.value)


ENVIRONMENT = st.characters(codec="utf-8", exclude_characters="\0")
SCHEMES = st.sampled_from(["", "http://", "HTTPS://", "socks://", "socks5://", "x:", "://", "[::1"])


@given(SCHEMES, st.text(ENVIRONMENT, max_size=20))
def test_any_proxy_is_usable_or_refused(scheme: str, rest: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ALL_PROXY", scheme + rest)
        try:
            assert uses_proxies(SERVER)
        except cf.InputError as error:
            assert str(error).isprintable()
        else:
            httpx2.AsyncClient()  # nothing but a refusal keeps the client from being made


def test_a_good_proxy_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(answer(b"", b"ok")) as server:
        monkeypatch.setenv("HTTP_PROXY", server.host)
        reply = send_request(Request("http://elsewhere.invalid/x"), patience(60))
        assert reply.read() == b"ok"
    assert server.requests[0].startswith("GET http://elsewhere.invalid/x HTTP/1.1")


def test_a_compressed_reply_is_refused() -> None:
    body = gzip.compress(b"x" * 100_000)
    with (
        serving(answer(b"Content-Encoding: gzip\r\n", body)) as server,
        refused("bad-reply", path=server.url),
    ):
        send_request(Request(server.url), patience(60))


def test_no_connection_is_told_apart_from_a_broken_one() -> None:
    with pytest.raises(NoConnectionError):
        send_request(Request("http://127.0.0.1:9/"), 60)
    half = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"
    with serving(lambda _, say: say(half)) as server:
        with pytest.raises(ConnectionError) as caught:
            send_request(Request(server.url), 60)
        assert not isinstance(caught.value, NoConnectionError)


def test_an_address_is_given_up_after_three_tries_unless_it_was_reached() -> None:
    """The user may allow fewer tries; once given up, one try of any other request is enough."""
    new = ServerPatience()
    assert [new.is_unreachable(n, 7) for n in (1, 2, 3, 1)] == [False, False, True, True]
    assert ServerPatience().is_unreachable(1, 1)
    new.record_reply()
    assert not new.is_unreachable(7, 7)
    assert not ServerPatience(has_answered=True).is_unreachable(7, 7)
