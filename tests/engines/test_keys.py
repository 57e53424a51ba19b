"""Keys in texts: whole ones in stored answers, their beginnings and look-alikes in messages."""

import base64
import re
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citeforge.engines import keys
from citeforge.engines.keys import mask_address, mask_keys, mask_known_keys
from citeforge.engines.llm.addresses import base_url
from citeforge.engines.llm.records import Failure, LlmReply
from citeforge.engines.llm.replay import redact
from citeforge.schemas.recipes.base import RunOptions

OPENAI = "sk-proj-Zq7_vT4-bN9wKx2mRc8Yd5e"
TOKEN = "hf_aBcDeFgHiJkLmNoPqRsTuVwXyZaBcDeFgH"
AZURE = "0f1e2d3c4b5a69788796a5b4c3d2e1f0"
AWS = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY1"
KEYS = {"OPENAI_API_KEY": OPENAI, "HF_TOKEN": TOKEN, "AZURE_OPENAI_API_KEY": AZURE,
        "AWS_SECRET_ACCESS_KEY": AWS}  # fmt: skip


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize(
    ("key", "vendor"), [(OPENAI, "sk-proj-"), (TOKEN, "hf_"), (AZURE, ""), (AWS, "")]
)
def test_a_beginning_is_masked_from_eight_characters_behind_the_vendors_own(
    key: str, vendor: str
) -> None:
    for n in range(len(vendor) + 8, len(key) + 1):
        for part in (key[:n], key[:n].upper(), key[:n].lower()):
            assert mask_keys(f"no such key: '{part}'.") == "no such key: '[key]'."
    text = f"no such key: '{vendor}'."
    assert mask_keys(text) == text


@pytest.mark.parametrize("key", KEYS.values())
def test_stored_answers_lose_whole_keys_alone(key: str) -> None:
    forms = [key, quote(key, safe="")]
    for user in ("", "u:", "us:", "me:", "api-key:"):
        whole = f"{user}{key}".encode()
        forms += [base64.b64encode(whole).decode(), base64.urlsafe_b64encode(whole).decode()]
    for form in forms:
        masked = redact(LlmReply(f"You sent {form} to me [1].", 1, 1, "m"))
        assert isinstance(masked, LlmReply)
        assert form not in masked.text and "[key]" in masked.text
        assert masked.text.startswith("You sent ") and masked.text.endswith(" to me [1].")
    text = f"It begins with {key[:-1]}, and ends with {key[1:]} [2]."
    assert redact(LlmReply(text, 1, 1, "m")) == LlmReply(text, 1, 1, "m")


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("Wrong API key: sk-proj-abcD1234. See", "Wrong API key: [key]. See"),
        ("key sk-ant-api03-aB3dE5gH refused", "key [key] refused"),
        ("gsk_aB3dE5gH, AIzaSyA1234567 and AKIAIOSFODNN7EXAMPLE", "[key], [key] and [key]"),
        ("ghp_aB3dE5gHiJ xai-aB3dE5gH r8_aB3dE5gH nvapi-aB3dE5gH", "[key] [key] [key] [key]"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.aB3dE5gHiJ", "[key]"),
        ("Authorization: Bearer abc12345def", "Authorization: Bearer [key]"),
        ("{'authorization': 'Basic bWU6cGFzcw=='}", "{'authorization': 'Basic [key]'}"),
        ('{"api-key": "00112233aabb"}', '{"api-key": "[key]"}'),
        ("x-goog-api-key: zz00112233", "x-goog-api-key: [key]"),
        ("x-api-key=zz00112233", "x-api-key=[key]"),
        ("Ocp-Apim-Subscription-Key: zz00112233", "Ocp-Apim-Subscription-Key: [key]"),
        ("GET https://h.org/v1?key=zzz&alt=json", "GET https://h.org/v1?key=[key]&alt=json"),
        (
            "https://h/?api-version=1&sig=ab%2F&X-Amz-Signature=0a",
            "https://h/?api-version=1&sig=[key]&X-Amz-Signature=[key]",
        ),
        ("https://me:pass@h.org/x, http://token@h.org", "https://…@h.org/x, http://…@h.org"),
    ],
)  # fmt: skip
def test_what_looks_like_a_key_is_masked_in_messages(text: str, masked: str) -> None:
    assert mask_keys(text) == masked
    failure = redact(Failure("refused", text, 401))
    assert isinstance(failure, Failure)
    assert failure.message == masked
    assert mask_keys(masked) == masked


@pytest.mark.parametrize(
    "text",
    [
        "Wrong API key.", "task-specific, hf_hub_download, hf_transfer and sk-learn-like",
        "unexpected token: something", "max_tokens: 4096 exceeds 2048", "Basic Authentication",
        "Bearer authentication required", "the password=wrong", "mail me@example.org", "AIza",
        "", "https://github.com/a/b@c?page=2", '{"code": "invalid_api_key", "param": null}',
        "日本語 [3]。",
    ],
)  # fmt: skip
def test_other_words_of_messages_stay(text: str) -> None:
    assert mask_keys(text) == mask_known_keys(text) == text


PASSWORD = "s3cret/Pass:w0rd?x!"
URLS = {
    "--base-url": "http://u:{}@h.org/v1",
    "OPENAI_BASE_URL": "https://u:{}@h.org:8000",
    "HF_ENDPOINT": "https://u:{}@hub.org",
    "http_proxy": "http://u:{}@proxy.org:3128",
    "HTTPS_PROXY": "u:{}@proxy.org:3128",
    "ALL_PROXY": "socks5://u:{}@proxy.org",
    "DATABASE_URL": "postgres://u:{}@db.org/x",
}


