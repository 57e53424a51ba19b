"""Masks of API keys in texts: keys that this process knows, and what looks like a key.

Known are the keys of the environment, the Hub's token, and passwords and keys in the addresses of
proxies and endpoints. Messages lose all that may be a key or its beginning (:func:`mask_keys`).
Stored answers are data: they lose whole known keys alone (:func:`mask_known_keys`).
"""

import json
import os
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from textwrap import shorten
from urllib.parse import quote, quote_plus, unquote

KEY_VARIABLE = "OPENAI_API_KEY"
_OWN = (KEY_VARIABLE, "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")
"""Variables whose values are sent to servers."""
_PATHS = ("/", "~", "./", "file:")
"""Beginnings of a value that names a file with a key."""
MARK = "[key]"
_SENTENCE_END = re.compile(r"(?<=[.!?]) (?=[A-Z])")
_LEAST_KEY_LENGTH = 12
"""Keys that are shorter ("none", "EMPTY", "ollama") are words that local servers are given."""
_LEAST_SECRET_LENGTH = 16
"""The same of other variables, whose values might be words of answers."""
_LEAST_BEGINNING = 8
"""Characters beyond the vendor's own prefix from which the beginning of a key is masked."""
_SECRET_NAME = re.compile(
    r"(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?|ACCESS_KEY_ID)$", re.IGNORECASE
)
"""Names of environment variables whose values are keys: ``HF_TOKEN``, ``AWS_SECRET_ACCESS_KEY``."""
_SECRET_VALUE = re.compile(r"(?=.*\d)(?=.*[A-Za-z])[!-~]+")

_VENDORS = (
    "sk-proj-", "sk-svcacct-", "sk-admin-", "sk-ant-api03-", "sk-ant-admin01-", "sk-ant-",
    "sk-or-v1-", "sk-lf-", "sk-", "pk-lf-", "hf_", "gsk_", "AIza", "ya29.", "xai-", "r8_", "nvapi-",
    "pplx-", "tgp_v1_", "fw_", "csk-", "jina_", "pa-", "dapi", "dckr_pat_", "ghp_", "gho_", "ghs_",
    "github_pat_", "glpat-", "xoxb-", "xoxp-", "AKIA", "ASIA", "eyJ",
)  # fmt: skip
"""Beginnings of keys, by which their vendors tell them from other texts."""
_IS_RANDOM = r"(?=[^\s\"'&,;<>]{0,64}\d|[^\s\"'&,;<>]{1,64}[A-Z])"
"""Digits, or capitals behind the first letter: words of a message have neither."""
_KEY_LIKE = re.compile(
    rf"(?<![A-Za-z0-9])(?:{'|'.join(map(re.escape, _VENDORS))}){_IS_RANDOM}"
    rf"(?-i:[\w-]{{{_LEAST_BEGINNING},}}(?:[.][\w-]{{{_LEAST_BEGINNING},}})*)",
    re.ASCII,
)
_HEADER = re.compile(
    r"((?<![a-z])(?:bearer|basic)\s+|(?:(?:api|access|secret|private|account|subscription)[-_]?key"
    r"|secret|token|password|signature|credential)"
    rf"[\"']?\s*[:=]\s*[\"']?(?:(?:bearer|basic)\s+)?)(?-i:{_IS_RANDOM})"
    rf"[^\s\"'&,;<>]{{{_LEAST_BEGINNING},}}",
    re.ASCII | re.IGNORECASE,
)
_PARAMETER = re.compile(
    r"([?&;](?:[\w.-]*(?:key|token|secret|password|signature|credential)|sig|code|auth)=)"
    r"[^\s&#\"'<>]+",
    re.ASCII | re.IGNORECASE,
)
_USER = re.compile(r"(?<=://)[^\s/?#\"'<>@]*(?:@[^\s/?#\"'<>@]*)*(?=@)")
_REST = "~+/=%-"
"""Characters besides letters and digits that a key may go on with, in each of its forms."""
_LEAST_PASSWORD_LENGTH = 4
"""Shorter passwords of addresses are masked behind their user's name alone, and in base64."""
_IS_NO_WORD = re.compile(r"(?=.*[^A-Za-z]).{8,}|.{16,}", re.DOTALL)
"""Passwords that are no words, so that stored answers can do without them."""
_LEAST_PACKED = 6
"""Bytes of a key from which its beginning is found in base64."""
_LONGEST_MESSAGE = 300
_LONGEST_READ = 20_000
"""Characters of a message in which keys are looked for; no later one is shown."""
_ADDRESSES = ("OPENAI_BASE_URL", "HF_ENDPOINT")
"""Variables that name servers; so do those of proxies."""
_used_addresses: set[str] = set()
"""Addresses of servers that the process uses, as far as they have secrets."""


