"""Servers that say the key back, drip, or never end."""

import base64
import json
from pathlib import Path
from urllib.parse import quote

import pytest

from citeforge.engines.http import public_url
from citeforge.engines.keys import mask_known_keys, one_line
from citeforge.engines.llm import transport
from citeforge.engines.llm.records import Failure, Request
from citeforge.engines.llm.replay import ReplayStore
from citeforge.engines.llm.writers import OpenAiLlm
from citeforge.engines.running import doctor
from citeforge.schemas.recipes.base import RunOptions
from conftest import Inline, refused
from servers.hostile_server import FORMS
from servers.running import started

KEY = "sk-proj-Zq7_vT4-bN9wKx2mRc8Yd5e"
PACKED = base64.b64encode(f"me:{KEY}".encode())
PLACES = ("answer", "refusal", "reason", "model", "error", "text", "headers")


@pytest.mark.slow
def test_the_key_is_in_no_file_and_no_stream(inline: Inline, tmp_path: Path) -> None:
    rows = [
        {"query_id": f"{place}-{form}", "prompt": f"{place} {form}"}
        for place in PLACES[:-1]
        for form in FORMS
    ]
    (tmp_path / "p.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    with started("hostile_server.py") as port:
        url = f"http://user:{KEY}@127.0.0.1:{port}/echo/v1?api-key={KEY}"
        args = ("--llm", "openai:m", "--out", "s.jsonl", "--store", "r.db", "--logprobs")
        there = ("--base-url", url.replace(f"user:{KEY}@", "").split("?")[0])
        result = inline("llm", "run", "p.jsonl", *args, *there, OPENAI_API_KEY=KEY)
        nowhere = inline(
            *("llm", "run", "p.jsonl", *args[:-3], "--store", "n.db", "--timeout", "1"),
            *("--base-url", url.replace(str(port), "9")),
            OPENAI_API_KEY=KEY,
        )
    assert result.returncode == 3, result.stderr
    assert "[key]" in result.stderr
    for name in ("s.jsonl", "r.db"):
        assert (tmp_path / name).exists()
    n_answers = sum(place in ("answer", "refusal", "reason", "model") for place in PLACES)
    lines = (tmp_path / "s.jsonl").read_text().splitlines()
    assert len(lines) == 1 + n_answers * len(FORMS)
    assert "[key]" in lines[1]
    for stream in (result.stdout, result.stderr, nowhere.stdout, nowhere.stderr):
        assert KEY not in stream
    assert nowhere.returncode != 0
    for path in tmp_path.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            assert KEY.encode() not in content, path
            assert PACKED not in content, path


PASSWORD = "s3cret/Pass:w0rd?x!"
"""Of an address, where it is in percent encoding."""


@pytest.mark.slow
@pytest.mark.parametrize("place_of_address", ["option", "environment"])
def test_the_password_of_an_address_is_in_no_file_and_no_stream(
    place_of_address: str, inline: Inline, tmp_path: Path
) -> None:
    """Whole in any form in files; in messages, beginnings neither."""
    rows = [
        {"query_id": f"{place}-{form}", "prompt": f"{place} {form}"}
        for place in PLACES[:-1]
        for form in FORMS
    ]
    (tmp_path / "p.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    written = quote(PASSWORD, safe="")
    with started("hostile_server.py") as port:
        url = f"http://user:{written}@127.0.0.1:{port}/echo/v1"
        args = ("p.jsonl", "--llm", "openai:m", "--out", "s.jsonl", "--store", "r.db", "--logprobs")
        there = {"option": ("--base-url", url), "environment": ()}[place_of_address]
        variable = {"option": {}, "environment": {"OPENAI_BASE_URL": url}}[place_of_address]
        dry = inline("llm", "run", *args, *there, "--dry-run", **variable)
        result = inline("llm", "run", *args, *there, **variable)
        doctor_result = inline("doctor", *there, **variable)
    assert (dry.returncode, result.returncode) == (0, 3), result.stderr
    packed = [base64.b64encode(f"{u}:{PASSWORD}".encode()).decode() for u in ("user", "me")]
    whole = [PASSWORD, written, *packed]
    beginnings = [PASSWORD[:14], written[:14], packed[0][:26]]
    for one in (dry, result, doctor_result):
        for stream in (one.stdout, one.stderr):
            assert [form for form in (*whole, *beginnings) if form in stream] == []
    assert "[key]" in result.stderr
    files = [path for path in tmp_path.rglob("*") if path.is_file() and path.name != "p.jsonl"]
    assert {"s.jsonl", "r.db"} <= {path.name for path in files}
    for path in files:
        content = path.read_bytes()
        assert [form for form in whole if form.encode() in content] == [], path
        assert b"http://user" not in content
    answers = (tmp_path / "s.jsonl").read_text()
    assert f"You sent {PASSWORD[:14]} and so on to me." in answers  # an answer is data


def test_a_key_in_headers_of_a_refused_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with started("hostile_server.py") as port, ReplayStore(tmp_path / "s.db") as store:
        options = RunOptions(base_url=f"http://127.0.0.1:{port}/echo/v1", max_retries=1)
        requests = [Request((("user", f"headers {form}"),)) for form in FORMS]
        results = OpenAiLlm("m", store, options).complete(requests)
    assert all(isinstance(r, Failure) and r.status == 429 for r in results)
    assert not any(KEY in r.message for r in results if isinstance(r, Failure))


def test_redaction(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert mask_known_keys(f"before {KEY} after") == "before [key] after"
    assert one_line("x" * 290 + KEY) == "x" * 290 + "[key]"
    assert one_line(f"a\n{KEY}\nb") == "a [key] b"
    # Nothing of an ordinary text goes, not even what all keys begin with.
    for text in ("sk-proj-", "A proj- of Zq7/vT4, [1][2].", "日本語 [3]。", ""):
        assert mask_known_keys(text) == text
    # Keys that local servers are given are words.
    monkeypatch.setenv("OPENAI_API_KEY", "EMPTY")
    assert mask_known_keys("The box is EMPTY.") == "The box is EMPTY."
    assert public_url(f"https://me:{KEY}@host:8/v1?key={KEY}#x") == "https://host:8/v1"


@pytest.mark.parametrize("value", ["kéy-with-an-accent", "line\nbreak-in-the-middle"])
def test_a_key_that_cannot_be_sent(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", value)
    with refused("wrong-value", path="OPENAI_API_KEY") as caught:
        OpenAiLlm("m", None, RunOptions(base_url="http://127.0.0.1:9/v1")).complete(
            [Request((("user", "x"),))]
        )
    assert value not in str(caught.value)
    *_, found = doctor._check_endpoint("http://127.0.0.1:9/v1", ask_network=True)
    assert "is not a key" in found.text


@pytest.mark.parametrize(
    ("mode", "said"),
    [
        ("drip", "the reply was not finished within 0.5 s"),
        ("endless", "the reply cannot be read: it is longer than 4 MiB"),
        ("packed", "the reply cannot be read: "),
    ],
)
def test_replies_end(mode: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setattr(transport, "MOST_BYTES", 4 << 20)
    if mode == "drip":
        monkeypatch.setattr(transport, "TIMEOUTS_OF_A_REPLY", 0.5 / 3600)
    with started("hostile_server.py") as port, ReplayStore(tmp_path / "s.db") as store:
        options = RunOptions(base_url=f"http://127.0.0.1:{port}/{mode}/v1", timeout=3600)
        (result,) = OpenAiLlm("m", store, options).complete([Request((("user", "x"),))])
    assert isinstance(result, Failure)
    assert said in result.message
