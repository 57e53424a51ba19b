"""Stores, embedders, judges and runners, made from recipes and run options.

A runner spreads embedding, judging and searching over processes or machines.
"""

from pathlib import Path

from pydantic import ValidationError

from citeforge.engines.folders import path_beside
from citeforge.engines.judge.session import JudgeSession, VerdictStore
from citeforge.engines.llm.replay import ReplayStore
from citeforge.engines.models.embedder import Embedder
from citeforge.engines.models.prefixes import Prefixes
from citeforge.engines.running.runner import Runner
from citeforge.schemas.errors import UsageError
from citeforge.schemas.recipes.base import Judging, RunOptions


def make_runner(run: RunOptions) -> Runner:
    """Make the runner that ``--engine`` names, with its options.

    Raises:
        UsageError: no such runner, or its options are wrong or those of another runner.
    """
    from citeforge.engines.running.runners import RUNNERS, runner_option

    runner = RUNNERS.get(run.engine)
    for other in run.engine_options:
        if other != run.engine:
            raise UsageError(
                f"options of {other} require --engine {other}, not {run.engine}",
                code="option-without-effect",
            )
    try:
        options = runner.options.model_validate(run.engine_options.get(run.engine, {}))
    except ValidationError as error:
        first = error.errors()[0]
        flag = runner_option(run.engine, *map(str, first["loc"]))
        raise UsageError(
            f"{flag}: {first['msg'].removeprefix('Value error, ')}", code="bad-option"
        ) from error
    return runner.factory(options)


def is_expensive(model: str) -> bool:
    """Whether answers of ``--llm MODEL`` cost money, or take minutes."""
    return model == "offline" or is_served(model) or is_own(model)


def is_own(model: str) -> bool:
    """Whether a model's name is a program or server of the user's own (``exec:``, ``http:``)."""
    return model.startswith(("exec:", "http:", "https:"))


def is_served(model: str) -> bool:
    """Whether a model's name is that of one behind an endpoint (``openai:``, ``vllm:``)."""
    return model.startswith(("openai:", "vllm:"))


def replay_store(run: RunOptions, *models: str) -> ReplayStore | None:
    """Open the store of LLM replies that the run options and models choose; None without one."""
    path = replay_path(run, *models)
    return None if path is None or _is_missing(path, run) else ReplayStore(path, run.dry_run)


def _is_missing(path: Path, run: RunOptions) -> bool:
    """Whether a store is missing in a dry run, which must not create it."""
    return run.dry_run and not path.exists()


def dry_run_options(run: RunOptions, out: Path, *models: str) -> RunOptions:
    """Copy run options for a dry run that asks no model and writes to ``out`` only.

    Args:
        run: the options; its stores are read.
        out: folder to make in its place.
        models: LLMs of the run.
    """
    beside = None if run.out is None else path_beside(run.out, ".verdicts.db")
    update = {
        "dry_run": True, "out": out, "overwrite": False, "resume": False, "embeddings": None,
        "store": replay_path(run, *models), "verdicts": run.verdicts or beside,
        "engine": "local", "engine_options": {},
    }  # fmt: skip
    return run.model_copy(update=update)


def replay_path(run: RunOptions, *models: str) -> Path | None:
    """Choose the file of LLM replies by option, or beside the output for costly models, or None.

    None where neither applies.
    """
    if run.store is None and run.out is not None and any(map(is_expensive, models)):
        return path_beside(run.out, ".replay.db")
    return run.store


def run_embedder(
    name: str, run: RunOptions, revision: str | None = None, prefixes: Prefixes | None = None,
    option: str = "--embedder",
) -> Embedder:  # fmt: skip
    """Make an embedder by name and run options (device, endpoint, store, runner).

    Args:
        name: as in :func:`~citeforge.engines.running.names.make_embedder`, which also raises.
        run: the options.
        revision: commit, tag or branch of a Hub model.
        prefixes: put before queries and passages; None for the model's own.
        option: option that names it, for errors.
    """
    from citeforge.engines.models.embed import EmbedderSettings
    from citeforge.engines.running.names import make_embedder

    settings = EmbedderSettings(
        revision=revision, device=run.device, prefixes=prefixes, options=run,
        store=replay_store(run), factory=make_runner(run).embedder, option=option,
    )  # fmt: skip
    if run.dry_run:
        from citeforge.engines.models.served import RehearsedEmbedder

        return RehearsedEmbedder(name, make_embedder(name, settings) if is_served(name) else None)
    return make_embedder(name, settings)


def judge_session(
    judging: Judging,
    run: RunOptions,
    default_verdicts: Path | None = None,
    store: ReplayStore | None = None,
    repeats: int = 1,
    option: str = "--judge",
) -> JudgeSession | None:
    """Make a session with the judge that options name and its stored verdicts; None without one.

    Args:
        judging: names the judge and its settings.
        run: device, runner and stores.
        default_verdicts: file of verdicts if ``run`` names none.
        store: answers of an LLM judge; None for the store that ``run`` names.
        repeats: how often the judge is asked about each pair.
        option: option that names it, for errors.
    """
    if judging.judge is None:
        return None
    from citeforge.engines.running.names import make_judge

    path = run.verdicts or default_verdicts
    if run.store is None and store is None and (run.batch or run.max_cost is not None):
        # Batches and costs need a store of replies, which may be that of verdicts.
        run = run.model_copy(update={"store": path})
    replay = store or replay_store(run)
    factory = make_runner(run).judge
    judge = make_judge(
        judging.judge, option, judging=judging, run=run, replay=replay, factory=factory
    )
    has_store = path is not None and not _is_missing(path, run)
    known = VerdictStore(path, run.dry_run) if path is not None and has_store else None
    session = JudgeSession(judge, known, repeats)
    session.only_plans = run.dry_run
    return session


def build_judge(
    judging: Judging, run: RunOptions, store: ReplayStore | None = None, option: str = "--judge"
) -> JudgeSession | None:
    """Make a session with a build's judge; verdicts are stored beside the output; None without.

    Args:
        judging: names the judge and its settings.
        run: device, runner, stores and output folder, if there is one.
        store: answers of an LLM judge.
        option: option that names it, for errors.
    """
    beside = None if run.out is None else path_beside(run.out, ".verdicts.db")
    return judge_session(judging, run, beside, store, option=option)