@dataclass(frozen=True)
class _Key:
    """A secret that may be in texts.

    Attributes:
        text: the whole secret.
        least: characters from which its beginning is masked in messages.
        is_word: whether answers may have the same text by chance, so that they keep it.
    """

    text: str
    least: int
    is_word: bool = False


def api_key() -> str:
    """Read the API key of endpoints from the environment; empty if it is not set."""
    return os.environ.get(KEY_VARIABLE, "").strip()


def remember_address(url: str) -> None:
    """Mask the password and the keys in an address from now on."""
    if next(_keys_of_address(url), None):
        _used_addresses.add(url)


def mask_keys(message: str) -> str:
    """Mask keys and their beginnings in a message, by ``[key]``.

    Masked are whole known keys, in base64 and percent encoding, too; their beginnings from 8
    characters beyond the vendor's own prefix, in any case, and those of passwords from their half;
    what looks like a key of another vendor, or is in the place of one: headers, ``Bearer``,
    parameters such as ``?key=``, users of addresses. Mask before you cut a text.
    """
    keys = _known_keys()
    text = _mask_whole(message, keys)
    for key in keys:
        text = _compile_beginning(key).sub(MARK, text)
    text = _USER.sub("…", text)
    text = _PARAMETER.sub(rf"\1{MARK}", text)
    text = _HEADER.sub(rf"\1{MARK}", text)
    return _KEY_LIKE.sub(MARK, text)


def mask_known_keys(text: str) -> str:
    """Mask whole known keys in a text, also in base64 and in percent encoding."""
    return _mask_whole(text, tuple(key for key in _known_keys() if not key.is_word))


def mask_address(address: str) -> str:
    """Mask user, password and keys in an address that a user typed, valid or not."""
    return mask_keys(re.sub("//.*@", "//…@", address, flags=re.DOTALL))


def one_line(message: str) -> str:
    """Put a message on one line of at most 300 characters, without keys."""
    words = message[:_LONGEST_READ].split()
    if len(message) > _LONGEST_READ and len(words) > 1:
        words.pop()  # it may be the beginning of a key
    return mask_keys(" ".join(words))[:_LONGEST_MESSAGE]


def shorten_message(message: str, max_length: int) -> str:
    """Put a message on one line of limited length, without keys, cut at a sentence or word."""
    text = mask_keys(" ".join(message.split()))
    if len(text) > max_length:
        ends = [end.start() for end in _SENTENCE_END.finditer(text) if end.start() <= max_length]
        text = text[: ends[-1]] if ends else text
    return shorten(text, max_length, placeholder=" …")


def error_line(error: BaseException) -> str:
    """Format another library's error as ``TYPE: TEXT`` on one line, without keys."""
    return one_line(f"{type(error).__name__}: {error}")


def _known_keys() -> tuple[_Key, ...]:
    """List the secrets that are masked wherever they appear, the longest first.

    They are keys of the environment, the stored token of the Hub, passwords and keys in addresses,
    and values of variables whose names say that they are secret.
    """
    own = [os.environ.get(name, "").strip() for name in _OWN]
    values = {key for key in (*own, _stored_token()) if len(key) >= _LEAST_KEY_LENGTH}
    addresses: list[tuple[str, bool]] = [(url, True) for url in _used_addresses]
    for name, value in os.environ.items():
        secret = value.strip()
        if (
            len(secret) >= _LEAST_SECRET_LENGTH
            and _SECRET_NAME.search(name)
            and _SECRET_VALUE.fullmatch(secret)
            and not secret.startswith(_PATHS)
        ):
            values.add(secret)
        is_proxy = name.lower().endswith("_proxy")
        if "://" in secret or is_proxy:
            url = secret if "://" in secret else f"http://{secret}"
            addresses.append((url, is_proxy or name in _ADDRESSES))
    keys = [_Key(key, _beginning_length(key)) for key in values]
    for url, is_asked in addresses:
        keys += (
            key
            for key in _keys_of_address(url)
            if is_asked or ":" in key.text or len(key.text) >= _LEAST_SECRET_LENGTH
        )
    return tuple(sorted(dict.fromkeys(keys), key=lambda key: (-len(key.text), key.text)))


