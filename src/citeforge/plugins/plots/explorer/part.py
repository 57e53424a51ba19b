"""The explorer as a part of a page, with its data inside or in files beside."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from citeforge.evaluator.reports.markup import script_json
from citeforge.evaluator.reports.rows import main_measure
from citeforge.plugins.plots.explorer.chunks import make_chunks
from citeforge.plugins.plots.markup import render_markup, text_of
from citeforge.schemas.scores import ScoreFile

INLINE = 2_000_000
"""Bytes of data up to which a page carries all of them itself."""


def explorer_part(files: Sequence[ScoreFile]) -> tuple[str, dict[str, Any]]:
    """The explorer of score files; an empty one where none has values by query.

    Returns:
        The section of a page with the index, and chunks of data by name, to be inlined or written
        as files (:func:`chunk_file`).
    """
    if not any(f.measures for f in files):
        return "", {}
    index, pieces = make_chunks(files, main_measure(files), _index_base(files))
    return render_markup("explorer.html.j2", index=script_json(index)), pieces


def explorer_site(files: Sequence[ScoreFile]) -> tuple[str, dict[str, str]]:
    """Arguments and result are those of :meth:`Pages.explorer`."""
    html, pieces = explorer_part(files)
    beside = {f"answers/{name}.js": chunk_file(name, piece) for name, piece in pieces.items()}
    beside["explorer.css"] = text_of("explorer.css")
    beside["explorer.js"] = text_of("chunks.js", "explorer.js")
    return html, beside


def _index_base(files: Sequence[ScoreFile]) -> int:
    """Number of the first passage in marks, as signatures tell it."""
    return 0 if any("|gram:0" in m.signature for f in files for m in f.measures) else 1


def chunk_file(name: str, piece: Any) -> str:
    """A chunk as a script, which a page may load from a disk, too."""
    text = json.dumps(piece, ensure_ascii=False, separators=(",", ":"))
    # Line ends of old JavaScript inside strings.
    text = text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return f"citeforgeChunk({json.dumps(name)},{text});\n"
