"""Documents as people have them: front matter, fences, running headers, Word, PowerPoint."""

import json
import zipfile
from collections import Counter
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from citeforge.plugins.documents.formats import DocumentPage, clean_pages
from citeforge.plugins.documents.outline import read_outline
from citeforge.plugins.documents.source import DocumentFolder
from plugins.documents.pdfs import pdf

PUMP = "Turn the red handle to the left before you open the valve of the pump."


def read(folder: Path) -> tuple[DocumentFolder, list[dict[str, Any]]]:
    source = DocumentFolder(folder, 900)
    rows = [row for batch in source.passages() for row in batch.to_pylist()]
    return source, rows


FRONT = [
    "---\ntitle: Pump manual\ndate: 2024-01-01\ntags: [x]\n---\n",
    "\ufeff---\r\ntitle: 'Pump manual'\r\n---\r\n",
    "--- \n# a remark\ntitle: >\n  Pump\n  manual\n...\n",
    '+++\ntitle = "Pump manual"\n[extra]\nx = 1\n+++\n',
]


@pytest.mark.parametrize("front", FRONT)
def test_front_matter_is_no_text_and_gives_the_title(tmp_path: Path, front: str) -> None:
    (tmp_path / "a.md").write_bytes(f"{front}\nBefore all.\n\n# Start\n\n{PUMP}\n".encode())
    _, rows = read(tmp_path)
    assert [(r["title"], r["text"]) for r in rows] == [
        ("Pump manual", "Before all."),
        ("Pump manual > Start", PUMP),
    ]


@pytest.mark.parametrize(
    ("text", "titles"),
    [
        ("# PK-7\n\n{0}\n\n## Cleaning\n\n{1}\n", ["PK-7", "PK-7 > Cleaning"]),
        # Of two headings of the first level none is that of the document: its file names it.
        ("# Use\n\n{0}\n\n# Cleaning\n\n{1}\n", ["pk-7 > Use", "pk-7 > Cleaning"]),
        ("---\ntitle: PK\n---\n# pk\n\n{0}\n\n## Cleaning\n\n{1}\n", ["pk", "pk > Cleaning"]),
        ("{0}\n\n## Cleaning\n\n{1}\n", ["pk-7", "pk-7 > Cleaning"]),
        ("{0}", ["pk-7"]),
    ],
)  # fmt: skip
def test_a_passage_is_titled_by_its_document_and_its_headings(
    tmp_path: Path, text: str, titles: list[str]
) -> None:
    other = "Change the ring of the lid after eighteen months, or when steam comes out of it."
    (tmp_path / "pk-7.md").write_text(text.format(PUMP, other))
    _, rows = read(tmp_path)
    assert [r["title"] for r in rows] == titles


def test_front_matter_that_is_no_yaml_is_front_matter_all_the_same() -> None:
    text = f"---\ntitle: Pumps: a manual\nby: me\n---\n{PUMP}"
    _, title, breaks = read_outline(text)
    assert title == "Pumps: a manual"
    assert [text[one.end :] for one in breaks] == [PUMP]


@pytest.mark.parametrize(
    "text",
    [
        "---\nA text between two rules.\n---\n",
        "Words.\n---\ntitle: no\n---\n",
        "---\ntitle: never closed\n",
        "+++\nno TOML\n+++\n",
    ],
)
def test_what_is_no_front_matter_is_text(text: str) -> None:
    _, title, breaks = read_outline(text)
    assert title == "" and all(one.level for one in breaks)


HEADINGS = """\
# Real *title* {#anchor}

````markdown
```sh
# install
```
# not a heading either
````

~~~
```
# in tilde
~~~

Setext
======

```python
```python
# a comment
```

- item

  # in a list

    # code

Two lines
of one heading
---

> # quoted

## Closed <!-- a note --> ##
#nospace
"""


def test_headings_are_those_of_commonmark() -> None:
    _, _, breaks = read_outline(HEADINGS)
    assert [(one.level, one.title) for one in breaks] == [
        (1, "Real title"), (1, "Setext"), (2, "Two lines of one heading"), (2, "Closed"),
    ]  # fmt: skip
    assert [HEADINGS[one.start : one.end].count("\n") for one in breaks] == [1, 2, 3, 1]


def test_line_ends_of_every_kind_are_lines() -> None:
    text = "# A\r\n\r\nOne.\r\rTwo\u2028three\x0c.\n\nB\r\n=\r\nLast."
    _, _, breaks = read_outline(text)
    assert [(text[one.start : one.end], one.title) for one in breaks] == [
        ("# A\r\n", "A"), ("B\r\n=\r\n", "B"),
    ]  # fmt: skip


