"""Controls show a level: they stand behind the systems, never ranked, never the best."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import citeforge as cf
from citeforge.evaluator.compare import compare_many
from citeforge.evaluator.ranks import ranks_by_measure
from citeforge.plugins.leaderboard.matrix import board_column, compact_matrix
from citeforge.plugins.leaderboard.ranking import make_ranking_data
from citeforge.plugins.leaderboard.views import make_views
from citeforge.reports.pages.choose import plot
from citeforge.reports.pages.formats import render_table
from citeforge.reports.paper import paper_table
from citeforge.reports.terminal import render_scores
from citeforge.schemas.recipes.command_options import TableOptions
from citeforge.schemas.scores import ScoreFile
from conftest_boards import entry, scored

QUERIES = [f"q{i}" for i in range(8)]
LEVELS = {"gold": 1.0, "weak": 0.3, "strong": 0.6}


@pytest.fixture
def files() -> list[ScoreFile]:
    """A control that is better than both systems, and stands first."""
    rng = np.random.default_rng(5)
    made = [
        scored("0" * 64, name, [entry("CiteP", (level - rng.random(8) / 20).tolist())], QUERIES)
        for name, level in LEVELS.items()
    ]
    return [f.model_copy(update={"is_control": f.system == "gold"}) for f in made]


def test_no_rank_counts_a_control(files: list[ScoreFile]) -> None:
    # Two competitors have ranks 1 and 2, whatever the control has.
    assert ranks_by_measure(files) == {"CiteP": [None, (2, 2), (1, 1)]}


def test_tables_show_it_last_and_say_reference(files: list[ScoreFile]) -> None:
    lines = render_scores(files).splitlines()
    assert [line.split()[0] for line in lines[2:5]] == ["weak", "strong", "gold"]
    assert lines[4].startswith("gold (control)")
    rows = render_table("md", files).splitlines()[2:5]
    assert [row.split(" | ")[0] for row in rows] == ["| weak", "| strong", "| gold (control)"]
    told = list(csv.DictReader(io.StringIO(render_table("csv", files))))
    assert [(r["system"], r["rank_low"]) for r in told] == [
        ("weak", "2"), ("strong", "1"), ("gold (control)", ""),
    ]  # fmt: skip


@pytest.mark.parametrize("per_context", [False, True])
def test_bold_is_for_competitors(files: list[ScoreFile], per_context: bool) -> None:
    table = paper_table(files, TableOptions(best="bold", per_context=per_context))
    assert table.rows == ["weak", "strong", "gold (control)"]
    assert [row for (row, _), cell in table.cells.items() if cell.is_best] == ["strong"]


def test_plots_call_a_competitor_the_best(files: list[ScoreFile]) -> None:
    result = plot(files, "intervals", "CiteP")
    assert result.title.startswith("CiteP") or result.title.startswith("strong has the highest")
    assert "gold" not in result.title
    assert [row[0] for row in result.rows] == ["strong", "weak", "gold"]


def test_comparisons_with_a_control_come_last(files: list[ScoreFile]) -> None:
    result = compare_many(files).differences
    assert [(d.first, d.second) for d in result] == [
        ("weak", "strong"), ("gold (control)", "weak"), ("gold (control)", "strong"),
    ]  # fmt: skip


def test_sites_rank_competitors_alone(files: list[ScoreFile]) -> None:
    views = make_views(files)
    told: dict[str, Any] = make_ranking_data(views[0])
    assert told["c"] == [0, 0, 1]
    assert told["g"][2] == 0
    matrix: dict[str, Any] = compact_matrix([board_column("b", "B", views, None, None)])
    assert matrix["s"] == ["strong", "weak", "gold"]
    assert [r and r[0] for r in matrix["r"]] == ["1.0", "2.0", None]


def test_a_control_elsewhere_takes_no_namesake_out_of_the_ranking(files: list[ScoreFile]) -> None:
    namesakes = [f.model_copy(update={"is_control": True}) for f in files if f.system != "gold"]
    columns = [
        board_column(name, name, make_views(some), None, None)
        for name, some in (("here", files), ("there", namesakes))
    ]
    matrix: dict[str, Any] = compact_matrix(columns)
    assert matrix["s"] == ["strong", "weak", "gold"]
    assert [r is None for r in matrix["r"]] == [False, False, True]


def test_the_header_of_a_run_says_so(package: Path, tmp_path: Path) -> None:
    for name, is_control in (("echo-relevant", True), ("top-1", False)):
        path = tmp_path / f"{name}.jsonl"
        cf.run(name, package, path, title="Renamed")
        head = json.loads(path.read_text().splitlines()[0])
        assert head["submission"].get("control", False) is is_control
        file = cf.score(path, package).file
        assert (file.system, file.is_control) == ("Renamed", is_control)
