"""Annotation tasks. A new one is an entry in ``data/tasks.toml``."""

import tomllib
from pathlib import Path

from citeforge.schemas.errors import UnknownValueError
from citeforge.schemas.record import FrozenRecord

SheetItem = tuple[dict[str, object], dict[str, str]]
"""Where a row for annotators comes from, which the key tells, and the columns of its task."""


class AnnotationTask(FrozenRecord):
    """What annotators see and say.

    Attributes:
        name: as in ``labels export --task``.
        unit: what one row is: ``answer``, ``statement``, ``citation`` (of score files), ``twin``
            (of a benchmark with twins), ``question`` or ``knowledge`` (of a kalma benchmark),
            ``negative`` (of any benchmark with mapped negatives), or ``unsure`` (of one that keeps
            what its models could not decide).
        instruction: what the annotator is asked.
        columns: columns shown, in order.
        labels: allowed labels.
        ordinal: whether the labels are numbers in order (agreement counts distances).
        source: where the task comes from.
        share: part of the queries that is sampled when nobody says how many.
    """

    name: str
    unit: str
    instruction: str
    columns: tuple[str, ...]
    labels: tuple[str, ...]
    ordinal: bool = False
    source: str
    share: float = 1.0

    @property
    def of_benchmark(self) -> bool:
        """Whether the rows come from a benchmark, not from score files."""
        return self.unit not in ("answer", "statement", "citation")


_ROWS = tomllib.loads((Path(__file__).parent / "data" / "tasks.toml").read_text(encoding="utf-8"))
TASKS = {name: AnnotationTask(name=name, **row) for name, row in _ROWS.items()}


def find_task(name: str) -> AnnotationTask:
    """The task of a name.

    Raises:
        UnknownValueError: no such task.
    """
    if name not in TASKS:
        raise UnknownValueError("annotation task", name, TASKS)
    return TASKS[name]
