"""Score files in Python: compare systems, and report on them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from citeforge.engines.io.files import write_bytes
from citeforge.evaluator.statistics.compare import Difference, compare_many, load_scores
from citeforge.library.scores import Scores
from citeforge.schemas.commands.command_options import TableOptions
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.recipes.base import checked
from citeforge.schemas.scores import ScoreFile


def compare(
    *scores: Scores | str | Path,
    measures: Sequence[str] = (),
    against: str | None = None,
    across: Sequence[str] = (),
) -> list[Difference]:
    """Paired differences of systems, measure by measure; as ``citeforge compare``.

    Args:
        scores: two or more, of the same benchmark and recipe.
        measures: names, names without their cell, or families; all when empty.
        against: system that all others are compared with; None for all pairs.
        across: parts of signatures that may differ, such as ``contexts``.

    Raises:
        UsageError: fewer than two, or no such system, measure or part.
        InputError: their signatures differ in more than the system; the parts are named.
    """
    if len(scores) < 2:
        raise UsageError("compare needs the scores of at least two systems")
    comparison = compare_many([_file(s) for s in scores], measures, against, across)
    if comparison.left_out:
        raise InputError(comparison.left_out[0], allowed="across=[…] with what may differ")
    return comparison.differences


def report(
    scores: Sequence[Scores | str | Path],
    out: str | Path | None = None,
    *,
    kind: str | None = None,
    title: str | None = None,
    measures: Sequence[str] = (),
    against: str | None = None,
    across: Sequence[str] = (),
) -> str:
    """A report of one or several systems; as ``citeforge report``.

    Args:
        scores: of one or several systems.
        out: file to write; None to write none.
        kind: ``html``, ``md``, ``json``, ``csv`` or ``latex``, or a plot: ``svg``, ``png`` or
            ``pdf``; None for what the name of ``out`` says, else ``md``.
        title: title of the report.
        measures: columns of a table (``md``, ``latex``, ``csv``); all when empty.
        against: baseline of a table: systems that differ from it significantly are marked.
        across: parts of signatures that ranks and marks may reach across, such as ``contexts``.

    Returns:
        Its text; an empty string for a picture (``png``, ``pdf``).

    Raises:
        UsageError: the ending of ``out`` says no format.
        MissingExtraError: a plot without the extra ``report``.
    """
    from citeforge.evaluator.reports.plots.files import format_of
    from citeforge.evaluator.reports.report import rendered

    if not scores:
        raise UsageError("report needs the scores of at least one system")
    chosen = kind or format_of(out)
    table = checked(TableOptions, columns=tuple(measures), against=against, across=tuple(across))
    content = rendered([_file(s) for s in scores], chosen, title, table=table)
    if out is not None:
        write_bytes(Path(out), content)
    return "" if chosen in ("png", "pdf") else content.decode()


def _file(scores: Scores | str | Path) -> ScoreFile:
    return scores.file if isinstance(scores, Scores) else load_scores(Path(scores))
