"""Texts in the code pages of many languages are read as they were written, or left out."""

from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citeforge.plugins.documents.encodings import declared_encoding, decode_text
from citeforge.plugins.documents.source import DocumentFolder
from plugins.documents.code_pages import TEXTS, samples

LATIN = "fr es de pt it nl da sv nb fi ca eu sq"
PAGES = {
    **dict.fromkeys(LATIN.split(), ("cp1252", "iso8859_15")),
    **dict.fromkeys("pl cs sk hu sl hr ro".split(), ("cp1250", "iso8859_2")),
    "ru": ("cp1251", "koi8_r", "cp866"), "uk": ("cp1251", "koi8_u"), "bg": ("cp1251",),
    "sr": ("cp1251",), "el": ("cp1253", "iso8859_7"), "tr": ("cp1254",), "he": ("cp1255",),
    "ar": ("cp1256",), "fa": ("cp1256",), "ur": ("cp1256",), "lt": ("cp1257",), "zh": ("gbk",),
    "ja": ("cp932", "euc_jp", "iso2022_jp"), "ko": ("cp949",),
}  # fmt: skip


def read(folder: Path) -> tuple[DocumentFolder, dict[str, str]]:
    """A folder that was read, and file to the text of its first passage."""
    source = DocumentFolder(folder, 2000)
    rows = [row for batch in source.passages() for row in batch.to_pylist()]
    return source, {row["_id"].partition("#")[0]: row["text"] for row in rows}


def text_of(data: bytes) -> str | None:
    decoded = decode_text(data)
    return None if decoded is None else decoded.text


@pytest.mark.numeric
@pytest.mark.parametrize("language", TEXTS)
def test_short_and_long_texts_in_their_code_pages(language: str) -> None:
    for _, page, length, text in (row for row in samples() if row[0] == language):
        assert text_of(text.encode(page)) == text, (page, length)


@pytest.mark.slow
@pytest.mark.numeric
def test_sentences_that_the_rules_were_not_written_for() -> None:
    """spaCy's examples, sentence by sentence and together: hardly one is read wrongly."""
    n = {"sentence": 0, "text": 0}
    right, wrong = dict(n), dict(n)
    for language, pages in PAGES.items():
        sentences = import_module(f"spacy.lang.{language}.examples").sentences
        for page in pages:
            rows = [("sentence", s) for s in sentences] + [("text", "\n".join(sentences))]
            for what, row in rows:
                text = row.encode(page, "ignore").decode(page)
                if text.isascii():
                    continue
                decoded = text_of(text.encode(page))
                n[what] += 1
                right[what] += decoded == text
                wrong[what] += decoded not in (text, None)
    assert n["sentence"] > 300 and n["text"] > 40
    assert right["text"] == n["text"]
    assert right["sentence"] >= 0.96 * n["sentence"]
    assert wrong["sentence"] <= 0.02 * n["sentence"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8-sig"])
@pytest.mark.parametrize("text", ["Grüße.\n", "川にかかる橋\n", "The bridge opened in 1964.\n"])
def test_unicode_with_a_mark_or_without(text: str, encoding: str) -> None:
    assert text_of(text.encode(encoding)) == text


@given(st.text(st.characters(exclude_categories=("Cc", "Cn", "Co", "Cs")), min_size=1))
def test_any_text_in_unicode(text: str) -> None:
    for encoding in ("utf-8", "utf-16", "utf-32"):
        decoded = decode_text(text.encode(encoding))
        assert decoded is not None
        assert decoded.text.removeprefix("\ufeff") == text.removeprefix("\ufeff")
        assert decoded.encoding == (None if encoding == "utf-8" else encoding)


@pytest.mark.parametrize(
    "data",
    [
        bytes(range(256)) * 10, b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(128, 256)),
        b"text\0with a NUL", b"\xff\xfea", "Où es-tu ?".encode("cp1252"),
    ],
)  # fmt: skip
def test_what_is_no_text_or_not_clear_is_not_decoded(data: bytes) -> None:
    assert decode_text(data) is None


def test_the_first_sign_outside_ascii_may_be_far_away() -> None:
    text = "All is well. \n" * 50_000 + "Le café est situé près de la mairie, où il fait bon.\n"
    assert text_of(text.encode("cp1252")) == text


def test_files_are_counted_by_the_encoding_that_they_were_read_in(tmp_path: Path) -> None:
    french, polish = TEXTS["French"][1], TEXTS["Polish"][1]
    (tmp_path / "a.txt").write_text(french, encoding="utf-8")
    (tmp_path / "b.txt").write_text(french, encoding="cp1252")
    (tmp_path / "c.md").write_text(polish, encoding="cp1250")
    (tmp_path / "d.txt").write_text(polish, encoding="utf-16")
    (tmp_path / "e.txt").write_bytes("Où es-tu ?".encode("cp1252"))
    source, texts = read(tmp_path)
    assert texts["a.txt"] == french.strip()
    assert texts["c.md"].split() == polish.split()
    # The same text again
    assert [(row["file"], row["exact"]) for row in source.repeats] == [
        ("b.txt", True), ("d.txt", True)
    ]  # fmt: skip
    counts = source.info().counts.items()
    assert {key: n for key, n in counts if key.startswith(("files_not", "files_in"))} == {
        "files_in_another_encoding[cp1252][b.txt]": 1,
        "files_in_another_encoding[cp1250][c.md]": 1,
        "files_in_another_encoding[utf-16][d.txt]": 1,
        "files_not_read[in an encoding that is not clear][e.txt]": 1,
    }


def page_of(text: str, head: str = "") -> str:
    lines = "".join(f"<p>{line}</p>\n" for line in text.splitlines())
    return f"<html><head>{head}<title>A</title></head><body><h1>A</h1>\n{lines}</body></html>"


@pytest.mark.parametrize(
    ("head", "encoding", "label"),
    [
        ("", "cp1252", "cp1252"),
        ('<meta charset="iso-8859-1">', "cp1252", "cp1252"),
        ('<meta charset="utf-8">', "cp1252", "cp1252"),  # which is not true
        ('<meta charset="no-such">', "cp1252", "cp1252"),
        ('<meta http-equiv="Content-Type" content="text/html; charset=mac-roman">', "mac-roman",
         "mac-roman"),
        ('<meta charset="utf-16">', "utf-16", "utf-16"),
        ('<meta charset="iso-8859-1">', "utf-8", None),  # the bytes are UTF-8 all the same
    ],
)  # fmt: skip
def test_web_pages_are_read_as_they_declare_or_as_their_language_is_written(
    tmp_path: Path, head: str, encoding: str, label: str | None
) -> None:
    french = TEXTS["French"][1].replace("€", "euros")
    (tmp_path / "a.html").write_bytes(page_of(french, head).encode(encoding))
    source, texts = read(tmp_path)
    for line in french.splitlines():
        assert " ".join(line.split()) in " ".join(texts["a.html"].split())
    assert source.documents[0].notes.encoding == label


def test_declarations_of_encodings() -> None:
    for page, name in (
        (b'<?xml version="1.0" encoding="shift_jis"?><html>', "cp932"),
        (b"<META CHARSET=gb2312>", "gb18030"),
        (b'<meta name="a" content="b"><meta charset=Windows-1251 >', "cp1251"),
        (b"<p>charset=cp1251</p>", None),
        (b"", None),
    ):
        assert declared_encoding(page) == name
