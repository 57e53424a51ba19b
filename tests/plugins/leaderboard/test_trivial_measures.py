"""A leaderboard marks a measure that any citation satisfies."""

from citeforge.plugins.leaderboard.about import Presentation, introduce_all
from citeforge.plugins.leaderboard.matrix import board_column, compact_matrix
from citeforge.plugins.leaderboard.pages import environment
from citeforge.plugins.leaderboard.ranking import make_ranking_data
from citeforge.plugins.leaderboard.views import make_views
from citeforge.reports.notes import trivial_lines
from conftest_plots import trivial_files


def test_leaderboards_mark_trivial_measures() -> None:
    views = make_views(trivial_files())
    assert make_ranking_data(views[0])["m"] == ["CiteP (trivial)", "CiteR"]
    (line,) = trivial_lines(trivial_files())
    columns = [board_column("f", "Facts", views, m, None) for m in ("CiteP", "CiteR")]
    assert [c.trivial for c in columns] == [line, ""]
    boards = compact_matrix(columns)["b"]
    assert [b[2] for b in boards] == ["CiteP (trivial)", "CiteR"]  # type: ignore[attr-defined]
    page = environment().get_template("matrix.html.j2").render(
        site={"title": "All", "others": [], "folder": ""}, root="", columns=columns, data="{}",
        intro=introduce_all(Presentation(), 2, 1),
    )  # fmt: skip
    assert f"CiteP (trivial)</a> (mix, strict) on 3 queries, 2 systems. {line}</li>" in page
