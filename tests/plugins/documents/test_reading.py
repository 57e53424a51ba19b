"""Files to passages: nothing is lost, and what cannot be read is named and counted."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import pypdf
import pytest
from hypothesis import given
from hypothesis import strategies as st

from citeforge.engines.text.sentences import SentenceSegmenter
from citeforge.plugins.documents.formats import DocumentPage
from citeforge.plugins.documents.outline import read_outline
from citeforge.plugins.documents.passages import cut_page
from citeforge.plugins.documents.source import DocumentFolder
from citeforge.schemas.errors import MissingExtraError, extras_named
from conftest import EXAMPLES, Inline, refused
from plugins.documents.pdfs import pdf

SEGMENTER = SentenceSegmenter()


def read(folder: Path, size: int = 900, **options: Any) -> tuple[DocumentFolder, list[Any]]:
    source = DocumentFolder(folder, size, **options)
    return source, [row for batch in source.passages() for row in batch.to_pylist()]


def problems(source: DocumentFolder) -> dict[str, str | None]:
    return {d.name: d.problem for d in source.documents}


def test_every_passage_says_where_it_stands(tmp_path: Path) -> None:
    text = "# Bridges\n\nOld ones fall.\n\n## Stone\n\nStone lasts. It is dear.\n"
    (tmp_path / "a.md").write_text(text)
    (tmp_path / "b.pdf").write_bytes(pdf("Paris is large.", "", "Rome is old."))
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "c.jsonl").write_text(
        '{"title": "Cats", "text": "Cats sleep."}\n\n{"_id": 7, "contents": "Dogs bark."}\n'
    )
    _, rows = read(tmp_path)
    assert [(r["_id"], r["title"], r["text"]) for r in rows] == [
        ("a.md#1", "Bridges", "Old ones fall."),
        ("a.md#2", "Bridges > Stone", "Stone lasts. It is dear."),
        ("b.pdf#1", "b", "Paris is large."),
        ("b.pdf#2", "b", "Rome is old."),
        ("sub/c.jsonl#1", "Cats", "Cats sleep."),
        ("sub/c.jsonl#2", "c", "Dogs bark."),
    ]
    places = [json.loads(r["metadata"]) for r in rows]
    assert [(p["file"], p["page"]) for p in places] == [
        ("a.md", None), ("a.md", None), ("b.pdf", 1), ("b.pdf", 3),
        ("sub/c.jsonl", 1), ("sub/c.jsonl", 3),
    ]  # fmt: skip
    assert [text[p["start"] : p["end"]] for p in places[:2]] == [r["text"] for r in rows[:2]]


def test_what_cannot_be_read_is_named_and_counted(tmp_path: Path) -> None:
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.4\nnothing of the kind")
    (tmp_path / "empty.txt").touch()
    (tmp_path / "blank.md").write_text(" \n\n")
    (tmp_path / "scan.pdf").write_bytes(pdf("", ""))
    (tmp_path / "photo.png").write_bytes(b"\x89PNG")
    (tmp_path / "binary.txt").write_bytes(bytes(range(256)) * 10)
    (tmp_path / ".git").mkdir()
    (tmp_path / "link.txt").symlink_to(tmp_path / "good.txt")
    (tmp_path / "large.txt").write_text("All is well. " * 100_000)  # 1.3 MB
    (tmp_path / "good.txt").write_text("Water boils at 100 degrees.")
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(pdf("Secret.")))
    writer.encrypt("key", algorithm="RC4-128")
    writer.write(tmp_path / "locked.pdf")
    source, rows = read(tmp_path, most_megabytes=1)
    assert [r["text"] for r in rows] == ["Water boils at 100 degrees."]
    assert problems(source) == {
        ".git": "hidden",
        "binary.txt": "broken",
        "blank.md": "without text, such as scans",
        "broken.pdf": "broken",
        "empty.txt": "empty",
        "good.txt": None,
        "large.txt": "above --largest-file",
        "link.txt": "a link",
        "locked.pdf": "locked with a password",
        "photo.png": "of another format",
        "scan.pdf": "without text, such as scans",
    }
    counts = source.info().counts
    assert counts["files_read"] == 1
    assert counts["files_not_read[broken][binary.txt]"] == 2
    assert counts["files_not_read[without text, such as scans][blank.md]"] == 2
    assert (
        sum(
            n
            for what, n in counts.items()
            if what.startswith(("files_not_read", "files_read_in_part"))
        )
        == 10
    )


@pytest.mark.parametrize(
    "cipher", ["RC4-40", "RC4-128", "AES-128", "AES-256-R5", "AES-256"], ids=str.lower
)
def test_an_encrypted_pdf_is_read_if_it_opens_without_a_password(
    tmp_path: Path, cipher: str
) -> None:
    for name, password in (("open", ""), ("locked", "key")):
        writer = pypdf.PdfWriter(clone_from=io.BytesIO(pdf("Paris is large.")))
        writer.encrypt(password, "owner", algorithm=cipher)
        writer.write(tmp_path / f"{name}.pdf")
    source, rows = read(tmp_path)
    assert [(r["_id"], r["text"]) for r in rows] == [("open.pdf#1", "Paris is large.")]
    assert problems(source) == {"open.pdf": None, "locked.pdf": "locked with a password"}


def test_an_encrypted_pdf_without_the_module_that_decrypts_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(pdf("Paris is large.")))
    writer.encrypt("", "owner", algorithm="AES-128")
    writer.write(tmp_path / "a.pdf")
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with refused("missing-extra", MissingExtraError, extra="documents"), extras_named():
        read(tmp_path)


def test_a_pdf_of_a_certificate_is_locked_and_one_of_broken_pages_is_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = pdf("Paris is large.").replace(
        b"/Root 1 0 R", b"/Root 1 0 R /Encrypt << /Filter /Adobe.PubSec /V 4 >>"
    )
    (tmp_path / "certificate.pdf").write_bytes(content)
    (tmp_path / "pages.pdf").write_bytes(pdf("Rome is old."))
    (tmp_path / "good.txt").write_text("Water boils at 100 degrees.")

    def fail(page: Any) -> str:
        raise ValueError("a wrong operator")

    monkeypatch.setattr(pypdf.PageObject, "extract_text", fail)
    source, _ = read(tmp_path)
    assert problems(source) == {
        "certificate.pdf": "locked with a password", "pages.pdf": "broken", "good.txt": None
    }  # fmt: skip
    notes = {d.name: d.notes for d in source.documents}
    assert notes["pages.pdf"] == ["page 1 is broken (ValueError: a wrong operator)"]
    assert "PubSec" in notes["certificate.pdf"][0] or "Standard" in notes["certificate.pdf"][0]


def test_a_file_that_cannot_be_opened_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("closed.txt", "open.txt"):
        (tmp_path / name).write_text("Water boils at 100 degrees.")
    real = Path.open

    def opened(path: Path, *args: Any, **more: Any) -> Any:
        if path.name == "closed.txt":
            raise PermissionError(13, "Permission denied")
        return real(path, *args, **more)

    monkeypatch.setattr(Path, "open", opened)  # root may open everything
    source, rows = read(tmp_path)
    assert [r["_id"] for r in rows] == ["open.txt#1"]
    assert problems(source)["closed.txt"] == "not to be opened (Permission denied)"


def test_a_file_that_goes_between_listing_and_reading_is_counted(tmp_path: Path) -> None:
    for name in ("gone.txt", "stays.txt"):
        (tmp_path / name).write_text("Water boils at 100 degrees.")
    source = DocumentFolder(tmp_path, 900)
    source.info()
    (tmp_path / "gone.txt").unlink()
    assert [row["_id"] for batch in source.passages() for row in batch.to_pylist()] == [
        "stays.txt#1"
    ]
    assert problems(source)["gone.txt"] == "not to be opened (No such file or directory)"


def test_other_encodings_are_read_and_said(tmp_path: Path) -> None:
    words = "Der Käse reift in kühlen Höhlen über Monate. Die Bäuerin prüft ihn täglich. "
    (tmp_path / "latin.txt").write_bytes((words * 3).encode("cp1252"))
    (tmp_path / "wide.txt").write_text("Grüße aus Köln.", "utf-16")
    (tmp_path / "mark.txt").write_text("Guten Tag.", "utf-8-sig")
    source, rows = read(tmp_path)
    assert [r["text"] for r in rows] == [(words * 3).strip(), "Guten Tag.", "Grüße aus Köln."]
    notes = {d.name: list(d.notes) for d in source.documents}
    assert notes == {
        "latin.txt": ["is not UTF-8; read as cp1252"], "mark.txt": [],
        "wide.txt": ["is not UTF-8; read as utf-16"],
    }  # fmt: skip
    counts = source.info().counts
    assert counts["files_in_another_encoding[cp1252][latin.txt]"] == 1
    assert counts["files_in_another_encoding[utf-16][wide.txt]"] == 1


def test_lines_with_other_fields_are_counted(tmp_path: Path) -> None:
    rows = [{"text": "One is here.", "title": "A"}, {"text": "Two is there.", "url": "u", "_id": 7}]
    (tmp_path / "a.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    source, found = read(tmp_path)
    assert [r["text"] for r in found] == ["One is here.", "Two is there."]
    assert source.info().counts["json_lines_with_other_fields"] == 1


def test_lines_that_are_no_rows_are_noted_one_by_one(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b'{"text": "One."}\n{"text": \n[1]\n{"text": ""}\n\xff\n')
    source, rows = read(tmp_path)
    assert [r["text"] for r in rows] == ["One."]
    assert "json_lines_with_other_fields" not in source.info().counts
    assert [n.split(" (")[0] for n in source.documents[0].notes] == [
        "line 2 is not a row", "line 3 is not a row", "line 4 has no text", "line 5 is not a row",
    ]  # fmt: skip


@pytest.mark.parametrize("words", ["Turn the switch.", "Turn the red switch to the right. " * 8])
def test_headings_of_html_without_an_article_are_titles(tmp_path: Path, words: str) -> None:
    (tmp_path / "a.html").write_text(
        "<html><head><title>Pump</title></head><body><nav><a href='/x'>Imprint</a></nav>"
        f"<h1>Manual</h1><p>{words}</p><h2>Torque</h2><p>Bolts: {words}</p></body></html>"
    )
    _, rows = read(tmp_path)
    assert [r["title"] for r in rows] == ["Manual", "Manual > Torque"]
    assert [" ".join(r["text"].split()) for r in rows] == [words.strip(), f"Bolts: {words.strip()}"]


def test_a_form_feed_ends_a_line(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Turn it on.\fPage two.\n")
    _, rows = read(tmp_path)
    assert [r["text"] for r in rows] == ["Turn it on.\nPage two."]


def test_a_page_of_html_leaves_its_navigation_out(tmp_path: Path) -> None:
    body = "".join(f"<p>{'The tower stands beside the river. ' * 8}Note {i}.</p>" for i in range(4))
    (tmp_path / "a.html").write_text(
        "<html><head><title>Towers</title></head><body><nav><a href='/x'>Imprint</a></nav>"
        f"<article><h1>Towers</h1>{body}<h2>Visits</h2>{body.replace('tower', 'gate')}"
        "</article></body></html>"
    )
    _, rows = read(tmp_path)
    text = "".join(r["text"] for r in rows)
    assert "The gate stands" in text and "Imprint" not in text
    assert {r["title"] for r in rows} == {"Towers", "Towers > Visits"}


def test_repeats_are_joined_but_not_those_with_other_numbers(tmp_path: Path) -> None:
    words = " ".join(f"word{chr(97 + i % 26)}{chr(97 + i // 26)}" for i in range(120))
    (tmp_path / "a.txt").write_text(f"{words} cost 5 crowns.")
    (tmp_path / "b.txt").write_text(f"{words.upper()}  cost 5 crowns.")
    (tmp_path / "c.txt").write_text(f"{words} cost 5 crowns, they say.")
    (tmp_path / "d.txt").write_text(f"{words} cost 6 crowns.")
    source, rows = read(tmp_path, size=2000)
    assert [r["_id"] for r in rows] == ["a.txt#1", "d.txt#1"]
    assert [(r["file"], r["corpus-id"], r["exact"]) for r in source.repeats] == [
        ("b.txt", "a.txt#1", True), ("c.txt", "a.txt#1", False),
    ]  # fmt: skip
    counts = source.info().counts
    assert counts["passages_repeated"] == 1
    assert counts["passages_nearly_repeated"] == 1
    assert counts["passages_nearly_repeated_with_other_numbers"] == 1


def test_headings_and_none_in_code() -> None:
    text = (
        "# Top\n\nFirst.\n\n```\n# no heading\n```\n\n## Part\n\nSecond.\n\n"
        "### The `snake_case` *name* ###\n\nThird.\n\n---\n\nFourth.\n"
    )
    result = [
        (text[start:end], headings)
        for start, end, headings in cut_page(
            DocumentPage(None, text, "", read_outline(text)[2]), 900, SEGMENTER
        )
    ]
    assert result == [
        ("First.\n\n```\n# no heading\n```", ("Top",)),
        ("Second.", ("Top", "Part")),
        ("Third.\n\n---\n\nFourth.", ("Top", "Part", "The snake_case name")),
    ]  # fmt: skip


def test_a_wrapped_sentence_is_cut_at_its_end_and_not_at_its_lines() -> None:
    text = "One two three four\nfive six seven. Eight nine\nten eleven twelve."
    cuts = cut_page(DocumentPage(None, text), 40, SEGMENTER)
    result = [text[start:end] for start, end, _ in cuts]
    assert result == ["One two three four\nfive six seven.", "Eight nine\nten eleven twelve."]


@given(st.text(alphabet="ab .\n#-=`。é字", max_size=400), st.integers(5, 60), st.booleans())
def test_no_text_is_lost_and_no_passage_is_too_long(text: str, size: int, marked: bool) -> None:
    """What stands in no passage are headings and white space."""
    breaks = read_outline(text)[2] if marked else ()
    assert all(one.level for one in breaks)
    rest = list(text)
    end = 0
    for first, last, _ in cut_page(DocumentPage(None, text, "", breaks), size, SEGMENTER):
        assert end <= first < last <= first + size
        end = last
        rest[first:last] = " " * (last - first)
    for one in breaks:
        rest[one.start : one.end] = " " * (one.end - one.start)
    assert not "".join(rest).strip()


def test_a_folder_is_a_source_to_mine_from(tmp_path: Path, inline: Inline) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "lakes.md").write_text("# Lakes\n\nLake Baikal is 1,642 metres deep.\n")
    folder, out = f"folder:{tmp_path / 'docs'}", tmp_path / "out"
    facts = f"beir:{EXAMPLES / 'facts'}"
    done = inline.ok("build", "rage", "--source", facts, "--extra-corpus", folder,
                  "--candidates", "bm25", "--out", out)  # fmt: skip
    assert "1 file read" in done.stdout
    inline.fails(
        1, "no-queries", "build", "rage", "--source", folder, "--candidates", "bm25", "--out", "no"
    )


def test_a_folder_without_any_text_says_why(tmp_path: Path) -> None:
    (tmp_path / "a.txt").touch()
    (tmp_path / "b.png").touch()
    with refused("empty-text", path=tmp_path) as caught:
        read(tmp_path)
    counted = "(1 file empty (first: a.txt); 1 file of another format"
    assert counted in str(caught.value)


def test_no_folder_is_named(tmp_path: Path) -> None:
    with refused("not-a-folder", path=tmp_path / "nothing"):
        DocumentFolder(tmp_path / "nothing")


def test_comments_and_tags_that_a_text_follows_are_read_at_once() -> None:
    """Each of them could be read as a part of the one before it: 2^40 readings."""
    for hidden in ("<!--a-->", "{%a%}"):
        text, _, breaks = read_outline(hidden * 40 + "x")
        assert (text[-1], breaks) == ("x", ())
    assert read_outline("<!--a--> b <!--c-->")[2] == ()
    assert len(read_outline("<!--a--> <!--c-->")[2]) == 1
