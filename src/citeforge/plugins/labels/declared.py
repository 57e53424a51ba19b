"""Corrections of scores by labels, declared without their code."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from citeforge.evaluator.reports.corrections import CorrectedDifference, Correction, Corrections
from citeforge.schemas.scores import MeasureScore, ScoreFile


class LabelCorrections(Corrections):
    """Corrections by people's labels; see :class:`Corrections` for the methods."""

    def by_labels(self, paths: Sequence[Path]) -> Correction:
        from citeforge.plugins.labels.correct import LabelCorrection
        from citeforge.plugins.labels.files import read_labels

        return LabelCorrection([label for path in paths for label in read_labels(path)])

    def by_calibration(
        self, figures: Mapping[str, Any], judge: str
    ) -> tuple[Correction | None, str]:
        from citeforge.plugins.labels.correct import read_correction

        return read_correction(figures, judge)

    def difference(
        self, first: MeasureScore, second: MeasureScore, clusters: npt.NDArray[np.int64] | None
    ) -> CorrectedDifference | None:
        from citeforge.plugins.labels.ranks import corrected_difference

        return corrected_difference(first, second, clusters)

    def notes(self, files: Sequence[ScoreFile]) -> Sequence[str]:
        from citeforge.plugins.labels.ranks import correction_notes, order_notes

        return [*correction_notes(files), *order_notes(files)]


CORRECTIONS = LabelCorrections()
