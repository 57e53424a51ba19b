"""Blind, shuffled samples of answers for annotators."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Collection, Iterator, Sequence

from citeforge.engines.draws import generator, sample_ids
from citeforge.engines.io.files import digest
from citeforge.engines.io.textfiles import harmless
from citeforge.plugins.labels.annotation.tasks import AnnotationTask
from citeforge.schemas.errors import InputError
from citeforge.schemas.scores import AnswerDetail, PassageDetail, ScoreFile

ITEM, LABEL, ANNOTATOR = "item", "label", "annotator"


class SheetRow(dict[str, str]):
    """A row for annotators: ``item`` and the columns of its task."""


class Sheet:
    """Rows for annotators, and the key that tells whose each item is.

    Attributes:
        rows: rows in the order in which they were added.
        key: item to what it is; item names tell nothing.
    """

    def __init__(self, task: AnnotationTask, seed: int) -> None:
        self._task, self._seed = task, seed
        self.rows: list[SheetRow] = []
        self.key: dict[str, dict[str, object]] = {}

    def add(self, where: dict[str, object], shown: dict[str, str]) -> None:
        """Add a row that shows the columns of the task, and keep where it came from."""
        name = digest([self._task.name, self._seed, where])[:12]
        self.key[name] = where
        self.rows.append(SheetRow({ITEM: name, **shown}))

    def shuffled(self) -> tuple[list[SheetRow], dict[str, dict[str, object]]]:
        """(rows, key), rows in an order that depends on the seed alone."""
        generator(self._seed, "annotate order", self._task.name).shuffle(self.rows)
        return self.rows, self.key


def sheet_rows(
    task: AnnotationTask,
    files: Sequence[ScoreFile],
    sample: int | None,
    seed: int,
    only: Collection[str] | None = None,
) -> tuple[list[SheetRow], dict[str, dict[str, object]]]:
    """Rows for annotators, and the key that tells whose each item is.

    Queries are sampled (the same for all systems), rows shuffled; the rows name no system.

    Args:
        task: what is annotated.
        files: score files made with ``--details``.
        sample: number of queries; None for all.
        seed: seed of sample and order.
        only: queries to take instead of a sample.

    Returns:
        (rows, key by item: system, query_id, statement and citation positions).

    Raises:
        InputError: a score file holds no answers.
    """
    sheet = Sheet(task, seed)
    queries = list(dict.fromkeys(a.query_id for f in files for a in f.answers))
    chosen = set(queries if sample is None else sample_ids(queries, sample, seed, "annotate"))
    if only is not None:
        chosen = set(only)
        if not chosen <= set(queries):
            raise InputError(
                f"no score file has an answer to {sorted(chosen - set(queries))[0]!r}",
                allowed="queries that labels plan drew from these score files",
            )
    for file in files:
        if not file.answers:
            raise InputError(
                "holds no answers", path=file.submission, allowed="score it again with --details"
            )
        for answer in file.answers:
            if answer.query_id in chosen and not answer.is_missing:
                for place, row in _units(task, answer):
                    where: dict[str, object] = {
                        "system": file.system,
                        "query_id": answer.query_id,
                        **place,
                    }
                    sheet.add(where, row)
    return sheet.shuffled()


def _units(
    task: AnnotationTask, answer: AnswerDetail
) -> Iterator[tuple[dict[str, int], dict[str, str]]]:
    if task.unit == "answer":
        text = " ".join(s.text for s in answer.statements)
        yield {}, {"question": answer.query, "answer": text}
        return
    for number, statement in enumerate(answer.statements):
        base = {"question": answer.query, "statement": statement.text}
        if task.unit == "statement":
            shown = "\n\n".join(_text(answer.passages[c]) for c in statement.cited)
            yield {"statement": number}, {**base, "passages": shown}
            continue
        for cited in statement.cited:
            place = {"statement": number, "citation": cited}
            yield place, {**base, "passage": _text(answer.passages[cited])}


def _text(passage: PassageDetail) -> str:
    return f"{passage.title}: {passage.text}" if passage.title else passage.text


def sheet_csv(task: AnnotationTask, rows: Sequence[SheetRow]) -> str:
    """A table with an empty ``label`` column; cells cannot start a formula in a spreadsheet."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([ITEM, *task.columns, LABEL])
    for row in rows:
        writer.writerow([row[ITEM], *(harmless(row[c]) for c in task.columns), ""])
    return text.getvalue()


def to_label_studio(task: AnnotationTask, rows: Sequence[SheetRow]) -> str:
    """Label Studio's import format: a list of tasks with ``data``."""
    return json.dumps([{"data": dict(row)} for row in rows], ensure_ascii=False, indent=1) + "\n"


def label_studio_config(task: AnnotationTask) -> str:
    """The labelling configuration that shows this task in Label Studio."""
    from html import escape

    columns = "\n".join(
        f'  <Header value="{c}"/>\n  <Text name="{c}" value="${c}"/>' for c in task.columns
    )
    choices = "\n".join(f'    <Choice value="{label}"/>' for label in task.labels)
    first = task.columns[0]
    return (
        f'<View>\n  <Header value="{escape(task.instruction, quote=True)}"/>\n{columns}\n'
        f'  <Choices name="label" toName="{first}" choice="single" required="true">\n'
        f"{choices}\n  </Choices>\n</View>\n"
    )
