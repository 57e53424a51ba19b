"""Twins for annotators: is a rewrite as relevant, or as irrelevant, as its original?"""

from __future__ import annotations

import math

from citeforge.builders.recipes.derive import Base
from citeforge.engines.draws import sample_ids
from citeforge.evaluator.labels.annotation.export import Sheet, SheetRow
from citeforge.evaluator.labels.annotation.tasks import AnnotationTask
from citeforge.package.package import Package
from citeforge.schemas.benchmarks.tables import RELEVANT
from citeforge.schemas.errors import InputError


def twin_rows(
    task: AnnotationTask, package: Package, sample: int | None, seed: int
) -> tuple[list[SheetRow], dict[str, dict[str, object]]]:
    """Rows of (question, answer, original, rewrite) for the passages that contexts show.

    Args:
        task: ``twin-relevant`` or ``twin-nonrelevant``.
        package: benchmark with twins.
        sample: number of queries; None for the task's own share.
        seed: seed of sample and order.

    Returns:
        (rows, key by item: query_id, passage, twin).

    Raises:
        InputError: the benchmark has no twins.
    """
    base = Base(package.folder, package.manifest)
    pairs = zip(base.twins["_id"].to_pylist(), base.twins["twin_id"].to_pylist(), strict=True)
    twin_of = {human: twin for human, twin in pairs if twin}
    if not twin_of:
        raise InputError(
            "has no twins", path=package.folder, allowed="what `citeforge build twins` made"
        )
    size = math.ceil(task.share * len(base.query_ids)) if sample is None else sample
    queries = sample_ids(base.query_ids, size, seed, f"annotate {task.name}")
    wanted = task.name == "twin-relevant"
    shown: dict[str, list[str]] = {q: [] for q in queries}
    for name in base.manifest.contexts:
        docs = base.context(name)
        for query in queries:
            shown[query] += [
                d["corpus-id"] for d in docs[query] if (d["label"] == RELEVANT) == wanted
            ]
    texts = base.texts({i for ids in shown.values() for i in ids} | set(twin_of.values()))
    asked = dict(zip(base.query_ids, base.queries["text"].to_pylist(), strict=True))
    sheet = Sheet(task, seed)
    for query in queries:
        for passage in dict.fromkeys(shown[query]):
            if passage not in twin_of:
                continue
            where: dict[str, object] = {
                "query_id": query, "passage": passage, "twin": twin_of[passage],
            }  # fmt: skip
            row = {
                "question": asked[query],
                "answer": "; ".join(base.answers[query]),
                "original": texts[passage][1],
                "rewritten": texts[twin_of[passage]][1],
            }
            sheet.add(where, row)
    return sheet.shuffled()
