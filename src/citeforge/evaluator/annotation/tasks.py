"""Annotation tasks. A new one is a declaration here."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from citeforge.schemas.errors import UnknownValueError


class Task(BaseModel):
    """What annotators see and say.

    Attributes:
        name: as in ``annotate export --task``.
        unit: what one row is: ``answer``, ``statement``, ``citation`` (of score files) or ``twin``
            (of a benchmark with twins).
        instruction: what the annotator is asked.
        columns: columns shown, in order.
        labels: allowed labels.
        ordinal: whether the labels are numbers in order (agreement counts distances).
        source: where the task comes from.
        share: part of the queries that is sampled when nobody says how many.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    unit: str
    instruction: str
    columns: tuple[str, ...]
    labels: tuple[str, ...]
    ordinal: bool = False
    source: str
    share: float = 1.0


_ALCE = "Gao et al. 2023 (ALCE), appendix F"
_AUTHORSHIP = "Abolghasemi et al. 2025, appendix A"

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
        Task(
            name="twin-relevant",
            unit="twin",
            instruction=(
                "Is the rewritten passage still relevant to the question, and does it contain "
                "the answer that the original contains?"
            ),
            columns=("question", "answer", "original", "rewritten"),
            labels=("yes", "no"),
            source=_AUTHORSHIP,
        ),
        Task(
            name="twin-nonrelevant",
            unit="twin",
            instruction=(
                "Is the rewritten passage still not relevant to the question, and does it not "
                "contain the answer?"
            ),
            columns=("question", "answer", "original", "rewritten"),
            labels=("yes", "no"),
            source=_AUTHORSHIP,
            share=0.1,
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
