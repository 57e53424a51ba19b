"""SPARQLWrapper with requests that end, whatever a server sends, and go nowhere else."""

import math
import re
from http.client import HTTPResponse
from typing import cast

from SPARQLWrapper import SPARQLWrapper

from citeforge.engines.http import first_line, send_request
from citeforge.schemas.errors import InputError

_JSON_TYPES = (
    "application/sparql-results+json", "application/json", "text/javascript",
    "application/javascript",
)  # fmt: skip
_SHOWN_BYTES = 2000
"""Bytes of a reply in another format that are read for its first line."""


class BoundedSparqlWrapper(SPARQLWrapper):
    """SPARQLWrapper whose requests have a deadline and a limit of bytes, and no redirects.

    It replaces how a request is sent. Errors are those of
    :func:`~citeforge.engines.http.send_request`: an HTTPError has its headers and the beginning of
    its text.
    """

    # SPARQLWrapper finds out whether a query is an update by its first verb behind comments and
    # prefixes. Its own patterns leave every second comment line, so that "removed" in it is MOVE,
    # and take cubic time for some names.
    comments_pattern = re.compile(r"^[ \t]*#.*$", re.MULTILINE)
    prefix_pattern = re.compile(r"\b(?:PREFIX\s+[^\s:<>]*:|BASE)\s*<[^<>\s]*>", re.IGNORECASE)

    def setTimeout(self, timeout: float) -> None:
        """Set the deadline of the whole HTTP reply, in seconds and their fractions."""
        super().setTimeout(math.ceil(timeout))
        self.deadline = timeout

    def _query(self) -> tuple[HTTPResponse, str]:
        """Send the SPARQL request; return (HTTP reply with JSON, format asked for).

        Raises:
            InputError: the reply is in another format by its type and its first character.
        """
        reply = send_request(self._createRequest(), self.deadline)
        stated, text = reply.headers.get_content_type(), reply.read(_SHOWN_BYTES)
        start = text.lstrip()[:1]
        if start == b"<" or (stated not in _JSON_TYPES and start != b"{"):
            kind = f"a page or XML as {stated}" if stated in _JSON_TYPES else stated
            raise InputError(
                f"answered {kind}, and no JSON results{first_line(text)}",
                path=self.endpoint,
                allowed="an address that answers SPARQL 1.1 queries, such as "
                "https://query.wikidata.org/sparql",
                code="endpoint-refused",
            )
        reply.seek(0)
        # By its type, `convert` would load XML and whatever a JSON-LD document names.
        del reply.headers["Content-Type"]
        reply.headers["Content-Type"] = _JSON_TYPES[0]
        return cast(HTTPResponse, reply), self.returnFormat
