"""What was not computed, and what makes scores doubtful, said once a reason."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from citeforge.evaluator.statistics.judges import over_judges, values_by_layer
from citeforge.evaluator.statistics.variance import shares_of
from citeforge.schemas.scores import MeasureScore, ScoreFile, Source


def missing_lines(files: Sequence[ScoreFile]) -> list[str]:
    """``measures: reason`` lines; with the systems, where it does not concern all of them."""
    systems: dict[tuple[str, str], dict[str, None]] = {}
    for file in files:
        for entry in file.not_computed:
            systems.setdefault((entry.reason, entry.name), {})[file.system] = None
    names: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (reason, name), concerned in systems.items():
        names.setdefault((reason, tuple(concerned)), []).append(name)
    everybody = {f.system for f in files}
    return [
        f"{', '.join(found)}: {reason}"
        + ("" if set(concerned) == everybody else f" ({', '.join(concerned)})")
        for (reason, concerned), found in names.items()
    ]


TRIVIAL = "(trivial)"
"""Stands behind the name of a measure that any citation satisfies."""
_OF_ANY_CITATION = "CiteP"
"""The measure that a benchmark without irrelevant passages makes trivial."""


def is_trivial(file: ScoreFile, measure: str) -> bool:
    """Whether any citation satisfies a measure on the context set of a score file."""
    counts = file.counts
    return measure == _OF_ANY_CITATION and 0 < counts.n_queries == counts.n_all_relevant


def marked_name(files: Iterable[ScoreFile], measure: str) -> str:
    """The name of a measure; marked where it is trivial for one of the score files."""
    return f"{measure} {TRIVIAL}" if any(is_trivial(f, measure) for f in files) else measure


def trivial_lines(
    files: Iterable[ScoreFile], measures: Collection[str] = (_OF_ANY_CITATION,)
) -> list[str]:
    """``measure: reason`` lines of measures that any citation satisfies, by context set.

    Args:
        files: score files.
        measures: those that are printed.
    """
    places = {
        f"{m.name} is trivial on {file.benchmark}, {file.context}": None
        for file in files
        for m in file.measures
        if m.name in measures and is_trivial(file, m.name)
    }
    reason = "every passage shown is relevant, so that any citation of one is right"
    return [f"{place}: {reason}" for place in places]


def caution_lines(
    files: Sequence[ScoreFile], measures: Collection[str] = (_OF_ANY_CITATION,)
) -> list[str]:
    """What to know before a score is believed: :func:`trivial_lines`, and systems of their judge's
    family."""
    families: dict[str, dict[str, None]] = {}
    for file in files:
        if file.same_family is not None:
            families.setdefault(file.same_family, {})[file.system] = None
    return trivial_lines(files, measures) + [
        f"the judge is of the family of {', '.join(systems)} ({family}), and judges tend to prefer "
        "their own family's texts: score with another judge, too"
        for family, systems in families.items()
    ]


def variance_lines(files: Sequence[ScoreFile]) -> list[str]:
    """Where uncertainty comes from, by system, of several runs, verdicts or judges."""
    lines = []
    for file in files:
        told = [
            f"{m.name} {_listed(m.variance.shares)}"
            for m in file.measures
            if m.variance is not None and m.variance.shares
        ]
        if told:
            lines.append(
                f"uncertainty of {file.system} (squared standard error): {'; '.join(told)}"
            )
    return lines + _judge_lines(files)


def _listed(shares: Mapping[Source, float] | Mapping[str, float]) -> str:
    return ", ".join(f"{source} {share:.0%}" for source, share in shares.items())


def _judge_lines(files: Sequence[ScoreFile]) -> list[str]:
    """Likewise of answers that several judges judged: their mean, over new judges, too."""
    answers: dict[tuple[str, ...], list[ScoreFile]] = {}
    for file in files:
        place = (file.benchmark_hash, file.context, file.protocol)
        answers.setdefault((file.submission_sha256, *place), []).append(file)
    lines = []
    for by_judge in answers.values():
        told, by_name = [], [{m.name: m for m in f.measures} for f in by_judge]
        for name, first in by_name[0].items():
            entries, scale = [of_file[name] for of_file in by_name if name in of_file], first.scale
            if len(entries) < len(by_judge) or not _are_of_judges(entries):
                continue
            values = [values_by_layer(f, e) for f, e in zip(by_judge, entries, strict=True)]
            if len({v.shape[2] for v in values}) > 1 or values[0].shape[2] < 2:
                continue  # judges that define it on other queries have no common mean
            value, low, high, levels, components = over_judges(name, values)
            if shares := shares_of(components, levels):
                ends = f"[{scale * low:.2f}, {scale * high:.2f}]"
                told.append(f"{name} {scale * value:.2f} {ends} {_listed(shares)}")
        if told:
            lines.append(
                f"uncertainty of {by_judge[0].system} over {len(by_judge)} judges (mean, interval, "
                f"shares of the squared standard error): {'; '.join(told)}"
            )
    return lines


def _are_of_judges(entries: Sequence[MeasureScore]) -> bool:
    """Whether the values of a measure are by one judge each."""
    recipes = {e.signature for e in entries}
    judged = all("|judge:" in recipe for recipe in recipes)
    return judged and 1 < len(recipes) == len(entries)
