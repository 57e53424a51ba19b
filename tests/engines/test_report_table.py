"""The table of reports."""

from collections.abc import Sequence

import pytest

from citeforge.engines.report_table import MarkedCell, Table, comment


def aligned(rows: Sequence[Sequence[str]], width: int | None = None) -> list[str]:
    return Table(rows[0], rows[1:]).text(width)


def test_columns_are_as_wide_as_their_widest_cell() -> None:
    assert aligned([["", "CiteP", "n"], ["a system", "1.00", "30"]]) == [
        "          CiteP   n",
        "-------------------",
        "a system   1.00  30",
    ]


def test_wide_letters_take_two_cells() -> None:
    assert aligned([["", "n"], ["系统", "1"], ["abcd", "2"]])[2:] == ["系统  1", "abcd  2"]


def test_what_does_not_fit_comes_beneath_and_nothing_is_lost() -> None:
    rows = [["", *(f"m{i}" for i in range(9))], ["s", *(f"{i}.00" for i in range(9))]]
    lines = aligned(rows, width=20)
    assert max(map(len, lines)) <= 20
    assert [line.split() for line in lines if line.startswith("s")] == [
        ["s", "0.00", "1.00", "2.00"],
        ["s", "3.00", "4.00", "5.00"],
        ["s", "6.00", "7.00", "8.00"],
    ]
    assert lines.count("") == 2
    # A cell that is wider than the terminal goes on in the next lines: 30 = 3 * 9 + 3.
    lines = aligned([["", "a", "b"], ["s", "x" * 30, "y"]], width=20)
    assert [line.split() for line in lines[2:]] == [
        ["s", "x" * 9, "y"], ["x" * 9], ["x" * 9], ["x" * 3]
    ]  # fmt: skip


def test_a_split_table_repeats_its_keys_and_has_parts_of_like_width() -> None:
    head, row = ["system", "mode", "m1", "m2", "m3", "m4"], ["s", "cf", "1.0", "2.0", "3.0", "4.0"]
    # 6 + 2 + 4 = 12 for the keys; 2 + 3 for each value: three would fit in 12 + 3 * 5 = 27.
    lines = Table(head, [row], keys=2).text(27)
    assert [line.split() for line in lines] == [
        ["system", "mode", "m1", "m2"], ["-" * 22], ["s", "cf", "1.0", "2.0"], [],
        ["system", "mode", "m3", "m4"], ["-" * 22], ["s", "cf", "3.0", "4.0"],
    ]  # fmt: skip
    # Keys give way to the widest value: 7 + 2 + 7 + 2 + 7 = 25; a number stays whole.
    row = ["informed", "Informed / CF", "-1.5 [-12.5, +9.5]"]
    lines = Table(["a", "b", "c"], [row], left=3, keys=2).text(25)
    assert [line.split() for line in lines[2:]] == [
        ["informe", "Informe", "-1.5"], ["d", "d", "/", "CF", "[-12.5,"], ["+9.5]"]
    ]  # fmt: skip


def test_one_table_in_every_format() -> None:
    """What is bold, marked, missing or hostile, in the words of each format."""
    rows = [
        ["a_1", MarkedCell("72.50", is_bold=True, mark="†"), 1.5],
        ["=x|y<b>", MarkedCell("–"), None],
    ]
    table = Table(
        ["system", "CiteP", "n"], rows, groups=["", "mix", "mix"], title="T", notes=["100 %"]
    )
    assert table.text() == [
        "system   CiteP (mix)  n (mix)",
        "-----------------------------",
        "a_1          72.50 †      1.5",
        "=x|y<b>            –     None",
    ]
    assert table.markdown().splitlines() == [
        "| system | CiteP (mix) | n (mix) |", "| --- | --- | --- |",
        "| a_1 | **72.50** † | 1.5 |", "| =x\\|y&lt;b&gt; | – | None |",
    ]  # fmt: skip
    assert table.latex() == [
        r"\begin{tabular}{lrr}", r"\toprule", r" & \multicolumn{2}{c}{mix} \\",
        r"\cmidrule(lr){2-3}", r"system & CiteP & n \\", r"\midrule",
        r"a\_1 & \textbf{72.50}\textsuperscript{\textdagger{}} & 1.5 \\",
        r"=x\textbar{}y\textless{}b\textgreater{} & -- & None \\", r"\bottomrule",
        r"\multicolumn{3}{l}{\footnotesize 100 \%} \\", r"\end{tabular}",
    ]  # fmt: skip
    plain = Table(["system", "n"], [["=x,y", float("nan")], ["a", None], ["b", 0.5]])
    assert plain.csv() == 'system,n\n"\'=x,y",\na,\nb,0.5\n'
    assert '<th scope="row">=x|y&lt;b&gt;</th><td>–</td>' in table.html()
    assert "<td><b>72.50</b>†</td>" in table.html()
    assert comment("a\n b") == "% a b"


@pytest.mark.parametrize(
    ("cell", "lines"),
    [
        ("answer_recall_at_ten", ["answer_", "recall_at_", "ten"]),  # "answer_recall_" has 14 cells
        ("two words here", ["two words", "here"]),
        ("KaLMA.P@micro", ["KaLMA.", "P@micro"]),
        ("top-1.of-many", ["top-1.of-", "many"]),
        ("abcdefghijklmn", ["abcdefghij", "klmn"]),  # no place to cut
        ("ab cdefghijklmnop", ["ab", "cdefghijkl", "mnop"]),
        ("漢字漢字漢字", ["漢字漢字漢", "字"]),  # two cells each
        ("", [""]),
    ],
)
def test_long_cells_are_cut_between_words(cell: str, lines: list[str]) -> None:
    # (22 - 2) // 2 is room for 10 cells.
    table = Table(["", "x"], [[cell, "1"]])
    shown = [line.removesuffix("1").rstrip() for line in table.text(22, ruled=False)[1:]]
    assert shown == lines or (cell == "" and shown == [""])
    assert "".join(shown).replace(" ", "") == cell.replace(" ", "")
