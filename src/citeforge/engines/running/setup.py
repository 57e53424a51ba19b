"""Engines as recipes and run options ask for them."""

from pathlib import Path
from typing import Any

from citeforge.engines.io.folders import beside
from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.llm.replay import ReplayStore
from citeforge.engines.models.embedder import Embedder
from citeforge.engines.running.runner import make_runner
from citeforge.schemas.recipes.base import Judging, RunOptions


def is_expensive(model: str) -> bool:
    """Whether answers of ``--llm MODEL`` cost money or minutes."""
    return model == "offline" or model.startswith("openai:")


def replay_store(run: RunOptions, *models: str) -> ReplayStore | None:
    """Open the store of answers: ``store``, or one beside ``out`` for expensive models."""
    path = replay_path(run, *models)
    return None if path is None else ReplayStore(path)


def replay_path(run: RunOptions, *models: str) -> Path | None:
    """Find the path of the store of :func:`replay_store`; None without one."""
    if run.store is None and run.out is not None and any(map(is_expensive, models)):
        return beside(run.out, ".replay.db")
    return run.store


def run_embedder(name: str, run: RunOptions, **settings: Any) -> Embedder:
    """Make the embedder of a name, run as the options say.

    Args:
        name: see :func:`~citeforge.engines.models.embed.make_embedder`; so are the errors.
        run: device, endpoint, store and runner.
        settings: further fields of its settings.
    """
    from citeforge.engines.models.embed import make_embedder

    store = replay_store(run)
    place = make_runner(run).embedder
    return make_embedder(name, device=run.device, options=run, store=store, place=place, **settings)


def judge_session(
    judging: Judging,
    run: RunOptions,
    verdicts: Path | None = None,
    store: ReplayStore | None = None,
    repeats: int = 1,
) -> JudgeSession | None:
    """Make the judge with its options and store of verdicts; None without a judge.

    Args:
        judging: which judge.
        run: where it runs.
        verdicts: store when ``run`` names none.
        store: answers of a judge that is an LLM; None for what ``run`` names.
        repeats: how often it is asked about every pair.
    """
    if judging.judge is None:
        return None
    from citeforge.engines.judge.registry import make_judge
    from citeforge.engines.judge.session import VerdictStore

    replay = store or replay_store(run)
    place = make_runner(run).judge
    judge = make_judge(judging.judge, judging=judging, run=run, replay=replay, place=place)
    path = run.verdicts or verdicts
    return JudgeSession(judge, None if path is None else VerdictStore(path), repeats)
