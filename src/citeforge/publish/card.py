"""``export card``: everything that is said about a package, rendered again from what is known."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from citeforge.builders.packaging.card import Beside
from citeforge.builders.packaging.package import refreshed
from citeforge.builders.packaging.stats import WORDS, word_lengths
from citeforge.engines.io.folders import amending
from citeforge.package.manifest import AUDIT, SCORES, load_intact, load_manifest, read_stats
from citeforge.package.package import Package
from citeforge.publish.community import FILE as EVALS
from citeforge.publish.community import render_evals
from citeforge.publish.croissant import FILE as CROISSANT
from citeforge.publish.croissant import render_croissant
from citeforge.schemas.benchmarks.manifest import Manifest
from citeforge.schemas.scores import ScoreFile

_MEASURE = {"name", "signature", "value", "low", "high"}
_OF_TABLES: Any = {"system": True, "context": True, "measures": {"__all__": _MEASURE}}
"""Of a score file only what a table shows."""


def write_card(
    folder: Path,
    scores: Sequence[ScoreFile] = (),
    version: str | None = None,
    audit: str | None = None,
    checked: Package | None = None,
    lengths: Mapping[str, int] | None = None,
) -> Manifest:
    """Render ``README.md``, ``croissant.json`` and ``eval.yaml`` of a package; its tables stay.

    All files change together, or none.

    Args:
        folder: package.
        scores: reference scores to show; those given before stay when none are given.
        version: version of the benchmark; None to leave it.
        audit: text of a new ``audit.json``; None to leave it.
        checked: the package, when its files have been checked already.
        lengths: its passages by number of words, when they have been counted already.

    Raises:
        InputError: not a package, a file of it is damaged, or it cannot be written.
    """
    load_manifest(folder)
    with amending(folder) as files:
        manifest = load_manifest(folder)
        # Between the check and the lock somebody else may have changed it.
        if checked is None or checked.manifest != manifest:
            manifest = load_intact(folder, beside=True)
        if version is not None:
            manifest = manifest.model_copy(update={"version": version})
        stats = read_stats(folder)
        words = word_lengths(Package(folder, manifest)) if lengths is None else lengths
        if words:
            stats[WORDS] = dict(words)
        changed = {}
        if scores:
            rows = [s.model_dump(include=_OF_TABLES) for s in scores]
            changed[SCORES] = json.dumps(rows, ensure_ascii=False, indent=1) + "\n"
        if audit is not None:
            changed[AUDIT] = audit
        content = Beside.read(folder, changed).audit
        evals = render_evals(manifest)
        if evals is not None:
            changed[EVALS] = evals
        changed[CROISSANT] = render_croissant(folder, manifest, content)
        manifest, new_files = refreshed(folder, manifest, stats, changed)
        files |= new_files
        return manifest
