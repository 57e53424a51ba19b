"""Mapped negatives for annotators: are they really not relevant?"""

from __future__ import annotations

from citeforge.builders.audit.run import sample_negatives
from citeforge.builders.derive import Base
from citeforge.evaluator.annotation.export import Row, Sheet
from citeforge.evaluator.annotation.tasks import Task
from citeforge.package.package import Package
from citeforge.schemas.errors import InputError

DEFAULT = 200


def negative_rows(
    task: Task, package: Package, sample: int | None, seed: int
) -> tuple[list[Row], dict[str, dict[str, object]]]:
    """Rows of a uniform sample of (query, negative) pairs.

    Args:
        task: ``audit-negative``.
        package: benchmark.
        sample: pairs; None for 200.
        seed: seed of sample and order.

    Raises:
        InputError: the benchmark has no mapped negatives.
    """
    base = Base(package.folder, package.manifest)
    pairs = sample_negatives(base, sample or DEFAULT, seed)
    if not pairs:
        raise InputError("has no mapped negatives", path=package.folder)
    texts = base.texts({p for _, p in pairs})
    asked = dict(zip(base.query_ids, base.queries["text"].to_pylist(), strict=True))
    sheet = Sheet(task, seed)
    for query, passage in pairs:
        title, text = texts[passage]
        shown = {"question": asked[query], "passage": f"{title}: {text}" if title else text}
        where: dict[str, object] = {"query_id": query, "passage": passage}
        sheet.add(where, shown)
    return sheet.rows, sheet.key
