"""Running one system from Python, or several with scores, comparison and report."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, combinations
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from citeforge.builders.package import safe_name
from citeforge.engines.folders import path_beside
from citeforge.engines.judge.llm import llm_judge_of
from citeforge.engines.judge.records import Judge
from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.llm.budget import RunPlan, merge_plans, total_plan
from citeforge.engines.llm.records import Llm
from citeforge.engines.llm.replay import ReplayStore
from citeforge.engines.llm.writers import CHAT
from citeforge.engines.running.names import llm_for_dry_run, make_llm
from citeforge.engines.running.setup import is_expensive
from citeforge.evaluator.compare import compare_pairs
from citeforge.evaluator.rows import named_rows
from citeforge.evaluator.score import prepare_scoring, score_contexts
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.library.benchmarks import load
from citeforge.library.reports import Comparisons, report
from citeforge.library.scores import Scores, open_judge
from citeforge.reports.notes import limit_lines
from citeforge.schemas.errors import UsageError, extras_named
from citeforge.schemas.recipes.base import Part, RunOptions
from citeforge.schemas.recipes.command_options import ScoreOptions
from citeforge.schemas.recipes.systems import LONGEST, System
from citeforge.systems.registry import as_system, get_system
from citeforge.systems.run import Outcome, plan_answers, plan_system, require_fit, run_system

Options = Mapping[str, Any] | Part | None
"""Options of a system: its record, or names of its fields to values."""


@extras_named()
def run(
    system: str | System, benchmark: Benchmark | str | Path, out: str | Path, *,
    llm: str | Llm | None = None, contexts: Sequence[str] = (), runs: int = 1, seed: int = 0,
    limit: int | None = None, options: Options = None,
    judge: str | Judge | JudgeSession | None = None, title: str | None = None,
    endpoint: RunOptions | None = None,
) -> Outcome:  # fmt: skip
    """Run a system and write its submission; what ``citeforge run`` does.

    Args:
        system: its name, as ``citeforge list systems`` lists it, or its declaration.
        benchmark: what it answers: opened, a folder, or ``hub:ORG/NAME``.
        out: submission to write.
        llm: what is asked, as ``openai:MODEL`` or an object with the protocol ``Llm``; None for
            systems that need none. Answers of a served model are kept beside ``out``.
        contexts: context sets; none for the command's default.
        runs: answers per query.
        seed: seed of all draws.
        limit: answer the first so many queries.
        options: of the system.
        judge: what ``rerank`` chooses by.
        title: name in the submission's header.
        endpoint: base URL, concurrency, prices, store.

    Returns:
        Name, number of answers, failures, and notes on the run.

    Raises:
        UnknownValueError: no such system or context set.
        UsageError: it does not answer this kind of benchmark, needs an LLM, or has no such option.
        InputError: the LLM's first calls all fail.
    """
    out, declared = Path(out), _find_system(system)
    return run_system(
        declared, load(benchmark),
        list(contexts), runs, seed, out, limit=limit, header_name=title, judge=open_judge(judge),
        llm=_open_llm(_choose_llm(declared, llm), path_beside(out, ".replay.db"), endpoint),
        options=_check_options(declared, options),
    )  # fmt: skip


@extras_named()
def plan_run(
    systems: Sequence[str | System], benchmark: Benchmark | str | Path, *, llm: str | Llm | None,
    contexts: Sequence[str] = (), runs: int = 1, seed: int = 0, limit: int | None = None,
    options: Mapping[str, Options] | None = None, endpoint: RunOptions | None = None,
    judge: JudgeSession | None = None, measures: Sequence[str] | None = None,
) -> RunPlan:  # fmt: skip
    """Plan the calls of systems: what ``citeforge run --dry-run`` and ``bench --dry-run`` print.

    Nothing is asked or written.

    Args:
        systems: their names, or their declarations.
        benchmark: as for :func:`run`.
        llm: as for :func:`run`.
        contexts: as for :func:`run`.
        runs: answers per query.
        seed: seed of all draws.
        limit: answer the first so many queries.
        options: system to its options.
        endpoint: prices, store.
        judge: decides entailment, in scores (with ``measures``) and for ``rerank``.
        measures: what answers are scored by; empty for those that fit the benchmark; None if they
            are not scored.

    Raises:
        UnknownValueError: no such system or context set.
        UsageError: no model would be asked, or see :func:`run`.
    """
    opened = load(benchmark)
    declared = [_find_system(system) for system in systems]
    run, own = endpoint or RunOptions(), options or {}
    is_asking = any(system.llm and not system.asks for system in declared)
    model = None if isinstance(llm, str) else llm
    if is_asking and isinstance(llm, str):
        model = llm_for_dry_run(llm, run, run.store)
    judging, is_scored = llm_judge_of(judge), False
    if judging is not None and measures is not None:
        scoring = ScoreOptions(measures=tuple(measures), judge="given")
        is_scored = prepare_scoring(opened, scoring, judge).is_judged
    parts: dict[str, RunPlan] = {}
    checked: list[RunPlan] = []
    for system in declared:
        record = _check_options(system, own.get(system.name))
        given = (system, opened, list(contexts), runs, seed, model, record, limit)
        if system.llm and not system.asks:
            prefix = f"{system.name}: " if len(declared) > 1 else ""
            name = llm if isinstance(llm, str) else ""
            parts[f"{prefix}LLM {name}".strip()] = plan_system(*given)
        n_asked = (getattr(record, "rerank", None) or 0) + is_scored
        if judging is not None and n_asked:
            checked.append(plan_answers(*given, judging, n_asked))
    if judging is not None and checked:
        parts[judging.llm.bill_label(CHAT)] = merge_plans(checked)
    if not parts:
        names = ", ".join(system.name for system in declared)
        raise UsageError(f"--dry-run: {names} asks no LLM", code="option-without-effect")
    return total_plan(parts)


@dataclass
class Bench:
    """Result of :func:`bench`.

    Attributes:
        ran: one outcome per system, in order.
        scores: one per system, and per context set of several.
        differences: paired differences of the systems that were shown the same context set.
        report: the HTML page.
    """

    ran: list[Outcome]
    scores: list[Scores]
    differences: Comparisons = field(default_factory=Comparisons)
    report: Path = Path()


@extras_named()
def bench(
    benchmark: Benchmark | str | Path, systems: Sequence[str | System], out: str | Path, *,
    llm: str | Llm | None = None, measures: Sequence[str] = (), context: str | None = None,
    runs: int = 1, seed: int = 0, limit: int | None = None,
    judge: str | Judge | JudgeSession | None = None, options: Mapping[str, Options] | None = None,
    endpoint: RunOptions | None = None, tell: Callable[[str, Outcome], None] = lambda *_: None,
) -> Bench:  # fmt: skip
    """Run, score, compare and report on systems like ``citeforge bench``; call ``tell`` per run.

    A folder gets ``SYSTEM.jsonl`` and ``SYSTEM.scores.json`` of each (of several context sets
    ``SYSTEM.CONTEXT.scores.json``), ``report.html`` and, for a served model, ``replay.db``. Run
    again, it asks only what has no answer.

    Args:
        benchmark: what they answer.
        systems: their names, or their declarations.
        out: folder, which is made.
        llm: as for :func:`run`.
        measures: measures or families; none for those that fit the benchmark.
        context: context set; None or ``all`` for all.
        runs: answers per query.
        seed: seed of all draws.
        limit: answer the first so many queries, and score these alone.
        judge: decides entailment, in scores and for ``rerank``.
        options: system to its options.
        endpoint: base URL, concurrency, prices, store.
        tell: gets (system, result of its run) as soon as each is written.

    Raises:
        UsageError: a system does not fit, before any is run; two have one name.
    """
    opened = load(benchmark)
    unused = dict(options or {})
    declared = [_find_system(system) for system in systems]
    records = {
        system.name: _check_options(system, unused.pop(system.name, None)) for system in declared
    }
    _check_systems(declared, unused)
    for system in declared:
        require_fit(system, opened, llm)
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    store, session = folder / "replay.db", open_judge(judge)
    model = _open_llm(llm, store, endpoint)
    scoring = ScoreOptions(measures=tuple(measures), details=True, only_asked=limit is not None)
    setup = prepare_scoring(opened, scoring, session)
    result = Bench([], [])
    for system, file_name in zip(declared, _file_names(declared), strict=True):
        name = system.name
        path = folder / f"{file_name}.jsonl"
        contexts = [] if context is None else [context]
        ran = run_system(
            system, opened, contexts, runs, seed, path, judge=session, limit=limit,
            llm=_open_llm(system.asks, store, endpoint) if system.asks else model,
            options=records[name],
        )  # fmt: skip
        result.ran.append(ran)
        tell(name, ran)
        files = score_contexts(path, setup, out=folder / f"{file_name}.scores.json")
        for file in files:
            stem = file_name if len(files) == 1 else f"{file_name}.{file.context}"
            scores = Scores(file)
            scores.save(folder / f"{stem}.scores.json")
            result.scores.append(scores)
    result.differences = _compare_all(result.scores)
    result.report = folder / "report.html"
    report(result.scores, result.report)
    return result


def _file_names(systems: Sequence[System]) -> list[str]:
    """Make one distinct file name per system, which all file systems allow."""
    names: list[str] = []
    for system in systems:
        name = safe_name(system.name)[:LONGEST]
        taken = {one.casefold() for one in names}
        names.append(name if name.casefold() not in taken else f"{name}-{len(names)}")
    return names


def _check_systems(systems: Sequence[System], unused_options: Mapping[str, Any]) -> None:
    """Raise an error for no or repeated systems, or options of systems that do not run.

    Args:
        systems: the systems that are to run.
        unused_options: options of systems that are not among them, by name.
    """
    if not systems:
        raise UsageError(
            "--systems: name at least one; `citeforge list systems` lists them",
            code="missing-option",
        )
    names = [system.name for system in systems]
    if len(set(names)) < len(names):
        raise UsageError(f"--systems: duplicate system ({', '.join(names)})", code="bad-option")
    if unused_options:
        raise UsageError(
            f"options of {', '.join(unused_options)}, which are not among --systems",
            code="bad-option",
        )


def _compare_all(scores: Sequence[Scores]) -> Comparisons:
    """Compute paired differences of each two systems that answered the same context set."""
    files = named_rows([s.file for s in scores])
    pairs = [(a, b) for a, b in combinations(files, 2) if a.context == b.context]
    names = {name for s in scores for name in s}
    differences = chain.from_iterable(compare_pairs(pairs, names))
    return Comparisons(list(differences), limit_lines(files, names))


def _choose_llm(system: System, llm: str | Llm | None) -> str | Llm | None:
    """Choose the LLM that a system asks: its own if it has one, else the given one.

    Raises:
        UsageError: an LLM is named for a system that asks none but itself.
    """
    if system.asks and llm not in (None, system.asks):
        raise UsageError(f"{system.name}: asks no other LLM", code="option-without-effect")
    return system.asks or llm


def _find_system(system: str | System) -> System:
    """Get a system by its name, or from its declaration."""
    return get_system(system) if isinstance(system, str) else as_system(system)


def _check_options(system: System, options: Options) -> Part:
    """Validate a system's options, a record, a dictionary or None, as its record of options.

    Args:
        system: declares the record of its options.
        options: the options; None for the defaults.
    """
    if isinstance(options, Part):
        return options
    try:
        return system.options.model_validate(dict(options or {}))
    except ValidationError as error:
        first = error.errors()[0]
        option = ".".join(map(str, first["loc"]))
        names = ", ".join(system.options.model_fields)
        raise UsageError(
            f"{system.name}: option {option}: {first['msg']}; it has {names}", code="bad-option"
        ) from error


def _open_llm(llm: str | Llm | None, store: Path, endpoint: RunOptions | None) -> Llm | None:
    """Make an LLM by its name, with a store of replies if calls cost much; return objects as is.

    Args:
        llm: name of an LLM, or an LLM; None for none.
        store: file for costly replies, unless ``endpoint`` names one.
        endpoint: how an endpoint is reached, and what it may cost.
    """
    if not isinstance(llm, str):
        return llm
    run = endpoint or RunOptions()
    path = run.store or (store if is_expensive(llm) else None)
    run = run.model_copy(update={"store": path})
    return make_llm(llm, store=None if path is None else ReplayStore(path), options=run)
