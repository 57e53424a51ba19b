"""Mined negatives that are no nearer to their query than random passages are."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from citeforge.builders.rage.mining import Mined
from citeforge.builders.rage.negatives import count_far
from citeforge.engines.embedding.vectors import VectorShard
from citeforge.engines.search.two_stage import ExactSearch
from citeforge.schemas.benchmarks.manifest import COMPARED, FAR
from conftest import Cli, write_beir


def searching(folder: Path, cosines: list[float]) -> ExactSearch:
    """Search with two equal queries, of which passages have these cosines."""
    vectors = np.array([[c, math.sqrt(1 - c * c)] for c in cosines], np.float32)
    path = folder / "v.f16"
    path.write_bytes(vectors.astype("<f2").tobytes())
    queries = np.array([[1, 0], [1, 0]], np.float32)
    return ExactSearch(queries, [VectorShard(path, len(cosines), 2, "k")])


def test_half_way_from_the_median_of_random_to_the_mean_of_relevant(tmp_path: Path) -> None:
    # Seven passages: all of them are the random ones, with a median of 0.25. Relevant are 0.75
    # and 1.0, with a mean of 0.875. Half-way is (0.25 + 0.875) / 2 = 0.5625.
    search = searching(tmp_path, [0.0, 0.0, 0.125, 0.25, 0.5, 0.75, 1.0])
    mined = [[Mined(4, 0.57, 1), Mined(4, 0.56, 2), Mined(3, 0.25, 3)], [Mined(4, 0.5, 1)]]
    # The second query has no relevant passage, so nothing can be said of its own.
    assert count_far(search, [[5, 6], []], mined, 0) == {COMPARED: 3, FAR: 2}
    assert count_far(search, [[5, 6], []], [[], []], 0) == {COMPARED: 0, FAR: 0}


@pytest.mark.parametrize(
    ("others", "warns"),
    [
        # Nothing else in the corpus is about moons: what is mined is as far away as anything.
        (["Bread needs flour.", "The king died in 1066.", "Tax law of France."], True),
        # Everything else is about the same moon.
        (
            ["Europa is a moon of Jupiter.", "Moons of Jupiter: Ganymede and Callisto.",
             "Which moon circles Jupiter in a day?", "Jupiter has a moon called Thebe."],
            False,
        ),
    ],
)  # fmt: skip
def test_a_build_says_so_in_the_end_message_the_card_and_the_audit(
    tmp_path: Path, cli: Cli, others: list[str], warns: bool
) -> None:
    filler = [f"Page {i} of a manual on {w}." for i, w in enumerate(("taxes", "bread", "war") * 4)]
    passages = {f"o{i}": text for i, text in enumerate([*others, *filler])}
    passages["r"] = "Io is the innermost moon of Jupiter."
    folder = write_beir(
        tmp_path / "b", passages, {"q": "Which is the innermost moon of Jupiter?"}, [("q", "r", 1)]
    )
    words = ("--embedder", "offline", "--licence", "mit", "--n-seemingly", "3", "--n-irrelevant")
    done = cli("build", "rage", "--source", f"beir:{folder}", *words, "3", "--out", "out")
    assert done.returncode == 0, done.stderr
    counts = json.loads((tmp_path / "out" / "manifest.json").read_text())["counts"]
    assert counts[COMPARED] == 3
    assert (2 * counts[FAR] > 3) == warns
    text = f"{counts[FAR]} of 3 mined negatives are nearer to random passages"
    audit = cli("audit", "out")
    card = (tmp_path / "out" / "README.md").read_text()
    for said in (done.stderr, card, audit.stdout):
        assert (text in said) == warns
