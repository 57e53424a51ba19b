"""The papers' own evaluators beside ours.

Their numbers are stored in ``frozen/``. `make peers` makes them anew: ``CITEFORGE_PEERS`` names a
folder with checkouts of the papers' repositories, each under its repository's name, as the
`Program` of each test has it (``ALCE``, ``rage_toolkit``, …; Attributed-IR's has ``evaluate``).
Nothing of theirs is in this repository. ALCE's QA measures need transformers 4.28.1 besides:
``CITEFORGE_PEERS_PYTHON`` names an interpreter with it. trust-align needs fuzzywuzzy 0.18.0 and
python-Levenshtein 0.26.1, and CiteEval configobj, installed beside the tests.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from citeforge.builders.rage.build import build_rage
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.schemas.recipes.base import RunOptions
from citeforge.schemas.recipes.rage import RageRecipe
from conftest import write_beir
from peers.frozen import FrozenNumbers


@pytest.fixture(scope="session")
def printed() -> Iterator[FrozenNumbers]:
    """Numbers that the papers' code printed."""
    folder = os.environ.get("CITEFORGE_PEERS")
    numbers = FrozenNumbers(Path(folder) if folder else None)
    yield numbers
    if os.environ.get("CITEFORGE_PEERS_WRITE"):
        numbers.write()
    elif found := numbers.differences():
        pytest.fail("\n".join(found), pytrace=False)


@pytest.fixture(scope="session")
def peer(printed: FrozenNumbers) -> Callable[[str], Path]:
    """Checkout of a repository by its name; the test is skipped where there is none."""
    return printed.find_checkout


@pytest.fixture(scope="session")
def benchmark(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    """Thirty queries with five passages each: inputs do not depend on the examples."""
    folder = tmp_path_factory.mktemp("benchmark")
    passages = {f"p{i}": f"Passage {i} is about topic {i // 5}." for i in range(60)}
    queries = {f"q{i:02}": f"What is topic {i}?" for i in range(1, 31)}
    qrels = [(q, f"p{(7 * i + k) % 60}", 1) for i, q in enumerate(queries) for k in range(5)]
    write_beir(folder / "source", passages, queries, qrels)
    recipe = RageRecipe(
        source=f"beir:{folder / 'source'}",
        candidates="bm25",
        mixtures=("mix=5,0,0",),
    )
    build_rage(recipe, RunOptions(out=folder / "out"))
    return Benchmark(folder / "out")
