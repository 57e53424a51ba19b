"""``folder:PATH``: the documents of a folder as passages."""

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import pyarrow as pa

from citeforge.engines.io.files import sha256_file
from citeforge.engines.text.sentences import SentenceSegmenter
from citeforge.ir_convert.corpus import PassagesAlone
from citeforge.ir_convert.source import ReadOptions, corpus_batches
from citeforge.plugins.documents.reading.duplicates import RepeatFinder
from citeforge.plugins.documents.reading.formats import (
    EMPTY,
    LARGE,
    NO_TEXT,
    OTHER,
    DocumentPage,
    DocumentReader,
    Notes,
    UnreadableError,
    read_html,
    read_json_lines,
    read_markdown,
    read_pdf,
    read_plain,
)
from citeforge.plugins.documents.reading.limits import MOST_MEGABYTES, PASSAGE_SIZE
from citeforge.plugins.documents.reading.office import read_docx, read_pptx
from citeforge.plugins.documents.reading.passages import cut
from citeforge.schemas.benchmarks.sources import Declaration, SourceInfo
from citeforge.schemas.errors import InputError

READERS: dict[str, tuple[str, DocumentReader]] = {
    ".txt": ("text", read_plain),
    ".text": ("text", read_plain),
    ".rst": ("text", read_plain),
    ".md": ("Markdown", read_markdown),
    ".markdown": ("Markdown", read_markdown),
    ".html": ("HTML", read_html),
    ".htm": ("HTML", read_html),
    ".xhtml": ("HTML", read_html),
    ".pdf": ("PDF", read_pdf),
    ".docx": ("Word", read_docx),
    ".pptx": ("PowerPoint", read_pptx),
    ".jsonl": ("JSON Lines", read_json_lines),
}
"""Ending to (name of the format, its reader)."""
IN_LINES = frozenset({".jsonl"})
"""Endings of files that are read line by line, however large they are."""
HIDDEN, LINK = "hidden", "a link"
"""Why a file or folder is not looked at."""


def _entries(folder: Path) -> Iterator[tuple[Path, str | None]]:
    """List all files below a folder, with the reason why one is not looked at.

    A folder that is not looked at is listed itself.
    """
    try:
        with os.scandir(folder) as scan:
            entries = sorted(scan, key=lambda e: os.fsencode(e.name))
    except OSError as error:
        yield folder, _closed(error)
        return
    for entry in entries:
        path = Path(entry.path)
        if entry.name.startswith("."):
            yield path, HIDDEN
        elif entry.is_symlink():
            yield path, LINK
        elif entry.is_dir():
            yield from _entries(path)
        else:
            yield path, None if entry.is_file() else "no file"


def _closed(error: OSError) -> str:
    return f"not to be opened ({error.strerror or error})"


@dataclass
class Document:
    """What became of a file: a row of DOCUMENTS.

    Attributes:
        name: path in the folder, with slashes; bytes that are no UTF-8 as escapes.
        problem: why there is nothing of it.
    """

    name: str
    format: str | None = None
    bytes: int | None = None
    sha256: str | None = None
    pages: int = 0
    passages: int = 0
    problem: str | None = None
    notes: Notes = field(default_factory=Notes)


def open_folder(argument: str, split: str | None, options: ReadOptions) -> "DocumentFolder":
    """Open ``folder:PATH``."""
    return DocumentFolder(Path(argument))


