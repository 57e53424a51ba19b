"""Figures that keep hidden labels are shown in whole points, by every writer."""

import re

import pytest

from citeforge.builders.card import _score_table
from citeforge.evaluator.lines import find_lines
from citeforge.plugins.leaderboard.matrix import board_column, compact_matrix
from citeforge.plugins.leaderboard.ranking import make_ranking_data
from citeforge.plugins.leaderboard.views import make_views
from citeforge.publishing.card import _card_row
from citeforge.reports.model import ScoreReport
from citeforge.reports.pages.formats import render_paper, render_table
from citeforge.reports.pages.page import _script_data
from citeforge.reports.terminal import render_scores
from citeforge.schemas.audit import LINE, Audit, ExploitRow, Exploits
from citeforge.schemas.recipes.command_options import TableOptions
from citeforge.schemas.scores import MeasureScore, ScoreFile
from conftest_boards import scored

SIGNATURE = "{}|p:strict|ctx:mix|bench:x@00000000|v:1"


def withheld(system: str, value: float) -> ScoreFile:
    """A score file of hidden gold, as it is published."""
    measures = [
        MeasureScore(name=name, signature=SIGNATURE.format(name), scale=100, value=value,
                     low=value - 5, high=value + 5, interval="widest", n=30, n_undefined=0,
                     noise=1.5, stderr=None, per_query=[])
        for name in ("CiteP", "CiteR")
    ]  # fmt: skip
    file = scored("0" * 64, system, measures, [])
    return file.model_copy(update={"gold": "withheld", "is_control": system == "copy-nearest-1"})


FILES = [withheld("good", 63.0), withheld("weak", 41.0), withheld("copy-nearest-1", 44.0)]
LINES = find_lines(FILES)
_TWO_DECIMALS = re.compile(r"\d\.\d")


def without_noise(text: str) -> str:
    """Remove what is no figure of a system: the noise, signatures and shares of probability."""
    return re.sub(r"noise of 1\.5 points|p < \.05|`?\w+\|p:.*", "", text)


@pytest.mark.parametrize("form", ["md", "latex"])
def test_tables(form: str) -> None:
    for text in (
        render_table(form, FILES, (), LINES),
        render_paper(form, FILES, TableOptions(), LINES),
    ):
        assert LINE in text and "63" in text
        assert not _TWO_DECIMALS.search(without_noise(text))


def test_terminal_and_notes() -> None:
    text = render_scores(FILES)
    assert "63 [58, 68]" in text
    assert not _TWO_DECIMALS.search(without_noise(text))


def test_page() -> None:
    data = _script_data(ScoreReport(FILES, (), LINES))
    assert data["lines"] == [[LINE, "44", "44"]]
    assert "weak does not beat copying: CiteP 41 (line 44), CiteR 41 (line 44)" in data["cautions"]


def test_plots() -> None:
    pytest.importorskip("altair")
    from citeforge.reports.pages.choose import page_figures

    figures = list(page_figures(FILES))
    assert {f.name for f in figures} >= {"intervals-CiteP", "precision-recall-CiteP"}
    for figure in figures:
        assert not _TWO_DECIMALS.search(f"{figure.title} {figure.alt}"), figure.name
    assert any("good 63 (58 to 68)" in figure.alt for figure in figures)


def test_leaderboard() -> None:
    views = make_views(FILES, baselines=LINES)
    (view,) = map(make_ranking_data, views)
    assert view["k"] == [0, 0]
    (column,) = compact_matrix([board_column("a", "A", views, "CiteP", None)])["b"]  # type: ignore[misc]
    assert column[-1] == 0


def test_card() -> None:
    rows = [ExploitRow(system="copy-nearest-1", about="", is_honest=False, values={"CiteP": 44.0})]
    signatures = [SIGNATURE.format("CiteP")]
    found = Exploits(context="mix", signatures=signatures, rows=rows, left_out={})
    audit = Audit.model_construct(exploits=found)
    table = _score_table([_card_row(file) for file in FILES[:2]], audit)
    assert table["rows"] == [
        ["CiteP", "44", "63 [58, 68]", "41 [36, 46] ≤"],
        ["CiteR", "–", "63 [58, 68]", "41 [36, 46]"],
    ]
