"""What was not computed, and what makes scores doubtful, said once a reason."""

from __future__ import annotations

from collections.abc import Sequence

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


_OF_ANY_CITATION = "CiteP"
"""The measure that a benchmark without irrelevant passages makes trivial."""


def caution_lines(files: Sequence[ScoreFile]) -> list[str]:
    """What to know before a score is believed: measures that any citation satisfies, by context
    set, and systems of their judge's family."""
    contexts = {
        f"{file.benchmark}, {file.context}": None
        for file in files
        if 0 < file.counts.n_queries == file.counts.n_all_relevant
        and any(m.name == _OF_ANY_CITATION for m in file.measures)
    }
    families: dict[str, dict[str, None]] = {}
    for file in files:
        if file.same_family is not None:
            families.setdefault(file.same_family, {})[file.system] = None
    return [
        f"{_OF_ANY_CITATION} is trivial on {context}: every passage shown is relevant, so that any "
        "citation of one is right"
        for context in contexts
    ] + [
        f"the judge is of the family of {', '.join(systems)} ({family}), and judges tend to prefer "
        "their own family's texts: score with another judge, too"
        for family, systems in families.items()
    ]
