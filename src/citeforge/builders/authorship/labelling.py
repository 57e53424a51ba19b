"""What the prompts of a cell say of each passage."""

from __future__ import annotations

import re

from citeforge.builders.packaging.prompts import Labelling
from citeforge.engines.io.tables import rows_of
from citeforge.package.package import Package
from citeforge.schemas.benchmarks.authorship import design_of


def labelling_of(package: Package, context: str) -> Labelling:
    """Labels, the note on them, and what a passage must not say of itself.

    Args:
        package: an authorship benchmark.
        context: cell of its design.
    """
    design = design_of(package.manifest)
    words = {w for s in design.label_sets for w in (*s.first, *s.second)}
    # A passage that says "[LLM]" of itself must not pass for labelled.
    own = re.compile(r"\[(" + "|".join(map(re.escape, sorted(words))) + r")\]")
    cell = design.find(context)
    if cell.labels is None:
        return Labelling(own=own)
    labels = design.label_set(cell.labels)
    table = package.authors(context)
    labels_of = {
        query: [labels.phrase.replace("{label}", w) for w in words]
        for query, words in rows_of(table, "query_id", "labels")
    }
    return Labelling(labels.note, labels_of, own)
