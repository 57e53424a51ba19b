"""The server of ``citeforge view``: on loopback, read-only, for those who have its address.

Each address begins with a token: one for all pages, and another one for each report in the folders
(:mod:`~citeforge.library.viewer.report_files`). Requests that name another host are refused, since
a page of another site could otherwise reach this one under a name of its own (DNS rebinding); files
outside the folders are refused, too, whatever leads there.
"""

import os
import secrets
import sys
import tempfile
import webbrowser
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import TCPServer, ThreadingMixIn
from urllib.parse import parse_qs, quote, unquote_to_bytes, urlsplit

from citeforge.engines.files import atomic_file
from citeforge.engines.posix import IS_POSIX
from citeforge.library.viewer.found import Folders
from citeforge.library.viewer.pages import SHOWN, Pages, error_page, start_page
from citeforge.library.viewer.report_files import TYPES, is_plain, make_rules
from citeforge.schemas.errors import (
    CiteforgeError,
    InputError,
    UsageError,
    extras_named,
    read_error,
)

LOOPBACK = "127.0.0.1"
_DIGITS = 7
_SECONDS = 60
"""Seconds for which a connection may be silent."""
_OWN_RULES = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline' 'self'; "
    "img-src data:; connect-src 'self'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)
_HTML = "text/html; charset=utf-8"


@dataclass(frozen=True)
class Reply:
    """An answer to a request.

    Attributes:
        status: of HTTP.
        content: its body.
        kind: type of the content.
        rules: content security policy.
        location: address that it leads to; empty for none.
        for_origins: which origins may load it into their pages.
    """

    status: int
    content: bytes = b""
    kind: str = _HTML
    rules: str = _OWN_RULES
    location: str = ""
    for_origins: str = "same-origin"


class _Server(ThreadingMixIn, TCPServer):
    """TCP server with a thread per connection, for pages of some folders."""

    daemon_threads = True
    block_on_close = False
    allow_reuse_address = IS_POSIX  # on Windows it would share a busy port

    def __init__(self, port: int, pages: Pages, token: str) -> None:
        """Listen on a port of loopback (0: a free one), to serve pages below a secret token."""
        self.pages, self.token = pages, token
        super().__init__((LOOPBACK, port), _Handler)

    @property
    def hosts(self) -> tuple[str, str]:
        """Values that the Host header of a request may have."""
        port = self.server_address[1]
        return f"{LOOPBACK}:{port}", f"localhost:{port}"

    @property
    def home(self) -> str:
        """URL path of the viewer's list, with its secret token."""
        return f"/{self.token}/"

    def handle_error(self, request: object, client_address: object) -> None:
        """Print the error of a request, unless the client closed the connection."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]

    def reply(self, host: str, target: str) -> Reply:
        """Make the reply to a request from its Host header and URL.

        Args:
            host: host that it names.
            target: address that it asks for.
        """
        if host not in self.hosts:
            return _refuse(403, "Wrong host", "This server answers only under its own address.")
        parts = urlsplit(target)
        names = [os.fsdecode(unquote_to_bytes(name)) for name in parts.path.split("/")[1:]]
        token = names[0] if names else ""
        if token in self.pages.reports:
            return self._file(token, names[1:])
        if not secrets.compare_digest(os.fsencode(token), self.token.encode()):
            return _refuse(
                403, "Wrong address", "Open the address that citeforge view printed."
            )  # fmt: skip
        query = parse_qs(parts.query, errors="replace")
        try:
            with extras_named():
                return self._page(names[1:], query)
        except InputError as error:
            where = "" if error.path is None else f"{Path(error.path).name}: "
            page = error_page("No page", where + error.message, error.allowed or "", self.home)
            return Reply(422, page)
        except CiteforgeError as error:
            return Reply(422, error_page("No page", str(error), home_url=self.home))

    def _page(self, path_parts: Sequence[str], parameters: dict[str, list[str]]) -> Reply:
        """Make the reply for a URL's path after the token, and its query parameters.

        Args:
            path_parts: parts of its path.
            parameters: its parameters.
        """
        match path_parts:
            case []:
                return Reply(303, location=self.home)
            case [""]:
                return self._list(parameters)
            case ["report" | "compare" as page]:
                keys = "+".join(parameters.get("f", []))
                return Reply(303, location=f"{self.home}{page}/{quote(keys, safe='+')}/")
            case ["report", keys, ""]:
                return Reply(200, self.pages.render_report(_split(keys)))
            case ["compare", keys, ""]:
                across = [name for text in parameters.get("across", []) for name in text.split(",")]
                return Reply(200, self.pages.render_comparison(_split(keys), across))
            case ["answers", key, ""]:
                return Reply(200, self.pages.render_answers([key]))
            case ["card", key, ""]:
                return Reply(200, self.pages.render_card([key]))
            case ["queries", key, ""]:
                return self._queries(key, parameters)
            case ["queries", key, name] if name.removesuffix(".html").isdecimal():
                row = int(name.removesuffix(".html")[:9])
                return Reply(200, self.pages.render_query([key], row))
            case ["report" | "answers" as page, keys, "page.data", name] if is_plain(name):
                chunk = self.pages.read_chunk(page, keys.split("+"), name)
                return _missing() if chunk is None else Reply(200, chunk, TYPES[".js"])
        return _missing()

    def _list(self, parameters: dict[str, list[str]]) -> Reply:
        """Make the reply with the viewer's list, or its changed part; empty if unchanged."""
        given = {name: values[0] for name, values in parameters.items()}
        text = self.pages.render_list(
            given.get("find", ""), _count(given), "part" in given, given.get("since", "")
        )
        return Reply(200, text.encode()) if text else Reply(204)

    def _queries(self, key: str, parameters: dict[str, list[str]]) -> Reply:
        """Make the reply with the list of a package's queries."""
        given = {name: values[0] for name, values in parameters.items()}
        find, part = given.get("find", ""), given.get("slice", "")
        return Reply(200, self.pages.render_queries([key], find, part, _count(given)))

    def _file(self, token: str, path_parts: Sequence[str]) -> Reply:
        """Make the reply with a report's file, or with data that it loads, by the URL's path.

        Args:
            token: of the report's address.
            path_parts: parts of the path after it.
        """
        path = self.pages.reports.find(token, path_parts)
        if path is None:
            return _missing()
        try:
            content = path.read_bytes()
        except OSError as error:
            return _refuse(422, "No page", f"{path.name}: {read_error(error, path).message}")
        media = TYPES[path.suffix.lower()]
        rules = make_rules(media, self.hosts, token)
        # A page in a sandbox has no origin, so that its own data are another origin's.
        return Reply(200, content, media, rules, for_origins="cross-origin")