def test_comments_and_template_tags_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(
        "# Start\n\n<!-- hidden\n\nwords -->\n\n[//]: # (hidden words)\n[comment]: <> (hidden)\n\n"
        "{% include hidden.html %}\n\nTurn it <!-- hidden --> left.\n\n```\n<!-- shown -->\n```\n"
    )
    _, (row,) = read(tmp_path)
    assert "hidden" not in row["text"] and "<!-- shown -->" in row["text"]
    assert " ".join(row["text"].split()).startswith("Turn it left.")


MANUAL = (
    "Pump manual - page 1\nThe pump stands in the cellar.\nTurn the red handle to the",
    "Pump manual - page 2\nleft before you open the valve. The tank holds ninety litres.",
    "Pump manual - page 3\nCall the maker when the lamp is red.",
)


def test_running_headers_leave_and_a_sentence_over_two_pages_is_whole(tmp_path: Path) -> None:
    (tmp_path / "m.pdf").write_bytes(pdf(*MANUAL))
    source, rows = read(tmp_path)
    texts = [" ".join(row["text"].split()) for row in rows]
    assert texts == [
        "The pump stands in the cellar. Turn the red handle to the left before you open the valve.",
        "The tank holds ninety litres.",
        "Call the maker when the lamp is red.",
    ]
    assert [json.loads(row["metadata"])["page"] for row in rows] == [1, 2, 3]
    counts = source.info().counts
    assert counts["running_lines"] == 3
    assert counts["sentences_over_two_pages"] == 1
    assert source.documents[0].notes == []


def texts(*pages: str, first: int = 1) -> list[str]:
    rows = [DocumentPage(number, text) for number, text in enumerate(pages, first)]
    return [page.text for page in clean_pages(rows, Counter())]


WORDS = ("One is here.", "Two is there.", "Three is gone.", "Four is back.", "Five is last.")


@pytest.mark.parametrize(
    ("top", "bottom"),
    [
        ("Annual report 2024", "{n}"),
        ("", "page {n} of 5"),
        ("{n} The pump", "confidential\nThe maker, 1999"),
        ("ACME\n\nChapter 7", "- {m} -"),
    ],
)
def test_running_lines_of_many_kinds(top: str, bottom: str) -> None:
    pages = [
        f"{top}\n{word}\n{bottom}".replace("{n}", str(n)).replace("{m}", str(n + 40))
        for n, word in enumerate(WORDS, 1)
    ]
    assert texts(*pages) == list(WORDS)


def test_left_and_right_pages_and_chapters_have_their_own() -> None:
    tops = ("The pump", "Chapter 1", "The pump", "Chapter 1", "The pump", "Chapter 1")
    words = (*WORDS, "Six is new.")
    assert texts(*(f"{top}\n{word}" for top, word in zip(tops, words, strict=True))) == list(words)


def test_lines_that_do_not_repeat_stay() -> None:
    pages = ("Turn 10 screws.\nDone.", "Turn 25 screws.\nDone well.", "Turn 70 screws.\nNever.")
    assert texts(*pages) == list(pages)
    two = ("Pump manual\nOne.", "Pump manual\nTwo.")
    assert texts(*two) == list(two)  # two pages prove nothing


@pytest.mark.parametrize(
    ("before", "after", "joined"),
    [
        ("It is a trans-", "action. Then it ends.", ("It is a transaction.", "Then it ends.")),
        ("He said that", "it works! Yes.", ("He said that\nit works!", "Yes.")),
        ("这座桥很", "长。它很老。", ("这座桥很\n长。", "它很老。")),
        ("Die Pumpe steht in der Stadt der\nalten Maler und der neuen", "Häuser. Ende.",
         ("Die Pumpe steht in der Stadt der\nalten Maler und der neuen\nHäuser.", "Ende.")),
        ("It is done.", "then it ends.", ("It is done.", "then it ends.")),
        ("A long line of words that goes on.\nHeading", "The next page.",
         ("A long line of words that goes on.\nHeading", "The next page.")),
        ("the list:", "one. two.", ("the list:", "one. two.")),
        ("no end", "never ends", ("no end", "never ends")),
    ],
)  # fmt: skip
def test_where_a_sentence_goes_on(before: str, after: str, joined: tuple[str, str]) -> None:
    assert tuple(texts(before, after)) == joined


