"""Readers of human labels: their agreement with a judge, a measure, or a second annotator."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import product
from typing import Any

import numpy as np

from citeforge.plugins.reproduce.read_lists import ListOptions, read_fields
from citeforge.plugins.reproduce.reader import FileGroups, ReaderTools, Values
from citeforge.schemas.errors import UsageError
from citeforge.schemas.recipes.base import Part, make_record


class JudgementOptions(Part):
    """Options of the reader ``judgements``: fields of labels and values, and which mean yes."""

    people: tuple[str, str]
    """Field of the id of what is judged, and field of the label, in the first group of files."""
    judge: tuple[str, str] | tuple[str, str, str] | None = None
    """The same in the last group, with a field to subtract; None to compare people's first two
    labels."""
    positive: str = ""
    """Label that means yes; empty where labels are numbers."""
    threshold: float = 0.0
    """The judge says yes above this value."""


def read_judgements(
    files: FileGroups, options: dict[str, Any], value_names: Sequence[str], tools: ReaderTools
) -> Values:
    """Compute named values of people's agreement with a judge, or of two annotators'.

    Args:
        files: groups of files that a row of the table names.
        options: options of this reader that the table declares.
        value_names: names of the values to compute.
        tools: folder, judge and models that readers share.

    Raises:
        UsageError: nothing is judged by both sides, or a field is missing or not a number.
    """
    choices = make_record(JudgementOptions, **options)
    people = _collect_values(files[0], *choices.people)
    if choices.judge is None:
        pairs = [(values[0], values[1]) for values in people.values() if len(values) > 1]
    else:
        judge = _collect_values(files[-1], *choices.judge)
        pairs = [pair for key in people for pair in product(people[key], judge.get(key, ()))]
    if not pairs:
        raise UsageError("options: nothing is judged by both sides", code="no-pairs")
    if choices.positive:
        return _decision_stats(pairs, choices.positive, choices.threshold)
    return _compute_correlations(pairs)


def _collect_values(
    group: Sequence[Any], key: str, field: str, subtrahend: str = ""
) -> dict[str, list[Any]]:
    """Collect the values of ``field`` by the id in field ``key``, minus field ``subtrahend``.

    Args:
        group: paths of each file; the first of them is read.
        key: name of the field with the id.
        field: name of the field with the value.
        subtrahend: name of a field whose number is subtracted; empty for none.

    Returns:
        The values by id, in order.
    """
    values: dict[str, list[Any]] = defaultdict(list)
    for paths in group:
        for row in read_fields(paths[0], ListOptions()):
            value = _get_field(row, field)
            if subtrahend:
                value = _to_number(value) - _to_number(_get_field(row, subtrahend))
            values[str(_get_field(row, key))].append(value)
    return values


def _get_field(row: Mapping[str, Any], path: str) -> Any:
    """Get a field of a row by its path: ``a.b`` is the field b of the object a."""
    try:
        return reduce(lambda value, name: value[name], path.split("."), row)
    except (KeyError, TypeError) as error:
        raise UsageError(f"options: a row has no field {path!r}", code="missing-field") from error


def _to_number(value: Any) -> float:
    """Convert a label or value to a number; raise an error if it is none."""
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"options: a label or a value is not a number ({error})", code="wrong-type"
        ) from error


def _compute_correlations(pairs: Sequence[tuple[Any, Any]]) -> Values:
    """Compute ``n``, ``pearson`` and ``spearman`` of (label, value) pairs.

    Args:
        pairs: (label, value) of each judgement.
    """
    from citeforge.plugins.labels.meta_eval import pearson
    from citeforge.plugins.labels.system_order import spearman

    # Equal differences are ties, whatever the last bits of their floats.
    first, second = np.array([[_to_number(v) for v in pair] for pair in pairs]).round(12).T
    return {
        "n": float(len(pairs)),
        "pearson": pearson(list(zip(first.tolist(), second.tolist(), strict=True))),
        "spearman": spearman(first, second),
    }


def _decision_stats(pairs: Sequence[tuple[Any, Any]], positive: str, threshold: float) -> Values:
    """Compute accuracy, precision, recall, F1 and AUROC of (label, value) pairs, by name.

    Args:
        pairs: (label, value) of each judgement.
        positive: the label that means yes.
        threshold: value above which a decision is yes.
    """
    from scipy.stats import mannwhitneyu

    from citeforge.plugins.labels.meta_eval import decision_quality

    judged = [(label == positive, _to_number(value)) for label, value in pairs]
    # decision_quality treats "not supported" as positive, papers "supported": both are negated.
    quality = decision_quality([(not label, value <= threshold) for label, value in judged])
    precision, recall = quality.precision, quality.recall
    yes, no = ([v for label, v in judged if label == side] for side in (True, False))
    return {
        "n": float(quality.n),
        "accuracy": quality.accuracy,
        "balanced accuracy": quality.balanced_accuracy,
        "precision": precision,
        "recall": recall,
        "f1": 2 * precision * recall / (precision + recall) if recall else 0.0,
        "auroc": (
            float(mannwhitneyu(yes, no).statistic) / (len(yes) * len(no))
            if yes and no
            else math.nan
        ),
    }


class ComparisonOptions(Part):
    """Options of the reader ``preferences``: fields, comparisons that count, and ties."""

    people: str
    """Field with the two values by people."""
    measure: str
    """Field with the two values by the measure."""
    threshold: float
    """Difference up to which the measure calls two answers equal."""
    only_agreed: bool = False
    """Whether only comparisons count that all annotators decide alike."""
    without: str = ""
    """Name of a system whose comparisons are left out."""


def read_comparisons(
    files: FileGroups, options: dict[str, Any], value_names: Sequence[str], tools: ReaderTools
) -> Values:
    """Compute named values of a measure's agreement with annotators' preferences in files.

    Args:
        files: groups of files that a row of the table names.
        options: options of this reader that the table declares.
        value_names: names of the values to compute.
        tools: folder, judge and models that readers share.
    """
    from citeforge.plugins.labels.preferences import (
        annotator_agreement,
        pairwise_agreement,
        read_preferences,
        select_agreed,
    )

    choices = make_record(ComparisonOptions, **options)
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
    counted = [select_agreed(annotators)] if choices.only_agreed else annotators
    each = [pairwise_agreement(rows, choices.threshold) for rows in counted]
    statistics = {
        name: sum(getattr(one, name) for one in each) / len(each)
        for name in ("n", "agreement", "tau", "system_tau")
    }
    statistics |= {"annotators agree": among.strict, "half credit": among.half_credit}
    return statistics
