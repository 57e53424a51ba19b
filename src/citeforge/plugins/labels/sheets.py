"""Write sheets for annotators: blind, shuffled samples of score files or benchmarks."""

import json
import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec

from citeforge.builders.derive import Base, mapped_negatives
from citeforge.engines.draws import generator, sample_ids
from citeforge.engines.files import digest, read_json, write_text
from citeforge.engines.report_table import Table
from citeforge.engines.tables import rows_of
from citeforge.evaluator.compare import load_scores
from citeforge.library.benchmarks import package_folder
from citeforge.package.items import by_query
from citeforge.package.package import Package
from citeforge.plugins.labels.options import AnnotationOptions
from citeforge.reports.audited import read_audit
from citeforge.schemas.errors import InputError, UnknownValueError, UsageError
from citeforge.schemas.record import FrozenRecord
from citeforge.schemas.scores import AnswerDetail, ScoreFile
from citeforge.schemas.tables import UNSURE

T = TypeVar("T")
ITEM, LABEL = "item", "label"
"""Columns of a sheet."""
_TEXTS = ("question", "statement", "premise", "corrected", "form")
"""Columns of written questions that a sheet shows as they are."""
SheetItem = tuple[dict[str, object], dict[str, str]]
"""Origin of a row, for the key file, and the columns that annotators see."""


class AnnotationTask(FrozenRecord):
    """An annotation task: what annotators see, and which labels they may give.

    Attributes:
        name: name in ``labels export --task``.
        unit: unit of a row: ``answer``, ``statement``, ``citation`` (of score files), ``twin``
            (of a benchmark with twins), ``question`` or ``knowledge`` (of a kalma benchmark),
            ``negative`` (of any benchmark with mapped negatives), ``unsure`` (of one that keeps
            pairs that its models could not decide), or ``written question`` (of documents).
        instruction: question to the annotator.
        columns: columns shown, in order.
        filled: columns that annotators may fill in besides the label; a CSV sheet has them.
        labels: allowed labels.
        ordinal: whether the labels are ordered numbers (agreement counts distances).
        source: origin of the task.
        share: share of the queries that is sampled by default.
    """

    name: str
    unit: str
    instruction: str
    columns: tuple[str, ...]
    filled: tuple[str, ...] = ()
    labels: tuple[str, ...]
    ordinal: bool = False
    source: str
    share: float = 1.0

    @property
    def of_benchmark(self) -> bool:
        """Whether an annotation task is about a benchmark, not about answers in score files."""
        return self.unit not in ("answer", "statement", "citation")


@dataclass(frozen=True)
class Sheet:
    """A sheet that was written for annotators.

    Attributes:
        task: the annotation task.
        n_items: number of rows.
        n_uncited: number of statements left out because they cite no passage.
    """

    task: AnnotationTask
    n_items: int
    n_uncited: int


_ROWS = tomllib.loads((Path(__file__).parent / "data" / "tasks.toml").read_text(encoding="utf-8"))
TASKS = {name: AnnotationTask(name=name, **row) for name, row in _ROWS.items()}


def find_task(name: str) -> AnnotationTask:
    """Look up an annotation task by its name.

    Raises:
        UnknownValueError: no such task.
    """
    if name not in TASKS:
        raise UnknownValueError("annotation task", name, TASKS)
    return TASKS[name]


def _kalma_items(
    task: AnnotationTask, package: Package, n_drawn: int | None, seed: int
) -> Iterator[SheetItem]:
    """Yield sheet rows (origin for the key file, columns) of KaLMA questions or gold facts.

    An item is (its origin, for the key file; its columns, which annotators see).

    Args:
        task: asks about each question, or about each of its gold facts.
        package: a KaLMA benchmark.
        n_drawn: number of questions per table of questions; None for all.
        seed: seed of the sample.

    Raises:
        InputError: the benchmark has no gold facts.
    """
    gold = by_query(package.gold.to_pylist())
    if task.unit == "knowledge" and not gold:
        raise InputError("has no minimum knowledge sets", path=package.folder, code="no-gold")
    for form, table in package.forms.items():
        texts = dict(rows_of(table, "_id", "text"))
        ids = list(texts)
        chosen = ids if n_drawn is None else sample_ids(ids, n_drawn, seed, "annotate kalma")
        for query in chosen:
            origin: dict[str, object] = {"query_id": query, "form": form}
            if task.unit != "knowledge":
                yield origin, {"question": texts[query]}
                continue
            for row in gold.get(query, []):
                fact = f"{row['name']}, {row['relation']}: {row['value']}"
                yield {**origin, "fact": fact}, {"question": texts[query], "fact": fact}


