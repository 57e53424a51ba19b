"""A benchmark as a task of inspect_ai: one sample per query and context set."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.solver import generate

from citeforge.builders.prompts import contexts_for, load_template, render_prompts
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.plugins.responses.inspect_scorers import measured, split_names, user_errors
from citeforge.plugins.responses.task_files import PACKAGE, PROMPTS, read_task
from citeforge.plugins.responses.task_scoring import Settings, open_scoring
from citeforge.schemas.errors import UsageError
from citeforge.systems.prompt_files import read_prompts


@task  # type: ignore[untyped-decorator]
def package(
    benchmark: str = "",
    context: str | None = None,
    measures: str | list[str] | None = None,
    judge: str | None = None,
    protocol: str = "strict",
    template: str | None = None,
    show: str | None = None,
    gold: str | None = None,
    system: str | None = None,
) -> Task:
    """Make the inspect_ai task that sends a benchmark's prompts and scores the answers.

    Args:
        benchmark: folder of a package, or ``hub:ORG/NAME``.
        context: context set, or ``all``; None for the only one, or the cells of an experiment.
        measures: measures or families; None for those that fit the benchmark.
        judge: decides entailment, for measures that ask.
        protocol: ``strict`` or ``reference``.
        template: prompt template, as of ``citeforge export prompts``.
        show: ``summary`` or ``snippet`` in place of passages that have one.
        gold: the half with hidden labels.
        system: name of the system in score files; None for the model's.

    Raises:
        PrerequisiteError: no benchmark was named, or the benchmark, context set, template, a
            measure or the judge cannot be had.
    """
    with user_errors():
        if not benchmark:
            raise UsageError(
                "name a benchmark: -T benchmark=DIR, or -T benchmark=hub:ORG/NAME",
                code="missing-option",
            )
        settings = Settings(benchmark, gold, split_names(measures), protocol, judge)
        opened = open_scoring(settings).benchmark
        contexts = contexts_for(opened, context)
        loaded = load_template(template or opened.kind.facts.template)
        prompts = [
            (name, query, prompt)
            for name in contexts
            for query, prompt in render_prompts(opened, name, loaded, show)
        ]
    return _make_task(opened, contexts, prompts, settings, system)


def exported_task(
    folder: Path, measures: str | list[str] | None = None, judge: str | None = None,
    system: str | None = None,
) -> Task:  # fmt: skip
    """Make the inspect_ai task of a folder that ``citeforge export inspect`` wrote.

    Args:
        folder: folder of the task's file.
        measures: measures or families; None for those that were exported.
        judge: decides entailment; None for the one that was exported.
        system: name of the system in score files; None for the model's.

    Raises:
        PrerequisiteError: a file of the folder, a measure or the judge cannot be had.
    """
    with user_errors():
        exported = read_task(folder)
        settings = Settings(
            str(folder / PACKAGE), None, split_names(measures) or tuple(exported.measures),
            exported.protocol, judge or exported.judge,
        )  # fmt: skip
        opened = open_scoring(settings).benchmark
        opened.require_hash(exported.benchmark_hash, folder / PACKAGE, 1)
        rows = read_prompts(folder / PROMPTS)
    prompts = [(str(row.context), row.query_id, row.prompt) for row in rows]
    return _make_task(opened, exported.contexts, prompts, settings, system)


def _make_task(
    benchmark: Benchmark, contexts: list[str], prompts: Iterable[tuple[str, str, str]],
    settings: Settings, system: str | None,
) -> Task:  # fmt: skip
    """Make an inspect_ai task from a benchmark's prompts.

    Args:
        benchmark: the benchmark.
        contexts: context sets that are asked.
        prompts: (context set, query id, prompt) of each sample.
        settings: how answers are scored.
        system: name of the system; None for the model's.
    """
    manifest = benchmark.manifest
    metadata = {
        "benchmark": manifest.name,
        "benchmark_hash": manifest.answer_hash,
        "contexts": contexts,
        **({"system": system} if system else {}),
    }
    samples = list(_make_samples(benchmark, prompts, len(contexts) == 1))
    return Task(
        name=manifest.name,
        dataset=MemoryDataset(samples, name=manifest.name),
        solver=generate(),
        scorer=measured(
            settings.benchmark, list(settings.measures), settings.judge, settings.protocol,
            settings.gold,
        ),
        version=manifest.version,
        metadata=metadata,
    )  # fmt: skip


def _make_samples(
    benchmark: Benchmark, prompts: Iterable[tuple[str, str, str]], has_one_context: bool
) -> Iterator[Sample]:
    """Yield an inspect_ai sample per (context set, query, prompt), with ids for scoring."""
    manifest = benchmark.manifest
    for name, query, prompt in prompts:
        yield Sample(
            id=query if has_one_context else f"{name}:{query}",
            input=prompt,
            metadata={
                "query_id": query,
                "context": name,
                "benchmark": manifest.name,
                "benchmark_hash": manifest.answer_hash,
            },
        )