def _stored_token() -> str:
    """Read the Hub's token from where its own client keeps it; empty if there is none."""
    home = Path(os.environ.get("HF_HOME") or "~/.cache/huggingface").expanduser()
    path = os.environ.get("HF_TOKEN_PATH") or str(home / "token")
    return _read_token(path)


@lru_cache(maxsize=4)
def _read_token(path: str) -> str:
    """Read a token from a file, once per process."""
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def _beginning_length(key: str) -> int:
    """Compute how many first characters of a key are enough to mask it in messages."""
    return len(max((v for v in _VENDORS if key.startswith(v)), key=len, default="")) + (
        _LEAST_BEGINNING
    )


def _keys_of_address(url: str) -> Iterator[_Key]:
    """Yield the password of an address, with and without its user, and the keys in its query.

    Each comes as it is written, and without percent encoding.
    """
    users = re.findall(r"://([^/?#]*)@", url)
    for written in users:
        encoded = written.partition(":")
        for user, colon, password in (encoded, map(unquote, encoded)):
            pair = f"{user}:{password}"
            if password or len(user) >= _LEAST_KEY_LENGTH:
                yield _Key(pair, len(user) + len(colon) + (2 if password else 0))
            yield from _as_password(password if colon else user, has_user=bool(colon))
    for parameter in _PARAMETER.finditer(url):
        value = parameter[0].removeprefix(parameter[1])
        yield from _as_password(value)
        yield from _as_password(unquote(value))


def _as_password(text: str, has_user: bool = True) -> Iterator[_Key]:
    """Yield a password (or a lone user name) as a key to mask, unless it is too short."""
    if len(text) >= (_LEAST_PASSWORD_LENGTH if has_user else _LEAST_KEY_LENGTH):
        least = min(_LEAST_BEGINNING, max(_LEAST_PASSWORD_LENGTH, -(-len(text) // 2)))
        yield _Key(text, least, not _IS_NO_WORD.fullmatch(text))


def _mask_whole(text: str, keys: tuple[_Key, ...]) -> str:
    """Mask given keys in a text, whole and as one string in base64 or percent encoding."""
    return _compile_whole(keys).sub(MARK, text) if keys else text


@lru_cache(maxsize=8)
def _compile_whole(keys: tuple[_Key, ...]) -> re.Pattern[str]:
    """Compile the pattern that finds whole keys: as written, percent-encoded, in JSON or base64."""
    forms = dict.fromkeys(form for key in keys for form in _written_forms(key.text))
    encoded = dict.fromkeys(form for key in keys for form in _in_base64(key.text.encode()))
    plain, packed = ("|".join(map(re.escape, group)) for group in (forms, encoded))
    return re.compile(rf"{plain}|(?:{packed})(?:[\w+/-]?={{1,2}})?", re.ASCII)


def _written_forms(key: str) -> Iterable[str]:
    """List a key as it is, in percent encoding, and as JSON writes it, the longest first."""
    encoded = [quote(key, safe=""), quote(key), quote_plus(key)]
    small = [re.sub("%..", lambda code: code[0].lower(), form) for form in encoded]
    in_json = [json.dumps(key, ensure_ascii=ascii_alone)[1:-1] for ascii_alone in (True, False)]
    return sorted({key, *encoded, *small, *in_json}, key=lambda form: (-len(form), form))


def _in_base64(key: bytes) -> Iterator[str]:
    """Yield the base64 characters that a key alone determines, at each of three byte offsets.

    Basic authentication encodes ``user:key``: 0, 1 or 2 bytes precede the key in its group.
    """
    for before in range(3):
        padded = b"\0" * before + key
        first, end = -(-8 * before // 6), 8 * len(padded) // 6
        for encode in (b64encode, urlsafe_b64encode):
            yield encode(padded).decode()[first:end]


@lru_cache(maxsize=64)
def _compile_beginning(key: _Key) -> re.Pattern[str]:
    """Compile the pattern that finds a key's beginning: as written, encoded or in base64."""
    start = key.text[: key.least]
    packed = key.text.encode()[: max(key.least, _LEAST_PACKED)]
    plain = "|".join(map(re.escape, _written_forms(start)))
    encoded = "|".join(re.escape(form) for form in dict.fromkeys(_in_base64(packed)))
    rest = "".join(map(re.escape, sorted({*_REST, *re.sub(r"[\s\w]", "", key.text)})))
    return re.compile(rf"(?:(?i:{plain})|{encoded})[\w{rest}]*", re.ASCII)
