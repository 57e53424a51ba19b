"""``folder:PATH``: the documents of a folder as passages."""

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from citeforge.engines.io.files import sha256_file
from citeforge.engines.text.sentences import SentenceSegmenter
from citeforge.ir_convert.corpus import PassagesAlone
from citeforge.ir_convert.passages import corpus_batches
from citeforge.ir_convert.source import ReadOptions
from citeforge.plugins.documents.reading.duplicates import RepeatFinder
from citeforge.plugins.documents.reading.formats import (
    EMPTY,
    IN_LINES,
    LARGE,
    NO_TEXT,
    OTHER,
    READERS,
    DocumentPage,
    Notes,
    UnreadableError,
)
from citeforge.plugins.documents.reading.passages import cut
from citeforge.plugins.documents.tables import MOST_MEGABYTES, PASSAGE_SIZE
from citeforge.schemas.benchmarks.sources import Declaration, SourceInfo
from citeforge.schemas.errors import InputError

HIDDEN, LINK = "hidden", "a link"
"""Why a file or folder is not looked at."""


@dataclass(frozen=True)
class FolderEntry:
    """A file, or what is passed over.

    Attributes:
        name: path in the folder, with slashes; bytes that are no UTF-8 as escapes.
        path: where it lies.
        passed_over: why it is not looked at; empty for a file that is.
    """

    name: str
    path: Path
    passed_over: str = ""


def folder_entries(folder: Path, root: Path | None = None) -> Iterator[FolderEntry]:
    """All files below a folder; a folder that is passed over comes as one entry.

    Args:
        folder: where to look.
        root: what names start from; None for the folder.
    """
    root = root or folder
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda e: os.fsencode(e.name))
    except OSError as error:
        reason = f"not to be opened ({error.strerror or error})"
        yield FolderEntry(_name(folder, root), folder, reason)
        return
    for entry in entries:
        path = Path(entry.path)
        name = _name(path, root)
        if entry.name.startswith("."):
            yield FolderEntry(name, path, HIDDEN)
        elif entry.is_symlink():
            yield FolderEntry(name, path, LINK)
        elif entry.is_dir():
            yield from folder_entries(path, root)
        elif entry.is_file():
            yield FolderEntry(name, path)
        else:
            yield FolderEntry(name, path, "no file")


def _name(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix().encode("utf-8", "backslashreplace").decode()


@dataclass
class Document:
    """What became of a file: a row of DOCUMENTS."""

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
                "is not a folder", path=folder, allowed="a folder of documents: folder:PATH"
            )
        self.folder, self.size, self.limit = folder, size, most_megabytes * 1_000_000
        self.documents: list[Document] = []
        self.repeats: list[dict[str, object]] = []
        super().__init__(SourceInfo(spec=f"folder:{folder}", kind="folder"), {})
        self._sha256: dict[str, str] = {}

    def info(self) -> SourceInfo:
        if not self.source.files:
            listing = hashlib.sha256()
            for entry in folder_entries(self.folder):
                if entry.passed_over or entry.path.suffix.lower() not in READERS:
                    continue
                if _closed(entry.path) or self._is_too_large(entry.path):
                    continue
                self._sha256[entry.name] = sha256_file(entry.path)
                listing.update(f"{self._sha256[entry.name]} {entry.name}\n".encode())
            self.source.files = {f"{len(self._sha256)} files": listing.hexdigest()}
        return self.source

    def passages(self) -> Iterator[pa.RecordBatch]:
        self.info()
        self.documents, self.repeats = [], []
        finder = RepeatFinder()
        yield from corpus_batches(self._rows(finder))
        self.source.counts = counts = self._counts(finder)
        if not any(d.passages for d in self.documents):
            reasons = "; ".join(f"{n:,} {what}" for what, n in counts.items() if "(" in what)
            raise InputError(
                f"has no text that can be read ({reasons or 'there are no files'})",
                path=self.folder,
                allowed=f"documents that end in {', '.join(READERS)}",
            )

    def _rows(self, finder: RepeatFinder) -> Iterator[tuple[str, str, str, str]]:
        segmenter = SentenceSegmenter()
        for entry in folder_entries(self.folder):
            document = Document(entry.name)
            self.documents.append(document)
            for page in self._pages(entry, document):
                for place in cut(page, self.size, segmenter):
                    text = page.text[place.start : place.end]
                    name = f"{entry.name}#{document.passages + 1}"
                    where: dict[str, object] = {
                        "file": entry.name,
                        "page": page.number,
                        "start": place.start,
                        "end": place.end,
                    }
                    if (repeat := finder.find(name, text)) is not None:
                        row = {**where, "corpus-id": repeat.id, "exact": repeat.is_exact}
                        self.repeats.append(row)
                        continue
                    document.passages += 1
                    title = " > ".join(place.headings) or page.title or Path(entry.name).stem
                    yield name, title, text, json.dumps(where, ensure_ascii=False)

    def _pages(self, entry: FolderEntry, document: Document) -> Iterator[DocumentPage]:
        """Pages with a text; what is wrong with the file is noted in its document."""
        ending = entry.path.suffix.lower()
        if entry.passed_over or ending not in READERS:
            document.problem = entry.passed_over or OTHER
            return
        document.format, reader = READERS[ending]
        document.sha256 = self._sha256.get(entry.name)
        has_text = False
        try:
            if closed := _closed(entry.path):
                raise UnreadableError(closed)
            document.bytes = entry.path.stat().st_size
            if not document.bytes:
                raise UnreadableError(EMPTY)
            if self._is_too_large(entry.path):
                raise UnreadableError(LARGE, f"{document.bytes:,} bytes")
            for page in reader(entry.path, document.notes):
                document.pages += 1
                if page.text.strip():
                    has_text = True
                    yield page._replace(text=_whole(page.text), title=_whole(page.title))
            if not has_text:
                raise UnreadableError(NO_TEXT)
        except UnreadableError as error:
            document.problem = error.problem
            document.notes += [str(error)] if str(error) else []

    def _is_too_large(self, path: Path) -> bool:
        return path.suffix.lower() not in IN_LINES and path.stat().st_size > self.limit

    def _counts(self, finder: RepeatFinder) -> dict[str, int]:
        """What was read and what was not, by reason, with the first name of each."""
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
        exact = sum(bool(row["exact"]) for row in self.repeats)
        return dict(counts) | {
            "passages that repeat another one, joined": exact,
            "passages that nearly repeat another one, joined": len(self.repeats) - exact,
            "passages that nearly repeat another one with other numbers": finder.n_other_numbers,
        }


def _closed(path: Path) -> str:
    """Why a file cannot be opened; empty where it can."""
    try:
        path.open("rb").close()
    except OSError as error:
        return f"not to be opened ({error.strerror or error})"
    return ""


def _whole(text: str) -> str:
    """The text with what no UTF-8 can hold (halves of pairs in a PDF) replaced."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


FOLDER = Declaration(
    name="folder",
    title="Documents of a folder (text, Markdown, HTML, PDF, JSON Lines)",
    factory=open_folder,
    argument="folder",
    splits="none",
    becomes="passages with file, page and offsets; repeated ones are joined",
    licence="yours",
    citation="",
)
