"""Score files of hidden gold: leave out what would reveal the gold."""

from collections.abc import Iterable
from typing import TypeVar

from citeforge.engines.textfiles import count_text
from citeforge.evaluator.measures.declared import OWN_WEIGHTS
from citeforge.schemas.errors import CiteforgeError, InputError, UsageError
from citeforge.schemas.recipes.command_options import ScoreOptions
from citeforge.schemas.record import Record
from citeforge.schemas.scores import Counts, MeasureScore, NotComputed, ScoreFile

FEWEST_QUERIES = 20
"""Fewest queries of a published value."""
PUBLISHED: dict[type[Record], tuple[str, ...]] = {
    ScoreFile: (
        "scores_version", "system", "submission", "submission_format", "submission_sha256",
        "benchmark", "benchmark_hash", "protocol", "context", "design", "about",
        "is_control", "is_build_known", "same_family", "unpublished_judge", "headline",
    ),
    Counts: (
        "n_queries", "n_runs", "n_answered", "n_missing", "n_unparsed", "n_empty", "n_truncated",
        "n_uncited", "n_refused", "n_out_of_range", "n_listed",
    ),
    MeasureScore: ("name", "signature", "scale", "n", "n_undefined", "weights"),
}  # fmt: skip
"""Fields that leave a private score file as they are: submission and benchmark tell them."""
PUBLISHED_WARNINGS = frozenset(
    {
        "incomplete-run", "json-answer", "missing-answer", "missing-hash", "no-citations",
        "prompt-repeated", "same-answers", "text-mismatch", "thoughts", "unknown-value",
        "wrong-benchmark",
    }
)  # fmt: skip
"""Codes of warnings that leave: they follow from the submission and what systems are shown."""
NO_NOISE = (
    "the gold is hidden, and noise cannot keep it: the measure has no bound on what one query may "
    "do to it, or the benchmark has no secret.hex (build --hidden makes one)"
)
"""Reason why measures without published figures are left out."""
JUDGE_FAILED = (
    "the judge failed on some pairs, which count as not supported; how many depends on hidden gold"
)
"""Warning in place of the number of failures, where a hidden text may have caused them."""
R = TypeVar("R", bound=Record)


def find_revealing_option(options: ScoreOptions) -> str | None:
    """Name the first scoring option that would reveal hidden labels; None if there is none.

    With few queries, which a submission chooses, each label weighs much; a row of the best values
    per query tells where systems differ.
    """
    chosen = {
        "max_row": options.max_row,
        "only_asked": options.only_asked,
        "only_answered": options.only_answered,
        "by": options.by,
        "protocol reference": options.protocol == "reference",
        "context own": options.context == "own",
    }
    return next((name for name, is_given in chosen.items() if is_given), None)


def withhold_scores(file: ScoreFile) -> ScoreFile:
    """Copy scores without what reveals hidden gold: values with noise only, none per query.

    Of each measure only the figures are left that :mod:`citeforge.evaluator.noise` made for
    publication. Everything about single queries is removed, and counts that labels decide.

    Args:
        file: scores with hidden gold; others are returned unchanged.

    Raises:
        UsageError: the submission chose what it is scored on, see :func:`find_revealing_option`.
    """
    if file.gold != "private":
        return file
    if file.protocol == "reference" or any("|asked:" in m.signature for m in file.measures):
        raise UsageError(
            f"scores of {file.submission} are of some of the queries only, which would reveal "
            "hidden gold; keep them with --private (save(private=True))",
            code="hidden-gold",
        )
    n_failed = file.counts.n_judge_failed
    is_secret = n_failed > 0 and any(
        "|judge:" in m.signature and (m.published is None or m.published.noise > 0)
        for m in file.measures
    )
    reasons = {m.name: reason for m in file.measures if (reason := _why_withheld(m))}
    absent = [NotComputed(name=name, reason=reason) for name, reason in reasons.items()]
    return _copy_publishable(
        file,
        gold="withheld",
        query_ids=[],
        counts=_copy_publishable(file.counts, n_judge_failed=0 if is_secret else n_failed),
        warnings=[*file.warnings, *([JUDGE_FAILED] if is_secret else [])],
        measures=[_to_published(m) for m in file.measures if m.name not in reasons],
        # An order by what is undefined would tell it.
        not_computed=sorted([*file.not_computed, *absent], key=lambda one: one.name),
    )


def describe_failures(n_failed: int, files: Iterable[ScoreFile]) -> str:
    """Describe how often the judge failed; without the number if a published file withholds it."""
    if any(JUDGE_FAILED in file.warnings for file in files):
        return "the judge failed on some pairs; the owner reads how many with --private"
    return f"the judge failed on {count_text(n_failed, 'pair')}"


def withhold_error(error: CiteforgeError) -> str:
    """Describe an error of scoring with hidden gold without its message, which may quote values."""
    return (
        f"cannot be scored ({error.code}); the owner reads why in: "
        "citeforge score --gold HALF --private"
    )


def _copy_publishable(record: R, **made: object) -> R:
    """Copy a record's publishable fields, with some values replaced or added.

    Fields that :data:`PUBLISHED` does not list, new ones too, get their defaults.
    """
    kept = {name: getattr(record, name) for name in PUBLISHED[type(record)]}
    return type(record)(**kept, **made)


def _why_withheld(entry: MeasureScore) -> str | None:
    """Get the reason why a measure's value is not published; None if it is published."""
    if entry.weights == "own":
        return OWN_WEIGHTS
    if entry.n < FEWEST_QUERIES:
        return f"the gold is hidden, and fewer than {FEWEST_QUERIES} queries define it"
    if entry.published is None:
        return NO_NOISE
    return None


def _to_published(entry: MeasureScore) -> MeasureScore:
    """Copy a measure's score with published (noisy) figures, without its values per query."""
    figures = entry.published
    assert figures is not None
    return _copy_publishable(entry, **figures.model_dump(), stderr=None, per_query=[])


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


def require_values(files: Iterable[ScoreFile], command: str) -> None:
    """Raise an error if a score file lacks the values per query that a command needs.

    Args:
        files: score files.
        command: name of the command, for the error.

    Raises:
        InputError: a file has no values by query; names the submission.
    """
    for file in files:
        if file.gold == "withheld":
            raise InputError(
                f"{command} needs values per query, and its score file has none: the gold is "
                "hidden",
                path=file.submission,
                allowed="the maintainer's own file: citeforge score --gold HALF --private",
                code="hidden-gold",
            )
