"""Comparison of URLs."""

from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

TRACKING = frozenset(
    "gclid fbclid msclkid dclid yclid igshid mc_cid mc_eid ref_src srsltid".split()
)
"""Parameters that say where a reader came from; so do those that begin with ``utm_``."""


def normalise_url(url: str) -> str:
    """Normalise a URL, so that two URLs of one page are equal.

    ``https`` for ``http``, host in lower case without ``www.`` and usual ports, no fragment, no
    tracking parameters, no slash at the end. What is no such URL stays as it is, trimmed.
    """
    text = url.strip()
    try:
        parts = urlsplit(text)
        query = [
            (k, v)
            for k, v in parse_qsl(parts.query, keep_blank_values=True)
            if k not in TRACKING and not k.startswith("utm_")
        ]
    except ValueError:
        return text
    host = parts.netloc.lower().removeprefix("www.").removesuffix(":443").removesuffix(":80")
    if parts.scheme.lower() not in ("http", "https") or not host:
        return text
    return urlunsplit(("https", host, parts.path.rstrip("/"), urlencode(query), ""))
