"""What was not computed, and what makes scores doubtful, said once a reason."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from citeforge.schemas.scores import ScoreFile


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
    """Where the uncertainty of scores comes from, by system, of several runs or verdicts."""
    lines = []
    for file in files:
        shares = {m.name: m.variance.shares for m in file.measures if m.variance is not None}
        told = [
            f"{name} " + ", ".join(f"{source} {share:.0%}" for source, share in by_source.items())
            for name, by_source in shares.items()
            if by_source
        ]
        if told:
            lines.append(
                f"uncertainty of {file.system} (squared standard error): {'; '.join(told)}"
            )
    return lines
