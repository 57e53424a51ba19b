"""What was asked for and not computed, said once a reason."""

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