class DocumentFolder(PassagesAlone):
    """Passages of documents, streamed. See :class:`citeforge.ir_convert.source.Source`.

    Attributes:
        documents: what became of each file, once all passages were read.
        repeats: passages that were joined with an earlier one, rows of REPEATS.
    """

    contents = "documents"

    def __init__(
        self, folder: Path, size: int = PASSAGE_SIZE, most_megabytes: int = MOST_MEGABYTES
    ) -> None:
        """Open a folder.

        Args:
            folder: with documents, in it or below.
            size: characters that a passage has at most.
            most_megabytes: size of a file from which it is not read whole.

        Raises:
            InputError: it is no folder.
        """
        if not folder.is_dir():
            raise InputError(
                "is not a folder", path=folder, allowed="a folder of documents: folder:PATH",
                code="not-a-folder"
            )  # fmt: skip
        self.folder, self.size, self.limit = folder, size, most_megabytes * 1_000_000
        self.documents: list[Document] = []
        self.repeats: list[dict[str, object]] = []
        super().__init__(SourceInfo(spec=f"folder:{folder}", kind="folder"), {})

    @cached_property
    def _files(self) -> list[tuple[Path, Document]]:
        """List all files of the folder, with what is known before they are read."""
        return [(path, self._document(path, why)) for path, why in _entries(self.folder)]

    def _document(self, path: Path, problem: str | None) -> Document:
        name = path.relative_to(self.folder).as_posix().encode("utf-8", "backslashreplace").decode()
        document, ending = Document(name, problem=problem), path.suffix.lower()
        if problem is not None or ending not in READERS:
            document.problem = problem or OTHER
            return document
        document.format, _ = READERS[ending]
        try:
            path.open("rb").close()
            document.bytes = path.stat().st_size
        except OSError as error:
            document.problem = _closed(error)
            return document
        if ending not in IN_LINES and document.bytes > self.limit:
            document.problem = LARGE
            document.notes.append(f"{document.bytes:,} bytes")
            return document
        document.sha256 = sha256_file(path)
        document.problem = None if document.bytes else EMPTY
        return document

    def info(self) -> SourceInfo:
        if not self.source.files:
            hashes = [f"{d.sha256} {d.name}\n" for _, d in self._files if d.sha256 is not None]
            listing = hashlib.sha256("".join(hashes).encode())
            self.source.files = {f"{len(hashes)} files": listing.hexdigest()}
        return self.source

    def passages(self) -> Iterator[pa.RecordBatch]:
        self.info()
        self.documents = [replace(d, notes=Notes(d.notes)) for _, d in self._files]
        self.repeats = []
        finder = RepeatFinder()
        yield from corpus_batches(self._rows(finder))
        self.source.counts = counts = self._counts(finder)
        if not any(d.passages for d in self.documents):
            reasons = "; ".join(f"{n:,} {what}" for what, n in counts.items() if "(" in what)
            raise InputError(
                f"has no readable text ({reasons or 'there are no files'})",
                path=self.folder,
                allowed=f"documents that end in {', '.join(READERS)}",
                code="empty-text",
            )

    def _rows(self, finder: RepeatFinder) -> Iterator[tuple[str, str, str, str]]:
        """Read all files into passages: (id, title, text, metadata)."""
        segmenter = SentenceSegmenter()
        for (path, _), document in zip(self._files, self.documents, strict=True):
            for page in _pages(path, document):
                for place in cut(page, self.size, segmenter):
                    text = page.text[place.start : place.end]
                    name = f"{document.name}#{document.passages + 1}"
                    where: dict[str, object] = {
                        "file": document.name,
                        "page": page.number,
                        "start": place.start,
                        "end": place.end,
                    }
                    if (repeat := finder.find(name, text)) is not None:
                        row = {**where, "corpus-id": repeat.id, "exact": repeat.is_exact}
                        self.repeats.append(row)
                        continue
                    document.passages += 1
                    title = " > ".join(place.headings) or page.title or Path(document.name).stem
                    if page.title not in ("", title):
                        where["document"] = page.title
                    yield name, title, text, json.dumps(where, ensure_ascii=False)

    def _counts(self, finder: RepeatFinder) -> dict[str, int]:
        """Count what was read and what was not, by reason, with the first file of each."""
        counts = Counter({"files read": sum(d.problem is None for d in self.documents)})
        first: dict[str, str] = {}
        for document in self.documents:
            if document.problem is not None:
                first.setdefault(document.problem, document.name)
        for problem, name in first.items():
            what = f"files {problem} (first: {name})"
            counts[what] = sum(d.problem == problem for d in self.documents)
        odd = [d for d in self.documents if d.notes and d.problem is None]
        if odd:
            counts[f"files read in part, or in another encoding (first: {odd[0].name})"] = len(odd)
        for document in self.documents:
            counts.update(document.notes.counts)
        exact = sum(bool(row["exact"]) for row in self.repeats)
        return dict(counts) | {
            "passages that repeat another one, joined": exact,
            "passages that nearly repeat another one, joined": len(self.repeats) - exact,
            "passages that nearly repeat another one with other numbers": finder.n_other_numbers,
        }


def _pages(path: Path, document: Document) -> Iterator[DocumentPage]:
    """Read the pages with text; problems of the file are recorded in its document."""
    if document.problem is not None:
        return
    _, reader = READERS[path.suffix.lower()]
    document.problem = NO_TEXT
    try:
        for page in reader(path, document.notes):
            document.pages += 1
            if page.text.strip():
                document.problem = None
                yield page._replace(text=_whole(page.text), title=_whole(page.title))
    except UnreadableError as error:
        document.problem = error.problem
        document.notes += [str(error)] if str(error) else []
    except OSError as error:
        document.problem = _closed(error)


def _whole(text: str) -> str:
    """Replace what UTF-8 cannot encode (halves of surrogate pairs in a PDF)."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


FOLDER = Declaration(
    name="folder",
    title="Documents of a folder (text, Markdown, HTML, PDF, Word, PowerPoint, JSON Lines)",
    factory=open_folder,
    argument="folder",
    splits="none",
    becomes="passages with file, page and offsets; repeated ones are joined",
    licence="yours",
    citation="",
)
