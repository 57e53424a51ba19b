"""Interface of the plugin that corrects scores for the errors of a judge."""

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
    """Difference of two systems (second minus first), corrected by labels, as displayed.

    Attributes:
        value: mean paired difference by PPI++.
        low: lower end of its 95 % interval.
        high: upper end.
        p: two-sided p-value (Student's t with Welch's degrees of freedom).
        n_labels: number of queries whose answers by both systems are labelled.
        tuning: weight of the judge, from 0 to 1.
    """

    value: float
    low: float
    high: float
    p: float
    n_labels: int
    tuning: float


class Correction(Protocol):
    """A correction of scores: by labels of the same answers, or by a judge's error rates."""

    def require_known(self, systems: Sequence[tuple[str, str]]) -> None:
        """Refuse labels if none of the scored systems has one.

        Args:
            systems: (name, submission file) of each scored system.

        Raises:
            InputError: no system has a label; names the systems of the labels.
        """

    def correct(
        self, submission: Submission, reading: Reading, entries: Sequence[MeasureScore],
        signatures: Sequence[Signature],
    ) -> list[str]:  # fmt: skip
        """Add corrected values to the entries of every judged measure.

        Args:
            submission: submission that is scored.
            reading: its answers, and its measures with their samples.
            entries: entries of these measures, to which corrected values are added.
            signatures: signatures of the entries.

        Returns:
            Warnings: measures that could not be corrected, and labels that may be no random sample.

        Raises:
            InputError: labels are of unknown answers, or contradict each other.
            UsageError: the answers do not cite passages.
        """


class Corrections(Protocol):
    """Corrections of scores, implemented by the built-in plugin ``labels``."""

    def by_labels(self, paths: Sequence[Path]) -> Correction:
        """Read files of labels, and make the correction by them.

        Raises:
            InputError: a file has no labels of statements.
        """

    def by_calibration(
        self, figures: Mapping[str, Any], judge: str
    ) -> tuple[Correction | None, str]:
        """Make the correction from a package's error rates of a judge; also a warning, or ""."""

    def difference(
        self, first: MeasureScore, second: MeasureScore, clusters: npt.NDArray[np.int64] | None
    ) -> CorrectedDifference | None:
        """Compute the corrected paired difference on one measure; None if labels do not allow it.

        Args:
            first: score of the first system.
            second: score of the second system.
            clusters: cluster of each query, if questions repeat.
        """

    def notes(self, files: Sequence[ScoreFile]) -> Sequence[str]:
        """List how values were corrected, and the ranks that corrected values allow."""


def find_corrections() -> Corrections:
    """Load the corrections of the built-in plugin ``labels``."""
    return cast(Corrections, plugins.built_in("corrections", "labels"))


def calibration_key(judge: str) -> str:
    """Return the key of a judge's calibration in ``stats.json``."""
    return f"calibration of {judge}"


def calibration_of(package: Package, judge: JudgeSession | None) -> tuple[Correction | None, str]:
    """Make the correction by a package's calibration of a judge; also a warning, or "".

    Returns:
        (None, "") if the package has no calibration of this judge.
    """
    if judge is None:
        return None, ""
    signature = judge.judge.signature
    figures = read_stats(package.folder).get(calibration_key(signature))
    if not isinstance(figures, dict):
        return None, ""
    return find_corrections().by_calibration(figures, signature)
