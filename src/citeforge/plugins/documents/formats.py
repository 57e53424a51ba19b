"""Read text, Markdown, HTML, PDF and JSON Lines files, page by page."""

import logging
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import msgspec

from citeforge.engines.jsonlines import raw_lines
from citeforge.ir_convert.corpus import PassageRow
from citeforge.plugins.documents.encodings import declared_encoding, decode_text
from citeforge.plugins.documents.outline import Break, read_outline
from citeforge.schemas.errors import InputError

EMPTY = "empty"
LARGE = "above --largest-file"
OTHER = "of another format"
BROKEN = "broken"
LOCKED = "locked with a password"
NO_TEXT = "without text, such as scans"
UNKNOWN_ENCODING = "in an encoding that is not clear"

_HEADING = re.compile(r"^#{1,6} ", re.MULTILINE)
_HIDDEN = [
    "//nav", "//noscript", "//*[@hidden]",
    "//*[contains(translate(@style, ' ', ''), 'display:none')]",
]  # fmt: skip
"""Elements that a browser does not show, or that lead to other pages."""

_EDGE = 3
"""Lines at the top and at the bottom of a page that may be running headers and footers."""
_WINDOW = 4
"""Pages before and after, in which repetitions of a line are counted."""
_REPEATS = 3
"""Pages of the window that must have a running line."""
_LONGEST_LINE = 120
"""Most characters of a running line."""
_NUMBER = re.compile(r"\d+")
_HYPHEN = re.compile(r"(?<=[^\W\d_])-\n(?=[a-zß-ÿ])")
_CLOSED = re.compile(r"[.!?:;…。！？।۔።။»”\"')\]]\s*\Z")
_SENTENCE = re.compile(r".+?(?:[.!?…][»”\"')\]]*(?=\s|\Z)|[。！？।۔።။][」』»”\"')\]]*)", re.DOTALL)
_WRAPPED = 0.7
"""Share of the page's longest line from which its last line counts as wrapped."""


class UnreadableError(Exception):
    """Error of a file that cannot be read, with the kind of problem.

    Attributes:
        problem: one of the constants above.
    """

    def __init__(self, problem: str, detail: str = "") -> None:
        """Make the error for an unreadable file, with a kind of problem and details."""
        super().__init__(detail)
        self.problem = problem


class Notes(list[str]):
    """Notes on oddities of a file that was read nevertheless.

    Attributes:
        counts: kind of change that readers made to the text, to its number.
        encoding: encoding that the file was read in; None for UTF-8.
    """

    def __init__(self, notes: Iterable[str] = ()) -> None:
        """Make a list of notes on a document file, still without counts and encoding."""
        super().__init__(notes)
        self.counts = Counter[str]()
        self.encoding: str | None = None


@dataclass(frozen=True, slots=True)
class DocumentPage:
    """A page, a line of JSON Lines, or a whole file.

    Attributes:
        number: number of the page or line, from 1; None for a whole file.
        text: text in which offsets of passages count.
        title: title of the document; empty for none.
        breaks: headings and other stretches that belong to no passage, in order.
    """

    number: int | None
    text: str
    title: str = ""
    breaks: tuple[Break, ...] = ()


_DOCUMENT_FIELDS = {"text", "contents", "passage", "title"}


class _DocumentRow(PassageRow, forbid_unknown_fields=False):
    """A line of JSON Lines, of which text and title are read."""


DocumentReader = Callable[[Path, Notes], Iterator[DocumentPage]]


def read_plain(path: Path, notes: Notes) -> Iterator[DocumentPage]:
    """Read a text file as one page; record a guessed encoding in ``notes``."""
    yield DocumentPage(None, _read_text(path, notes).replace("\f", "\n"))


def read_markdown(path: Path, notes: Notes) -> Iterator[DocumentPage]:
    """Read a Markdown file as one page with headings; record a guessed encoding in ``notes``."""
    yield _markdown_page(_read_text(path, notes))


def _markdown_page(markdown: str, title: str = "") -> DocumentPage:
    """Make a page from Markdown; ``title`` is used if the text has none of its own."""
    text, own_title, breaks = read_outline(markdown)
    return DocumentPage(None, text, own_title or title, breaks)


