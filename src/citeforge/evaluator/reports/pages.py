"""Pages and plots, which a plugin makes: what the core asks of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, cast

from citeforge.engines import plugins
from citeforge.schemas.benchmarks.audit import Audit
from citeforge.schemas.commands.command_options import ReportOptions
from citeforge.schemas.scores import ScoreFile

_ENTRY = ("reports", "pages")


@dataclass(frozen=True)
class Shares:
    """Statements of a system that are supported.

    Attributes:
        statements: labelled ones with a verdict.
        effective: answers that they are of, weighted by their statements (Kish 1965).
        judge: share that the judge finds supported.
        people: share that people do.
    """

    statements: int
    effective: float
    judge: float
    people: float


class Pages(Protocol):
    """What makes pages and plots: entry ``pages`` of the group ``citeforge.reports``."""

    def report(
        self, files: Sequence[ScoreFile], form: str, out: Path | None, options: ReportOptions,
        audit: Audit | None,
    ) -> tuple[bytes, int]:  # fmt: skip
        """A page, a plot, or a plot's own report in any format.

        Args:
            files: score files.
            form: of the file.
            out: beside which a page's data go where they are large; None to keep all in it.
            options: what it shows.
            audit: of the benchmark.

        Returns:
            Content of the file, and the number of files written beside it.

        Raises:
            UsageError: an option for another kind of file, or the files do not hold what it shows.
            MissingExtraError: a plot without the extra ``report``.
        """

    def explorer(self, files: Sequence[ScoreFile]) -> tuple[str, dict[str, str]]:
        """All answers, to be filtered and compared in a page.

        Returns:
            A part of a page, and what lies beside the page: file name to content.
        """

    def judge_plot(self, out: Path) -> Callable[[Mapping[str, Shares], str], None]:
        """What plots the statements that a judge and people find supported in each system.

        Args:
            out: file to write.

        Returns:
            Writes it, of shares by system and the judge's signature.

        Raises:
            UsageError: no plot is written in a file of such an ending.
            MissingExtraError: the extra ``report`` is not installed.
        """


def find_pages() -> Pages | None:
    """What makes pages and plots; None where this copy lacks the plugin for them."""
    theirs = plugins.find_entry(*_ENTRY)
    return None if theirs is None else cast(Pages, theirs[0])


def require_pages(form: str) -> Pages:
    """What makes pages and plots.

    Raises:
        InputError: this copy lacks the plugin for them.
    """
    return cast(Pages, plugins.built_in(*_ENTRY, f"reports as {form}"))
