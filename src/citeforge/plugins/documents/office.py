"""Read Word (DOCX) and PowerPoint (PPTX) files."""

import re
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from citeforge.engines.jsonlines import LARGEST_UNPACKED
from citeforge.engines.textfiles import count_text
from citeforge.plugins.documents.charts import read_chart
from citeforge.plugins.documents.formats import (
    BROKEN,
    LARGE,
    LOCKED,
    OTHER,
    DocumentPage,
    Notes,
    UnreadableError,
    first_line,
)
from citeforge.plugins.documents.outline import Break

_HEADING = re.compile(r"heading ([1-9])", re.IGNORECASE)
_OLE = b"\xd0\xcf\x11\xe0"
"""First bytes of an OLE file: an encrypted document, or one of before 2007."""
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
"""Name of the stream of an OLE file that contains an encrypted document."""
_LEFT_OUT = {
    "text boxes": "w:txbxContent", "footnotes": "w:footnoteReference",
    "endnotes": "w:endnoteReference", "equations": "m:oMath", "charts": "c:chart",
    "diagrams": "dgm:relIds",
}  # fmt: skip
"""Kind of content that is left out of Word documents, to its element."""
_TITLE = -1
"""Level of the style of a document's title."""
_MOST_LEVELS = 100
"""Depth of nested groups of shapes down to which they are read."""


class _PageBuilder:
    """Builds the text of a page from paragraphs, and records its headings."""

    def __init__(self) -> None:
        """Start with an empty page of a document."""
        self.text = ""
        self.breaks: list[Break] = []

    def add(self, paragraph: str, level: int = 0) -> None:
        """Append a paragraph, unless blank, to the page; as a heading if its level is above 0."""
        lines = [" ".join(line.split()) for line in paragraph.splitlines()]
        content = "\n".join(filter(None, lines))
        if not content:
            return
        start = len(self.text)
        self.text += f"{content}\n\n"
        if level:
            self.breaks.append(Break(start, len(self.text), level, " ".join(content.split())))

    def page(self, number: int | None, title: str) -> DocumentPage:
        """Make the page from the paragraphs added so far."""
        return DocumentPage(number, self.text, title, tuple(self.breaks))


@contextmanager
def _errors_as_unreadable(path: Path) -> Iterator[None]:
    """Check an Office file, and turn errors in the ``with`` block into UnreadableError."""
    try:
        data = path.read_bytes()
        if data.startswith(_OLE) and _ENCRYPTED in data:
            raise UnreadableError(LOCKED, "opens with a password only")
        if data.startswith(_OLE):
            raise UnreadableError(OTHER, "is in the format of before 2007")
        if not zipfile.is_zipfile(path):
            raise UnreadableError(BROKEN, "is no Office Open XML file")
        with zipfile.ZipFile(path) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
        if size > LARGEST_UNPACKED:
            raise UnreadableError(LARGE, f"unpacks to {size:,} bytes")
        yield
    except (UnreadableError, ModuleNotFoundError):
        raise
    except Exception as error:  # lxml and zipfile fail on damaged files in many ways
        raise UnreadableError(BROKEN, first_line(error)) from error


def read_docx(path: Path, notes: Notes) -> Iterator[DocumentPage]:
    """Read a Word file as one page with tables and headings; record omissions in ``notes``.

    A paragraph of the style Title is the document's title. Headers and footers of pages, deleted
    text, hidden text, text boxes, notes, equations and graphics are no part of it; all but the
    first two are counted.
    """
    import docx

    builder = _PageBuilder()
    with _errors_as_unreadable(path):
        document: Any = docx.Document(str(path))
        title = document.core_properties.title or ""
        body = document.element.body
        levels = {style.style_id: _heading_level(style) for style in document.styles}
        if number := _remove_hidden(document):
            notes.append(f"{count_text(number, 'piece')} of hidden text, left out")
        for block in _blocks(body):
            if block.tag.endswith("}tbl"):
                for row in block.xpath("./w:tr"):
                    builder.add(_join_cells(_docx_text(cell) for cell in row.xpath("./w:tc")))
                continue
            text = _docx_text(block)
            (style,) = block.xpath("./w:pPr/w:pStyle/@w:val")[:1] or ("",)
            level = levels.get(style, 0)
            if level == _TITLE:
                title = " ".join(text.split()) or title
            else:
                builder.add(text, level)
        for kind, name in _LEFT_OUT.items():
            # Word stores a text box twice, the second time for versions of before 2010.
            if number := len(body.xpath(f".//{name}[not(ancestor::*[local-name()='Fallback'])]")):
                notes.append(f"{kind} are left out: {number}")
    yield builder.page(None, title)


def _heading_level(style: Any) -> int:
    """Get the heading level of a Word style or its base style; 0 for none, -1 for the title."""
    while style is not None:
        if style.name == "Title":
            return _TITLE
        if match := _HEADING.fullmatch(style.name or ""):
            return int(match[1])
        style = getattr(style, "base_style", None)
    return 0


