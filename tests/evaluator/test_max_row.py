"""The MAX row of retrieval tables."""

from pathlib import Path

import pytest

import citeforge as cf
from conftest import Inline, write_jsonl


def test_the_best_of_each_query(inline: Inline, package: Path, tmp_path: Path) -> None:
    # q01 is answered by moon-io alone, q02 by moon-ganymede alone.
    rankings = {
        "first": {"q01": "moon-io", "q02": "moon-io"},
        "second": {"q01": "moon-titan", "q02": "moon-ganymede"},
    }
    paths = [
        write_jsonl(
            tmp_path / f"{name}.jsonl",
            [{"query_id": q, "output": "x", "passages": [{"docid": i}]} for q, i in one.items()],
        )
        for name, one in rankings.items()
    ]
    options = cf.ScoreOptions(measures=("retrieval",), max_row=True)
    first, second, best = cf.score_files(paths, package, options).scores
    # One of 30 queries each; together two, the other 28 are missing.
    assert [first["P@1"].value, second["P@1"].value] == pytest.approx([100 / 30, 100 / 30])
    assert (best.system, best["P@1"].value) == ("MAX of 2", pytest.approx(200 / 30))
    there = ("--benchmark", package, "--measures", "retrieval", "--max-row")
    assert "MAX of 2" in inline("score", *paths, *there).stdout
    inline.fails(2, "missing-option", "score", paths[0], *there)