def _split(keys: str) -> list[str]:
    """Split the file keys in a URL, joined by ``+``, into a list; empty for no keys."""
    return keys.split("+") if keys else []


def _count(parameters: dict[str, str]) -> int:
    """Get how many rows a list shows from the URL parameter ``show``, or the default."""
    shown = parameters.get("show", "")
    return max(1, int(shown)) if shown.isdecimal() and len(shown) < _DIGITS else SHOWN


def _missing() -> Reply:
    """Make the reply that there is no such page (404)."""
    return _refuse(404, "No such page", "There is nothing at this address.")


def _refuse(status: int, title: str, message: str) -> Reply:
    """Make an error reply whose page has a title and a message, but no link to the viewer."""
    return Reply(status, error_page(title, message))


class _Handler(BaseHTTPRequestHandler):
    """Reads requests, and writes answers; it knows GET and HEAD alone."""

    server: _Server
    server_version, sys_version = "citeforge", ""
    timeout = _SECONDS

    def do_GET(self) -> None:
        """Answer a GET or HEAD request with a page."""
        hosts = self.headers.get_all("Host") or []
        try:
            reply = self.server.reply(hosts[0] if len(hosts) == 1 else "", self.path)
        except Exception:
            self._write(_refuse(500, "Error", "Something went wrong: see the terminal."))
            raise
        self._write(reply)

    do_HEAD = do_GET

    def _refuse_method(self) -> None:
        """Answer a request method other than GET and HEAD with an error (405)."""
        self._write(_refuse(405, "Not allowed", "This server only shows what there is."))

    do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = do_TRACE = do_CONNECT = _refuse_method

    def _write(self, reply: Reply) -> None:
        """Send a reply, with headers against caching, framing and foreign scripts."""
        headers = {
            "Content-Type": reply.kind, "Content-Length": str(len(reply.content)),
            "Content-Security-Policy": reply.rules, "X-Content-Type-Options": "nosniff",
            "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer",
            "Cache-Control": "no-store", "Cross-Origin-Opener-Policy": "same-origin",
            "Cross-Origin-Resource-Policy": reply.for_origins,
        }  # fmt: skip
        headers |= {"Location": reply.location} if reply.location else {}
        headers |= {"Allow": "GET, HEAD"} if reply.status == 405 else {}
        self.send_response(reply.status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(reply.content)

    def log_message(self, format: str, *args: object) -> None:
        """Write no log line for a request, as its URL has the secret token."""


@dataclass
class Viewer:
    """A running server.

    Attributes:
        url: address of the list, with the token.
    """

    _server: _Server
    _work: Path
    url: str = field(init=False)

    def __post_init__(self) -> None:
        """Set the URL of the viewer's list, with its secret token."""
        self.url = f"http://{self._server.hosts[0]}{self._server.home}"

    def serve(self) -> None:
        """Answer requests until :meth:`stop` is called, or Ctrl-C raises KeyboardInterrupt."""
        self._server.serve_forever(poll_interval=0.1)

    def stop(self) -> None:
        """End :meth:`serve`, which runs in another thread."""
        self._server.shutdown()

    def open_browser(self) -> bool:
        """Open the viewer's list in the default browser; return whether there is one.

        Other users of the machine may see arguments of commands, and must not see the token: the
        browser gets a file that leads to the list, and that only its user can read.
        """
        path = self._work / "start.html"
        with atomic_file(path, mode=0o600) as file:
            file.write(start_page(self.url))
        return webbrowser.open(path.as_uri())


@contextmanager
def open_viewer(folders: Sequence[str | Path] = (".",), port: int = 0) -> Iterator[Viewer]:
    """Open a local server of pages over all packages, answers, scores and reports below folders.

    Args:
        folders: folders to show.
        port: port on loopback; 0 for a free one.

    Raises:
        InputError: a folder does not exist.
        UsageError: the port is busy, or may not be used.
    """
    opened = Folders.open([Path(folder) for folder in folders])
    with tempfile.TemporaryDirectory(prefix="citeforge-") as work:
        try:
            server = _Server(port, Pages(opened, Path(work)), secrets.token_urlsafe(16))
        except OSError as error:
            raise UsageError(
                f"--port {port}: {error.strerror or error}; leave it out for a free one, or name "
                "another",
                code="out-of-range",
            ) from error
        with server:
            yield Viewer(server, Path(work))
