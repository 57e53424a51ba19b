"""Tables for papers: what is bold, what is marked, and LaTeX that a parser reads."""

import csv
import io
from collections.abc import Sequence
from typing import Any

import pytest

from citeforge.evaluator.compare import compare_many
from citeforge.reports.notes import not_comparable
from citeforge.reports.pages.formats import PAPERS, make_report
from citeforge.reports.paper import paper_table
from citeforge.schemas.recipes.command_options import ReportOptions, TableOptions
from citeforge.schemas.scores import ScoreFile
from conftest import Inline, refused
from conftest_plots import scored
from conftest_reports import report_text

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
    text = PAPERS["csv"](paper_table(files, options(**given)))
    return list(csv.DictReader(io.StringIO(text)))


def test_best_and_significance_by_hand(files: list[ScoreFile]) -> None:
    rows = cells(files, best="bold", against="base_1")
    marked = {(r["system"], r["measure"]) for r in rows if r["significant"] == "1"}
    assert marked == {("other", "CiteP")}
    assert {(r["system"], r["measure"]) for r in rows if r["best"] == "1"} == {
        ("other", "CiteP"), ("base_1", "CiteR"), ("other", "CiteR"), ("third & co", "CiteR"),
    }  # fmt: skip
    # Holm over the four comparisons of the table: two systems on two measures.
    expected = [d.p_holm for d in compare_many(files, against="base_1").differences]
    # 2 / 2^10 for ten differences of one sign; .02 five times up and five times down is no change.
    assert expected == [2 / 1024 * 4, 1.0, 1.0, 1.0]
    result = [float(r["p_holm"]) for r in rows if r["p_holm"]]
    assert result == pytest.approx(expected)
    assert len(result) == 4


def test_a_table_without_comparisons_says_nothing_of_them(files: list[ScoreFile]) -> None:
    alone = paper_table(files[:1], options(against="base_1"))
    undirected = [scored(s, {"Length": v}) for s, v in (("base_1", LOW), ("other", HIGH))]
    for table in (alone, paper_table(undirected, options(against="base_1"))):
        for render in PAPERS.values():
            text = render(table)
            assert "Holm" not in text
            assert "†" not in text
            assert "dagger" not in text


def test_columns_in_the_order_asked_for(files: list[ScoreFile]) -> None:
    text = PAPERS["md"](paper_table(files, options(measures="CiteR,CiteP")))
    assert text.splitlines()[0] == "| system | CiteR | CiteP |"
    text = report_text(files, "md", options(measures="CiteR", best="bold"))
    assert "| other | **18.00** |" in text
    with refused("unknown-name", value="CiteZ"):
        paper_table(files, options(measures="CiteZ"))
    with refused("unknown-name", value="base"):
        paper_table(files, options(against="base"))
    with refused("conflicting-options"):
        report_text(files, "html", options(measures="CiteP"))


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
    text = PAPERS["latex"](table)
    rows = latex_rows(text)
    assert all(len(row) == 3 for row in rows[1:5])
    shown = hostile.replace("^", "\u02c6")  # the accent, as pylatexenc tells \textasciicircum
    assert plain(rows[4][0]).replace(" ", "") == shown.replace(" ", "")
    assert r"\textbf{72.50}\textsuperscript{\textdagger{}} & " in text
    notes = [plain(row[0]) for row in rows]
    assert any("Holm" in note for note in notes)
    assert any("3lx@11111111, context mix, protocol strict: 10 queries." in n for n in notes)
    assert text.count(r"\toprule") == text.count(r"\midrule") == text.count(r"\bottomrule") == 1


def test_contexts_stand_apart(files: list[ScoreFile]) -> None:
    both = [*files[:2], *(in_context(f, "hard") for f in files[:2])]
    mixed = PAPERS["md"](paper_table(both, options(measures="CiteP")))
    assert "| other · hard |" in mixed  # the row names the set
    apart = paper_table(both, options(measures="CiteP", per_context=True, against="base_1"))
    assert PAPERS["md"](apart).splitlines()[0] == "| system | CiteP (mix) | CiteP (hard) |"
    assert apart.rows == ["base_1", "other"]
    text = PAPERS["latex"](apart)
    assert r"\multicolumn{1}{c}{mix} & \multicolumn{1}{c}{hard}" in text
    assert r"\cmidrule(lr){2-2}\cmidrule(lr){3-3}" in text
    rows = cells(both, per_context=True, measures="CiteP", against="base_1")
    assert [r["significant"] for r in rows if r["system"] == "other"] == ["1", "1"]
    with refused("duplicate-id", path="base_1.jsonl"):
        paper_table([files[0], files[0]], options(measures="CiteP", per_context=True))


