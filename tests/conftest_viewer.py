"""A server of `citeforge view` in the process of a test, and what it answers."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from threading import Thread
from urllib.parse import urlsplit

from citeforge.library.viewer.server import open_viewer
from patience import patience


@dataclass
class Page:
    """An answer of the server."""

    status: int
    text: str
    headers: dict[str, str]


@dataclass
class Served:
    """A server of the test's folder."""

    url: str

    def get(self, path: str = "", method: str = "GET", host: str | None = None) -> Page:
        """Ask for a page below the token; a path with a slash first is taken as it is."""
        parts = urlsplit(self.url)
        connection = HTTPConnection(parts.netloc, timeout=patience(60))
        connection.putrequest(method, path if path[:1] == "/" else parts.path + path,
                              skip_host=True)  # fmt: skip
        if host != "":
            connection.putheader("Host", host or parts.netloc)
        connection.endheaders()
        answer = connection.getresponse()
        text = answer.read().decode().replace("<wbr>", "")  # where names may break
        page = Page(answer.status, text, dict(answer.headers))
        connection.close()
        return page

    def key(self, letter: str, number: int = 0) -> str:
        """The name under which the list leads to a page: `a`nswers, `r`eport, `c`ard, …"""
        return self.get().text.split(f'id="{letter}-')[number + 1][:12]

    def report(self, name: str) -> str:
        """The address of a report of the folder, as the list has it."""
        return next(a for a in re.findall('href="(/[^"]+)"', self.get().text) if a.endswith(name))


@contextmanager
def served(*folders: Path) -> Iterator[Served]:
    with open_viewer(folders) as viewer:
        thread = Thread(target=viewer.serve)
        thread.start()
        try:
            yield Served(viewer.url)
        finally:
            viewer.stop()
            thread.join()
