"""``card``: everything that is said about a package, rendered again from what is known."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc

from citeforge.builders.card import Beside
from citeforge.builders.package import refreshed
from citeforge.engines.folders import amending
from citeforge.engines.tables import iter_batches, shard_paths
from citeforge.package.manifest import AUDIT, SCORES, load_intact, load_manifest, read_stats
from citeforge.publish.croissant import FILE as CROISSANT
from citeforge.publish.croissant import render_croissant
from citeforge.schemas.manifest import Manifest
from citeforge.schemas.scores import ScoreFile

WORDS = "words per passage"
_EDGES = (10, 20, 40, 80, 160, 320, 640)


def write_card(
    folder: Path,
    scores: Sequence[ScoreFile] = (),
    version: str | None = None,
    audit: str | None = None,
) -> Manifest:
    """Render ``README.md`` and ``croissant.json`` of a package; its tables stay.

    All files change together, or none.

    Args:
        folder: package.
        scores: reference scores to show; those given before stay when none are given.
        version: version of the benchmark; None to leave it.
        audit: text of a new ``audit.json``; None to leave it.

    Raises:
        InputError: not a package, a file of it is damaged, or it cannot be written.
    """
    load_manifest(folder)
    with amending(folder) as write:
        manifest = load_intact(folder, beside=True)
        if version is not None:
            manifest = manifest.model_copy(update={"version": version})
        stats = read_stats(folder)
        corpus = shard_paths(folder / "corpus", "corpus")
        if corpus:
            stats[WORDS] = word_counts(corpus)
        changed = {}
        if scores:
            rows = [_short(s) for s in scores]
            changed[SCORES] = json.dumps(rows, ensure_ascii=False, indent=1) + "\n"
        if audit is not None:
            changed[AUDIT] = audit
        content = Beside.read(folder, changed).audit
        changed[CROISSANT] = render_croissant(folder, manifest, content)
        manifest, files = refreshed(folder, manifest, stats, changed)
        write(files)
        return manifest


def _short(file: ScoreFile) -> dict[str, Any]:
    """Of a score file only what a table shows."""
    keys = {"name", "signature", "value", "low", "high"}
    return {
        "system": file.system,
        "context": file.context,
        "measures": [m.model_dump(include=keys) for m in file.measures],
    }


def word_counts(corpus: Sequence[Path]) -> dict[str, int]:
    """Passages by number of words; the chart in the card."""
    counts = np.zeros(len(_EDGES) + 1, np.int64)
    for batch in iter_batches(corpus, ["text"]):
        words = pc.count_substring_regex(batch["text"], r"\S+").to_numpy()
        counts += np.bincount(np.searchsorted(_EDGES, words), minlength=len(counts))
    names = [f"up to {_EDGES[0]}", *(f"to {e}" for e in _EDGES[1:]), "more"]
    return dict(zip(names, counts.tolist(), strict=True))