def read_html(path: Path, notes: Notes) -> Iterator[DocumentPage]:
    """Read an HTML file's main text as one Markdown page; record its encoding in ``notes``."""
    import trafilatura

    data = _read_text(path, notes, is_web_page=True)
    extract = partial(
        trafilatura.extract, output_format="markdown", include_comments=False, favor_recall=True,
        prune_xpath=_HIDDEN,
    )  # fmt: skip
    try:
        text = extract(data)
        page = trafilatura.load_html(data)
        bodies = [] if page is None else page.xpath("./body[.//h1 or .//h2 or .//h3]")
        if bodies and not _HEADING.search(text or ""):
            # trafilatura reads headings only inside an article: the whole page becomes one.
            article, root = bodies[0], bodies[0].getparent()
            article.tag = "article"
            root.append(root.makeelement("body"))
            root[-1].append(article)
            text = extract(root) or text
        text = text or trafilatura.html2txt(data)
        about = trafilatura.extract_metadata(data)
    except Exception as error:  # lxml and its users fail on wild pages in many ways
        raise UnreadableError(BROKEN, first_line(error)) from error
    yield _markdown_page(text or "", (about and about.title) or "")


def read_pdf(path: Path, notes: Notes) -> Iterator[DocumentPage]:
    """Read a PDF file by page, without running headers; record unreadable pages in ``notes``.

    Words hyphenated at the end of a line are joined; a sentence that runs over two pages is put on
    the first of them.
    """
    import pypdf

    logging.getLogger("pypdf").setLevel(logging.ERROR)
    try:
        reader = pypdf.PdfReader(path)
        if reader.is_encrypted:
            import cryptography  # noqa: F401 (pypdf decrypts with it)

            if not reader.decrypt(""):
                raise UnreadableError(LOCKED, "opens with a password only")
        title = str((reader.metadata and reader.metadata.title) or "")
        n_pages = len(reader.pages)
    except (UnreadableError, ModuleNotFoundError):
        raise
    except NotImplementedError as error:  # a certificate, or a cipher of its own
        raise UnreadableError(LOCKED, first_line(error)) from error
    except Exception as error:  # a damaged file fails inside pypdf in many ways
        raise UnreadableError(BROKEN, first_line(error)) from error
    pages = []
    for number in range(1, n_pages + 1):
        try:
            text = reader.pages[number - 1].extract_text()
        except Exception as error:  # here, too
            notes.append(f"page {number} is broken ({first_line(error)})")
            continue
        if not text.strip():
            notes.append(f"page {number} has no text")
        pages.append(DocumentPage(number, text, title))
    if n_pages and not pages:
        raise UnreadableError(BROKEN)  # the notes say why
    yield from clean_pages(pages, notes.counts)


def read_json_lines(path: Path, notes: Notes) -> Iterator[DocumentPage]:
    """Read a JSON Lines file with a document per line; record unusable lines in ``notes``."""
    try:
        for number, line in raw_lines(path):
            if not line.strip():
                continue
            try:
                row = msgspec.json.decode(line, type=_DocumentRow)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
                notes.append(f"line {number} is not a row ({first_line(error)})")
                continue
            if not row.body.strip():
                notes.append(f"line {number} has no text")
            if msgspec.json.decode(line, type=dict[str, msgspec.Raw]).keys() - _DOCUMENT_FIELDS:
                notes.counts["json_lines_with_other_fields"] += 1
            yield DocumentPage(number, row.body, row.title or "")
    except InputError as error:
        raise UnreadableError(BROKEN, error.message) from error


def first_line(error: Exception) -> str:
    """Format an exception as its type and the first line of its message."""
    first = (str(error).splitlines() or [""])[0][:160]
    return f"{type(error).__name__}: {first}" if first else type(error).__name__


