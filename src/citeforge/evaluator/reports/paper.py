"""Tables for papers: chosen columns, the best in bold, marks of significance with their test."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from citeforge.engines.io.textfiles import harmless
from citeforge.evaluator.measures.registry import direction
from citeforge.evaluator.reports import latex
from citeforge.evaluator.reports.rows import named_rows
from citeforge.evaluator.statistics.compare import baseline_of, compare_many, wanted_measures
from citeforge.evaluator.statistics.ranks import LEVEL
from citeforge.evaluator.statistics.significance import holm
from citeforge.schemas.commands.command_options import TableOptions
from citeforge.schemas.errors import InputError
from citeforge.schemas.scores import MeasureScore, ScoreFile
from citeforge.schemas.text import markdown_table


@dataclass(frozen=True)
class TableCell:
    """A value in a table.

    Attributes:
        score: the entry of a score file.
        is_best: whether it is the best of its column.
        p: adjusted p-value of its difference from the baseline; NaN without one.
    """

    score: MeasureScore
    is_best: bool = False
    p: float = math.nan

    @property
    def text(self) -> str:
        """Value as displayed."""
        return "–" if self.score.value is None else f"{self.score.value:.2f}"

    @property
    def is_significant(self) -> bool:
        """Whether it differs from the baseline."""
        return self.p < LEVEL


@dataclass(frozen=True)
class TableColumn:
    """A measure, in a context set where these stand beside each other."""

    measure: str
    context: str = ""

    @property
    def title(self) -> str:
        """Its heading on one line."""
        return f"{self.measure} ({self.context})" if self.context else self.measure


@dataclass(frozen=True)
class PaperTable:
    """A table, without its format.

    Attributes:
        columns: in order.
        rows: systems in order.
        cells: (system, column) to its cell; none where there is no score.
        notes: what the marks mean.
        signatures: recipes of the numbers.
        mark: what stands beside significant differences.
    """

    columns: list[TableColumn]
    rows: list[str]
    cells: dict[tuple[str, TableColumn], TableCell]
    notes: list[str]
    signatures: list[str]
    mark: str


def paper_table(files: Sequence[ScoreFile], options: TableOptions) -> PaperTable:
    """Values of systems, one column a measure, or a measure and context set.

    Without ``per_context``, systems of several context sets have rows of their own that name them.

    Raises:
        UnknownValueError: no file has such a measure, or no system is called so.
        InputError: two files belong into one cell, or nothing can be compared with the baseline.
    """
    asked = wanted_measures(files, options.columns)
    present = dict.fromkeys(m.name for f in files for m in f.measures)
    order = {name: i for i, name in enumerate(options.columns)}
    names = [n for n in present if n in asked]
    names.sort(key=lambda n: order.get(n, order.get(n.partition("[")[0], len(order))))
    shown = _side_by_side(files) if options.per_context else named_rows(files)
    contexts = list(dict.fromkeys(f.context for f in files)) if options.per_context else [""]
    columns = [TableColumn(name, context) for context in contexts for name in names]
    p_values = _p_values(files, names, options)
    cells: dict[tuple[str, TableColumn], TableCell] = {}
    for file, row in zip(files, shown, strict=True):
        for m in row.measures:
            if m.name not in asked:
                continue
            at = row.system, TableColumn(m.name, file.context if options.per_context else "")
            if at in cells:
                raise InputError(
                    f"{row.system}: two files have {at[1].title}", path=file.submission,
                    allowed="one score file a system and context set",
                )  # fmt: skip
            cells[at] = TableCell(m, p=p_values.get((id(file), m.name), math.nan))
    if options.best == "bold":
        _mark_best(columns, cells)
    return PaperTable(
        [c for c in columns if any(at == c for _, at in cells)],
        list(dict.fromkeys(f.system for f in shown)), cells,
        _notes(options, sum(not math.isnan(p) for p in p_values.values())),
        list(dict.fromkeys(c.score.signature for c in cells.values())), options.mark,
    )  # fmt: skip


def _side_by_side(files: Sequence[ScoreFile]) -> list[ScoreFile]:
    """Names that tell rows apart where their context set does not."""
    alike = [f.model_copy(update={"context": ""}) for f in files]
    return [
        file.model_copy(update={"system": one.system})
        for file, one in zip(files, named_rows(alike), strict=True)
    ] if len({(f.protocol, f.benchmark_hash) for f in files}) > 1 else list(files)  # fmt: skip


def _p_values(
    files: Sequence[ScoreFile], names: Sequence[str], options: TableOptions
) -> dict[tuple[int, str], float]:  # fmt: skip
    """(file, measure) to the p-value of its difference from the baseline in the same context set,
    adjusted by Holm over all of the table."""
    if options.against is None:
        return {}
    raw: dict[tuple[int, str], float] = {}
    directed = [name for name in names if direction(name) is not None]
    for file in files:
        base = baseline_of(file, files, options.against)
        if file is base or file.context != base.context:
            continue
        for d in compare_many([base, file], directed).differences:
            for name in (d.measure, *d.also):
                raw[id(file), name] = d.p_permutation
    keys = list(raw)
    return dict(zip(keys, holm([raw[k] for k in keys]), strict=True))


def _mark_best(
    columns: Sequence[TableColumn], cells: dict[tuple[str, TableColumn], TableCell]
) -> None:
    """The best value as it is displayed, so that equal ones are marked alike."""
    for column in columns:
        is_higher_better = direction(column.measure)
        if is_higher_better is None:
            continue
        mine = {at: c for at, c in cells.items() if at[1] == column and c.score.scale == 100}
        values = sorted(c.score.value for c in mine.values() if c.score.value is not None)
        for at, cell in mine.items():
            if (
                cell.score.value is not None
                and cell.text == f"{values[-1 if is_higher_better else 0]:.2f}"
            ):
                cells[at] = replace(cell, is_best=True)


def _notes(options: TableOptions, n_tests: int) -> list[str]:
    notes = []
    if options.best == "bold":
        notes.append(
            "Bold: the best value of a column, of measures shown from 0 to 100 that have a best."
        )
    if options.against:
        notes.append(
            f"{options.mark}: differs from {options.against} at p < .05 (two-sided paired "
            f"permutation test over queries, Holm's correction over the {n_tests} comparisons of "
            "this table)."
        )
    return notes


def paper_markdown(table: PaperTable) -> str:
    """With the notes and recipes beneath."""

    def text(cell: TableCell | None) -> str:
        if cell is None:
            return "–"
        mark = f" {table.mark}" if cell.is_significant else ""
        return f"**{cell.text}**{mark}" if cell.is_best else f"{cell.text}{mark}"

    rows = [[s, *(text(table.cells.get((s, c))) for c in table.columns)] for s in table.rows]
    head = ["system", *(c.title for c in table.columns)]
    lines = [f"- `{s}`" for s in table.signatures]
    return "\n".join([markdown_table(head, rows), "", *table.notes, "", *lines]) + "\n"


def paper_latex(table: PaperTable) -> str:
    """For booktabs; context sets head their columns, notes stand in the last lines."""
    width = len(table.columns) + 1

    def text(cell: TableCell | None) -> str:
        if cell is None:
            return "--"
        value = latex.escaped(cell.text)
        mark = rf"\textsuperscript{{{latex.escaped(table.mark)}}}" if cell.is_significant else ""
        return (rf"\textbf{{{value}}}" if cell.is_best else value) + mark

    head = [latex.row(["system", *(latex.escaped(c.measure) for c in table.columns)])]
    contexts = [c.context for c in table.columns]
    if any(contexts):
        groups = [(name, contexts.count(name)) for name in dict.fromkeys(contexts)]
        above = [rf"\multicolumn{{{n}}}{{c}}{{{latex.escaped(name)}}}" for name, n in groups]
        rules, start = [], 2
        for _, n in groups:
            rules.append(rf"\cmidrule(lr){{{start}-{start + n - 1}}}")
            start += n
        head = [latex.row(["", *above]), "".join(rules), *head]
    body = [
        latex.row([latex.escaped(s), *(text(table.cells.get((s, c))) for c in table.columns)])
        for s in table.rows
    ]
    notes = [
        latex.row([rf"\multicolumn{{{width}}}{{l}}{{\footnotesize {latex.escaped(n)}}}"])
        for n in table.notes
    ]
    return "\n".join([
        rf"\begin{{tabular}}{{l{'r' * (width - 1)}}}", r"\toprule", *head, r"\midrule", *body,
        r"\bottomrule", *notes, r"\end{tabular}", *map(latex.comment, table.signatures),
    ]) + "\n"  # fmt: skip


def paper_csv(table: PaperTable) -> str:
    """One line a cell, with what marks it."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["system", "context", "measure", "value", "low", "high", "n", "best",
                     "p_holm", "significant", "signature"])  # fmt: skip
    for system in table.rows:
        for column in table.columns:
            cell = table.cells.get((system, column))
            if cell is None:
                continue
            m = cell.score
            context = column.context or dict(
                p.partition(":")[::2] for p in m.signature.split("|")
            ).get("ctx", "")
            writer.writerow([
                harmless(system), harmless(context), m.name, m.value, m.low, m.high, m.n,
                int(cell.is_best), "" if math.isnan(cell.p) else cell.p,
                "" if math.isnan(cell.p) else int(cell.is_significant), harmless(m.signature),
            ])  # fmt: skip
    return text.getvalue()


PAPER = {"md": paper_markdown, "latex": paper_latex, "csv": paper_csv}
"""Format to what writes a table in it."""
