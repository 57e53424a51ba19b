"""Write scores as plain tables and data, and comparisons of systems in any format."""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from types import MappingProxyType

from citeforge.engines.files import write_text
from citeforge.engines.markdown import markdown_code, markdown_text
from citeforge.engines.report_table import Table, comment
from citeforge.evaluator.compare import (
    BY_QUERY_NOTE,
    Difference,
    compare_many,
)
from citeforge.evaluator.lines import Lines
from citeforge.evaluator.measures.authorship_tables import signature_lines, tables
from citeforge.evaluator.ranks import ranks_by_measure
from citeforge.evaluator.rows import (
    compared_across,
    controls_last,
    is_trivial,
    named_rows,
    of_cells,
)
from citeforge.evaluator.slices import slice_fields
from citeforge.reports.comparison import ComparisonReport, describe_comparison
from citeforge.reports.markup import page_templates
from citeforge.reports.notes import SLICES_NOTE, line_notes, report_lines
from citeforge.reports.tables import difference_tables, scores_table, slice_tables
from citeforge.schemas.errors import UsageError
from citeforge.schemas.recipes.command_options import CompareOptions
from citeforge.schemas.scores import ScoreFile

PICTURES = ("svg", "png", "pdf")
"""Formats that are one plot."""
ENDINGS = {".html": "html", ".htm": "html", ".md": "md", ".json": "json", ".csv": "csv",
           ".tex": "latex", **{f".{name}": name for name in PICTURES}}  # fmt: skip
"""Ending of a file name to the format of the report."""


def find_report_format(out: str | Path | None) -> str:
    """Look up the format of a report by its file name's ending; ``md`` if no file is named.

    Raises:
        UsageError: the name has no known ending.
    """
    if out is None:
        return "md"
    ending = Path(out).suffix.lower()
    if ending not in ENDINGS:
        raise UsageError(
            f"{out}: a report cannot be written as {ending or 'a file without ending'!r}; "
            f"known: {', '.join(ENDINGS)}, or name the format",
            code="bad-option",
        )
    return ENDINGS[ending]


def signatures(files: Sequence[ScoreFile]) -> list[str]:
    """List the signatures (settings) of all scores and corrected values, each once."""
    every = (
        signature
        for f in files
        for m in f.measures
        for signature in (m.signature, m.corrected.signature if m.corrected else m.signature)
    )
    return list(dict.fromkeys(every))


def _tables(files: Sequence[ScoreFile], lines: Lines) -> tuple[list[Table], list[str]]:
    """Make the tables of score files; also return the signatures of their values."""
    if of_cells(files):
        return tables(files), signature_lines(files)
    return [scores_table(files, "system", has_sd=False, lines=lines)], signatures(files)


def render_markdown(
    files: Sequence[ScoreFile], across: Sequence[str] = (), lines: Lines = MappingProxyType({})
) -> str:
    """Render score files as Markdown tables, with notes and signatures below."""
    files = named_rows(controls_last(files))
    parts, recipes = _tables(files, lines)
    heads = [f"## {markdown_text(t.title)}\n\n{t.notes[0]}\n\n" if t.title else "" for t in parts]
    texts = [f"{head}{t.markdown()}\n" for head, t in zip(heads, parts, strict=True)]
    slices = list(slice_tables(files))
    texts += [f"## {markdown_text(t.title)}\n\n{t.markdown()}\n" for t in slices]
    notes = report_lines(files, compared_across(files, across)) + [SLICES_NOTE] * bool(slices)
    notes += line_notes(files, lines)
    items = [f"- {markdown_text(note)}" for note in notes]
    items += [f"- {markdown_code(recipe)}" for recipe in recipes]
    return "\n".join([*texts, *items]) + "\n"


