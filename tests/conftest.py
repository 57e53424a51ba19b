"""Shared fixtures: small data written here, and one package built from `examples/`."""

import gc
import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager
from contextvars import copy_context
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, settings

from citeforge.builders.rage.build import build_rage
from citeforge.cli.main import main
from citeforge.engines import keys
from citeforge.engines.models.embed import EmbedderSettings
from citeforge.engines.models.embedder import Embedder
from citeforge.engines.running.names import make_embedder
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.package.kinds import kind_of_recipe
from citeforge.schemas.errors import CiteforgeError, MissingExtraError
from citeforge.schemas.recipes.answers import AlceRecipe, HagridRecipe
from citeforge.schemas.recipes.authorship import AuthorshipRecipe, Selection
from citeforge.schemas.recipes.base import Recipe, RunOptions
from citeforge.schemas.recipes.flags import fields_in
from citeforge.schemas.recipes.groups import SETTING
from citeforge.schemas.recipes.kalma import KalmaRecipe
from citeforge.schemas.recipes.rage import RageRecipe
from conftest_pages import browser, chromium  # noqa: F401 - fixtures
from durations import FILE

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"

# Timing plays no part in any test; hypothesis' own deadline would bring it in. The suite draws the
# same examples in every run, so that a failure belongs to the change that it came with; `make fuzz`
# draws new ones, and many more.
settings.register_profile(
    "citeforge",
    deadline=None,
    derandomize=True,
    # `too_slow` is a limit in seconds.
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
settings.register_profile("quick", settings.get_profile("citeforge"), max_examples=25)
settings.register_profile(
    "fuzz", settings.get_profile("citeforge"), derandomize=False, max_examples=5000
)
settings.load_profile(os.environ.get("CITEFORGE_HYPOTHESIS", "citeforge"))

# Nothing in the tests may reach a network.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_DATASETS_OFFLINE"] = "1"
# What a developer has set for commands is not for tests.
for _name in (*fields_in(RunOptions, SETTING), "config", "plugins"):
    os.environ.pop(f"CITEFORGE_{_name.upper()}", None)
# A text is embedded by each test that embeds it, and nothing is written to the user's folders.
os.environ["CITEFORGE_CACHE"] = "off"
# The Hub's client waits ten seconds for servers, which are ours here, and none of them hangs.
os.environ["HF_HUB_DOWNLOAD_TIMEOUT"] = os.environ["HF_HUB_ETAG_TIMEOUT"] = "600"
# Two workers share the cores with each other and with the commands that they start: a thread that
# spins while it waits for another takes the processor from the one that it waits for. Training a
# tiny model took up to twenty times as long. Nothing that is computed depends on it.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
# Compiled code is kept: hundreds of processes would each compile all of ours.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# The embedded LLM is taken out of its file once a checkout, not once a test, nor for the user.
os.environ["HF_ASSETS_CACHE"] = str(ROOT / ".pytest_cache" / "assets")

TIERS = pytest.StashKey[dict[str, str]]()
"""Test function, as ``path::name``, to ``quick`` or ``slow``; quick if any parameter is."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--quick``: quick tests alone, and functions that the command line names."""
    parser.addoption("--quick", action="store_true", help="no slow test, unless it is named")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Note the tiers before `-m` leaves any out.

    A real Ray is started on demand only. The files that take longest come first, so that no worker
    still runs one when the others have finished; tests of a file stay together, as do its fixtures.
    """
    tiers = config.stash[TIERS] = {}
    seconds: dict[str, float] = json.loads(FILE.read_text())
    skip = pytest.mark.skip(reason="starts a real Ray: make test-ray")
    for item in items:
        name = item.nodeid.partition("[")[0]
        if "browser" in getattr(item, "fixturenames", ()) or name in seconds:
            item.add_marker("slow")
        is_slow = any(item.iter_markers("slow")) or any(item.iter_markers("ray"))
        if not is_slow or name not in tiers:
            tiers[name] = "slow" if is_slow else "quick"
        if item.get_closest_marker("ray") and not os.environ.get("CITEFORGE_RAY"):
            item.add_marker(skip)
    per_file: dict[str, float] = defaultdict(float)
    for name, taken in seconds.items():
        per_file[name.partition("::")[0]] += taken if tiers.get(name) == "slow" else 0
    items.sort(key=lambda item: -per_file[item.nodeid.partition("::")[0]])
    if config.getoption("quick"):
        kept = {name for name in tiers if tiers[name] == "quick"}.union(config.args)
        config.hook.pytest_deselected(
            items=[item for item in items if item.nodeid.partition("[")[0] not in kept]
        )
        items[:] = [item for item in items if item.nodeid.partition("[")[0] in kept]


def _skip_without(module: str) -> None:
    """Skip a test that needs a missing package, where `.ci/run` says that some are missing."""
    if os.environ.get("CITEFORGE_WITHOUT_TORCH") and find_spec(module) is None:
        pytest.skip(f"needs {module}, which is not installed here")


def _skipping() -> Iterator[None]:
    try:
        return (yield)
    except (MissingExtraError, ModuleNotFoundError) as error:
        _skip_without(getattr(error, "module", None) or (error.name or "").partition(".")[0])
        raise


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup() -> Iterator[None]:
    return (yield from _skipping())


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call() -> Iterator[None]:
    return (yield from _skipping())


@pytest.fixture
def interruptible() -> Iterator[None]:
    """A shell without job control starts its background jobs deaf to Ctrl-C, children included."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def tiers(request: pytest.FixtureRequest) -> dict[str, str]:
    """Tier of each collected test function, as in :data:`TIERS`."""
    return request.config.stash[TIERS]


@pytest.fixture(scope="session", autouse=True)
def no_disk_waits() -> Iterator[None]:
    """Skip waiting for the disk: tests kill processes, but never cut the power."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda handle: None)
        yield


@pytest.fixture(autouse=True)
def no_addresses_of_other_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget passwords of addresses that other tests used: each would be masked in all messages."""
    monkeypatch.setattr(keys, "_used_addresses", set())


# Searches for garbage took a sixteenth of the time of the quick tests.
gc.set_threshold(100_000, 50, 100)


def pytest_collection_finish() -> None:
    """No search for garbage looks again at what was imported and collected."""
    gc.freeze()


class Ran(subprocess.CompletedProcess[str]):
    """One run of a command in this process.

    Attributes:
        error: the error that ended it, with ``code``, ``path``, ``line`` and ``field``; None when
            it ended otherwise.
    """

    error: CiteforgeError | None = None

    @property
    def code(self) -> str:
        """Code of the error that ended the command; empty when it ended otherwise."""
        return self.error.code if self.error else ""

    def check_returncode(self) -> None:
        """Fail with what the command wrote where it did not succeed."""
        assert self.returncode == 0, self.stdout + self.stderr


Cli = Callable[..., subprocess.CompletedProcess[str]]


def run_process(
    words: Sequence[object], folder: Path, env: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own."""
    command = [sys.executable, "-m", "citeforge", *map(str, words)]
    ran = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
    if missing := re.search(r"needs the module '(\w+)', which is not installed", ran.stderr):
        _skip_without(missing[1])
    return ran


def run_inline(words: Sequence[object], folder: Path, env: Mapping[str, str]) -> Ran:
    """Run the command in this process."""
    args = [str(word) for word in words]
    code: object = 0
    error: BaseException | None = None
    with chdir(folder), CliRunner().isolation(env=env) as (out, err, _):
        try:
            copy_context().run(main, args)
        except SystemExit as end:
            code, error = end.code, end.__cause__ or end.__context__
        sys.stdout.flush()
        sys.stderr.flush()
    assert code is None or isinstance(code, int), code
    texts = (stream.getvalue().decode() for stream in (out, err))
    ran = Ran(["citeforge", *args], code or 0, *texts)
    ran.error = error if isinstance(error, CiteforgeError) else None
    if isinstance(error, MissingExtraError):
        _skip_without(error.module)
    return ran


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """Run the real command in a process of its own; HF caches stay inside the test's folder.

    For tests of signals, pipes, locales, terminals and imports; all others use `inline`.
    """

    def run(*args: object, **more: str) -> subprocess.CompletedProcess[str]:
        return run_process(args, tmp_path, {**os.environ, "HF_HOME": str(tmp_path / "hf"), **more})

    return run


@dataclass
class Inline:
    """Runs the command in this process, in one folder."""

    folder: Path

    def __call__(self, *args: object, **more: str) -> Ran:
        return run_inline(args, self.folder, {"HF_HOME": str(self.folder / "hf"), **more})

    def ok(self, *args: object, **more: str) -> Ran:
        """Run a command that must succeed."""
        ran = self(*args, **more)
        ran.check_returncode()
        return ran

    def fails(self, exit_code: int, error_code: str, *args: object, **more: str) -> Ran:
        """Run a command that must end with these two codes."""
        ran = self(*args, **more)
        assert (ran.returncode, ran.code) == (exit_code, error_code), ran.stdout + ran.stderr
        return ran


@pytest.fixture
def inline(tmp_path: Path) -> Inline:
    """Run the command in this process, in the test's folder."""
    return Inline(tmp_path)


@contextmanager
def refused(
    code: str, kind: type[CiteforgeError] = CiteforgeError, **place: object
) -> Iterator[pytest.ExceptionInfo[CiteforgeError]]:
    """Expect an error by its code and its place; its words are asserted in one test alone.

    Args:
        code: ``error.code``.
        kind: class of the error.
        place: attributes that the error has: ``path``, ``line``, ``field``, ``value`` …; paths are
            compared as texts.
    """
    with pytest.raises(kind) as caught:
        yield caught
    error = caught.value
    if isinstance(error, MissingExtraError) and code != "missing-extra":
        raise error  # The test is skipped: what it needs is not installed.
    there = {name: getattr(error, name, "(has none)") for name in place}
    wanted = {n: str(v) if isinstance(v, Path) else v for n, v in place.items()}
    assert (error.code, there) == (code, wanted), error


T = TypeVar("T")


def sampled(points: Sequence[T], share: int = 3) -> list[T]:
    """One of so many points, the first and the last among them: the same in every run.

    All of them where CITEFORGE_ALL_POINTS is set, as `make exhaustive` does.
    """
    if os.environ.get("CITEFORGE_ALL_POINTS"):
        return list(points)
    return [*points[:-1:share], points[-1]]


def run_options(out: Path, if_exists: str = "refuse", **more: Any) -> RunOptions:
    """Where a build goes, and what it does with what is there."""
    words = {} if if_exists == "refuse" else {if_exists: True}
    return RunOptions.model_validate({"out": out} | words | more)


def write_jsonl(path: Path, rows: list[dict[str, object]]) -> Path:
    """Write rows as JSON Lines, gzipped when the name says so."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text, encoding="utf-8")
    return path


def content(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {
        p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()
    }


def write_beir(
    folder: Path,
    passages: dict[str, str],
    queries: dict[str, str],
    qrels: list[tuple[str, str, int]],
    split: str = "test",
) -> Path:
    """Write a BEIR folder."""
    write_jsonl(
        folder / "corpus.jsonl",
        [{"_id": i, "title": "", "text": t} for i, t in passages.items()],
    )
    write_jsonl(folder / "queries.jsonl", [{"_id": i, "text": t} for i, t in queries.items()])
    (folder / "qrels").mkdir(parents=True, exist_ok=True)
    lines = ["query-id\tcorpus-id\tscore", *(f"{q}\t{p}\t{s}" for q, p, s in qrels)]
    (folder / "qrels" / f"{split}.tsv").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture
def small_beir(tmp_path: Path) -> Path:
    """Twelve passages, two queries."""
    passages = {f"p{i}": f"Passage number {i} speaks of topic {i % 4}." for i in range(12)}
    return write_beir(
        tmp_path / "small",
        passages,
        {"q1": "What is topic 1?", "q2": "What is topic 2?"},
        [("q1", "p1", 1), ("q1", "p5", 2), ("q2", "p2", 1), ("q2", "p3", 0)],
    )


@cache
def offline_embedder() -> Embedder:
    """The embedder ``offline``, loaded once per process."""
    return make_embedder("offline", EmbedderSettings(device="cpu"))


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The benchmark of the quick start. Tests that change it work on a copy."""
    out = tmp_path_factory.mktemp("package") / "facts"
    if built := os.environ.get("CITEFORGE_PACKAGE"):  # by a Python that has torch
        shutil.copytree(built, out)
        return out
    config = RageRecipe(source=f"beir:{EXAMPLES / 'facts'}", embedder="offline")
    build_rage(config, RunOptions(out=out), offline_embedder())
    return out


@pytest.fixture(scope="session")
def benchmark(package: Path) -> Benchmark:
    """The same benchmark, opened."""
    return Benchmark(package)


@pytest.fixture(scope="session")
def hidden_package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same benchmark with labels that can be hidden."""
    out = tmp_path_factory.mktemp("hidden") / "facts"
    config = RageRecipe(source=f"beir:{EXAMPLES / 'facts'}", candidates="bm25", hidden=True)
    build_rage(config, RunOptions(out=out))
    return out


@pytest.fixture(scope="session")
def twins_package(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twins of `package`; the writer's replies are in ``kept.db`` beside it."""
    folder = tmp_path_factory.mktemp("twins")
    replies = EXAMPLES / "twins" / "replay.jsonl"
    run_inline(("llm", "import", "kept.db", replies), folder, {}).check_returncode()
    words = ("--benchmark", package, "--llm", "replay:kept.db", "--out", "twins")
    run_inline(("build", "twins", *words), folder, {}).check_returncode()
    return folder / "twins"


@pytest.fixture(scope="session")
def authorship_package(twins_package: Path) -> Path:
    """Contexts of five passages with labels of authors, beside `twins_package`."""
    recipe = AuthorshipRecipe(twins=twins_package, selection=Selection(k=5))
    return build_into(recipe, twins_package.with_name("authorship"))


@pytest.fixture(scope="session")
def kalma_package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Questions about fathers; the graph is ``graph.ttl`` beside it."""
    folder = tmp_path_factory.mktemp("kalma")
    graph = shutil.copy(EXAMPLES / "people" / "graph.ttl", folder)
    recipe = KalmaRecipe(kg=f"file:{graph}", pairs_from_kg=("father",))
    return build_into(recipe, folder / "kalma")


@pytest.fixture(scope="session")
def hagrid_package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """HAGRID's answers."""
    recipe = HagridRecipe(source=f"hagrid:{EXAMPLES / 'answers' / 'hagrid.jsonl'}")
    return build_into(recipe, tmp_path_factory.mktemp("hagrid") / "hagrid")


@pytest.fixture(scope="session")
def alce_package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """ASQA's questions with two of their documents."""
    recipe = AlceRecipe(source=f"alce:{EXAMPLES / 'answers' / 'asqa.json'}", k=2)
    return build_into(recipe, tmp_path_factory.mktemp("alce") / "alce")


def build_into(recipe: Recipe, out: Path) -> Path:
    """Build a package; returns its folder."""
    kind_of_recipe(recipe).build(recipe, RunOptions(out=out))
    return out


def real_data() -> Path:
    """Folder with real data, or skip."""
    folder = os.environ.get("CITEFORGE_REAL_DATA")
    if not folder:
        pytest.skip("CITEFORGE_REAL_DATA is not set")
    return (ROOT / folder).resolve()
