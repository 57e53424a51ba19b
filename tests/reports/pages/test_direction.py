"""Which systems are best where a lower value is better, and where neither direction is."""

import json
import re
from collections.abc import Sequence

from citeforge.evaluator.ranks import ranks_by_measure
from citeforge.plugins.leaderboard.matrix import board_column, compact_matrix
from citeforge.plugins.leaderboard.ranking import make_ranking_data
from citeforge.plugins.leaderboard.views import make_views
from citeforge.reports import markdown
from citeforge.reports.pages.charts import scores_best_first
from citeforge.reports.pages.choose import plot
from citeforge.reports.pages.queries_chart import distribution, query_differences
from citeforge.reports.pages.scatter_chart import precision_recall
from citeforge.reports.paper import paper_table
from citeforge.schemas.recipes.command_options import TableOptions
from citeforge.schemas.scores import Counts, MeasureScore, ScoreFile
from conftest import refused

UP, DOWN, NEITHER = "CiteP", "ALCE.Overcited", "ALCE.Multi"
N = 12


def file(system: str, value: float, names: Sequence[str] = (NEITHER, DOWN, UP)) -> ScoreFile:
    """A system with the same value on all queries by all measures."""
    measures = [
        MeasureScore(
            name=name, signature=f"{name}|p:strict", scale=100, value=100 * value, low=None,
            high=None, stderr=None, interval="none", n=N, n_undefined=0, per_query=[value] * N,
        )
        for name in names
    ]  # fmt: skip
    return ScoreFile(
        system=system, submission=system, submission_sha256=system, benchmark="b",
        benchmark_hash="1", protocol="strict", context="mix", measures=measures,
        counts=Counts(n_queries=N, n_runs=1, n_answered=N, n_missing=0, n_unparsed=0),
        query_ids=[f"q{i}" for i in range(N)],
    )  # fmt: skip


FILES = [file("low", 0.25), file("high", 0.75)]


def test_ranks_follow_the_direction() -> None:
    assert ranks_by_measure(FILES) == {
        UP: [(2, 2), (1, 1)],
        DOWN: [(1, 1), (2, 2)],
        NEITHER: [None, None],
    }


def test_a_page_is_ranked_by_a_measure_that_has_a_best() -> None:
    (view,) = make_views([file(f.system, f.measures[0].per_query[0] or 0, (NEITHER, DOWN))
                          for f in FILES])  # fmt: skip
    assert view.main == DOWN
    told = make_ranking_data(view)
    assert (view.measures, told["b"]) == ((NEITHER, DOWN), [0, -1])
    column = board_column("f", "t", [view], None, None)
    matrix = compact_matrix([column])
    assert (matrix["s"], matrix["r"]) == (["low", "high"], [["1.0"] * 3, ["2.0"] * 3])
    with refused("wrong-value", field="measure", allowed=DOWN):
        board_column("f", "t", [view], NEITHER, None)


def test_bold_and_stars() -> None:
    text = markdown.write_paper(paper_table(FILES, TableOptions(best="bold", against="low")))
    rows = {line.split("|")[1].strip(): line for line in text.splitlines() if "|" in line}
    head = [x.strip() for x in rows["system"].split("|")]
    low, high = ([x.strip() for x in rows[s].split("|")] for s in ("low", "high"))
    cells = {name: (low[head.index(name)], high[head.index(name)]) for name in (UP, DOWN, NEITHER)}
    assert cells == {
        UP: ("25.00", "**75.00** †"), DOWN: ("**25.00**", "75.00 †"), NEITHER: ("25.00", "75.00"),
    }  # fmt: skip


def test_plots_begin_with_the_best() -> None:
    order = {name: [f.system for f, _ in scores_best_first(FILES, name)] for name in (UP, DOWN)}
    assert order == {UP: ["high", "low"], DOWN: ["low", "high"]}
    titles = [query_differences(*FILES, name).title for name in (UP, DOWN, NEITHER)]  # type: ignore[union-attr]
    assert titles == [
        f"{UP}: high is better than low on 12 queries, worse on 0, equal on 0",
        f"{DOWN}: high is better than low on 0 queries, worse on 12, equal on 0",
        f"{NEITHER}: high is higher than low on 12 queries, lower on 0, equal on 0",
    ]


def test_two_equal_systems_have_a_line_at_zero() -> None:
    figure = query_differences(file("one", 0.5), file("other", 0.5), UP)
    assert figure is not None
    assert figure.title == f"{UP}: other is better than one on 0 queries, worse on 0, equal on 12"
    assert figure.svg.count("mark-rule role-mark") == 1
    unequal = query_differences(*FILES, UP)
    assert unequal is not None
    assert "mark-rule role-mark" not in unequal.svg


def test_views_with_as_many_systems_come_in_the_order_of_the_benchmark() -> None:
    contexts = ["full", "absent_1", "own"]
    files = [f.model_copy(update={"context": c}) for c in reversed(contexts) for f in FILES]
    files.append(file("third", 0.5).model_copy(update={"context": "own"}))
    views = make_views(files, dict.fromkeys(contexts[:2], "passages"))
    assert [v.title for v in views] == ["own, strict", "full, strict", "absent_1, strict"]


def test_nobody_is_called_first_where_files_are_not_comparable() -> None:
    other = FILES[1].model_copy(deep=True)
    for measure in other.measures:
        measure.signature += "|ctx:hard"
    files = [FILES[0], other]
    for name in [m.name for m in other.measures]:
        figure = plot(files, "intervals", name)
        assert "highest" not in figure.title
        assert "lowest" not in figure.title
        assert "cannot be compared" in figure.title
        assert [row[4] for row in figure.rows] == ["–", "–"]


def test_no_plot_names_a_best_where_neither_direction_is_better() -> None:
    figure = plot(FILES, "intervals", NEITHER)
    assert figure.title == f"{NEITHER} of 2 systems, from 75.0 down"
    assert [row[4] for row in figure.rows] == ["–", "–"]
    assert "Neither more nor less is better." in figure.note
    assert plot(FILES, "intervals", UP).title.startswith("high has the highest")
    assert plot(FILES, "intervals", DOWN).title.startswith("low has the lowest")


def test_equal_dots_do_not_cover_each_other() -> None:
    files = [file(name, value, ("CiteP", "CiteR"))
             for name, value in (("below", 0.5), ("above", 0.5), ("apart", 0.25))]  # fmt: skip
    figure = precision_recall(files, "CiteP", "CiteR")
    assert figure is not None
    text = json.dumps(figure.spec)
    rows = re.findall(r'"system": "(\w+)"[^}]*"size": (\d+)', text)
    sizes = {system: int(size) for system, size in rows}
    # The first is drawn first, and one mark lies on it: three times the area of the others.
    assert sizes == {"below": 3 * 70, "above": 70, "apart": 70}


def test_titles_of_distributions_leave_controls_out() -> None:
    files = [file("one", 0.25), file("two", 0.5), file("echo", 1.0)]
    files[2].is_control = True
    figure = distribution(files, UP)
    assert figure is not None
    median = "Median CiteP of queries: 50.0 with two"
    assert figure.title == f"{median}, 25.0 with one"