def test_the_command(inline: Inline, files: list[ScoreFile], tmp_path: Any) -> None:
    for number, file in enumerate(files):
        (tmp_path / f"{number}.json").write_text(file.model_dump_json())
    three = ("0.json", "1.json", "2.json")
    table = ("report", *three, "--measures", "CiteP", "--best", "bold", "--against", "base_1")
    inline.ok(*table, "--out", "t.tex")
    assert latex_rows((tmp_path / "t.tex").read_text())
    assert "**72.50** †" in inline(*table).stdout
    inline.fails(2, "bad-option", "report", *three, "--significance", "*")


def test_other_contexts_are_neither_bold_nor_marked(files: list[ScoreFile]) -> None:
    # 16 in one context and 71.5 in another: which system is better is not known.
    both = [files[0], in_context(files[1], "hard")]
    rows = cells(both, best="bold", against="base_1")
    assert [(r["best"], r["significant"]) for r in rows] == [("0", "")] * 4
    text = PAPERS["latex"](paper_table(both, options(best="bold", against="base_1")))
    assert "ctx: mix / hard (CiteP, CiteR)" in text
    assert r"other (hard) is not compared with base\_1" in text
    assert "Holm" not in text
    # Of three in one context the best is bold, although the fourth has as much.
    most = cells([*files, in_context(files[1], "hard")], best="bold", measures="CiteP")
    assert [r["best"] for r in most] == ["0", "1", "0", "0"]


def test_across_contexts_where_it_is_asked_for(files: list[ScoreFile]) -> None:
    both = [files[0], in_context(files[1], "hard")]
    rows = cells(both, best="bold", against="base_1", across="contexts", measures="CiteP")
    assert [r["best"] for r in rows] == ["0", "1"]
    # Ten differences of one sign, and one comparison: 2 / 2^10.
    assert [r["p_holm"] for r in rows] == ["", str(2 / 1024)]
    text = PAPERS["md"](paper_table(both, options(best="bold", across="contexts")))
    assert "Not comparable" not in text
    with refused("unknown-name", value="context"):
        paper_table(both, options(best="bold", across="context"))


@pytest.mark.parametrize("ending", ["md", "latex", "csv"])
def test_plain_tables_rank_nobody_across_contexts(files: list[ScoreFile], ending: str) -> None:
    both = [files[0], in_context(files[1], "hard")]
    text = report_text(both, ending)
    if ending == "csv":
        ranks = [(r["rank_low"], r["rank_high"]) for r in csv.DictReader(io.StringIO(text))]
        assert ranks == [("", "")] * 4
        across = report_text(both, ending, options(across="contexts"))
        first = next(csv.DictReader(io.StringIO(across)))
        assert (first["rank_low"], first["rank_high"]) == ("2", "2")
    else:
        assert "not comparable: base_1 · mix and other · hard: ctx: mix / hard" in text


def test_systems_that_differ_alike_stand_in_one_line(files: list[ScoreFile]) -> None:
    mine = [files[0], in_context(files[1], "hard"), in_context(files[2], "easy")]
    assert not_comparable(mine) == [
        "base_1 and other, third & co: ctx: mix / hard, easy (CiteP, CiteR)"
    ]
    once_more = in_context(files[1], "easy")  # of one name, in another context set
    assert not_comparable([*mine[:2], once_more]) == [
        "base_1 and other: ctx: mix / hard, easy (CiteP, CiteR)"
    ]
    mine[2].measures.pop()
    assert not_comparable(mine) == [
        "base_1 and other: ctx: mix / hard (CiteP, CiteR)",
        "base_1 and third & co: ctx: mix / easy (CiteP)",
    ]


def test_a_table_has_no_title(files: list[ScoreFile]) -> None:
    for given in ({}, {"best": "bold"}):
        with refused("option-without-effect"):
            make_report(files, "md", None, ReportOptions(title="T", **given))


@pytest.mark.parametrize("form", ["md", "latex"])
def test_a_warning_that_asks_ends_with_its_question_mark(files: list[ScoreFile], form: str) -> None:
    warned = files[0].model_copy(update={"warnings": ["does the system print its answer?"]})
    text = PAPERS[form](paper_table([warned, *files[1:]], options()))
    assert "does the system print its answer?" in text and "?." not in text