def test_a_page_that_is_missing_joins_nothing() -> None:
    pages = [DocumentPage(1, "It is the"), DocumentPage(3, "left one. End.")]
    assert [p.text for p in clean_pages(pages, Counter())] == ["It is the", "left one. End."]


def test_hidden_parts_of_a_page_are_no_text(tmp_path: Path) -> None:
    body = "".join(f"<p>{'The tower stands beside the river. ' * 8}Note {i}.</p>" for i in range(4))
    hidden = (
        "<nav>Imprint links</nav><noscript>Imprint script</noscript><p hidden>Imprint one</p>"
        "<p style='color: red; DISPLAY:none'>Imprint two</p><p style='display: none'>Imprint 3</p>"
    ).replace("DISPLAY", "display")
    page = f"<html><body><article><h1>Towers</h1>{hidden}{body}</article></body></html>"
    (tmp_path / "a.html").write_text(page)
    _, rows = read(tmp_path)
    text = "".join(row["text"] for row in rows)
    assert "The tower stands" in text and "Imprint" not in text


def test_a_word_document(tmp_path: Path) -> None:
    docx = pytest.importorskip("docx", reason="python-docx is not installed")
    document: Any = docx.Document()
    document.add_heading("Pump manual", 0)
    document.add_heading("Start", 1)
    paragraph = document.add_paragraph("Turn the ")
    paragraph.add_run("red").bold = True
    paragraph.add_run(" handle to the left.")
    table = document.add_table(2, 2)
    for cell, text in zip((c for row in table.rows for c in row.cells), "ABCD", strict=True):
        cell.text = text
    document.add_heading("Stop", 2)
    document.add_paragraph("Close the valve.", style="List Bullet")
    document.sections[0].header.paragraphs[0].text = "Running header"
    document.save(tmp_path / "a.docx")
    source, rows = read(tmp_path)
    assert [(r["title"], r["text"]) for r in rows] == [
        ("Pump manual > Start", "Turn the red handle to the left.\n\nA | B\n\nC | D"),
        ("Pump manual > Start > Stop", "Close the valve."),
    ]
    assert source.documents[0].format == "Word"


def test_changes_controls_and_text_boxes_of_a_word_document(tmp_path: Path) -> None:
    docx = pytest.importorskip("docx", reason="python-docx is not installed")
    from docx.oxml import parse_xml
    from docx.oxml.ns import nsdecls

    document: Any = docx.Document()
    body = document.element.body
    for xml in (
        "<w:p {}><w:r><w:t>It is </w:t></w:r><w:del><w:r><w:delText>old</w:delText></w:r></w:del>"
        "<w:ins><w:r><w:t>new.</w:t></w:r></w:ins></w:p>",
        "<w:sdt {}><w:sdtContent><w:p><w:r><w:t>It is in a form.</w:t></w:r></w:p></w:sdtContent>"
        "</w:sdt>",
        "<w:p {}><w:r><mc:AlternateContent xmlns:mc='http://schemas.openxmlformats.org/"
        "markup-compatibility/2006'><mc:Choice><w:txbxContent><w:p><w:r><w:t>Boxed.</w:t></w:r>"
        "</w:p></w:txbxContent></mc:Choice><mc:Fallback><w:txbxContent><w:p><w:r><w:t>Boxed.</w:t>"
        "</w:r></w:p></w:txbxContent></mc:Fallback></mc:AlternateContent></w:r></w:p>",
        "<w:p {}><m:oMath><m:r><m:t>E=mc</m:t></m:r></m:oMath></w:p>",
    ):
        body.insert(len(body) - 1, parse_xml(xml.format(nsdecls("w", "m"))))
    document.save(tmp_path / "a.docx")
    source, (row,) = read(tmp_path)
    assert row["text"] == "It is new.\n\nIt is in a form."
    assert source.documents[0].notes == [
        "text boxes are left out: 1", "equations are left out: 1",
    ]  # fmt: skip