def _read_text(path: Path, notes: Notes, is_web_page: bool = False) -> str:
    """Read a text file in a guessed encoding; record one other than UTF-8 in ``notes``.

    Args:
        path: the file.
        notes: takes in the encoding.
        is_web_page: whether the file is a web page, which may declare its encoding.

    Raises:
        UnreadableError: it is not text in an encoding that fits its language.
    """
    data = path.read_bytes()
    decoded = decode_text(data, declared_encoding(data) if is_web_page else None)
    if decoded is None:
        is_binary = b"\0" in data
        problem = BROKEN if is_binary else UNKNOWN_ENCODING
        raise UnreadableError(problem, "is not text" if is_binary else "save it in UTF-8")
    notes.encoding = decoded.encoding
    if decoded.encoding is not None:
        notes.append(f"is not UTF-8; read as {decoded.encoding}")
    return decoded.text


def clean_pages(pages: Sequence[DocumentPage], counts: Counter[str]) -> Iterator[DocumentPage]:
    """Clean PDF pages: drop running headers, join sentences over pages; add to ``counts``.

    Args:
        pages: pages in order.
        counts: the numbers of lines removed and of sentences joined are added.
    """
    bodies = zip(pages, _remove_running_lines(pages, counts), strict=True)
    rest = [replace(page, text=text) for page, text in bodies]
    for at, page in enumerate(rest):
        following = rest[at + 1] if at + 1 < len(rest) else None
        if following is not None and following.number == (page.number or 0) + 1:
            text = following.text.lstrip()
            if head := _continuation(page.text, text):
                counts["sentences_over_two_pages"] += 1
                page = replace(page, text=f"{page.text.rstrip()}\n{head}")
                rest[at + 1] = replace(following, text=text[len(head) :].lstrip())
        yield replace(page, text=_HYPHEN.sub("", page.text))


def _remove_running_lines(pages: Sequence[DocumentPage], counts: Counter[str]) -> list[str]:
    """Remove running headers and footers from PDF pages' texts; add their number to ``counts``.

    A line at the edge of a page goes if pages near it have the same one, or one whose number is as
    far from the page's own number.

    Args:
        pages: pages in order.
        counts: the number of lines removed is added.

    Returns:
        The pages' texts without these lines.
    """
    texts = [page.text.strip() for page in pages]
    for is_top in (True, False):
        keys = [
            {key for line in _edge_lines(text, is_top) for key in _line_keys(page, line)}
            for page, text in zip(pages, texts, strict=True)
        ]
        for at, page in enumerate(pages):
            around = Counter[str]()
            for near in keys[max(0, at - _WINDOW) : at + _WINDOW + 1]:
                around.update(near)
            while line := next(iter(_edge_lines(texts[at], is_top)), ""):
                if all(around[key] < _REPEATS for key in _line_keys(page, line)):
                    break
                parts = texts[at].split(line, 1) if is_top else texts[at].rsplit(line, 1)
                texts[at] = parts[1 if is_top else 0].strip()
                counts["running_lines"] += 1
    return texts


def _edge_lines(text: str, is_top: bool) -> list[str]:
    """List the three outermost non-blank lines at a page's top or bottom, outermost first."""
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[:_EDGE] if is_top else lines[: -_EDGE - 1 : -1]


def _line_keys(page: DocumentPage, line: str) -> set[str]:
    """Make keys of a line that are equal for the same running header on different pages.

    Besides its text: the text with a number replaced by its distance from the page's number.
    """
    text = " ".join(line.split())
    numbers = list(_NUMBER.finditer(text))
    if len(text) > _LONGEST_LINE or any(len(n[0]) > 9 for n in numbers):
        return set()
    keys = {text}
    for n in numbers:
        keys.add(f"{text[: n.start()]}\0{int(n[0]) - (page.number or 0)}{text[n.end() :]}")
    return keys


def _continuation(text: str, next_text: str) -> str:
    """Get the end of a page's last sentence from the start of the next page; "" if none.

    Args:
        text: text of a page.
        next_text: text of the next one.
    """
    text, next_text = text.rstrip(), next_text.lstrip()
    if not text or not next_text or _CLOSED.search(text):
        return ""
    lines = text.splitlines()
    is_wrapped = len(lines) > 1 and len(lines[-1]) >= _WRAPPED * max(map(len, lines[:-1]))
    first = next_text[0]
    if not (first.isalpha() and (not first.isupper() or is_wrapped)):
        return ""
    sentence = _SENTENCE.match(next_text.partition("\n\n")[0])
    return "" if sentence is None else sentence[0]
