"""The MAX row of retrieval tables."""

import json
from pathlib import Path

import pytest

from citeforge.evaluator.statistics.compare import load_scores
from citeforge.evaluator.statistics.max_row import max_row
from conftest import Inline


def test_the_best_of_each_query(inline: Inline, package: Path, tmp_path: Path) -> None:
    # q01 is answered by moon-io alone, q02 by moon-ganymede alone.
    rankings = {
        "first": {"q01": ["moon-io"], "q02": ["moon-io"]},
        "second": {"q01": ["moon-titan"], "q02": ["moon-ganymede"]},
    }
    for name, by_query in rankings.items():
        rows = [
            {
                "query_id": query,
                "output": "x",
                "passages": [{"docid": i} for i in ids],
            }
            for query, ids in by_query.items()
        ]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    args = ("score", "first.jsonl", "second.jsonl", "--benchmark", package)
    result = inline(*args, "--measures", "retrieval", "--max-row", "--out", "scores")
    assert result.returncode == 0, result.stderr
    assert "MAX of 2" in result.stdout
    files = [load_scores(tmp_path / "scores" / f"{n}.scores.json") for n in rankings]
    values = [next(m.value for m in f.measures if m.name == "P@1") for f in files]
    # One of 30 queries each; together two, the other 28 are missing.
    assert values == pytest.approx([100 / 30, 100 / 30])
    best = next(m for m in max_row(files).measures if m.name == "P@1")
    assert best.value == pytest.approx(200 / 30)
    assert inline(*args[:2], *args[3:], "--measures", "retrieval", "--max-row").returncode == 2
