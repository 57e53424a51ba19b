"""Taking a key out of whatever a server sends back, before anything is cut, kept or shown.

A server may say the key back whole or in part, in plain text, in a URL, in base64, or escaped.
"""

import base64
import html
import json
import re
from urllib.parse import quote, quote_plus

from citeforge.schemas.text import spliced

PIECE = 8
"""Shortest piece of a key that is taken out: shorter ones are too many words of other texts."""
_LEAST_KEY_LENGTH = 12
"""Keys that are shorter ("none", "EMPTY", "ollama") are words that local servers are given."""
_PUBLIC = re.compile(r"(?:sk|pk|hf|gsk|xai|nvapi)[-_](?:(?:proj|ant|or|svcacct|admin)-)?(?:v1-)?")
MARK = "[key]"
_LONGEST_MESSAGE = 300


class Redactor:
    """Takes one key out of texts."""

    def __init__(self, key: str) -> None:
        """Prepare for a key; an empty one redacts nothing."""
        self._key = key
        self._pieces: set[str] = set()
        if len(key) < _LEAST_KEY_LENGTH:
            return
        prefix = _PUBLIC.match(key)
        start = prefix.group() if prefix else ""
        for form, unit in _forms(key):
            size = min(len(form), PIECE * unit)
            pieces = [form[i : i + size] for i in range(len(form) - size + 1)]
            # What every key begins with is no secret, and stands in harmless texts.
            self._pieces.update(p for p in (*pieces, form) if p not in start)

    def text(self, text: str) -> str:
        """A text with every trace of the key replaced by ``[key]``."""
        return spliced(text, ((start, end, MARK) for start, end in self._spans(text)))

    def message(self, message: str) -> str:
        """One line for people: redacted, then cut."""
        text = " ".join(self.text(message).split())
        if self._key and len(self._key) < _LEAST_KEY_LENGTH:
            text = text.replace(self._key, MARK)
        return text[:_LONGEST_MESSAGE]

    def _spans(self, text: str) -> list[tuple[int, int]]:
        is_key = bytearray(len(text))
        for piece in self._pieces:
            at = text.find(piece)
            while at >= 0:
                is_key[at : at + len(piece)] = b"1" * len(piece)
                at = text.find(piece, at + 1)
        return [trace.span() for trace in re.finditer(b"1+", is_key)]


def _forms(key: str) -> list[tuple[str, int]]:
    """(form, characters for each of the key's) of every way in which a key is written."""
    raw = key.encode()
    forms = [(key, 1), (key[::-1], 1)]
    same = [quote(key, safe=""), quote_plus(key), json.dumps(key)[1:-1], repr(key)[1:-1]]
    same += [json.dumps(key)[1:-1].replace("/", "\\/"), html.escape(key), key.lower(), key.upper()]
    forms += [(form, 1) for form in same]
    for pattern, unit in (("%{:02x}", 3), ("%{:02X}", 3), ("\\x{:02x}", 4)):
        forms.append(("".join(map(pattern.format, raw)), unit))
    for pattern, unit in (("\\u{:04x}", 6), ("\\u{:04X}", 6), ("&#{};", 5), ("&#x{:x};", 5)):
        forms.append(("".join(map(pattern.format, map(ord, key))), unit))
    forms += [(raw.hex(), 2), (raw.hex().upper(), 2)]
    for shift in range(3):  # base64 has three looks, by where in a text the key stands
        for encoded in (base64.b64encode, base64.urlsafe_b64encode):
            whole = encoded(b"\0" * shift + raw).decode().rstrip("=")
            # The first and last characters hold bits of what stands around the key.
            clean = whole[(0, 2, 3)[shift] : -1]
            forms.append((clean, 2))
    return forms


def public_url(url: str) -> str:
    """A URL without what it may hold of secrets: user, password, query and fragment."""
    scheme, there, rest = url.partition("://")
    address = re.split(r"[?#]", rest, maxsplit=1)[0]
    if "@" in rest and "@" not in address:
        return "the endpoint"  # a password with such a mark, or a query with an address
    return f"{scheme}{there}{address.rpartition('@')[2]}"
