"""Masks of API keys in texts: keys of the environment, and what looks like a key.

Messages lose all that may be a key or its beginning (:func:`mask_keys`). Stored answers are data:
they lose whole keys of the environment alone (:func:`mask_known_keys`).
"""

import os
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterator
from functools import lru_cache
from urllib.parse import quote

KEY_VARIABLE = "OPENAI_API_KEY"
_OWN = (KEY_VARIABLE, "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")
"""Variables whose values are sent to servers."""
_PATHS = ("/", "~", "./", "file:")
"""Beginnings of a value that names a file with a key."""
MARK = "[key]"
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
_REST = r"[\w~+/=-]*"


def api_key() -> str:
    """Read the API key of endpoints from the environment; empty if it is not set."""
    return os.environ.get(KEY_VARIABLE, "").strip()


def mask_keys(message: str) -> str:
    """Mask keys and their beginnings in a message, by ``[key]``.

    Masked are whole keys of the environment, also in base64; their beginnings from 8 characters
    beyond the vendor's own prefix, in any case; what looks like a key of another vendor, or is in
    the place of one: headers, ``Bearer``, parameters such as ``?key=``, users of addresses.
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
    """Mask whole keys of the environment in a text, also in base64 and in percent encoding."""
    return _mask_whole(text, _known_keys())


def _known_keys() -> tuple[str, ...]:
    """List the keys in the environment, the longest first."""
    own = (os.environ.get(name, "").strip() for name in _OWN)
    values = {key for key in own if len(key) >= _LEAST_KEY_LENGTH}
    for name, value in os.environ.items():
        secret = value.strip()
        if (
            len(secret) >= _LEAST_SECRET_LENGTH
            and _SECRET_NAME.search(name)
            and _SECRET_VALUE.fullmatch(secret)
            and not secret.startswith(_PATHS)
        ):
            values.add(secret)
    return tuple(sorted(values, key=lambda key: (-len(key), key)))


def _mask_whole(text: str, keys: tuple[str, ...]) -> str:
    """Mask given keys in a text, whole and as one string in base64 or percent encoding."""
    return _compile_whole(keys).sub(MARK, text) if keys else text


@lru_cache(maxsize=8)
def _compile_whole(keys: tuple[str, ...]) -> re.Pattern[str]:
    """Compile the pattern of whole keys in each of their forms."""
    forms = dict.fromkeys(form for key in keys for form in (key, quote(key, safe="")))
    encoded = dict.fromkeys(form for key in keys for form in _in_base64(key.encode()))
    plain, packed = ("|".join(map(re.escape, group)) for group in (forms, encoded))
    return re.compile(rf"{plain}|(?:{packed})(?:[\w+/-]?={{1,2}})?", re.ASCII)


def _in_base64(key: bytes) -> Iterator[str]:
    """Yield the characters that a key alone decides in base64, at each of three places.

    Basic authentication encodes ``user:key``: 0, 1 or 2 bytes precede the key in its group.
    """
    for before in range(3):
        padded = b"\0" * before + key
        first, end = -(-8 * before // 6), 8 * len(padded) // 6
        for encode in (b64encode, urlsafe_b64encode):
            yield encode(padded).decode()[first:end]


@lru_cache(maxsize=64)
def _compile_beginning(key: str) -> re.Pattern[str]:
    """Compile the pattern of a key's beginning that is long enough to be masked."""
    vendor = max((v for v in _VENDORS if key.startswith(v)), key=len, default="")
    start = key[: len(vendor) + _LEAST_BEGINNING]
    return re.compile(re.escape(start) + _REST, re.ASCII | re.IGNORECASE)
