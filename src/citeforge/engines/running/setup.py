"""Engines as recipes and run options ask for them: stores, embedders, judges, and runners.

A runner spreads embedding, judging and searching over processes or machines. A plugin declares a
class that inherits from :class:`Runner` as an entry point of the group ``citeforge.runners``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import ValidationError

from citeforge.engines import plugins
from citeforge.engines.folders import beside
from citeforge.engines.judge.records import Judge
from citeforge.engines.judge.session import JudgeSession, VerdictStore
from citeforge.engines.llm.replay import ReplayStore
from citeforge.engines.models.embedder import Embedder
from citeforge.schemas.errors import UnknownValueError, UsageError
from citeforge.schemas.recipes.base import Compute, Judging, Part, RunOptions
from citeforge.schemas.recipes.flags import Flag, flags_of

if TYPE_CHECKING:
    from citeforge.engines.retrieval.exact import FirstStage

GROUP = "runners"


class Runner:
    """Runs all work in this process; subclasses of plugins spread it over workers.

    Results must be those of this class, whatever else runs and however many workers there are.
    What is stored (vectors, verdicts) is written by the process that asks.

    Attributes:
        name: how ``--engine`` names it.
        options: record of its options; each field is an option of every command with ``--engine``.
    """

    name: ClassVar[str] = "local"
    options: ClassVar[type[Part]] = Part

    def __init__(self, options: Any = None) -> None:
        """Take the runner's own options.

        Args:
            options: a record of the class's own ``options``; None for defaults.
        """
        self.settings = self.options() if options is None else options

    def require(self) -> None:
        """Check before any work that the runner's libraries and workers are there.

        Raises:
            CiteforgeError: a library is missing, or nothing answers.
        """

    def embedder(self, make: Callable[[], Embedder], device: str, compute: Compute) -> Embedder:
        """Make an embedder by calling ``make`` here; a plugin's runner calls it on its workers.

        An embedder with ``encode_each`` gets the shards of a corpus together, and one that
        computes in int8 is a :class:`~citeforge.engines.models.embedder.Quantizable`.

        Args:
            make: loads the model; can be pickled.
            device: device of a worker.
            compute: numeric format.
        """
        return make()

    def judge(self, make: Callable[[], Judge], run: RunOptions) -> Judge:
        """Make a local judge by calling ``make`` here; it can be pickled for workers."""
        return make()

    def first_stage(self, device: str) -> FirstStage:
        """Get the function that searches the vectors of a corpus."""
        from citeforge.engines.retrieval.exact import retrieve_candidates

        return partial(retrieve_candidates, device=device)


LOCAL = Runner()


def runner_names() -> list[str]:
    """List the names of all runners, the built-in one first, without importing plugins."""
    return [LOCAL.name, *(name for name, _ in plugins.entry_names(GROUP))]


def runner_flags(place: str) -> Iterator[Flag]:
    """Yield the options of plugins' runners, each prefixed with its runner's name.

    Args:
        place: field of the run options that has them.
    """
    for entry in plugins.load_entries(GROUP):
        runner = _require_runner(*entry)
        for flag in flags_of(runner.options, (place, runner.name)):
            yield replace(flag, name=_flag(runner.name, flag.place[-1]))


def make_runner(run: RunOptions) -> Runner:
    """Make the runner that ``--engine`` names, with its options.

    Raises:
        UsageError: no such runner, or its options are wrong or those of another runner.
        InputError: the plugin that defines it is broken.
    """
    runner = _find_runner(run.engine)
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
        flag = _flag(run.engine, *map(str, first["loc"]))
        raise UsageError(
            f"{flag}: {first['msg'].removeprefix('Value error, ')}", code="bad-option"
        ) from error
    return runner(options)


def _flag(*words: str) -> str:
    """Join words to the name of an option: ``--ray-workers``."""
    return "--" + "-".join(words).replace("_", "-")


def _find_runner(name: str) -> type[Runner]:
    """Find the class of a runner by name, built-in or a plugin's."""
    if name == LOCAL.name:
        return Runner
    entry = plugins.find_entry(GROUP, name)
    if entry is not None:
        return _require_runner(*entry)
    raise UnknownValueError("engine", name, runner_names())


def _require_runner(value: object, origin: str) -> type[Runner]:
    """Return what the plugin ``origin`` declares if it is a class of Runner; else raise."""
    if isinstance(value, type) and issubclass(value, Runner):
        return value
    raise plugins.broken_plugin("a runner", origin, TypeError(f"{value!r} is no class of Runner"))


def is_expensive(model: str) -> bool:
    """Whether answers of ``--llm MODEL`` take money or minutes."""
    return model == "offline" or model.startswith("openai:")


def replay_store(run: RunOptions, *models: str) -> ReplayStore | None:
    """Open the store of LLM answers at :func:`replay_path`; None without one."""
    path = replay_path(run, *models)
    return None if path is None else ReplayStore(path)


def replay_path(run: RunOptions, *models: str) -> Path | None:
    """Choose the path of the store of LLM answers: ``store``, or beside ``out`` for costly models.

    None where neither applies.
    """
    if run.store is None and run.out is not None and any(map(is_expensive, models)):
        return beside(run.out, ".replay.db")
    return run.store


def run_embedder(name: str, run: RunOptions, **settings: Any) -> Embedder:
    """Make an embedder by name, with the device, endpoint, store and runner of the run options.

    Args:
        name: as in :func:`~citeforge.engines.models.embed.make_embedder`, which also raises.
        run: the options.
        settings: further fields of ``EmbedderSettings``.
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
    """Make the judge that options name, with its store of verdicts; None if they name none.

    Args:
        judging: names the judge and its settings.
        run: device, runner and stores.
        verdicts: file of verdicts if ``run`` names none.
        store: answers of an LLM judge; None for the store that ``run`` names.
        repeats: how often the judge is asked about each pair.
    """
    if judging.judge is None:
        return None
    from citeforge.engines.judge.registry import make_judge

    replay = store or replay_store(run)
    place = make_runner(run).judge
    judge = make_judge(judging.judge, judging=judging, run=run, replay=replay, place=place)
    path = run.verdicts or verdicts
    return JudgeSession(judge, None if path is None else VerdictStore(path), repeats)
