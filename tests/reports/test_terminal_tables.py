"""Tables on a terminal: one measure a row or one system a row, never wider than asked."""

import pytest
from rich.cells import cell_len

from citeforge.engines.report_table import Table
from citeforge.evaluator.compare import compare_many
from citeforge.evaluator.withhold import withhold_scores
from citeforge.reports.pages.formats import render_table
from citeforge.reports.terminal import render_differences, render_scores
from citeforge.schemas.scores import ScoreFile
from conftest_boards import entry, scored

MEASURES = ("CiteP", "CiteR", "CiteF1")
LONG = "a system with a name that is much longer than half of a terminal, and then some"


def made(*systems: str) -> list[ScoreFile]:
    queries = [f"q{i}" for i in range(8)]
    return [
        scored("0" * 64, name, [entry(m, [i / 10 + k / 80 for k in range(8)]) for m in MEASURES],
               queries)
        for i, name in enumerate(systems)
    ]  # fmt: skip


def test_few_systems_have_columns_and_many_have_rows() -> None:
    few = render_scores(made("one", "two"), 80).splitlines()
    assert few[0].split() == ["one", "two"]
    assert [line.split()[0] for line in few[2:5]] == list(MEASURES)
    many = render_scores(made("one", "two", "three"), 120).splitlines()
    assert many[0].replace(" ↑", "").split() == list(MEASURES)
    assert [line.split()[0] for line in many[2:5]] == ["one", "two", "three"]


def test_a_table_says_which_way_is_better_what_counts_contain_and_what_is_rounded() -> None:
    (file,) = made("one")
    more = entry("ALCE.Overcited", [0.5] * 8), entry("Length", [3.0] * 8)
    file = file.model_copy(update={"measures": [*file.measures, *more]})
    file.counts.n_uncited = 2
    lines = render_scores([file], 80).splitlines()
    heads = [line.split("  ")[0] for line in lines[2:7]]
    assert heads == ["CiteP ↑", "CiteR ↑", "CiteF1 ↑", "ALCE.Overcited ↓", "Length"]
    counts = "truncated, empty, unparsed, uncited, refused, out of range"
    assert f"of the answered: {counts}" in lines
    assert not any("whole points" in line for line in lines)
    hidden = withhold_scores(file.model_copy(update={"gold": "private"}))
    for text in (
        render_scores([hidden]),
        *(render_table(kind, [hidden], ()) for kind in ("md", "latex")),
    ):
        assert "the gold is hidden: values are in whole points" in text


@pytest.mark.parametrize("width", [40, 80, 200])
def test_nothing_is_wider_than_the_terminal(width: int) -> None:
    files = made("one", LONG, "three", "four")
    text = render_scores(files, width) + "\n" + render_differences(
        compare_many(files).differences, width)  # fmt: skip
    # Signatures stay whole, so that they can be copied.
    lines = [line for line in text.splitlines() if "|p:" not in line]
    assert len(lines) > 10
    assert max(map(cell_len, lines)) <= width


def test_a_long_cell_goes_on_in_the_next_line() -> None:
    # Half of 22 less the gap of 2 is 10 cells for each column.
    lines = Table(["name", "value"], [["abcdefghijkl", "1.00"]]).text(22)
    assert lines == ["name        value", "-" * 17, "abcdefghij   1.00", "kl"]


def test_counts_and_signatures_without_verbose() -> None:
    files = made("one", "two")
    short, full = render_scores(files, 80, verbose=False), render_scores(files, 80)
    assert "judge failed" in full and "judge failed" not in short
    assert "missing" in short
    assert short.count("signature: ") == 1


def test_many_context_sets_have_a_row_each_with_the_leading_measures() -> None:
    files = [file.model_copy(update={"context": file.system, "system": "one"})
             for file in made("few", "more", "most")]  # fmt: skip
    lines = render_scores(files, 120, verbose=False, main_measures=("CiteF1", "CiteP")).splitlines()
    assert lines[0].split() == ["CiteF1", "↑", "CiteP", "↑"]
    assert [line.split("  ")[0] for line in lines[2:5]] == ["one · few", "one · more", "one · most"]
    # made(): query k of system i has i / 10 + k / 80, so that system 0 has a mean of 4.375 %.
    assert [line.split()[-1] for line in lines[2:5]] == ["4.38", "14.38", "24.38"]
    assert "not shown: CiteR, intervals of CiteP (--verbose shows them)" in lines
    # None of the leading measures was computed: those that were are shown.
    assert (
        "CiteR" in render_scores(files, 120, verbose=False, main_measures=("BLEU",)).splitlines()[0]
    )
    two = render_scores(files[:2], 120, verbose=False, main_measures=("CiteF1",))
    assert "not shown" not in two
