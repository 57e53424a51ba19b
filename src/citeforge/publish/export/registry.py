"""Formats that packages are exported to. A new one is a function and a line here."""

from __future__ import annotations

from pathlib import Path

from citeforge.builders.recipes.derive import Base
from citeforge.engines.io.folders import atomic_directory
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.package.package import Package
from citeforge.publish.export import items, tables, training, trec
from citeforge.publish.export.every_eval import export_every_eval
from citeforge.publish.export.tables import DroppedFields
from citeforge.schemas.commands.results import RecordOptions
from citeforge.schemas.commands.training import TrainingOptions
from citeforge.schemas.commands.trec import TrecOptions
from citeforge.schemas.errors import InputError, UnknownValueError, UsageError
from citeforge.schemas.trec import BY_FORMAT, Track

_WHOLE = {
    "beir": tables.export_beir,
    "mteb": tables.export_mteb,
    "trec": tables.export_trec,
    "rage-toolkit": tables.export_rage,
}
_ITEMS = {
    "alce": items.export_alce,
    "attrieval": items.export_attrieval,
    "attributed-ir": items.export_attributed_ir,
}
_TRAINING = {"sft": training.export_sft, "rl-prompts": training.export_rl}
FORMATS = (*_WHOLE, *_ITEMS, "kalma", "hf-csv", *_TRAINING, *BY_FORMAT)
"""Of packages, and of answers to them."""
RECORDS = "every-eval-ever"
"""Of score files."""


def export(
    name: str,
    folder: Path,
    out: Path,
    context: str | None = None,
    options: TrainingOptions | None = None,
    records: RecordOptions | None = None,
    about: TrecOptions | None = None,
) -> DroppedFields:
    """Write a package in another layout, or score files as records of Every Eval Ever.

    Args:
        name: format.
        folder: package; a score file or a folder of them for ``every-eval-ever``.
        out: folder to make.
        context: context set, for formats with one context a question; None for the first, and for
            all in training data.
        options: what training data are made of; for them alone, but for the submission, which runs
            of TREC's tracks are made of, too.
        records: what records of Every Eval Ever say; for them alone.
        about: what a run of TREC says of itself.

    Returns:
        What the format cannot carry.

    Raises:
        UnknownValueError: no such format or context set.
        UsageError: options of training data for another format, or not all that ``sft`` needs.
        InputError: the folder exists, or the kind of benchmark is not exported to this format.
    """
    if name not in (*FORMATS, RECORDS):
        raise UnknownValueError("format", name, (*FORMATS, RECORDS))
    asked, said = options or TrainingOptions(), records or RecordOptions()
    if name == RECORDS:
        if context is not None or asked != TrainingOptions(submission=asked.submission):
            raise UsageError(
                f"{name}: --context, --min-f1, --held-out and --template are for other formats"
            )
        with atomic_directory(out) as made:
            return export_every_eval(folder, made, said, asked.submission)
    if said != RecordOptions():
        raise UsageError(
            f"{name}: --model, --organisation, --relationship and --dataset are for {RECORDS}"
        )
    if name not in BY_FORMAT and about not in (None, TrecOptions()):
        raise UsageError(f"{name}: --team, --run-id and the like are for trec-…")
    if name in BY_FORMAT:
        return _run(BY_FORMAT[name], folder, out, context, asked, about or TrecOptions())
    if name not in _TRAINING and asked != TrainingOptions():
        raise UsageError(
            f"{name}: --submission, --min-f1, --held-out and --template are for "
            f"{' and '.join(_TRAINING)}"
        )
    with atomic_directory(out) as made:
        package = Package(folder)
        if name not in package.kind.exports:
            raise InputError(
                f"cannot be exported to {name}, {package.kind.refusal('export')}",
                path=folder,
                allowed=f"its formats: {', '.join(package.kind.exports)}",
            )
        if context is not None and context not in package.contexts:
            raise UnknownValueError("context", context, package.contexts)
        if name == "kalma":
            return items.export_kalma(package, made, context)
        if name == "hf-csv":
            return tables.export_csv(package, made)
        if name in _TRAINING:
            return _TRAINING[name](Benchmark(folder, package.manifest), made, context, asked)
        base = Base(folder, package.manifest)
        if name in _WHOLE:
            return _WHOLE[name](base, made)
        return _ITEMS[name](base, made, context)


def _run(
    track: Track, folder: Path, out: Path, context: str | None, asked: TrainingOptions,
    about: TrecOptions,
) -> DroppedFields:  # fmt: skip
    """A submission as a run of a track."""
    if asked.model_copy(update={"submission": None}) != TrainingOptions():
        raise UsageError(f"{track.format}: --min-f1, --held-out and --template are not for it")
    benchmark = Benchmark(folder)
    if "passages" not in benchmark.kind.readings:
        raise InputError(
            f"cannot be exported to {track.format}, {benchmark.kind.refusal('export')}",
            path=folder,
            allowed=f"its formats: {', '.join(benchmark.kind.exports)}",
        )
    with atomic_directory(out) as made:
        return trec.export_run(benchmark, made, track, asked.submission, context, about)
