"""Recognition of files and folders of sources, where something else was expected."""

import re
from dataclasses import dataclass
from pathlib import Path

import msgspec

from citeforge.engines.jsonlines import UNREADABLE, read_start

_START = 1 << 16
"""Bytes of a file that are looked at."""
_ENDINGS = {".jsonl", ".tsv", ".gz"}
_ANSWER_FIELDS = {"query_id", "output", "answer", "response"}
_JUDGEMENTS = re.compile(rb"query[-_]id\tcorpus[-_]id\b", re.IGNORECASE)
"""Header of BEIR's judgements."""


@dataclass(frozen=True)
class RecognisedSource:
    """A file or folder of a source.

    Attributes:
        noun: what it is, such as ``a BEIR folder``.
        spec: what reads it, as ``--source`` takes it.
    """

    noun: str
    spec: str


def recognise_source(path: Path, first_bytes: bytes | None = None) -> RecognisedSource | None:
    """Recognise BEIR's folders and files, and HAGRID's files; None for anything else.

    Args:
        path: file or folder.
        first_bytes: first bytes of the file; None to read them.

    Raises:
        InputError: the file cannot be read.
    """
    if path.is_dir():
        is_beir = any((path / f"corpus.jsonl{gz}").is_file() for gz in ("", ".gz"))
        return RecognisedSource("a BEIR folder", f"beir:{path}") if is_beir else None
    if first_bytes is None:
        first_bytes = read_start(path, _START) if path.suffix in _ENDINGS else b""
    line = first_bytes.lstrip().partition(b"\n")[0]
    if _JUDGEMENTS.match(line):
        return RecognisedSource("a file of BEIR's judgements", f"beir:{path.parent.parent}")
    try:
        fields = set(msgspec.json.decode(line, type=dict))
    except UNREADABLE:
        return None
    if {"query", "quotes", "answers"} <= fields:
        return RecognisedSource("a file of HAGRID's data set", f"hagrid:{path}")
    if {"_id", "text"} <= fields and not fields & _ANSWER_FIELDS:
        noun = "a BEIR corpus" if "title" in fields else "a file of BEIR's queries"
        return RecognisedSource(noun, f"beir:{path.parent}")
    return None
