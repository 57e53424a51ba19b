"""Scores corrected for the errors of a judge, which a plugin does: what the core asks of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np
import numpy.typing as npt

from citeforge.engines import plugins
from citeforge.engines.judge.session import JudgeSession
from citeforge.evaluator.measures.reading import Reading
from citeforge.evaluator.submissions.index import Submission
from citeforge.package.manifest import read_stats
from citeforge.package.package import Package
from citeforge.schemas.scores import MeasureScore, ScoreFile
from citeforge.schemas.signature import Signature


@dataclass(frozen=True)
class CorrectedDifference:
    """Second minus first system as people would have found it, as displayed.

    Attributes:
        value: mean paired difference by PPI++.
        low: lower end of its 95 % interval.
        high: upper end.
        p: two-sided, of no difference (Student's t with Welch's degrees of freedom).
        n_labels: queries whose answers by both systems are labelled.
        tuning: weight of the judge, from 0 to 1.
    """

    value: float
    low: float
    high: float
    p: float
    n_labels: int
    tuning: float


class Correction(Protocol):
    """What scores are corrected with: labels of these answers, or error rates of the judge."""

    def require_known(self, systems: Sequence[tuple[str, str]]) -> None:
        """Refuse labels if none of the scored systems has one.

        Args:
            systems: (name, submission file) of what is scored.

        Raises:
            InputError: names the systems of the labels.
        """

    def correct(
        self, submission: Submission, reading: Reading, entries: Sequence[MeasureScore],
        signatures: Sequence[Signature],
    ) -> list[str]:  # fmt: skip
        """Put corrected values beside the raw ones of every judged measure.

        Args:
            submission: what is scored.
            reading: its answers, read, and its measures with their samples.
            entries: entries of these measures, which get the corrected values.
            signatures: recipes of the entries.

        Returns:
            Warnings: what could not be corrected, and why the labels may be no random sample.

        Raises:
            InputError: labels of answers that there are not, or that contradict each other.
            UsageError: the answers cite something else than passages.
        """


class Corrections(Protocol):
    """Corrections of scores, implemented by the built-in plugin ``labels``."""

    def by_labels(self, paths: Sequence[Path]) -> Correction:
        """Read the correction by files of labels.

        Raises:
            InputError: a file holds no labels, or labels nothing that a statement cites.
        """

    def by_calibration(
        self, figures: Mapping[str, Any], judge: str
    ) -> tuple[Correction | None, str]:
        """Make the correction from a package's error rates of a judge, with a warning or ""."""

    def difference(
        self, first: MeasureScore, second: MeasureScore, clusters: npt.NDArray[np.int64] | None
    ) -> CorrectedDifference | None:
        """Compute the paired difference on one measure; None where labels do not allow one.

        Args:
            first: a system's entry.
            second: the other's.
            clusters: cluster of each query, where questions repeat.
        """

    def notes(self, files: Sequence[ScoreFile]) -> Sequence[str]:
        """Explain how corrected values were made, and what they imply for the order of systems."""


def find_corrections() -> Corrections:
    """Load the corrections of the built-in plugin ``labels``."""
    return cast(Corrections, plugins.built_in("corrections", "labels"))


def calibration_key(judge: str) -> str:
    """Name of a judge's calibration in ``stats.json``."""
    return f"calibration of {judge}"


def calibration_of(package: Package, judge: JudgeSession | None) -> tuple[Correction | None, str]:
    """The correction by a package's calibration of this judge, and what to warn of.

    Returns:
        (None, "") where the package has none.
    """
    if judge is None:
        return None, ""
    signature = judge.judge.signature
    figures = read_stats(package.folder).get(calibration_key(signature))
    if not isinstance(figures, dict):
        return None, ""
    return find_corrections().by_calibration(figures, signature)
