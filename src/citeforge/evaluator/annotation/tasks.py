"""Annotation tasks. A new one is a declaration here."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from citeforge.schemas.errors import UnknownValueError


class Task(BaseModel):
    """What annotators see and say.

    Attributes:
        name: as in ``annotate export --task``.
        unit: what one row is: ``answer``, ``statement`` or ``citation``.
        instruction: what the annotator is asked.
        columns: columns shown, in order.
        labels: allowed labels.
        ordinal: whether the labels are numbers in order (agreement counts distances).
        source: where the task comes from.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    unit: str
    instruction: str
    columns: tuple[str, ...]
    labels: tuple[str, ...]
    ordinal: bool = False
    source: str


_ALCE = "Gao et al. 2023 (ALCE), appendix F"

TASKS = {
    t.name: t
    for t in (
        Task(
            name="utility",
            unit="answer",
            instruction=(
                "How useful is this answer to somebody who asked the question? "
                "5 is a complete and clear answer, 1 does not help at all."
            ),
            columns=("question", "answer"),
            labels=("1", "2", "3", "4", "5"),
            ordinal=True,
            source=_ALCE,
        ),
        Task(
            name="statement-support",
            unit="statement",
            instruction=(
                "Do the cited passages, taken together, say everything that the statement says?"
            ),
            columns=("question", "statement", "passages"),
            labels=("full", "not"),
            source=_ALCE,
        ),
        Task(
            name="citation-support",
            unit="citation",
            instruction="How far does this one passage support the statement?",
            columns=("question", "statement", "passage"),
            labels=("full", "partial", "not"),
            source=_ALCE,
        ),
    )
}


def find_task(name: str) -> Task:
    """The task of a name.

    Raises:
        UnknownValueError: no such task.
    """
    if name not in TASKS:
        raise UnknownValueError("annotation task", name, TASKS)
    return TASKS[name]
