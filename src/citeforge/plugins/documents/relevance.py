"""What people say of passages on which the models did not agree."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from citeforge.engines.io.jsonlines import read_rows
from citeforge.plugins.documents.questions import Question
from citeforge.schemas.errors import InputError


class RelevanceLabel(msgspec.Struct):
    """A line of ``labels import``; further fields are not needed here."""

    query_id: str
    passage: str
    question: str | None = None
    label: str | None = None


def take_labels(questions: Iterable[Question], files: Sequence[Path]) -> dict[str, int]:
    """Passages that people called relevant become so; those that they did not may be negatives.

    Args:
        questions: of the build; their passages are changed.
        files: what ``labels import`` wrote.

    Returns:
        How many labels were taken, by label.

    Raises:
        InputError: labels of another build, or other labels.
    """
    by_id = {q.id: q for q in questions if q.is_open}
    counts: dict[str, int] = {}
    for path in files:
        for line, row in read_rows(path, RelevanceLabel):
            question = by_id.get(row.query_id)
            if question is None or row.question not in (None, question.text):
                raise InputError(
                    f"is about a question {row.query_id!r} that this build does not ask",
                    path=path, line=line, field="query_id",
                    allowed="labels of this build: the same options, and --store with its "
                    "OUT.replay.db",
                )  # fmt: skip
            if row.label is None:
                continue
            for passages in (question.relevant, question.unsure):
                if row.passage in passages:
                    passages.remove(row.passage)
            if row.label == "relevant":
                question.relevant.append(row.passage)
            elif row.label != "not relevant":
                raise InputError(
                    f"{row.label!r} is no label of relevance", path=path, line=line, field="label",
                    allowed="relevant, not relevant",
                )  # fmt: skip
            what = f"passages that people call {row.label}"
            counts[what] = counts.get(what, 0) + 1
    return counts