def _remove_hidden(document: Any) -> int:
    """Remove hidden text and table rows from a Word document; return how many had text."""
    from docx.text.run import Run

    hiding = {style.style_id for style in document.styles if _is_hiding(style)}
    body = document.element.body
    hidden = body.xpath(".//w:tr[w:trPr/w:hidden]")
    for run in body.xpath(".//w:r"):
        is_hidden = Run(run, document).font.hidden
        if is_hidden is None:
            # Word shows text that both its paragraph's style and its own style would hide.
            of_run = run.xpath("./w:rPr/w:rStyle/@w:val")
            of_paragraph = run.xpath("(./ancestor::w:p)[last()]/w:pPr/w:pStyle/@w:val")
            is_hidden = hiding.isdisjoint(of_run) != hiding.isdisjoint(of_paragraph)
        if is_hidden:
            hidden.append(run)
    number = sum(bool(_docx_text(element).strip()) for element in hidden)
    for element in hidden:
        element.getparent().remove(element)
    return number


def _is_hiding(style: Any) -> bool:
    """Whether a Word style, or one it is based on, hides text."""
    while style is not None:
        is_hidden = getattr(getattr(style, "font", None), "hidden", None)
        if is_hidden is not None:
            return bool(is_hidden)
        style = getattr(style, "base_style", None)
    return False


def _blocks(parent: Any) -> Iterator[Any]:
    """Yield the paragraphs and tables of a Word body, also in content controls and insertions."""
    for child in parent.iterchildren():
        name = str(child.tag).rpartition("}")[2]
        if name in ("p", "tbl"):
            yield child
        elif name in ("sdt", "sdtContent", "customXml", "ins", "moveTo"):
            yield from _blocks(child)


def _docx_text(element: Any) -> str:
    """Get the visible text of a Word paragraph or cell, without deletions and text boxes."""
    parts = []
    for node in element.xpath(
        ".//w:t[not(ancestor::w:txbxContent) and not(ancestor::w:moveFrom)]"
        " | .//w:tab | .//w:br | .//w:cr | .//w:p[position() > 1]"
    ):
        name = node.tag.rpartition("}")[2]
        parts.append((node.text or "") if name == "t" else "\n" if name in ("br", "cr") else " ")
    return "".join(parts)


def _join_cells(cells: Iterable[str]) -> str:
    """Join table cells to one line with ``|`` between them; escape bars within cells."""
    return " | ".join(" ".join(cell.split()).replace("|", r"\|") for cell in cells)


def read_pptx(path: Path, notes: Notes) -> Iterator[DocumentPage]:
    """Read a PowerPoint file, one page per slide; record omissions in ``notes``.

    Diagrams, embedded files and charts without categories are no part of it, and are noted.
    """
    import pptx

    with _errors_as_unreadable(path):
        deck: Any = pptx.Presentation(str(path))
        title = deck.core_properties.title or ""
        pages = []
        for number, slide in enumerate(deck.slides, 1):
            builder = _PageBuilder()
            heading = slide.shapes.title
            if heading is not None and heading.has_text_frame:
                builder.add(heading.text_frame.text.replace("\v", " "), 1)
            for shape in _shapes(slide.shapes):
                is_title = heading is not None and shape.shape_id == heading.shape_id
                if not is_title and not _add_shape(builder, shape):
                    notes.append(f"slide {number}: a diagram, chart or file is left out")
            if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
                builder.add(slide.notes_slide.notes_text_frame.text.replace("\v", "\n"))
            if not builder.text:
                notes.append(f"slide {number} has no text")
            pages.append(builder.page(number, title))
    yield from pages


def _shapes(shapes: Any, depth: int = 0) -> Iterator[Any]:
    """Yield the shapes of a slide, including those in groups."""
    for shape in shapes:
        if hasattr(shape, "shapes") and depth < _MOST_LEVELS:
            yield from _shapes(shape.shapes, depth + 1)
        else:
            yield shape


def _add_shape(builder: _PageBuilder, shape: Any) -> bool:
    """Add a slide shape's text, table or chart to a page; return whether it was readable.

    A picture, a line and a shape without words have nothing to read.
    """
    if shape.has_text_frame:
        for paragraph in shape.text_frame.paragraphs:
            builder.add("".join(run.text for run in paragraph.runs).replace("\v", "\n"))
    elif getattr(shape, "has_table", False):
        for row in shape.table.rows:
            builder.add(_join_cells(cell.text_frame.text for cell in row.cells))
    elif getattr(shape, "has_chart", False):
        titles, rows = read_chart(shape.chart)
        for title in titles:
            builder.add(title)
        for row in rows:
            builder.add(_join_cells(row))
        return bool(rows)
    else:
        return not hasattr(shape, "has_chart")  # only graphic frames have this attribute
    return True
