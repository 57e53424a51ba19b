"""Corrections of scores by labels, declared without their code."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from citeforge.evaluator.corrections import CorrectedDifference, Correction, Corrections
from citeforge.schemas.scores import MeasureScore, ScoreFile


class LabelCorrections(Corrections):
    """Corrections of scores by people's labels, whose code is imported when it is used."""

    def by_labels(self, paths: Sequence[Path]) -> Correction:
        """Read files of labels, and make the correction by them."""
        from citeforge.plugins.labels.correct import LabelCorrection
        from citeforge.plugins.labels.files import read_labels

        return LabelCorrection([label for path in paths for label in read_labels(path)])

    def by_calibration(
        self, figures: Mapping[str, Any], judge: str
    ) -> tuple[Correction | None, str]:
        """Make the correction from a package's error rates of a judge, with a warning or ""."""
        from citeforge.plugins.labels.correct import read_correction

        return read_correction(figures, judge)

    def difference(
        self, first: MeasureScore, second: MeasureScore, clusters: npt.NDArray[np.int64] | None
    ) -> CorrectedDifference | None:
        """Compute the paired difference on one measure; None if labels do not allow it."""
        from citeforge.plugins.labels.ranks import corrected_difference

        return corrected_difference(first, second, clusters)

    def notes(self, files: Sequence[ScoreFile]) -> Sequence[str]:
        """List how values were corrected, and the ranks that corrected values allow."""
        from citeforge.plugins.labels.ranks import correction_notes, order_notes

        return [*correction_notes(files), *order_notes(files)]


CORRECTIONS = LabelCorrections()
