"""Files of reports in the folders: each report under an address of its own, with what it loads.

A report may come from anyone, and its scripts run. Its address has a token that opens this report
and its data alone, and not the list's: so it can neither ask for another file nor pass on how to.
"""

import hashlib
import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from citeforge.library.viewer.found import CHUNKS, Folders, Found

TYPES = {
    ".html": "text/html; charset=utf-8", ".htm": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml", ".png": "image/png", ".pdf": "application/pdf",
}  # fmt: skip
"""Types of the files that are sent: reports and what they load."""
_RULES = (
    "sandbox allow-scripts allow-downloads; default-src 'none'; style-src 'unsafe-inline' {own}; "
    "script-src 'unsafe-inline' {own}; img-src data: blob: {own}; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)


@dataclass
class ReportFiles:
    """Reports that the list has shown, by the tokens of their addresses.

    Attributes:
        folders: folders that are viewed.
    """

    folders: Folders
    _secret: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    _by_token: dict[str, Found] = field(default_factory=dict)

    def make_address(self, found: Found) -> str:
        """Make the URL path of a report, which stays the same until the server ends."""
        hashed = hashlib.blake2b(found.key.encode(), key=self._secret, digest_size=16)
        token = hashed.hexdigest()
        self._by_token[token] = found
        return f"/{token}/{quote(os.fsencode(found.path.name))}"

    def __contains__(self, token: str) -> bool:
        """Whether a URL token belongs to a report that the viewer's list has shown."""
        return token in self._by_token

    def find(self, token: str, path_parts: Sequence[str]) -> Path | None:
        """Find a report's file by token and path of its URL; None if the report has no such file.

        Args:
            token: secret part of the report's address.
            path_parts: parts of the path after it.
        """
        found = self._by_token[token]
        if not path_parts or not all(map(is_plain, path_parts)):
            return None
        if Path(path_parts[-1]).suffix.lower() not in TYPES:
            return None
        folder = found.path.parent
        path = folder.joinpath(*path_parts)
        real = self.folders.resolve(path)
        if real is None or not real.is_file():
            return None
        if path == found.path:
            return path
        if found.sort == "sites":
            is_own = not any(name.endswith(CHUNKS) for name in path_parts[:-1])
        else:
            is_own = list(path_parts[:-1]) == [found.path.with_suffix(".data").name]
        return path if is_own and real == path else None  # a link would lead to another report


def make_rules(media_type: str, hosts: Sequence[str], token: str) -> str:
    """Make a report file's content security policy: load only below the URL's secret token.

    Args:
        media_type: of the file, such as ``text/html``.
        hosts: hosts of the server, with its port.
        token: secret part of the report's address.
    """
    if media_type == TYPES[".pdf"]:
        return "default-src 'none'"
    return _RULES.format(own=" ".join(f"http://{host}/{token}/" for host in hosts))


def is_plain(name: str) -> bool:
    """Whether a part of a URL's path is a plain file name: not hidden, no separators."""
    return not name.startswith(".") and name != "" and not any(c in name for c in "/\\\0:")