DEFAULT = 200
"""Negatives to sample, unless another number is named."""


def _negative_items(
    task: AnnotationTask, package: Package, n_drawn: int | None, seed: int
) -> Iterator[SheetItem]:
    """Yield sheet rows (origin for the key file, columns) of negatives, or of undecided ones.

    If an audit of these tables had a strong judge, the sample is drawn within its strata (suspects
    decided relevant, suspects cleared, the rest), else from all negatives alike.

    Args:
        task: ``audit-negative``, or ``unsure-relevance``.
        package: benchmark.
        n_drawn: number of pairs; None for 200, or for all undecided ones.
        seed: seed of sample and order.

    Raises:
        InputError: the benchmark has no such pairs.
    """
    base = Base(package.folder, package.manifest)
    strata = None
    if task.unit == UNSURE:
        pairs = list(rows_of(package.mapping(UNSURE), "query-id", "corpus-id"))
        drawn = pairs if n_drawn is None else sample_ids(pairs, n_drawn, seed, "annotate unsure")
    else:
        strata = _read_strata(base, package)
        drawn = sample_negatives(base, n_drawn or DEFAULT, seed, strata)
    if not drawn:
        raise InputError(
            f"contains nothing to label for {task.name}", path=package.folder, code="too-few"
        )
    texts = base.texts({p for _, p in drawn})
    questions = dict(rows_of(base.queries, "_id", "text"))
    for query, passage in drawn:
        columns = {"question": questions[query], "passage": _prefix_title(*texts[passage])}
        origin: dict[str, object] = {"query_id": query, "passage": passage}
        if task.unit == UNSURE:
            origin["question"] = questions[query]
        if strata is not None:
            origin["stratum"] = strata[query, passage]
        yield origin, columns


def sample_negatives(
    benchmark: Base, size: int, seed: int, strata: Mapping[tuple[str, str], str] | None = None
) -> list[tuple[str, str]]:
    """Draw (query, negative passage) pairs at random, from all or equally from each stratum.

    Args:
        benchmark: the benchmark.
        size: most pairs to draw.
        seed: seed of the draws.
        strata: stratum of each negative; each stratum gets an equal share, or all its pairs if
            they are fewer. None draws uniformly from all.
    """
    pairs = mapped_negatives(benchmark.negatives)
    if strata is None:
        return sample_ids(pairs, size, seed, "audit sample")
    by_name: dict[str, list[tuple[str, str]]] = {}
    for pair in pairs:
        by_name.setdefault(strata[pair], []).append(pair)
    drawn: list[tuple[str, str]] = []
    # Smallest first, so that draws that a small stratum cannot fill go to the larger ones.
    ordered = sorted(by_name.items(), key=lambda s: (len(s[1]), s[0]))
    for i, (name, mine) in enumerate(ordered):
        share = (size - len(drawn)) // (len(ordered) - i)
        drawn += sample_ids(mine, min(len(mine), share), seed, f"audit sample {name}")
    return drawn


def _read_strata(tables: Base, package: Package) -> dict[tuple[str, str], str] | None:
    """Map (query, negative) pairs to their strata in the package's audit; None without an audit."""
    audit = read_audit(package)
    if audit is None or audit.cascade is None:
        return None
    decided = {(d.query, d.passage): d.stratum for d in audit.decisions}
    return {pair: decided.get(pair, "unsuspected") for pair in mapped_negatives(tables.negatives)}


def _twin_items(
    task: AnnotationTask, package: Package, n_drawn: int | None, seed: int
) -> Iterator[SheetItem]:
    """Yield sheet rows (origin for the key file, columns) of passages and their LLM rewrites.

    Args:
        task: ``twin-relevant`` or ``twin-nonrelevant``.
        package: benchmark with twins.
        n_drawn: number of queries; None for the task's own share.
        seed: seed of sample and order.

    Raises:
        InputError: the benchmark has no twins.
    """
    base = Base(package.folder, package.manifest)
    twin_of = {human: twin for human, twin in rows_of(base.twins, "_id", "twin_id") if twin}
    if not twin_of:
        raise InputError(
            "has no twins",
            path=package.folder,
            allowed="what `citeforge build twins` made",
            code="wrong-kind",
        )
    size = math.ceil(task.share * len(base.query_ids)) if n_drawn is None else n_drawn
    queries = sample_ids(base.query_ids, size, seed, f"annotate {task.name}")
    is_relevant = task.name == "twin-relevant"
    shown: dict[str, dict[str, str]] = {q: {} for q in queries}
    for name in base.contexts:
        for item in base.items(name):
            shown.get(item.query_id, {}).update(
                (p.id, p.text)
                for p in item.passages
                if p.is_relevant == is_relevant and p.id in twin_of
            )
    rewrites = base.texts(twin_of.values())
    questions = dict(rows_of(base.queries, "_id", "text"))
    for query in queries:
        for passage, text in shown[query].items():
            twin = twin_of[passage]
            yield (
                {"query_id": query, "passage": passage, "twin": twin},
                {
                    "question": questions[query],
                    "answer": "; ".join(base.answers[query]),
                    "original": text,
                    "rewritten": rewrites[twin][1],
                },
            )


