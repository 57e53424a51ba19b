"""Names of the rows of a report, and notes on rows that cannot be compared or are doubtful."""

from collections.abc import Callable, Collection, Sequence

from citeforge.evaluator.measures.registry import direction
from citeforge.schemas.scores import ScoreFile
from citeforge.schemas.signature import without_parts

_PARTS: tuple[Callable[[ScoreFile], str], ...] = (
    lambda f: f"k={f.design.k}" if f.design is not None else "",
    lambda f: f.protocol,
    lambda f: f.context if f.design is None else "",
    lambda f: f"{f.benchmark}@{f.benchmark_hash[:8]}",
    lambda f: f.submission,
)
"""Properties, besides the system, that distinguish score files in a report, in order of use."""

CONTROL = " (control)"
"""Suffix of the name of a control system, which shows a level and does not compete."""


def named_rows(files: Sequence[ScoreFile]) -> list[ScoreFile]:
    """Copy score files with system names made distinct, for the rows of a table.

    ``k``, protocol and context set are added if they differ between the files; benchmark and
    submission only if some names would be equal without them. Controls are marked.
    """
    names = [f.system for f in files]
    for number, part in enumerate(_PARTS):
        texts = [part(f) for f in files]
        if len(set(texts)) > 1 and (number < 3 or len(set(names)) < len(names)):
            names = [
                f"{name} · {text}" if text else name
                for name, text in zip(names, texts, strict=True)
            ]
    return [_with_system_name(file, name) for file, name in zip(files, names, strict=True)]


def marked_controls(files: Sequence[ScoreFile]) -> list[ScoreFile]:
    """Copy score files with ``(control)`` added to the names of systems that do not compete."""
    return [_with_system_name(file, file.system) for file in files]


def _with_system_name(file: ScoreFile, name: str) -> ScoreFile:
    """Copy a score file with another system name; add ``(control)`` if it is a control."""
    if file.is_control and not name.endswith(CONTROL):
        name += CONTROL
    return file if file.system == name else file.model_copy(update={"system": name})


def controls_last(files: Sequence[ScoreFile]) -> list[ScoreFile]:
    """Sort score files so that those of control systems, which do not compete, come last."""
    return sorted(files, key=lambda file: file.is_control)


def count_systems(files: Sequence[ScoreFile]) -> tuple[int, int]:
    """Count distinct systems in score files: (ordinary systems, control systems)."""
    systems = {f.system for f in files if not f.is_control}
    return len(systems), len({f.system for f in files} - systems)


def named_apart(new: ScoreFile, old: ScoreFile) -> tuple[ScoreFile, ScoreFile]:
    """Return (new, old) scores, with other system names in copies if both names are equal.

    Equal names get their submissions' file names, or ``new`` and ``baseline`` if these are equal.
    """
    if new.system != old.system:
        return new, old
    names = new.submission, old.submission
    sides = zip((new, old), names if len(set(names)) > 1 else ("new", "baseline"), strict=True)
    first, second = (f.model_copy(update={"system": f"{f.system} · {name}"}) for f, name in sides)
    return first, second


def drop_signature_parts(files: Sequence[ScoreFile], prefixes: Collection[str]) -> list[ScoreFile]:
    """Copy score files without signature parts of given prefixes, so that their scores compare.

    Args:
        files: score files.
        prefixes: prefixes of the parts, such as ``ctx``; empty returns the files unchanged.
    """
    if not prefixes:
        return list(files)
    return [
        file.model_copy(
            update={
                "measures": [
                    m.model_copy(update={"signature": without_parts(m.signature, prefixes)})
                    for m in file.measures
                ]
            }
        )
        for file in files
    ]


def main_measure(files: Sequence[ScoreFile], names: Sequence[str] | None = None) -> str:
    """Choose the measure that best summarises score files; empty if they have no measure.

    Which ones do is recorded in the files, by the kind of their benchmark; without one, it is the
    first that has a better direction.

    Args:
        files: score files.
        names: measures to choose among; None for those that all files have (without a shared one,
            those of the first file).

    Returns:
        Its name; "" without measures.
    """
    if names is None:
        names = [m.name for m in files[0].measures]
        shared = set.intersection(*({m.name for m in f.measures} for f in files))
        names = [n for n in names if n in shared] or names
    directed = [n for n in names if direction(n) is not None]
    preferred = (*(name for file in files for name in file.headline), *directed, *names)
    return next((n for n in preferred if n in names), "")


def of_cells(files: Sequence[ScoreFile]) -> bool:
    """Whether all score files are of authorship benchmarks, with scores by condition (cell)."""
    return bool(files) and all(f.design is not None for f in files)


TRIVIAL = "(trivial)"
"""Mark behind the name of a measure that any citation satisfies."""
OF_ANY_CITATION = "CiteP"
"""The measure that a benchmark without irrelevant passages makes trivial."""


def is_trivial(file: ScoreFile, measure: str) -> bool:
    """Whether a measure is CiteP and all passages shown are relevant, so that it tells nothing."""
    counts = file.counts
    return measure == OF_ANY_CITATION and 0 < counts.n_queries == counts.n_all_relevant