def test_hidden_text_of_a_word_document_is_no_passage(tmp_path: Path) -> None:
    """Hidden by itself, by a style or a base of it, or by its row; not where that is off."""
    docx = pytest.importorskip("docx", reason="python-docx is not installed")
    from docx.enum.style import WD_STYLE_TYPE
    from docx.oxml import OxmlElement

    document: Any = docx.Document()
    for name, kind in (("Secret", WD_STYLE_TYPE.CHARACTER), ("Note", WD_STYLE_TYPE.PARAGRAPH)):
        document.styles.add_style(name, kind).font.hidden = True
    below = document.styles.add_style("Below", WD_STYLE_TYPE.CHARACTER)
    below.base_style = document.styles["Secret"]
    paragraph = document.add_paragraph("The pump is ")
    paragraph.add_run("not ").font.hidden = True
    paragraph.add_run("red", "Secret")
    paragraph.add_run("dish", "Below")
    paragraph.add_run("blue").font.hidden = False
    note = document.add_paragraph("Ask the lawyers.", "Note")
    note.add_run(" It is large.").font.hidden = False
    note.add_run(" It is old.", "Secret")  # each of the two would hide it; both show it
    table = document.add_table(2, 1)
    table.cell(0, 0).text, table.cell(1, 0).text = "Seen.", "Unseen."
    table.rows[1]._tr.get_or_add_trPr().append(OxmlElement("w:hidden"))
    document.save(tmp_path / "a.docx")
    source, (row,) = read(tmp_path)
    assert row["text"] == "The pump is blue\n\nIt is large. It is old.\n\nSeen."
    # "not ", "red", "dish", "Ask the lawyers." and the row
    assert source.documents[0].notes == ["5 pieces of hidden text, left out"]


def _add_chart(slide: Any, kind: Any, data: Any) -> None:
    slide.shapes.add_chart(kind, 0, 0, 900, 900, data)


def test_a_presentation(tmp_path: Path) -> None:
    pptx: Any = pytest.importorskip("pptx", reason="python-pptx is not installed")
    from pptx.chart.data import CategoryChartData, XyChartData
    from pptx.enum.chart import XL_CHART_TYPE

    deck: Any = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    slide.shapes.title.text = "Pumps"
    slide.placeholders[1].text = "Pumps move water.\nThey need power."
    table = slide.shapes.add_table(1, 2, 0, 0, 900, 900).table
    table.cell(0, 0).text, table.cell(0, 1).text = "A", "B"
    group = slide.shapes.add_group_shape()
    group.shapes.add_textbox(0, 0, 900, 900).text_frame.text = "In a group."
    slide.notes_slide.notes_text_frame.text = "Say that it is old."
    chart = CategoryChartData()
    chart.categories = ["May", "June"]
    chart.add_series("Litres", (1.5, None))
    chart.add_series("Bar", (20, 30))
    _add_chart(slide, XL_CHART_TYPE.COLUMN_CLUSTERED, chart)
    scatter = XyChartData()
    scatter.add_series("Litres").add_data_point(1, 2)
    _add_chart(slide, XL_CHART_TYPE.XY_SCATTER, scatter)
    deck.slides.add_slide(deck.slide_layouts[6])
    deck.save(tmp_path / "b.pptx")
    source, (row,) = read(tmp_path)
    assert (row["title"], json.loads(row["metadata"])["page"]) == ("b > Pumps", 1)
    assert row["text"].split("\n\n") == [
        "Pumps move water.", "They need power.", "A | B", "In a group.",
        "| Litres | Bar", "May | 1.5 | 20", "June | | 30", "Say that it is old.",
    ]  # fmt: skip
    assert source.documents[0].notes == [
        "slide 1: a diagram, chart or file is left out", "slide 2 has no text",
    ]  # fmt: skip


def _title(axis: Any, text: str) -> None:
    axis.has_title = True
    axis.axis_title.text_frame.text = text


