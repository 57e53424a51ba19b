"""Score files of hidden gold: round and remove what would reveal the gold."""

import math
from collections.abc import Iterable
from typing import TypeVar

from citeforge.evaluator.measures.declared import OWN_WEIGHTS
from citeforge.schemas.errors import CiteforgeError, InputError, UsageError
from citeforge.schemas.recipes.command_options import ScoreOptions
from citeforge.schemas.record import Record
from citeforge.schemas.scores import Corrected, Counts, MeasureScore, NotComputed, ScoreFile

MANY_QUERIES = 1000
"""Queries from which the standard error of a share (at most 1.6 points) warrants tenths."""
FEWEST_QUERIES = 20
"""Fewest queries of a published value."""
PUBLISHED: dict[type[Record], tuple[str, ...]] = {
    ScoreFile: (
        "scores_version", "system", "submission", "submission_format", "submission_sha256",
        "benchmark", "benchmark_hash", "protocol", "context", "design", "warnings", "about",
        "is_control", "is_build_known", "same_family", "unpublished_judge",
    ),
    Counts: (
        "n_queries", "n_runs", "n_answered", "n_missing", "n_unparsed", "n_judge_failed", "n_empty",
        "n_truncated", "n_uncited", "n_out_of_range", "n_listed",
    ),
    MeasureScore: ("name", "signature", "scale", "interval", "n", "n_undefined", "weights"),
    Corrected: ("method", "n_labels", "signature"),
}  # fmt: skip
"""Fields that leave a private score file as they are: submission and benchmark tell them."""
PUBLISHED_WARNINGS = frozenset(
    {
        "incomplete-run", "json-answer", "missing-answer", "missing-hash", "no-citations",
        "prompt-repeated", "text-mismatch", "thoughts", "unknown-value", "wrong-benchmark",
    }
)  # fmt: skip
"""Codes of warnings that leave: they follow from the submission and what systems are shown."""
R = TypeVar("R", bound=Record)


def find_own_denominator(options: ScoreOptions) -> str | None:
    """Name the first scoring option that lets a submission choose what it is scored on.

    With hidden gold, few queries make each label weigh much; None if there is no such option.
    """
    chosen = {
        "only_asked": options.only_asked,
        "only_answered": options.only_answered,
        "by": options.by,
        "protocol reference": options.protocol == "reference",
        "context own": options.context == "own",
    }
    return next((name for name, is_given in chosen.items() if is_given), None)


def withhold_scores(file: ScoreFile) -> ScoreFile:
    """Copy scores so that they reveal no hidden gold: rounded, and without values per query.

    Values are rounded to whole points (to tenths from 1,000 queries on), which is far below their
    standard error, and ends of intervals outwards: a value is one of 101 and not one of 2^53.
    Everything about single queries is removed.

    Args:
        file: scores with hidden gold; others are returned unchanged.

    Raises:
        UsageError: the submission chose what it is scored on, see :func:`find_own_denominator`.
    """
    if file.gold != "private":
        return file
    if file.protocol == "reference" or any("|asked:" in m.signature for m in file.measures):
        raise UsageError(
            f"scores of {file.submission} are of some of the queries only, which would reveal "
            "hidden gold; keep them with --private (save(private=True))",
            code="hidden-gold",
        )
    reasons = {m.name: reason for m in file.measures if (reason := _why_withheld(m))}
    absent = [NotComputed(name=name, reason=reason) for name, reason in reasons.items()]
    return _publish(
        file,
        gold="withheld",
        query_ids=[],
        counts=_publish(file.counts),
        measures=[_round_score(m) for m in file.measures if m.name not in reasons],
        # An order by what is undefined would tell it.
        not_computed=sorted([*file.not_computed, *absent], key=lambda one: one.name),
    )


def withhold_error(error: CiteforgeError) -> str:
    """Describe an error of scoring with hidden gold without its message, which may quote values."""
    return (
        f"cannot be scored ({error.code}); the owner reads why in: "
        "citeforge score --gold HALF --private"
    )


def _publish(record: R, **made: object) -> R:
    """Copy the fields of a record that may be published, with these in place of others.

    Fields that :data:`PUBLISHED` does not list, new ones too, get their defaults.
    """
    kept = {name: getattr(record, name) for name in PUBLISHED[type(record)]}
    return type(record)(**kept, **made)


def _why_withheld(entry: MeasureScore) -> str | None:
    """Give the reason why a measure's value is not published; None if it is."""
    if entry.weights == "own":
        return OWN_WEIGHTS
    if entry.n < FEWEST_QUERIES:
        return f"the gold is hidden, and fewer than {FEWEST_QUERIES} queries define it"
    return None


def require_publishable(files: Iterable[ScoreFile]) -> None:
    """Raise an error if a score file has values per query of a benchmark with hidden gold.

    Raises:
        InputError: a file has such values; names the submission.
    """
    for file in files:
        if file.gold == "private":
            raise InputError(
                "its score file contains values per query of a benchmark with hidden gold",
                path=file.submission,
                allowed="the file that `citeforge score` writes without --private",
                code="hidden-gold",
            )


def require_values(files: Iterable[ScoreFile], verb: str) -> None:
    """Raise an error if values per query, which a command needs, were removed from a file.

    Args:
        files: score files.
        verb: the command.

    Raises:
        InputError: a file has no values by query; names the submission.
    """
    for file in files:
        if file.gold == "withheld":
            raise InputError(
                f"{verb} needs values per query, and its score file has none: the gold is hidden",
                path=file.submission,
                allowed="the maintainer's own file: citeforge score --gold HALF --private",
                code="hidden-gold",
            )


def _round_score(entry: MeasureScore) -> MeasureScore:
    """Copy a measure's score with rounded values, and without its values per query."""
    return _publish(
        entry,
        value=_round_value(entry.value, entry),
        low=_round_down(entry.low),
        high=_round_up(entry.high),
        lower_bound=_round_down(entry.lower_bound),
        upper_bound=_round_up(entry.upper_bound),
        corrected=_round_corrected(entry),
        stderr=None,
        per_query=[],
    )


def _round_corrected(entry: MeasureScore) -> Corrected | None:
    """Copy a score's value corrected with labels: rounded, and without labels of single answers."""
    old = entry.corrected
    return old and _publish(
        old, value=_round_value(old.value, entry), low=_round_down(old.low),
        high=_round_up(old.high), stderr=None,
    )  # fmt: skip


def _round_value(value: float | None, entry: MeasureScore) -> float | None:
    """Round a value to whole points; counts, and values of many queries, to tenths.

    The unit of a count (scale 1) is not a hundredth of a share.
    """
    tenths = entry.scale == 1 or entry.n >= MANY_QUERIES
    return None if value is None else round(value, 1 if tenths else 0)


def _round_down(value: float | None) -> float | None:
    """Round down to a whole number; None remains None."""
    return None if value is None else float(math.floor(value))


def _round_up(value: float | None) -> float | None:
    """Round up to a whole number; None remains None."""
    return None if value is None else float(math.ceil(value))
