"""The explorer as a part of a page, with its data inside or in files beside."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from citeforge.evaluator.reports.markup import script_json
from citeforge.evaluator.reports.rows import main_measure
from citeforge.plugins.plots.explorer.chunks import make_chunks
from citeforge.plugins.plots.markup import render_markup, text_of
from citeforge.schemas.scores import ScoreFile

INLINE = 2_000_000
"""Bytes of data up to which a page carries all of them itself."""


@dataclass(frozen=True)
class Explorer:
    """What a page holds of the explorer.

    Attributes:
        html: the section, with the index.
        pieces: name of a chunk to its data; to be inlined or written as files (:func:`chunk_file`).
    """

    html: str
    pieces: dict[str, Any]


def explorer_part(files: Sequence[ScoreFile]) -> Explorer:
    """The explorer of score files; an empty one where none has values by query."""
    if not any(f.measures for f in files):
        return Explorer("", {})
    chunks = make_chunks(files, main_measure(files), _index_base(files))
    html = render_markup("explorer.html.j2", index=script_json(chunks.index))
    return Explorer(html, chunks.pieces)


def explorer_site(files: Sequence[ScoreFile]) -> tuple[str, dict[str, str]]:
    """Arguments and result are those of :meth:`Pages.explorer`."""
    part = explorer_part(files)
    beside = {
        "explorer.css": text_of("explorer.css"),
        "explorer.js": text_of("chunks.js", "explorer.js"),
    }
    pieces = {f"answers/{name}.js": chunk_file(name, p) for name, p in part.pieces.items()}
    return part.html, beside | pieces


def _index_base(files: Sequence[ScoreFile]) -> int:
    """Number of the first passage in marks, as signatures tell it."""
    for file in files:
        for measure in file.measures:
            for part in measure.signature.split("|"):
                if part.startswith("gram:0"):
                    return 0
    return 1


def chunk_file(name: str, piece: Any) -> str:
    """A chunk as a script, which a page may load from a disk, too."""
    text = json.dumps(piece, ensure_ascii=False, separators=(",", ":"))
    # Line ends of old JavaScript inside strings.
    text = text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return f"citeforgeChunk({json.dumps(name)},{text});\n"