def test_charts(tmp_path: Path) -> None:
    """Numbers have all their digits, dates are dates, and upper levels and titles are read."""
    pptx: Any = pytest.importorskip("pptx", reason="python-pptx is not installed")
    from pptx.chart.data import CategoryChartData
    from pptx.enum.chart import XL_CHART_TYPE

    deck: Any = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    days = CategoryChartData()
    days.categories = [date(2024, 1, 31), date(2024, 2, 29)]
    days.add_series("Litres | day", (1_234_567, 98_765.4321))
    days.add_series("Bar", (0.1 + 0.2, 0.00001))  # as Excel shows them: 0.3, and no 1e-05
    _add_chart(slide, XL_CHART_TYPE.LINE, days)
    chart = slide.shapes[-1].chart
    chart.has_title = True
    chart.chart_title.text_frame.text = "Water"
    _title(chart.category_axis, "Day")
    _title(chart.value_axis, "Amount")
    levels = CategoryChartData()
    country = levels.add_category("USA")
    country.add_sub_category("CA")
    country.add_sub_category("NY")
    levels.add_category("Chile").add_sub_category("Arica")
    levels.add_series("Litres", (1e15, 2.5, -3))
    _add_chart(slide, XL_CHART_TYPE.COLUMN_CLUSTERED, levels)
    years = CategoryChartData(number_format="General")
    years.categories = [2019, 2020.5]
    years.add_series("Litres", (1, 2))
    _add_chart(slide, XL_CHART_TYPE.COLUMN_CLUSTERED, years)
    gaps = CategoryChartData()
    gaps.categories = ["May", "June", "July"]
    gaps.add_series("Litres", (1, 2, 3))
    gaps.add_series("Bar", (4,))  # values of one category
    _add_chart(slide, XL_CHART_TYPE.COLUMN_CLUSTERED, gaps)
    (empty,) = slide.shapes[-1].chart.element.xpath("(.//c:cat)[1]//c:pt[@idx='1']")
    empty.getparent().remove(empty)  # a category whose cell is empty
    slide.shapes[-1].chart.element.xpath("(.//c:val)[1]//c:v")[0].text = "#N/A"
    deck.save(tmp_path / "b.pptx")
    source, rows = read(tmp_path)
    assert "\n\n".join(row["text"] for row in rows).split("\n\n") == [
        "Water", "Amount", r"Day | Litres \| day | Bar",
        "2024-01-31 | 1234567 | 0.3", "2024-02-29 | 98765.4321 | 0.00001",
        "| Litres", "USA, CA | 1000000000000000", "USA, NY | 2.5", "Chile, Arica | -3",
        "| Litres", "2019 | 1", "2020.5 | 2",
        "| Litres | Bar", "May | #N/A | 4", "| 2 |", "July | 3 |",
    ]  # fmt: skip
    assert source.documents[0].notes == []


@pytest.mark.parametrize(
    ("value", "code", "since_1904", "shown"),
    [
        ("45322", "yyyy-mm-dd", "0", "2024-01-31"),
        ("45322.75", "d.m.yy h:mm", "0", "2024-01-31 18:00:00"),
        ("43860", "mmm", "1", "2024-01-31"),  # 45,322 - 1,462 days
        ("45322", '0 "days"', "0", "45322"),
        ("45322", "[Red]General", "0", "45322"),
        ("9e9", "yyyy", "0", "9000000000"),  # after the year 9999
    ],
)
def test_categories_of_charts_that_are_numbers(
    tmp_path: Path, value: str, code: str, since_1904: str, shown: str
) -> None:
    pptx: Any = pytest.importorskip("pptx", reason="python-pptx is not installed")
    from pptx.chart.data import CategoryChartData
    from pptx.enum.chart import XL_CHART_TYPE

    deck: Any = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    data = CategoryChartData()
    data.categories = [1]
    data.add_series("Litres", (7,))
    _add_chart(slide, XL_CHART_TYPE.COLUMN_CLUSTERED, data)
    space = slide.shapes[-1].chart.element
    (number,) = space.xpath(".//c:cat//c:v")
    number.text = value
    (form,) = space.xpath(".//c:cat//c:formatCode")
    form.text = code
    space.xpath("./c:date1904")[0].set("val", since_1904)
    deck.save(tmp_path / "b.pptx")
    _, (row,) = read(tmp_path)
    assert row["text"] == f"| Litres\n\n{shown} | 7"


@pytest.mark.parametrize("ending", ["docx", "pptx"])
def test_office_files_that_are_none(tmp_path: Path, ending: str) -> None:
    pytest.importorskip(ending, reason=f"python-{ending} is not installed")
    (tmp_path / "good.txt").write_text(PUMP)
    ole = b"\xd0\xcf\x11\xe0" + b"\0" * 600
    (tmp_path / f"old.{ending}").write_bytes(ole)
    (tmp_path / f"locked.{ending}").write_bytes(ole + "EncryptedPackage".encode("utf-16-le"))
    (tmp_path / f"text.{ending}").write_text("no zip")
    with zipfile.ZipFile(tmp_path / f"other.{ending}", "w") as archive:
        archive.writestr("a.txt", "x")
    with zipfile.ZipFile(tmp_path / f"bomb.{ending}", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.txt", b"\0" * (1 << 28 | 1))
    source, rows = read(tmp_path)
    assert len(rows) == 1
    problems = {d.name.partition(".")[0]: d.problem for d in source.documents}
    assert problems == {
        "good": None, "locked": "locked with a password", "old": "of another format",
        "text": "broken", "other": "broken", "bomb": "above --largest-file",
    }  # fmt: skip
