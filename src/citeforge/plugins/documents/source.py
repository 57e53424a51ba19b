"""The source ``folder:PATH``: passages of the documents in a folder."""

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import pyarrow as pa

from citeforge.engines.files import sha256_file
from citeforge.engines.text.sentences import SentenceSegmenter
from citeforge.ir_convert.source import PassagesAlone, ReadOptions, corpus_batches
from citeforge.plugins.documents.duplicates import RepeatFinder
from citeforge.plugins.documents.formats import (
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
from citeforge.plugins.documents.office import read_docx, read_pptx
from citeforge.plugins.documents.passages import cut_page
from citeforge.plugins.documents.recipe import MOST_MEGABYTES, PASSAGE_SIZE
from citeforge.schemas.counts import count_key, join_counts
from citeforge.schemas.errors import InputError, require
from citeforge.schemas.sources import Declaration, SourceInfo

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
"""Ending of a file to (name of the format, its reader)."""

HIDDEN, LINK = "hidden", "a link"
"""Reasons why a file or folder is skipped."""


def _list_files(folder: Path) -> Iterator[tuple[Path, str | None]]:
    """Yield (file, reason to skip it or None) of the files below a folder."""
    try:
        with os.scandir(folder) as scan:
            entries = sorted(scan, key=lambda e: os.fsencode(e.name))
    except OSError as error:
        yield folder, _open_problem(error)
        return
    for entry in entries:
        path = Path(entry.path)
        if entry.name.startswith("."):
            yield path, HIDDEN
        elif entry.is_symlink():
            yield path, LINK
        elif entry.is_dir():
            yield from _list_files(path)
        else:
            yield path, None if entry.is_file() else "no file"


def _open_problem(error: OSError) -> str:
    """Describe why the system could not open a file or folder."""
    return f"not to be opened ({error.strerror or error})"


@dataclass
class Document:
    """A file of a folder, and what was read of it: a row of the table DOCUMENTS.

    Attributes:
        name: path in the folder, with slashes; bytes that are not UTF-8 as escapes.
        problem: why it has no passages; None if it has some.
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
    """Open the source ``folder:PATH`` with default sizes."""
    return DocumentFolder(Path(argument))


class DocumentFolder(PassagesAlone):
    """Passages of the documents in a folder, streamed.

    Attributes:
        documents: each file, and what was read of it; complete when all passages were read.
        repeats: passages that were joined with an earlier one, rows of REPEATS.
    """

    contents = "documents"

    def __init__(
        self, folder: Path, size: int = PASSAGE_SIZE, most_megabytes: int = MOST_MEGABYTES
    ) -> None:
        """Set up a folder of documents with limits on passages and files; nothing is read yet.

        Args:
            folder: folder with documents, in it or below.
            size: most characters of a passage.
            most_megabytes: larger files are skipped, except those read line by line.

        Raises:
            InputError: it is not a folder.
        """
        require("markdown_it")
        if not folder.is_dir():
            raise InputError(
                "is not a folder", path=folder, allowed="a folder of documents: folder:PATH",
                code="not-a-folder"
            )  # fmt: skip
        self.folder, self.size, self.limit = folder, size, most_megabytes * 1_000_000
        self.documents: list[Document] = []
        self.repeats: list[dict[str, object]] = []
        super().__init__(SourceInfo(spec=f"folder:{folder}", kind="folder"), ReadOptions())

    @cached_property
    def _files(self) -> list[tuple[Path, Document]]:
        """Files of the folder: (path, description of the document before it is read) pairs."""
        return [(path, self._describe_file(path, why)) for path, why in _list_files(self.folder)]

    def _describe_file(self, path: Path, problem: str | None) -> Document:
        """Describe a file by format, size and hash, or by the reason to skip it."""
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
            document.problem = _open_problem(error)
            return document
        if ending != ".jsonl" and document.bytes > self.limit:  # JSON Lines is read line by line
            document.problem = LARGE
            document.notes.append(f"{document.bytes:,} bytes")
            return document
        document.sha256 = sha256_file(path)
        document.problem = None if document.bytes else EMPTY
        return document

    def info(self) -> SourceInfo:
        """Get the documents' provenance, with one hash over all files."""
        if not self.provenance.files:
            hashes = [f"{d.sha256} {d.name}\n" for _, d in self._files if d.sha256 is not None]
            listing = hashlib.sha256("".join(hashes).encode())
            self.provenance.files = {f"{len(hashes)} files": listing.hexdigest()}
        return self.provenance

    def passages(self) -> Iterator[pa.RecordBatch]:
        """Yield the passages of all documents in batches; count files and passages.

        Raises:
            InputError: no document has readable text.
        """
        self.info()
        self.documents = [replace(d, notes=Notes(d.notes)) for _, d in self._files]
        self.repeats = []
        finder = RepeatFinder()
        yield from corpus_batches(self._passage_rows(finder))
        unread = self._count_flawed_files()
        self.provenance.counts = self._count_read() | unread | self._count_repeats(finder)
        if not any(d.passages for d in self.documents):
            reasons = join_counts(unread.items())
            raise InputError(
                f"has no readable text ({reasons or 'there are no files'})",
                path=self.folder,
                allowed=f"documents that end in {', '.join(READERS)}",
                code="empty-text",
            )

    def _passage_rows(self, repeat_finder: RepeatFinder) -> Iterator[tuple[str, str, str, str]]:
        """Yield (id, title, text, metadata) of each passage that the finder sees first."""
        segmenter = SentenceSegmenter()
        for (path, _), document in zip(self._files, self.documents, strict=True):
            for page in _read_pages(path, document):
                for start, end, headings in cut_page(page, self.size, segmenter):
                    text = page.text[start:end]
                    name = f"{document.name}#{document.passages + 1}"
                    where = {"file": document.name, "page": page.number, "start": start, "end": end}
                    if (repeat := repeat_finder.find(name, text)) is not None:
                        earlier, is_exact = repeat
                        self.repeats.append({**where, "corpus-id": earlier, "exact": is_exact})
                        continue
                    document.passages += 1
                    title = _passage_title(page, headings, Path(document.name).stem)
                    yield name, title, text, json.dumps(where, ensure_ascii=False)

    def _count_read(self) -> dict[str, int]:
        """Count the files that were read, and changes made to their texts, by count key."""
        counts = Counter({"files_read": sum(d.problem is None for d in self.documents)})
        for document in self.documents:
            counts.update(document.notes.counts)
        return dict(counts)

    def _count_flawed_files(self) -> dict[str, int]:
        """Count files that were not or not fully read, by kind of flaw and first file.

        Returns:
            Number of files by kind of flaw; a key also names the first file.
        """
        flaws: list[tuple[tuple[str, ...], str]] = []
        for document in self.documents:
            if document.problem is not None:
                flaws.append((("files_not_read", document.problem), document.name))
        for document in self.documents:
            encoding, is_read = document.notes.encoding, document.problem is None
            if is_read and encoding is not None:
                flaws.append((("files_in_another_encoding", encoding), document.name))
            if is_read and len(document.notes) > (encoding is not None):
                flaws.append((("files_read_in_part",), document.name))
        names: dict[tuple[str, ...], list[str]] = {}
        for flaw, name in flaws:
            names.setdefault(flaw, []).append(name)
        return {count_key(*flaw, found[0]): len(found) for flaw, found in names.items()}

    def _count_repeats(self, repeat_finder: RepeatFinder) -> dict[str, int]:
        """Count the passages that repeat an earlier one, by kind of repetition."""
        exact = sum(bool(row["exact"]) for row in self.repeats)
        return {
            "passages_repeated": exact,
            "passages_nearly_repeated": len(self.repeats) - exact,
            "passages_nearly_repeated_with_other_numbers": repeat_finder.n_other_numbers,
        }


def _passage_title(page: DocumentPage, headings: Sequence[str], file_stem: str) -> str:
    """Make a passage's title: document title and headings above it, joined by ``>``.

    A document without a title is named by its only heading of the first level, else by its file.
    """
    is_one = page.number is None and sum(one.level == 1 for one in page.breaks) == 1
    title = page.title or ("" if headings and is_one else file_stem)
    is_repeated = bool(headings) and headings[0].casefold() == title.casefold()
    return " > ".join(filter(None, (*(() if is_repeated else (title,)), *headings)))


def _read_pages(path: Path, document: Document) -> Iterator[DocumentPage]:
    """Yield the pages of a file that have text; record problems in its ``document``."""
    if document.problem is not None:
        return
    _, reader = READERS[path.suffix.lower()]
    document.problem = NO_TEXT
    try:
        for page in reader(path, document.notes):
            document.pages += 1
            if page.text.strip():
                document.problem = None
                yield replace(
                    page, text=_replace_surrogates(page.text), title=_replace_surrogates(page.title)
                )
    except UnreadableError as error:
        document.problem = error.problem
        document.notes += [str(error)] if str(error) else []
    except OSError as error:
        document.problem = _open_problem(error)


def _replace_surrogates(text: str) -> str:
    """Replace lone surrogates in a text, which UTF-8 cannot encode."""
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