def render_latex(
    files: Sequence[ScoreFile], across: Sequence[str] = (), lines: Lines = MappingProxyType({})
) -> str:
    """Render score files as LaTeX tables for booktabs, with notes and signatures as comments."""
    files = named_rows(controls_last(files))
    parts, recipes = _tables(files, lines)
    texts: list[str] = []
    for table in parts:
        texts += [comment(table.title)] if table.title else []
        texts += replace(table, notes=()).latex()
    for table in (slices := list(slice_tables(files))):
        texts += [comment(table.title), *table.latex()]
    notes = report_lines(files, compared_across(files, across)) + [SLICES_NOTE] * bool(slices)
    notes += line_notes(files, lines)
    return "\n".join([*texts, *map(comment, notes + recipes)]) + "\n"


def render_csv(
    files: Sequence[ScoreFile], across: Sequence[str] = (), lines: Lines = MappingProxyType({})
) -> str:
    """Render score files as CSV: a line per system and measure (and slice), with possible ranks.

    No cell starts a formula.
    """
    files = named_rows(controls_last(files))
    corrected = any(m.corrected for f in files for m in f.measures)
    extra = ["corrected", "corrected_low", "corrected_high", "n_labels"] if corrected else []
    ranks = {} if of_cells(files) else ranks_by_measure(compared_across(files, across))
    head = ["system", "measure", "value", "low", "high", "n", "signature", "rank_low", "rank_high",
            "trivial", "line", "missing", "uncited", "refused"]  # fmt: skip
    rows: list[tuple[object, ...]] = []
    for place, file in enumerate(files):
        counts = file.counts.n_missing, file.counts.n_uncited, file.counts.n_refused
        for m in file.measures:
            numbers = (m.value, m.low, m.high, m.n)
            c = m.corrected
            more = [c.value, c.low, c.high, c.n_labels] if c else [None] * len(extra)
            rank = (ranks[m.name][place] if ranks else None) or (None, None)
            trivial = int(is_trivial(file, m.name))
            line = lines.get(m.signature)
            rows.append((file.system, m.name, *numbers, m.signature, *rank, trivial, line,
                         *counts, *more))  # fmt: skip
    if not (fields := slice_fields(files)):
        return Table([*head, *extra], rows).csv()
    wide = [(*row, "", "") for row in rows]
    for file in files:
        for part in (p for p in file.slices if p.field in fields):
            for m in part.measures:
                row = (file.system, m.name, m.value, m.low, m.high, m.n, m.signature)
                wide.append((*row, *[""] * (7 + len(extra)), part.field, part.value))
    return Table([*head, *extra, "field", "slice"], wide).csv()


def render_json(
    files: Sequence[ScoreFile], across: Sequence[str] = (), lines: Lines = MappingProxyType({})
) -> str:
    """Render score files as a JSON list, without answers; each with trivial measures and lines."""
    content = [
        f.model_dump(mode="json", exclude={"answers"})
        | {
            "trivial": [m.name for m in f.measures if is_trivial(f, m.name)],
            "lines": {m.name: lines[m.signature] for m in f.measures if m.signature in lines},
        }
        for f in files
    ]
    return json.dumps(content, ensure_ascii=False, indent=1) + "\n"


TABLES: dict[str, Callable[..., str]] = {
    "md": render_markdown,
    "json": render_json,
    "csv": render_csv,
    "latex": render_latex,
}
"""Format to the function that renders score files as a plain table in it."""

_TEMPLATES = Path(__file__).parent / "templates"
_NOTE = (
    "Second minus first system; 95 % intervals; p of paired t and permutation tests, the latter "
    "adjusted by Holm over all pairs and measures of this table; the smallest difference that 80 % "
    "power finds; n: queries that both define, for quotients of sums those that enter either."
)


def _explain_columns(comparison: ComparisonReport) -> str:
    """Write the note that explains the columns of a comparison."""
    marked = any(d.by_query for d in comparison.differences)
    return " ".join([_NOTE, *[BY_QUERY_NOTE] * marked])


def _notes(comparison: ComparisonReport) -> list[str]:
    """List the notes below a comparison: scope, cautions, and pairs that were not compared."""
    apart = [f"not compared: {line}" for line in comparison.left_out]
    return [*comparison.scope, *comparison.cautions, *apart]


