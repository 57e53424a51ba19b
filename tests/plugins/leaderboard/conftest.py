"""Sites that several files of tests look at."""

from pathlib import Path

import numpy as np
import pytest

import citeforge as cf
from citeforge.plugins.leaderboard.build import build_site
from conftest import EXAMPLES
from conftest_boards import EVIL, entry, scored


@pytest.fixture(scope="session")
def site(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """150 made systems on the example benchmark, one with a hostile name."""
    from citeforge.package.manifest import load_intact

    manifest = load_intact(package)
    queries = [f"q{i:02d}" for i in range(1, 31)]
    rng = np.random.default_rng(0)
    files = []
    for number in range(150):
        level = 0.9 - number / 200
        names = ("CiteP", "CiteR", "CiteF1", "Distinct")
        rows = [entry(n, np.clip(rng.normal(level, 0.05, 30), 0, 1).tolist()) for n in names]
        system = EVIL if number == 3 else f"system {number:03d}"
        files.append(scored(manifest.benchmark_hash, system, rows, queries))
    out = tmp_path_factory.mktemp("site") / "site"
    build_site(package, files, out, "Facts")
    return out


@pytest.fixture(scope="session")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A benchmark of sub-graphs."""
    graph = f"file:{EXAMPLES / 'people/graph.ttl'}"
    recipe = cf.KalmaRecipe(kg=graph, pairs_from_kg="father,spouse")
    return cf.build(recipe, tmp_path_factory.mktemp("people") / "people").folder


@pytest.fixture(scope="session")
def other_sites(
    twins_package: Path, people: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    """Sites of a benchmark with twins and of one with sub-graphs."""
    root = tmp_path_factory.mktemp("others")
    for name, folder in (("twins", twins_package), ("kalma", people)):
        build_site(folder, [], root / f"{name}-site")
    return {name: root / f"{name}-site" for name in ("twins", "kalma")}
