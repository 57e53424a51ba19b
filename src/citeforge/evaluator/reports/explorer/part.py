"""The explorer as a part of a page, with its data inside or in files beside."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from citeforge.evaluator.reports.explorer.chunks import make_chunks
from citeforge.evaluator.reports.markup import render_markup, script_json
from citeforge.schemas.scores import ScoreFile

INLINE = 2_000_000
"""Bytes of data up to which a page carries all of them itself."""


@dataclass(frozen=True)
class Explorer:
    """What a page holds of the explorer.

    Attributes:
        html: the section, with the index.
        pieces: name of a chunk to its data; to be inlined (:func:`inlined`) or written as files
            (:func:`chunk_file`).
    """

    html: str
    pieces: dict[str, Any]


def explorer_part(files: Sequence[ScoreFile], by: str, base: int) -> Explorer:
    """The explorer of score files; an empty one where none has values by query."""
    if not any(f.measures for f in files):
        return Explorer("", {})
    chunks = make_chunks(files, by, base)
    html = render_markup("explorer.html.j2", index=script_json(chunks.index))
    return Explorer(html, chunks.pieces)


def inlined(pieces: Mapping[str, Any]) -> str:
    """All chunks as the content of one element."""
    return script_json(pieces)


def chunk_file(name: str, piece: Any) -> str:
    """A chunk as a script, which a page may load from a disk, too."""
    text = json.dumps(piece, ensure_ascii=False, separators=(",", ":"))
    # Line ends of old JavaScript inside strings.
    text = text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return f"citeforgeChunk({json.dumps(name)},{text});\n"
