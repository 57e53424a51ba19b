"""Tables for papers: what is bold, what is marked, and LaTeX that a parser reads."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

import pytest

from citeforge.evaluator.reports.paper import PAPER, paper_table
from citeforge.evaluator.reports.report import rendered
from citeforge.evaluator.statistics.compare import compare, holm
from citeforge.schemas.commands.command_options import TableOptions
from citeforge.schemas.errors import InputError, UnknownValueError, UsageError
from citeforge.schemas.scores import ScoreFile
from conftest import Cli
from conftest_plots import scored

LOW = [0.1, 0.2, 0.1, 0.3, 0.2, 0.1, 0.2, 0.3, 0.1, 0.2]
HIGH = [v + 0.5 + 0.01 * i for i, v in enumerate(LOW)]
NEAR = [v + (0.02 if i % 2 else -0.02) for i, v in enumerate(LOW)]


def in_context(file: ScoreFile, context: str) -> ScoreFile:
    measures = [
        m.model_copy(update={"signature": m.signature.replace("ctx:mix", f"ctx:{context}")})
        for m in file.measures
    ]
    return file.model_copy(update={"context": context, "measures": measures})


@pytest.fixture
def files() -> list[ScoreFile]:
    return [
        scored("base_1", {"CiteP": LOW, "CiteR": LOW}),
        scored("other", {"CiteP": HIGH, "CiteR": NEAR}),
        scored("third & co", {"CiteP": NEAR, "CiteR": LOW}),
    ]


def options(**given: Any) -> TableOptions:
    return TableOptions.model_validate(given)


def cells(files: Sequence[ScoreFile], **given: Any) -> list[dict[str, str]]:
    text = PAPER["csv"](paper_table(files, options(**given)))
    return list(csv.DictReader(io.StringIO(text)))


def test_best_and_significance_by_hand(files: list[ScoreFile]) -> None:
    rows = cells(files, best="bold", against="base_1")
    marked = {(r["system"], r["measure"]) for r in rows if r["significant"] == "1"}
    assert marked == {("other", "CiteP")}
    assert {(r["system"], r["measure"]) for r in rows if r["best"] == "1"} == {
        ("other", "CiteP"), ("base_1", "CiteR"), ("other", "CiteR"), ("third & co", "CiteR"),
    }  # fmt: skip
    # Holm over the four comparisons of the table: two systems on two measures.
    raw = [d.p_permutation for other in files[1:] for d in compare([files[0], other])]
    expected = holm(raw)
    found = [float(r["p_holm"]) for r in rows if r["p_holm"]]
    assert found == pytest.approx(expected)
    assert len(found) == 4


def test_columns_in_the_order_asked_for(files: list[ScoreFile]) -> None:
    text = PAPER["md"](paper_table(files, options(columns="CiteR,CiteP")))
    assert text.splitlines()[0] == "| system | CiteR | CiteP |"
    text = rendered(files, "md", table=options(columns="CiteR", best="bold")).decode()
    assert "| other | **18.00** |" in text
    with pytest.raises(UnknownValueError, match="CiteP"):
        paper_table(files, options(columns="CiteZ"))
    with pytest.raises(UnknownValueError, match="base_1"):
        paper_table(files, options(against="base"))
    with pytest.raises(UsageError, match="need a file that is a table"):
        rendered(files, "html", table=options(columns="CiteP"))


def latex_rows(text: str) -> list[list[Any]]:
    """Rows and cells as pylatexenc reads them; it raises on what LaTeX would refuse."""
    from pylatexenc.latexwalker import LatexMacroNode, LatexSpecialsNode, LatexWalker

    (table,) = [
        n for n in LatexWalker(text, tolerant_parsing=False).get_latex_nodes()[0]
        if getattr(n, "environmentname", "") == "tabular"
    ]  # fmt: skip
    rows: list[list[Any]] = [[[]]]
    for node in table.nodelist:
        if isinstance(node, LatexMacroNode) and node.macroname == "\\":
            rows.append([[]])
        elif isinstance(node, LatexSpecialsNode) and node.specials_chars == "&":
            rows[-1].append([])
        else:
            rows[-1][-1].append(node)
    return rows


def plain(cell: list[Any]) -> str:
    from pylatexenc.latex2text import LatexNodes2Text

    return LatexNodes2Text().nodelist_to_text(cell).strip()


def test_latex_is_latex(files: list[ScoreFile]) -> None:
    hostile = r"a\b{c}$d$ 100% #1 ^~ †"
    table = paper_table(
        [*files, scored(hostile, {"CiteP": NEAR})],
        options(best="bold", against="base_1", significance="†"),
    )
    text = PAPER["latex"](table)
    rows = latex_rows(text)
    assert all(len(row) == 3 for row in rows[1:5])
    shown = hostile.replace("^", "\u02c6")  # the accent, as pylatexenc tells \textasciicircum
    assert plain(rows[4][0]).replace(" ", "") == shown.replace(" ", "")
    assert r"\textbf{72.50}\textsuperscript{\textdagger{}} & " in text
    assert "Holm" in plain(rows[-2][0])
    assert text.count(r"\toprule") == text.count(r"\midrule") == text.count(r"\bottomrule") == 1


def test_contexts_stand_apart(files: list[ScoreFile]) -> None:
    both = [*files[:2], *(in_context(f, "hard") for f in files[:2])]
    mixed = PAPER["md"](paper_table(both, options(columns="CiteP")))
    assert "| other · hard |" in mixed  # the row names the set
    apart = paper_table(both, options(columns="CiteP", per_context=True, against="base_1"))
    assert PAPER["md"](apart).splitlines()[0] == "| system | CiteP (mix) | CiteP (hard) |"
    assert apart.rows == ["base_1", "other"]
    text = PAPER["latex"](apart)
    assert r"\multicolumn{1}{c}{mix} & \multicolumn{1}{c}{hard}" in text
    assert r"\cmidrule(lr){2-2}\cmidrule(lr){3-3}" in text
    rows = cells(both, per_context=True, columns="CiteP", against="base_1")
    assert [r["significant"] for r in rows if r["system"] == "other"] == ["1", "1"]
    with pytest.raises(InputError, match="two files have CiteP"):
        paper_table([files[0], files[0]], options(columns="CiteP", per_context=True))


def test_the_command(cli: Cli, files: list[ScoreFile], tmp_path: Any) -> None:
    for number, file in enumerate(files):
        (tmp_path / f"{number}.json").write_text(file.model_dump_json())
    three = ("0.json", "1.json", "2.json")
    table = ("report", *three, "--columns", "CiteP", "--best", "bold", "--against", "base_1")
    assert cli(*table, "--out", "t.tex").returncode == 0
    assert latex_rows((tmp_path / "t.tex").read_text())
    assert "**72.50** †" in cli(*table).stdout
    result = cli("report", *three, "--significance", "*")
    assert result.returncode == 2
    assert "--against" in result.stderr
