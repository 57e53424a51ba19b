"""Systems that were scored on a part of the queries: what stands beside their names, and why."""

from pathlib import Path
from typing import Any

import pytest

import citeforge as cf
from citeforge.plugins.leaderboard.ranking import make_ranking_data
from citeforge.plugins.leaderboard.views import make_views
from citeforge.schemas.scores import ScoreFile
from conftest import write_jsonl


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory, package: Path) -> list[ScoreFile]:
    """A control over all queries, a system of two of them, and one over all."""
    folder = tmp_path_factory.mktemp("partial")
    ids = cf.load(package).query_ids
    found = []
    for name, queries in (("part", ids[:2]), ("whole", ids)):
        rows: list[dict[str, object]] = [{"query_id": q, "output": "Yes [1]."} for q in queries]
        path = write_jsonl(folder / f"{name}.jsonl", rows)
        only = len(queries) < len(ids)
        found.append(cf.score(path, package, ["CiteP", "CiteR"], only_answered=only).file)
    control = found[1].model_copy(update={"system": "control", "is_control": True})
    return [control, *found]


def told(files: list[ScoreFile], n: int) -> dict[str, Any]:
    (view,) = make_views(files)
    return make_ranking_data(view, n_queries=n)


def test_a_part_of_the_queries_stands_beside_the_name(
    files: list[ScoreFile], package: Path
) -> None:
    n = len(cf.load(package).query_ids)
    shown = told(files, n)
    assert shown["s"] == ["part", "whole", "control"]
    assert shown["o"] == [f"2 of {n} queries; –: other queries than the values here", "", ""]
    assert [[v is None for v in row] for row in shown["v"]] == [[True, False, False]] * 2


def test_competitors_set_what_is_compared(files: list[ScoreFile], package: Path) -> None:
    n = len(cf.load(package).query_ids)
    shown = told(files[:2], n)
    assert shown["o"] == [f"2 of {n} queries", "–: other queries than the values here"]
    assert [[v is None for v in row] for row in shown["v"]] == [[False, True]] * 2


def test_what_was_not_computed_says_so(files: list[ScoreFile], package: Path) -> None:
    bare = files[2].model_copy(update={"system": "bare", "measures": files[2].measures[:1]})
    assert told([files[2], bare], len(files[2].query_ids))["o"] == ["", "–: not computed"]
