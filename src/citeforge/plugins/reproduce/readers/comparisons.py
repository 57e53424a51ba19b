"""Which of two answers people prefer, held against a measure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from citeforge.engines.plugins import require_built_in
from citeforge.plugins.reproduce.readers.reader import FileGroups, ReaderTools, Values
from citeforge.schemas.recipes.base import Part, checked


class ComparisonOptions(Part):
    """Which comparisons count, and when a measure ties."""

    people: str
    """Field of people's two values."""
    measure: str
    """Field of the measure's two values."""
    threshold: float
    """Difference up to which the measure calls two answers equal."""
    only_agreed: bool = False
    """Only comparisons that all annotators decide alike."""
    without: str = ""
    """System whose comparisons are left out."""


def read_comparisons(
    files: FileGroups, options: dict[str, Any], wanted: Sequence[str], tools: ReaderTools
) -> Values:
    """Agreement and correlation, as the mean over annotators; each group of files is one.

    Raises:
        InputError: this copy lacks the plugin that compares preferences.
    """
    require_built_in("commands", "labels", "comparisons with the preferences of people")
    from citeforge.plugins.labels.agreement.preferences import (
        agreed,
        annotator_agreement,
        pairwise_agreement,
        read_preferences,
    )

    choices = checked(ComparisonOptions, **options)
    annotators = [
        [
            one
            for paths in group
            for one in read_preferences(paths[0], choices.people, choices.measure)[0]
            if choices.without not in one.systems
        ]
        for group in files
    ]
    among = annotator_agreement(annotators)
    counted = [agreed(annotators)] if choices.only_agreed else annotators
    each = [pairwise_agreement(rows, choices.threshold) for rows in counted]
    statistics = {
        name: sum(getattr(one, name) for one in each) / len(each)
        for name in ("n", "agreement", "tau", "system_tau")
    }
    statistics |= {"annotators agree": among.strict, "half credit": among.half_credit}
    return statistics