def _written_items(
    task: AnnotationTask, package: Package, n_drawn: int | None, seed: int
) -> Iterator[SheetItem]:
    """Yield sheet rows (origin for the key file, columns) of LLM-written questions.

    Args:
        task: ``questions``.
        package: benchmark of the kind ``documents``.
        n_drawn: number of questions; None for all.
        seed: seed of the sample.
    """
    rows = [r for r in package.written_questions().to_pylist() if r["accepted"]]
    ids = [row["_id"] for row in rows]
    chosen = set(ids if n_drawn is None else sample_ids(ids, n_drawn, seed, "annotate questions"))
    rows = [row for row in rows if row["_id"] in chosen]
    texts = package.texts({name for row in rows for name in row["evidence"]})
    for row in rows:
        others = f"{len(row['relevant'])} other passages answer it, {len(row['unsure'])} may"
        yield (
            {"query_id": row["_id"], "question": row["question"]},
            {
                **{name: row[name] or "" for name in _TEXTS},
                "answers": "\n".join(row["answers"]),
                "evidence": "\n\n".join(_prefix_title(*texts[name]) for name in row["evidence"]),
                "checks": f"passed all; {others}",
            },
        )


_MAKERS = {
    "twin": _twin_items, "negative": _negative_items, UNSURE: _negative_items,
    "written question": _written_items, "question": _kalma_items, "knowledge": _kalma_items,
}  # fmt: skip


def benchmark_items(
    task: AnnotationTask, folder: Path, n_drawn: int | None, seed: int
) -> Iterator[SheetItem]:
    """Yield annotation sheet rows (origin for the key file, columns) about a benchmark.

    Args:
        task: a task with ``of_benchmark``.
        folder: folder of a benchmark, or ``hub:ORG/NAME``.
        n_drawn: number of rows or queries; None for the task's own.
        seed: seed of sample and order.

    Raises:
        InputError: not a package, a kind of benchmark without this task, or nothing to annotate.
    """
    package = Package(package_folder(folder))
    if task.name not in package.kind.facts.annotation:
        raise InputError(
            f"{task.name}: {package.kind.facts.explain_refusal('annotate')}",
            path=folder,
            allowed=f"its tasks: {', '.join(package.kind.facts.annotation)}",
            code="wrong-kind",
        )
    return _MAKERS[task.unit](task, package, n_drawn, seed)


class _Plan(msgspec.Struct):
    """File of ``labels plan --out``, of which only the queries are read."""

    queries: list[str]


def export_sheet(options: AnnotationOptions, scores: Sequence[Path] = ()) -> Sheet:
    """Write a blind, shuffled annotation sheet, as ``citeforge labels export`` does.

    Also writes a key file with the origin of each row and, for Label Studio, a configuration.

    Args:
        options: task, sample, and the file to write.
        scores: score files made with ``--details``, for tasks about answers.

    Raises:
        InputError: there is nothing to annotate, or a score file has no answers.
        UsageError: there is no such task, or it is not about these files.
    """
    task, out = find_task(options.task), options.out
    if task.of_benchmark != (options.benchmark is not None) or bool(scores) == task.of_benchmark:
        what = "--benchmark DIR and no score files" if task.of_benchmark else "score files"
        raise UsageError(f"--task {task.name} takes {what}", code="conflicting-options")
    if options.queries is not None and (options.sample is not None or task.of_benchmark):
        raise UsageError(
            "--queries cannot be combined with --sample or with a task on a benchmark",
            code="conflicting-options",
        )
    if options.benchmark is not None:
        items = benchmark_items(task, options.benchmark, options.sample, options.seed)
    else:
        items = _score_items(task, [load_scores(p) for p in scores], options)
    key: dict[str, dict[str, object]] = {}
    rows: list[dict[str, str]] = []
    n_uncited = 0
    for origin, columns in items:
        if columns.get("passages") == "":
            n_uncited += 1
            continue
        name = digest([task.name, options.seed, origin])[:12]
        key[name] = origin
        rows.append({ITEM: name, **columns})
    if not rows:
        uncited = f": {n_uncited:,} statements cite no passage" if n_uncited else ""
        raise InputError(
            f"there is nothing to label for {task.name}{uncited}",
            allowed="answers that cite behind what they say" if scores else None,
            code="no-answers" if scores else "no-pairs",
        )
    generator(options.seed, "annotate order", task.name).shuffle(rows)
    if out.suffix == ".json":
        data = [{"data": row} for row in rows]
        write_text(out, json.dumps(data, ensure_ascii=False, indent=1) + "\n")
        write_text(out.with_suffix(".xml"), _label_studio_config(task))
    else:
        names = [ITEM, *task.columns]
        to_fill = [LABEL, *task.filled]
        blank = [""] * len(to_fill)
        sheet = Table([*names, *to_fill], [[*(row[n] for n in names), *blank] for row in rows])
        write_text(out, sheet.csv())
    content = {"task": task.name, "seed": options.seed, "items": key}
    write_text(
        out.with_name(f"{out.name}.key.json"), json.dumps(content, ensure_ascii=False, indent=1)
    )
    return Sheet(task, len(rows), n_uncited)