def name_address(place: str, password: str, monkeypatch: pytest.MonkeyPatch) -> None:
    url = URLS[place].format(password)
    monkeypatch.setattr(keys, "_used_addresses", set())
    if place == "--base-url":
        assert base_url(RunOptions(base_url=url)) == url
    else:
        monkeypatch.setenv(place, url)


@pytest.mark.parametrize("place", URLS)
def test_the_password_of_an_address_is_a_key(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name_address(place, quote(PASSWORD, safe=""), monkeypatch)
    encoded = quote(PASSWORD, safe="")
    small = re.sub("%..", lambda code: code[0].lower(), encoded)
    forms = [PASSWORD, encoded, quote(PASSWORD), small]
    for user in ("", "u:", "us:", "me:"):
        whole = f"{user}{PASSWORD}".encode()
        forms += [base64.b64encode(whole).decode(), base64.urlsafe_b64encode(whole).decode()]
    least = {PASSWORD: 8, forms[1]: 10, forms[2]: 10}  # s3cret%2F has 8 characters
    for form in forms:
        kept = redact(LlmReply(f"You sent {form} to me [1].", 1, 1, "m"))
        assert isinstance(kept, LlmReply)
        assert kept.text.startswith("You sent ") and kept.text.endswith(" to me [1].")
        assert form not in kept.text and "[key]" in kept.text
        for n in range(least.get(form, 16), len(form) + 1):
            assert form[:n] not in mask_keys(f"no: '{form[:n]}'"), n
    assert mask_keys("no: 'u:s3'") == "no: '[key]'"
    text = "The user s3c, u: secret [1]."
    assert mask_keys(text) == mask_known_keys(text) == text


@pytest.mark.parametrize(
    ("password", "in_messages", "in_answers"),
    [("me", False, False), ("hunter", True, False), ("password", True, False),
     ("hunter22", True, True), ("correcthorsebattery", True, True)],
)  # fmt: skip
def test_a_short_or_plain_password_stays_in_answers_as_a_word(
    password: str, in_messages: bool, in_answers: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its user's name, and in base64 with it, each password goes."""
    name_address("--base-url", password, monkeypatch)
    text = f"It says {password} [1]."
    assert mask_keys(text) == (text.replace(password, "[key]") if in_messages else text)
    assert mask_known_keys(text) == (text.replace(password, "[key]") if in_answers else text)
    packed = base64.b64encode(f"u:{password}".encode()).decode()
    for form in (f"u:{password}", packed):
        assert mask_known_keys(f"It says {form} [1].") == "It says [key] [1]."
        assert mask_keys(f"It says {form} [1].") == "It says [key] [1]."


def test_keys_in_the_query_of_an_address_are_keys() -> None:
    base_url(RunOptions(base_url="https://h.org/v1?api-version=2024-10-21&api-key=zz%2F0011aa22"))
    for form in ("zz/0011aa22", "zz%2F0011aa22", "zz%2f0011aa22"):
        assert mask_known_keys(f"It is {form} [1].") == "It is [key] [1]."
    assert mask_keys("zz/0011, 2024-10-21") == "[key], 2024-10-21"


def test_the_hubs_stored_token_is_a_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = "hf_QwErTyUiOpAsDfGhJkLzXcVbNm12345678"
    (tmp_path / "token").write_text(f"{stored}\n")
    monkeypatch.delenv("HF_TOKEN_PATH", raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    assert mask_known_keys(f"It is {stored} [1].") == "It is [key] [1]."


@pytest.mark.parametrize(
    ("address", "masked"),
    [("http://u:p/a@s@h.org/x", "http://…@h.org/x"), ("sparql:http://u@h.org", "sparql:http://…@h.org"),
     ("https://h.org/q?apikey=zz11&x=1", "https://h.org/q?apikey=[key]&x=1"),
     ("https://h.org/q", "https://h.org/q")],
)  # fmt: skip
def test_an_address_that_somebody_typed(address: str, masked: str) -> None:
    assert mask_address(address) == masked


def test_words_and_paths_in_the_environment_are_no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    words = {"A_TOKEN": "organisation", "B_KEY": "/etc/ssl/private/host-1.key",
             "C_PASSWORD": "internationalisation", "OPENAI_API_KEY": "EMPTY"}  # fmt: skip
    for name, value in words.items():
        monkeypatch.setenv(name, value)
        assert mask_known_keys(f"It says {value}.") == f"It says {value}."


@given(st.text(), st.sampled_from(sorted(KEYS.values())), st.text())
def test_no_text_around_a_key_saves_it(before: str, key: str, after: str) -> None:
    assert key not in mask_keys(f"{before}{key}{after}")
    assert key not in mask_known_keys(f"{before}{key}{after}")


def test_messages_are_cut_at_a_sentence_or_a_word() -> None:
    assert keys.shorten_message("One two. Three\n four.", 100) == "One two. Three four."
    assert keys.shorten_message("One two. Three four.", 12) == "One two."  # 8 of 12 characters
    assert keys.shorten_message("one two three", 9) == "one two …"
    assert keys.shorten_message("no access with sk-proj-aB3dE5fG7hJ9kL1m", 30).endswith("[key]")
