"""Annotation tasks. A new one is a declaration here."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from citeforge.schemas.errors import UnknownValueError


class AnnotationTask(BaseModel):
    """What annotators see and say.

    Attributes:
        name: as in ``annotate export --task``.
        unit: what one row is: ``answer``, ``statement``, ``citation`` (of score files), ``twin``
            (of a benchmark with twins), ``question`` or ``knowledge`` (of a kalma benchmark), or
            ``negative`` (of any benchmark with mapped negatives).
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

    @property
    def of_benchmark(self) -> bool:
        """Whether the rows come from a benchmark, not from score files."""
        return self.unit not in ("answer", "statement", "citation")


_ALCE = "Gao et al. 2023 (ALCE), appendix F"
_AUTHORSHIP = "Abolghasemi et al. 2025, appendix A"
_KALMA = "Li et al. 2024 (KaLMA), appendix C"
_RATING = ("1", "2", "3", "4", "5")

TASKS = {
    t.name: t
    for t in (
        AnnotationTask(
            name="utility",
            unit="answer",
            instruction=(
                "How useful is this answer to somebody who asked the question? "
                "5 is a complete and clear answer, 1 does not help at all."
            ),
            columns=("question", "answer"),
            labels=_RATING,
            ordinal=True,
            source=_ALCE,
        ),
        AnnotationTask(
            name="statement-support",
            unit="statement",
            instruction=(
                "Do the cited passages, taken together, say everything that the statement says?"
            ),
            columns=("question", "statement", "passages"),
            labels=("full", "not"),
            source=_ALCE,
        ),
        AnnotationTask(
            name="citation-support",
            unit="citation",
            instruction="How far does this one passage support the statement?",
            columns=("question", "statement", "passage"),
            labels=("full", "partial", "not"),
            source=_ALCE,
        ),
        AnnotationTask(
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
        AnnotationTask(
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
        AnnotationTask(
            name="audit-negative",
            unit="negative",
            instruction="Does the passage help to answer the question?",
            columns=("question", "passage"),
            labels=("relevant", "not relevant"),
            source="citeforge audit",
        ),
        AnnotationTask(
            name="kalma-authenticity",
            unit="question",
            instruction="Does the question agree with what is known of the people or things in it?",
            columns=("question",),
            labels=("yes", "no"),
            source=_KALMA,
        ),
        AnnotationTask(
            name="kalma-naturalness",
            unit="question",
            instruction="How natural, short and easy to understand is the question? 5 is best.",
            columns=("question",),
            labels=_RATING,
            ordinal=True,
            source=_KALMA,
        ),
        AnnotationTask(
            name="kalma-significance",
            unit="question",
            instruction="Would somebody want to know the answer? 5: surely; 1: nobody would ask.",
            columns=("question",),
            labels=_RATING,
            ordinal=True,
            source=_KALMA,
        ),
        AnnotationTask(
            name="kalma-relevance",
            unit="knowledge",
            instruction="Is this fact needed to answer the question, or could it be left out?",
            columns=("question", "fact"),
            labels=("needed", "redundant"),
            source=_KALMA,
        ),
        AnnotationTask(
            name="knowledge-support",
            unit="citation",
            instruction="Does the statement say what the cited fact says?",
            columns=("question", "statement", "passage"),
            labels=("yes", "no"),
            source=_KALMA,
        ),
    )
}


def find_task(name: str) -> AnnotationTask:
    """The task of a name.

    Raises:
        UnknownValueError: no such task.
    """
    if name not in TASKS:
        raise UnknownValueError("annotation task", name, TASKS)
    return TASKS[name]
