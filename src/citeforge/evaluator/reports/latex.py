"""LaTeX tables, for the package booktabs."""

from __future__ import annotations

from collections.abc import Sequence

_SPECIAL = {"&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
            "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}",
            "–": "--", "†": r"\textdagger{}", "‡": r"\textdaggerdbl{}", "Δ": r"$\Delta$",
            "−": "$-$", "<": r"\textless{}", ">": r"\textgreater{}", "\n": " "}  # fmt: skip


def escaped(text: str) -> str:
    """Text that LaTeX sets as it is."""
    return "".join(_SPECIAL.get(c, c) for c in text)


def comment(text: str) -> str:
    """A line that LaTeX passes over."""
    return "% " + " ".join(text.split())


def row(cells: Sequence[str]) -> str:
    """A line of a table; its cells are LaTeX already."""
    return " & ".join(cells) + r" \\"


def tabular(head: Sequence[str], rows: Sequence[Sequence[str]], columns: str) -> list[str]:
    """Lines of a table of plain texts.

    Args:
        head: titles of its columns.
        rows: its cells.
        columns: how columns are aligned, such as ``lrr``.
    """
    body = [row([escaped(c) for c in cells]) for cells in rows]
    return [
        rf"\begin{{tabular}}{{{columns}}}", r"\toprule", row([escaped(c) for c in head]),
        r"\midrule", *body, r"\bottomrule", r"\end{tabular}",
    ]  # fmt: skip
