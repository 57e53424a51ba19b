"""What is odd about the citations of a report."""

from __future__ import annotations

from collections.abc import Iterator

from citeforge.evaluator.statements.url_marks import Markup, has_text, read_markup
from citeforge.schemas.citations.urls import same_url
from citeforge.schemas.submission import SubmissionLine

_MOST = 5


def report_markup(answer: SubmissionLine) -> Markup | None:
    """The citations of an answer that cites by URL; None for any other."""
    if answer.spans is not None or not any(p.url for p in answer.passages or ()):
        return None
    found = read_markup(answer.output)
    by_url = any(not k.startswith("[") for m in found.mentions for k in m.keys)
    return found if by_url or found.references else None


def report_warnings(answer: SubmissionLine, markup: Markup) -> Iterator[str]:
    """Numbers without an entry, entries that come twice, pages without a text."""
    if markup.unlisted:
        numbers = ", ".join(f"[{n}]" for n in markup.unlisted[:_MOST])
        yield f"output: cites {numbers}; the list of references has no URL for it"
    if markup.twice:
        numbers = ", ".join(map(str, dict.fromkeys(markup.twice)))
        yield f"output: the list of references has {numbers} several times; the first one counts"
    pages = {same_url(p.url) for p in answer.passages or () if p.url and has_text(p.text)}
    cited = dict.fromkeys(k for m in markup.mentions for k in m.keys if not k.startswith("["))
    absent = [url for url in cited if same_url(url) not in pages]
    if absent:
        yield (
            f"passages: no text of {len(absent)} of {len(cited)} cited pages (first: {absent[0]}); "
            "they support nothing. Give their texts as passages with url and text"
        )