def _score_items(
    task: AnnotationTask, files: Sequence[ScoreFile], options: AnnotationOptions
) -> Iterator[SheetItem]:
    """Yield annotation sheet rows (origin for the key file, columns) about files' answers.

    Sampled queries are the same for all systems.

    Args:
        task: what is annotated.
        files: score files with answers.
        options: a sample, or a plan of queries; none for all answers.

    Raises:
        InputError: a score file has no answers, or none has an answer to a planned query.
    """
    queries = list(dict.fromkeys(a.query_id for f in files for a in f.answers))
    if options.queries is not None:
        plan = read_typed(options.queries, _Plan, "is not a plan", "what labels plan --out wrote")
        chosen = set(plan.queries)
        if not chosen <= set(queries):
            raise InputError(
                f"no score file has an answer to {sorted(chosen - set(queries))[0]!r}",
                allowed="queries that labels plan drew from these score files",
                code="unknown-query",
            )
    elif options.sample is not None:
        chosen = set(sample_ids(queries, options.sample, options.seed, "annotate"))
    else:
        chosen = set(queries)
    for file in files:
        if not file.answers:
            raise InputError(
                "contains no answers",
                path=file.submission,
                allowed="score it again with --details",
                code="no-answers",
            )
        for answer in file.answers:
            if answer.query_id in chosen and not answer.is_missing:
                for origin, columns in _list_units(task, answer):
                    yield {"system": file.system, "query_id": answer.query_id, **origin}, columns


def _list_units(task: AnnotationTask, answer: AnswerDetail) -> Iterator[SheetItem]:
    """Yield sheet rows (origin for the key file, columns) of an answer, or its statements.

    An item is (its origin, for the key file; its columns, which annotators see).
    """
    if task.unit == "answer":
        text = " ".join(s.text for s in answer.statements)
        yield {}, {"question": answer.query, "answer": text}
        return
    for number, statement in enumerate(answer.statements):
        base = {"question": answer.query, "statement": statement.text}
        if task.unit == "statement":
            cited_passages = (answer.passages[c] for c in statement.cited)
            passages = "\n\n".join(_prefix_title(p.title, p.text) for p in cited_passages)
            yield {"statement": number}, {**base, "passages": passages}
            continue
        for cited in statement.cited:
            origin: dict[str, object] = {"statement": number, "citation": cited}
            shown = answer.passages[cited]
            yield origin, {**base, "passage": _prefix_title(shown.title, shown.text)}


def _prefix_title(title: str, text: str) -> str:
    """Join a passage's title, if it has one, and its text."""
    return f"{title}: {text}" if title else text


def _label_studio_config(task: AnnotationTask) -> str:
    """Write the XML configuration of an annotation task for Label Studio.

    Args:
        task: its instruction, columns and labels are shown.
    """
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


def read_typed(path: Path, kind: type[T], error_message: str, expected: str) -> T:
    """Read a JSON file as a type; raise an error with a message and what is expected.

    Args:
        path: JSON file.
        kind: type that the content is converted to, such as a msgspec.Struct.
        error_message: error message for a file with another layout.
        expected: what the error names as right.

    Raises:
        InputError: it cannot be read, or has another layout.
    """
    try:
        return msgspec.convert(read_json(path), kind)
    except msgspec.ValidationError as error:
        raise InputError(
            f"{error_message} ({error})", path=path, allowed=expected, code="schema-mismatch"
        ) from error
