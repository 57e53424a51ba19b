"""Decisions of a person about questions: keep, edit or drop, by a sheet of ``labels export``."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from citeforge.builders.shares import share_with_interval
from citeforge.engines.files import read_json
from citeforge.engines.textfiles import read_csv, unescape_formula
from citeforge.plugins.documents.checks import PERSON
from citeforge.plugins.documents.questions import Question, find_count_fault
from citeforge.schemas.counts import count_key
from citeforge.schemas.errors import InputError

KEEP, EDIT, DROP = LABELS = ("keep", "edit", "drop")
_NEW = ("new_question", "new_answers", "new_statement", "new_premise", "new_corrected")
"""Columns with the new texts of an edited question."""
_TEXTS = ("question", "statement", "premise", "corrected")
"""New texts that are one line each."""
_COLUMNS = ("item", "label", *_NEW, "why")
"""Columns of a sheet that are read."""


class _Origin(msgspec.Struct):
    """Origin of a row of the sheet; further fields are not needed here."""

    query_id: str
    question: str


class _Key(msgspec.Struct):
    """Key file that ``labels export`` writes beside a sheet."""

    task: str
    items: dict[str, _Origin]


@dataclass
class Decisions:
    """Questions by the decision about them.

    Attributes:
        labels: id of a question to keep, edit or drop.
        edited: questions whose texts were changed, which have to be checked again.
    """

    labels: dict[str, str] = field(default_factory=dict)
    edited: list[Question] = field(default_factory=list)


def apply_decisions(questions: Sequence[Question], sheet: Path) -> Decisions:
    """Apply a person's decisions in a CSV sheet to accepted questions; drop undecided ones.

    Args:
        questions: questions of the build, whose texts and rejections are changed.
        sheet: CSV file of ``labels export --task questions``, filled in; its key file is beside it.

    Raises:
        InputError: a sheet of another build, an unknown label, or an edit without a new text, or
            with another number of answers, or a further text, than its form has.
    """
    origins = read_key_file(sheet)
    by_id = {q.id: q for q in questions if q.is_accepted}
    decisions = Decisions()
    for line, row in read_csv(sheet, _COLUMNS):
        cells = {name: unescape_formula(row[name] or "").strip() for name in _COLUMNS}
        origin = origins.get(cells["item"])
        question = None if origin is None else by_id.get(origin.query_id)
        if origin is None or question is None or question.text != origin.question:
            raise InputError(
                f"this build has no question for the row {cells['item']!r}", path=sheet, line=line,
                field="item", code="unknown-query",
                allowed="a sheet of this build: the same options, and --store with its "
                "OUT.replay.db",
            )  # fmt: skip
        if question.id in decisions.labels:
            raise InputError(
                f"decides {question.id} twice", path=sheet, line=line, field="item",
                code="duplicate-key",
            )  # fmt: skip
        label = cells["label"].lower()
        if not label:
            continue
        if label not in LABELS:
            raise InputError(
                f"unknown label {cells['label']!r}", path=sheet, line=line, field="label",
                allowed=", ".join(LABELS), code="wrong-value",
            )  # fmt: skip
        decisions.labels[question.id] = label
        if label == DROP:
            question.reject(PERSON, cells["why"] or "dropped, no reason given")
        elif label == EDIT:
            _edit_question(question, cells, sheet, line)
            decisions.edited.append(question)
    for name, question in by_id.items():
        if name not in decisions.labels:
            question.reject(PERSON, "not decided")
    return decisions


def read_key_file(sheet: Path) -> dict[str, _Origin]:
    """Read the key file of a decision sheet: id of each row to its question.

    Raises:
        InputError: it is missing, or of another task.
    """
    path = sheet.with_name(f"{sheet.name}.key.json")
    if not path.is_file():
        raise InputError(
            f"is missing: it says which question each row of {sheet.name} is about", path=path,
            allowed="the key file that labels export --task questions wrote beside the sheet, "
            "under this name",
            code="missing-file",
        )  # fmt: skip
    try:
        key = msgspec.convert(read_json(path), _Key)
    except msgspec.ValidationError as error:
        raise InputError(
            f"is not the key file of a sheet of questions ({error})", path=path,
            allowed="what labels export --task questions wrote beside the sheet",
            code="schema-mismatch",
        ) from error  # fmt: skip
    if key.task != "questions":
        raise InputError(
            f"is of the task {key.task}", path=path, allowed="labels export --task questions",
            code="wrong-kind",
        )  # fmt: skip
    return key.items


def _edit_question(question: Question, cells: dict[str, str], sheet: Path, line: int) -> None:
    """Replace a question's texts by those of a decision sheet's row; clear what checks found.

    Raises:
        InputError: the row has no new text, or answers or a further text that its form has not.
    """
    if not any(cells[name] for name in _NEW):
        raise InputError(
            "is edited without a new text", path=sheet, line=line, field="new_question",
            allowed=f"{', '.join(_NEW)} (new_answers: one per line); or the label keep",
            code="missing-field",
        )  # fmt: skip
    form = question.spec.form.name
    for name in ("premise", "corrected"):
        if cells[f"new_{name}"] and question.further_text != name:
            raise InputError(
                f"is filled in, and questions of the form {form} have no such text", path=sheet,
                line=line, field=f"new_{name}", allowed="an empty cell", code="wrong-value",
            )  # fmt: skip
    texts = {name: " ".join(cells[f"new_{name}"].split()) for name in _TEXTS}
    question.text = texts.pop("question") or question.text
    for name, text in texts.items():
        setattr(question, name, text or getattr(question, name))
    answers = [a.strip() for a in cells["new_answers"].splitlines() if a.strip()]
    if answers:
        question.answers, question.aliases = list(dict.fromkeys(answers)), []
        if fault := find_count_fault(question):
            raise InputError(
                fault, path=sheet, line=line, field="new_answers", code="wrong-value",
                allowed=f"as many answers, one per line, as the form {form} has",
            )  # fmt: skip
    question.relevant, question.unsure = [], []


def decision_stats(decisions: Decisions, questions: Iterable[Question]) -> dict[str, str]:
    """Compute the share of decided questions that were kept, by form (``single``, ``list``, …).

    Edited questions are kept if they pass the checks again.
    """
    decided, kept = Counter[str](), Counter[str]()
    for question in questions:
        if question.id in decisions.labels:
            form = question.spec.form.name
            decided[form] += 1
            kept[form] += question.is_accepted
    return {
        count_key("kept_by_people", form): share_with_interval(kept[form], n)
        for form, n in decided.items()
    }
