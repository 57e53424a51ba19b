"""A benchmark as a task of inspect_ai: one sample per query and context set."""

from collections.abc import Iterator

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.solver import generate

from citeforge.builders.prompts import contexts_for, load_template, render_prompts
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.plugins.responses.inspect_scorers import measured, split_names
from citeforge.plugins.responses.inspect_scoring import Settings, open_scoring, user_errors
from citeforge.schemas.errors import UsageError


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
    """Make inspect_ai's task that asks a model a benchmark's prompts and scores its answers.

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
        samples = list(_make_samples(opened, contexts, template, show))
    manifest = opened.manifest
    metadata = {
        "benchmark": manifest.name,
        "benchmark_hash": manifest.answer_hash,
        "contexts": contexts,
        **({"system": system} if system else {}),
    }
    return Task(
        name=manifest.name,
        dataset=MemoryDataset(samples, name=manifest.name),
        solver=generate(),
        scorer=measured(benchmark, measures, judge, protocol, gold),
        version=manifest.version,
        metadata=metadata,
    )


def _make_samples(
    benchmark: Benchmark, contexts: list[str], template: str | None, show: str | None
) -> Iterator[Sample]:
    """Yield an inspect_ai sample per context set and query: its prompt, and ids for scoring."""
    loaded = load_template(template or benchmark.kind.facts.template)
    manifest = benchmark.manifest
    for name in contexts:
        for query, prompt in render_prompts(benchmark, name, loaded, show):
            yield Sample(
                id=query if len(contexts) == 1 else f"{name}:{query}",
                input=prompt,
                metadata={
                    "query_id": query,
                    "context": name,
                    "benchmark": manifest.name,
                    "benchmark_hash": manifest.answer_hash,
                },
            )
