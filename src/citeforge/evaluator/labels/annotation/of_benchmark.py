"""Rows for annotators that come from a benchmark, not from score files."""

from __future__ import annotations

from pathlib import Path

from citeforge.evaluator.labels.annotation.export import SheetRow
from citeforge.evaluator.labels.annotation.kalma import kalma_rows
from citeforge.evaluator.labels.annotation.negatives import negative_rows
from citeforge.evaluator.labels.annotation.tasks import AnnotationTask
from citeforge.evaluator.labels.annotation.twins import twin_rows
from citeforge.package.package import Package
from citeforge.schemas.errors import InputError

_MAKERS = {
    "twin": twin_rows, "negative": negative_rows, "question": kalma_rows, "knowledge": kalma_rows,
}  # fmt: skip


def benchmark_rows(
    task: AnnotationTask, folder: Path, sample: int | None, seed: int
) -> tuple[list[SheetRow], dict[str, dict[str, object]]]:
    """Rows of a task that looks at a benchmark, and the key that tells what each item is.

    Args:
        task: one with ``of_benchmark``.
        folder: benchmark.
        sample: how many; None for the task's own number.
        seed: seed of sample and order.

    Raises:
        InputError: not a package, a kind that the task is not about, or nothing to annotate.
    """
    package = Package(folder)
    if task.name not in package.kind.annotation:
        raise InputError(
            f"{task.name}: {package.kind.refusal('annotate')}",
            path=folder,
            allowed=f"its tasks: {', '.join(package.kind.annotation)}",
        )
    return _MAKERS[task.unit](task, package, sample, seed)