def to_html(comparison: ComparisonReport) -> str:
    """Render a comparison as one HTML page that loads nothing else."""
    tables = difference_tables(comparison.differences, has_bold=True)
    template = page_templates(_TEMPLATES).get_template("comparison.html.j2")
    return template.render(
        tables=tables, note=_explain_columns(comparison), notes=_notes(comparison),
        signatures=comparison.signatures,
    )  # fmt: skip


def to_markdown(comparison: ComparisonReport) -> str:
    """Render a comparison as Markdown, with a table per pair of systems."""
    parts = [_explain_columns(comparison)]
    for _, table in difference_tables(comparison.differences):
        title = table.title + "".join(f" ({note})" for note in table.notes)
        parts += [f"## {markdown_text(title)}", table.markdown()]
    foot = [f"- {markdown_text(note)}" for note in _notes(comparison)]
    foot += [f"- {markdown_code(signature)}" for signature in comparison.signatures]
    return "\n\n".join([*parts, "\n".join(foot)]) + "\n"


def to_latex(comparison: ComparisonReport) -> str:
    """Render a comparison as tables for booktabs, one per pair of systems."""
    lines = [comment(_explain_columns(comparison))]
    for _, table in difference_tables(comparison.differences):
        heading = comment(" ".join([table.title, *table.notes]))
        lines += [heading, *replace(table, notes=()).latex()]
    foot = map(comment, [*_notes(comparison), *comparison.signatures])
    return "\n".join([*lines, *foot]) + "\n"


_FIGURES = ("n", "difference", "low", "high", "p_t", "p_permutation", "p_holm", "detectable")


def comparison_csv(comparison: ComparisonReport) -> str:
    """Render a comparison as CSV, with a line per measure and pair of systems."""
    head = ("measure", "first", "second", *_FIGURES, "same_as", "across", "by_query", "trivial",
            "slice")  # fmt: skip
    rows = [
        (d.measure, d.first, d.second, *(getattr(d, name) for name in _FIGURES), d.same_as,
         "; ".join(d.across), d.by_query, d.is_trivial, d.slice)
        for d in comparison.differences
    ]  # fmt: skip
    return Table(head, rows).csv()


def to_json(comparison: ComparisonReport) -> str:
    """Render a comparison as JSON; null for numbers that are not defined."""

    def plain(d: Difference) -> dict[str, object]:
        """Convert a difference to a dictionary, with None for NaN."""
        return {
            k: None if isinstance(v, float) and math.isnan(v) else v for k, v in asdict(d).items()
        }

    differences = [plain(d) for d in comparison.differences]
    beside = {k: v for k, v in vars(comparison).items() if k != "differences"}
    content = {"differences": differences, **beside}
    return json.dumps(content, ensure_ascii=False, indent=1) + "\n"


COMPARISONS: dict[str, Callable[[ComparisonReport], str]] = {
    "html": to_html, "md": to_markdown, "latex": to_latex, "csv": comparison_csv, "json": to_json,
}  # fmt: skip
"""Format to the function that renders a comparison in it."""


def compare_files(
    files: Sequence[ScoreFile], options: CompareOptions, out: Path | None
) -> ComparisonReport:
    """Compare the systems of score files; also write the comparison to a file if one is named.

    Args:
        files: score files.
        options: systems and measures to compare.
        out: file to write, whose ending names the format; None to write none.

    Raises:
        UsageError: there are fewer than two files, the ending is of no format of comparisons, or as
            :func:`~citeforge.evaluator.compare.compare_many`.
        UnknownValueError: no such system or measure.
        InputError: no pair can be compared.
    """
    if len(files) < 2:
        raise UsageError("compare needs the scores of at least two systems", code="too-few")
    if (form := find_report_format(out)) not in COMPARISONS:
        raise UsageError(
            f"{out}: a comparison is written as {', '.join(COMPARISONS)}", code="bad-option"
        )
    comparison = describe_comparison(
        compare_many(files, options.measures, options.against, options.across, options.by)
    )
    if out is not None:
        write_text(out, COMPARISONS[form](comparison))
    return comparison
