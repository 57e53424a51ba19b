"""Blind, shuffled samples for annotators, as files."""

import csv
import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from citeforge.engines.draws import generator, sample_ids
from citeforge.engines.io.files import digest, write_text
from citeforge.engines.io.textfiles import harmless
from citeforge.evaluator.statistics.compare import load_scores
from citeforge.plugins.labels.annotation.labels import ITEM, LABEL, read_typed
from citeforge.plugins.labels.annotation.of_benchmark import benchmark_items
from citeforge.plugins.labels.annotation.tasks import AnnotationTask, SheetItem, find_task
from citeforge.plugins.labels.options import AnnotationOptions
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.scores import AnswerDetail, PassageDetail, ScoreFile


class _Plan(msgspec.Struct):
    """What ``labels plan --out`` wrote; further fields are for people."""

    queries: list[str]


def export_sheet(
    options: AnnotationOptions, scores: Sequence[Path] = ()
) -> tuple[AnnotationTask, int]:
    """Write a blind, shuffled sample for annotators, as ``citeforge labels export`` does.

    Beside it stands the key that tells whose each item is; for Label Studio, its configuration.

    Args:
        options: task, sample, and the file to write.
        scores: score files made with ``--details``, for tasks that look at answers.

    Returns:
        (task, number of items).

    Raises:
        InputError: nothing to annotate, or a score file without answers.
        UsageError: there is no such task, or it is about something else.
    """
    task, out = find_task(options.task), options.out
    if task.of_benchmark != (options.benchmark is not None) or bool(scores) == task.of_benchmark:
        what = "--benchmark DIR and no score files" if task.of_benchmark else "score files"
        raise UsageError(f"--task {task.name} takes {what}")
    if options.queries is not None and (options.sample is not None or task.of_benchmark):
        raise UsageError("--queries stands for --sample, for tasks that look at score files")
    if options.benchmark is not None:
        items = benchmark_items(task, options.benchmark, options.sample, options.seed)
    else:
        items = _of_scores(task, [load_scores(p) for p in scores], options)
    key: dict[str, dict[str, object]] = {}
    rows: list[dict[str, str]] = []
    for where, columns in items:
        name = digest([task.name, options.seed, where])[:12]
        key[name] = where
        rows.append({ITEM: name, **columns})
    generator(options.seed, "annotate order", task.name).shuffle(rows)
    if out.suffix == ".json":
        data = [{"data": row} for row in rows]
        write_text(out, json.dumps(data, ensure_ascii=False, indent=1) + "\n")
        write_text(out.with_suffix(".xml"), _label_studio_config(task))
    else:
        write_text(out, _csv(task, rows))
    content = {"task": task.name, "seed": options.seed, "items": key}
    write_text(
        out.with_name(f"{out.name}.key.json"), json.dumps(content, ensure_ascii=False, indent=1)
    )
    return task, len(rows)


def _of_scores(
    task: AnnotationTask, files: Sequence[ScoreFile], options: AnnotationOptions
) -> Iterator[SheetItem]:
    """Items of sampled queries, the same for all systems, or of those that were planned.

    Raises:
        InputError: a score file holds no answers, or none has an answer to a planned query.
    """
    queries = list(dict.fromkeys(a.query_id for f in files for a in f.answers))
    if options.queries is not None:
        plan = read_typed(options.queries, _Plan, "is no plan", "what labels plan --out wrote")
        chosen = set(plan.queries)
        if not chosen <= set(queries):
            raise InputError(
                f"no score file has an answer to {sorted(chosen - set(queries))[0]!r}",
                allowed="queries that labels plan drew from these score files",
            )
    elif options.sample is not None:
        chosen = set(sample_ids(queries, options.sample, options.seed, "annotate"))
    else:
        chosen = set(queries)
    for file in files:
        if not file.answers:
            raise InputError(
                "holds no answers", path=file.submission, allowed="score it again with --details"
            )
        for answer in file.answers:
            if answer.query_id in chosen and not answer.is_missing:
                for place, columns in _units(task, answer):
                    yield {"system": file.system, "query_id": answer.query_id, **place}, columns


def _units(task: AnnotationTask, answer: AnswerDetail) -> Iterator[SheetItem]:
    if task.unit == "answer":
        text = " ".join(s.text for s in answer.statements)
        yield {}, {"question": answer.query, "answer": text}
        return
    for number, statement in enumerate(answer.statements):
        base = {"question": answer.query, "statement": statement.text}
        if task.unit == "statement":
            passages = "\n\n".join(_text(answer.passages[c]) for c in statement.cited)
            yield {"statement": number}, {**base, "passages": passages}
            continue
        for cited in statement.cited:
            place: dict[str, object] = {"statement": number, "citation": cited}
            yield place, {**base, "passage": _text(answer.passages[cited])}


def _text(passage: PassageDetail) -> str:
    return f"{passage.title}: {passage.text}" if passage.title else passage.text


def _csv(task: AnnotationTask, rows: Sequence[dict[str, str]]) -> str:
    """A table with an empty ``label`` column; cells cannot start a formula in a spreadsheet."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([ITEM, *task.columns, LABEL])
    for row in rows:
        writer.writerow([row[ITEM], *(harmless(row[c]) for c in task.columns), ""])
    return text.getvalue()


def _label_studio_config(task: AnnotationTask) -> str:
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
