"""Notes below scores in every output: what was scored, and what limits the scores."""

from collections.abc import Collection, Iterable, Sequence

from citeforge.engines.textfiles import count_text
from citeforge.evaluator.rows import caution_lines, missing_lines, not_comparable
from citeforge.evaluator.rows import variance_lines as variances
from citeforge.schemas.scores import UNKNOWN_BUILD, ScoreFile

_MOST_NAMED = 3
"""Systems that a note names."""


def scope_lines(files: Iterable[ScoreFile]) -> list[str]:
    """Write a line per benchmark, context set and protocol, with its number of queries."""
    systems: dict[str, dict[str, None]] = {}
    for f in files:
        context = "all cells" if f.design is not None else f"context {f.context}"
        queries = f"{f.counts.n_queries:,} {'query' if f.counts.n_queries == 1 else 'queries'}"
        label = f"{f.benchmark}@{f.benchmark_hash[:8]}"
        place = f"{label}, {context}, protocol {f.protocol}: {queries}"
        systems.setdefault(place, {})[f.system] = None
    if len(systems) == 1:
        return list(systems)
    return [f"{place} ({', '.join(names)})" for place, names in systems.items()]


UNCITED = "{n} of {of} answers cite nothing"
REFUSED = "{n} of {of} answers say that they cannot answer"


def count_lines(files: Iterable[ScoreFile]) -> list[str]:
    """List systems with missing, uncited or refused answers or failed verdicts.

    What a system's own warnings say is left out.
    """
    lines = []
    for f in files:
        if f.counts.n_missing and not any(" missing" in text for text in f.warnings):
            missing = count_text(f.counts.n_missing, "answer")
            how = "with the worst value each" if f.protocol == "strict" else "which are left out"
            lines.append(f"{f.system}: {missing} missing, {how}")
        answers = f"{f.counts.n_answered:,}"
        for count, text in ((f.counts.n_uncited, UNCITED), (f.counts.n_refused, REFUSED)):
            if count:
                lines.append(f"{f.system}: {text.format(n=f'{count:,}', of=answers)}")
        if f.counts.n_judge_failed:
            pairs = count_text(f.counts.n_judge_failed, "pair")
            lines.append(
                f"{f.system}: the judge failed on {pairs}; bounds say what that leaves open"
            )
    return lines


def build_lines(files: Iterable[ScoreFile]) -> list[str]:
    """Write a note that names the systems whose files do not say which build they answer."""
    names = list(dict.fromkeys(f.system for f in files if not f.is_build_known))
    more = f" and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
    return [f"{', '.join(names[:_MOST_NAMED])}{more}: {UNKNOWN_BUILD}"] if names else []


def judge_lines(files: Iterable[ScoreFile], measures: Collection[str] | None = None) -> list[str]:
    """Write a note per judge whose scores are not comparable with published ones."""
    judges = dict.fromkeys(
        f.unpublished_judge for f in files
        if f.unpublished_judge and any(
            f"|judge:{f.unpublished_judge}" in m.signature
            for m in f.measures if measures is None or m.name in measures
        )
    )  # fmt: skip
    return [f"judged by {judge}: not comparable with published numbers" for judge in judges]


def rounding_lines(files: Iterable[ScoreFile]) -> list[str]:
    """Write a note if figures have noise because the gold is hidden; empty if none has."""
    hidden = [f for f in files if f.gold == "withheld"]
    if not hidden:
        return []
    sizes = [m.noise for f in hidden for m in f.measures if m.noise and m.scale == 100]
    noise = f", with noise of {max(sizes):.1f} points (standard deviation)" if sizes else ""
    return [f"the gold is hidden: values are in whole points (counts in tenths){noise}"]


_OF_THESE_RUNS = (
    "intervals also cover new runs and verdicts where several were scored; p-values, ranks and "
    "detectable differences hold for these runs and verdicts only"
)


def _run_lines(files: Sequence[ScoreFile], measures: Collection[str]) -> list[str]:
    """Note what holds for these runs and verdicts only, if a system was run or judged again."""
    several = [
        any(m.variance is not None for m in file.measures if m.name in measures) for file in files
    ]
    if len(files) < 2 or not any(several):
        return []
    once = (file.system for file, has in zip(files, several, strict=True) if not has)
    single = ", ".join(dict.fromkeys(once))
    text = f"{single}: one run, judged once, so that no interval covers its new runs"
    return [_OF_THESE_RUNS, text] if single else [_OF_THESE_RUNS]


def limit_lines(files: Sequence[ScoreFile], measures: Collection[str] | None = None) -> list[str]:
    """List the limits of scores: missing answers, rounding, cautions, judges, runs and warnings.

    Args:
        files: score files with distinct names.
        measures: names of the measures shown; None for all.
    """
    shown = {m.name for f in files for m in f.measures} if measures is None else measures
    return [
        *count_lines(files), *rounding_lines(files), *caution_lines(files, shown),
        *(variances(files) if measures is None else ()), *judge_lines(files, shown),
        *_run_lines(files, shown), *(f"{f.system}: {text}" for f in files for text in f.warnings),
    ]  # fmt: skip


def report_lines(
    files: Sequence[ScoreFile], alike: Sequence[ScoreFile], measures: Collection[str] | None = None
) -> list[str]:
    """List cautions, judges and counts to print below a table of scores, without signatures.

    Args:
        files: score files with distinct names.
        alike: the same files, perhaps without the signature parts in which they may differ.
        measures: names of the measures shown; None for all.
    """
    if measures is not None:
        alike = [
            f.model_copy(update={"measures": [m for m in f.measures if m.name in measures]})
            for f in alike
        ]
    return [
        *scope_lines(files),
        *(f"not computed: {line}" for line in missing_lines(files) if measures is None),
        *limit_lines(files, measures),
        *(f"not comparable: {line}" for line in not_comparable(alike)),
    ]
