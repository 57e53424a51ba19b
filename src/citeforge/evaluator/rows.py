"""Names of the rows of a report, and notes on rows that cannot be compared or are doubtful."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import PurePath

from citeforge.engines.textfiles import count_text
from citeforge.evaluator.judges import over_judges, values_by_layer
from citeforge.evaluator.statistics.variance import compute_shares
from citeforge.schemas.scores import MeasureScore, ScoreFile, Source
from citeforge.schemas.signature import differing_parts, without_parts

_PARTS: tuple[Callable[[ScoreFile], str], ...] = (
    lambda f: f"k={f.design.k}" if f.design is not None else "",
    lambda f: f.protocol,
    lambda f: f.context if f.design is None else "",
    lambda f: f"{f.benchmark}@{f.benchmark_hash[:8]}",
    lambda f: f.submission,
)
"""Properties, besides the system, that distinguish score files in a report, in order of use."""

PREFERRED = ("CiteF1@query", "CiteF1", "ALCE.CitF1", "ALCE.CitRec", "NLI.F1", "NLI.rec",
             "KaLMA.F1@micro", "AutoAIS.cit", "ROUGE-Lsum.F", "BLEU")  # fmt: skip
"""Measures that sum up a score file in one number, the best first."""
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
    """Copy score files with ``(control)`` added to the names of control systems."""
    return [_with_system_name(file, file.system) for file in files]


def _with_system_name(file: ScoreFile, name: str) -> ScoreFile:
    """Copy a score file with another system name; add ``(control)`` if it is a control."""
    if file.is_control and not name.endswith(CONTROL):
        name += CONTROL
    return file if file.system == name else file.model_copy(update={"system": name})


def controls_last(files: Sequence[ScoreFile]) -> list[ScoreFile]:
    """Sort score files so that those of control systems come last."""
    return sorted(files, key=lambda file: file.is_control)


def count_systems(files: Sequence[ScoreFile]) -> tuple[int, int]:
    """Count distinct systems in score files: (ordinary systems, control systems)."""
    systems = {f.system for f in files if not f.is_control}
    return len(systems), len({f.system for f in files} - systems)


def systems_text(n_systems: int, n_references: int) -> str:
    """Write counts as ``3 systems and 2 references``; a count of 0 is omitted unless both are 0."""
    systems = [count_text(n_systems, "system")] if n_systems or not n_references else []
    references = [count_text(n_references, "reference")] if n_references else []
    return " and ".join(systems + references)


def scored_text(files: Sequence[ScoreFile]) -> str:
    """Write what was scored: ``2 systems``, or ``2 submissions`` if two of them share a name."""
    answers: dict[tuple[str, ...], set[str]] = {}
    for f in files:
        place = (f.system, f.benchmark_hash, f.context, f.protocol)
        answers.setdefault(place, set()).add(f.submission_sha256)
    if all(len(several) == 1 for several in answers.values()):
        return systems_text(*count_systems(files))
    return count_text(len(set().union(*answers.values())), "submission")


def named_apart(new: ScoreFile, old: ScoreFile) -> tuple[ScoreFile, ScoreFile]:
    """Copy the scores of a new and an old submission; make the names of their systems distinct.

    Equal names get their submissions' file names, or ``new`` and ``baseline`` if these are equal.
    """
    if new.system != old.system:
        return new, old
    names = new.submission, old.submission
    sides = zip((new, old), names if len(set(names)) > 1 else ("new", "baseline"), strict=True)
    first, second = (f.model_copy(update={"system": f"{f.system} · {name}"}) for f, name in sides)
    return first, second


def not_comparable(files: Sequence[ScoreFile]) -> list[str]:
    """List systems that cannot be compared, with the settings (signature parts) that differ.

    Systems that differ from one system in the same parts and measures are in one line.
    """
    first: dict[str, tuple[str, str]] = {}
    pairs: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for file in files:
        for measure in file.measures:
            system, signature = first.setdefault(measure.name, (file.system, measure.signature))
            if parts := tuple(differing_parts(signature, measure.signature)):
                pairs.setdefault((system, file.system, parts), []).append(measure.name)
    alike: dict[tuple[str, str, tuple[str, ...]], list[list[str]]] = {}
    for (system, other, parts), names in pairs.items():
        sides = [part.partition(" / ") for part in parts]
        key = system, ", ".join(names), tuple(left for left, _, _ in sides)
        alike.setdefault(key, []).append([other, *(right for _, _, right in sides)])
    lines = []
    for (system, measures, lefts), rows in alike.items():
        others, *rights = (", ".join(dict.fromkeys(x)) for x in zip(*rows, strict=True))
        parts_text = "; ".join(map(" / ".join, zip(lefts, rights, strict=True)))
        lines.append(f"{system} and {others}: {parts_text} ({measures})")
    return lines


def compared_across(files: Sequence[ScoreFile], prefixes: Collection[str]) -> list[ScoreFile]:
    """Copy score files without the given signature parts, so that scores may differ in them.

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


def main_measure(files: Sequence[ScoreFile]) -> str:
    """Choose the measure that sums up score files best, among those that all have.

    Returns:
        Its name; without a shared one the first file's first measure, or "" without measures.
    """
    shared = set.intersection(*({m.name for m in f.measures} for f in files))
    for name in PREFERRED:
        if name in shared:
            return name
    names = [m.name for m in files[0].measures]
    return next((n for n in names if n in shared), names[0] if names else "")


def of_cells(files: Sequence[ScoreFile]) -> bool:
    """Whether all score files are of authorship benchmarks, with scores by condition (cell)."""
    return bool(files) and all(f.design is not None for f in files)


def missing_lines(files: Sequence[ScoreFile]) -> list[str]:
    """List measures that were not computed, as ``measures: reason``, and for which systems."""
    systems: dict[tuple[str, str], dict[str, None]] = {}
    for file in files:
        for entry in file.not_computed:
            systems.setdefault((entry.reason, entry.name), {})[file.system] = None
    names: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (reason, name), concerned in systems.items():
        names.setdefault((reason, tuple(concerned)), []).append(name)
    everybody = {f.system for f in files}
    return [
        f"{', '.join(measures)}: {reason}"
        + ("" if set(concerned) == everybody else f" ({', '.join(concerned)})")
        for (reason, concerned), measures in names.items()
    ]


TRIVIAL = "(trivial)"
"""Mark behind the name of a measure that any citation satisfies."""
_OF_ANY_CITATION = "CiteP"
"""The measure that a benchmark without irrelevant passages makes trivial."""


def is_trivial(file: ScoreFile, measure: str) -> bool:
    """Whether, on a file's context set, any citation of a shown passage satisfies a measure."""
    counts = file.counts
    return measure == _OF_ANY_CITATION and 0 < counts.n_queries == counts.n_all_relevant


def marked_name(files: Iterable[ScoreFile], measure: str) -> str:
    """Return a measure's name, marked if any citation satisfies it in one of the score files."""
    return f"{measure} {TRIVIAL}" if any(is_trivial(f, measure) for f in files) else measure


def trivial_lines(
    files: Iterable[ScoreFile], measures: Collection[str] = (_OF_ANY_CITATION,)
) -> list[str]:
    """List the measures that any citation satisfies, with the reason, by context set.

    Args:
        files: score files.
        measures: names of the measures that are printed.
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
    """List trivial measures, and systems of the same model family as their judge."""
    families: dict[str, dict[str, None]] = {}
    for file in files:
        if file.same_family is not None:
            family = PurePath(file.same_family.rstrip("/")).name or file.same_family
            families.setdefault(family, {})[file.system] = None
    return trivial_lines(files, measures) + [
        f"the judge is of the family of {', '.join(systems)} ({family}), and judges tend to prefer "
        "their own family's texts: score with another judge, too"
        for family, systems in families.items()
    ]


def variance_lines(files: Sequence[ScoreFile]) -> list[str]:
    """List each system's shares of uncertainty from queries, runs, verdicts and judges."""
    lines = []
    for file in files:
        parts = [
            f"{m.name} {_format_shares(m.variance.shares)}"
            for m in file.measures
            if m.variance is not None and m.variance.shares
        ]
        if parts:
            lines.append(
                f"uncertainty of {file.system} (squared standard error): {'; '.join(parts)}"
            )
    return lines + _judge_lines(files)


def _format_shares(shares: Mapping[Source, float] | Mapping[str, float]) -> str:
    """Format shares of uncertainty, each with its source."""
    return ", ".join(f"{source} {share:.0%}" for source, share in shares.items())


def _judge_lines(files: Sequence[ScoreFile]) -> list[str]:
    """Write mean, interval and shares of uncertainty for answers scored by several judges."""
    answers: dict[tuple[str, ...], list[ScoreFile]] = {}
    for file in files:
        place = (file.benchmark_hash, file.context, file.protocol)
        answers.setdefault((file.submission_sha256, *place), []).append(file)
    lines = []
    for by_judge in answers.values():
        parts, by_name = [], [{m.name: m for m in f.measures} for f in by_judge]
        for name, first in by_name[0].items():
            entries, scale = [of_file[name] for of_file in by_name if name in of_file], first.scale
            if len(entries) < len(by_judge) or not _are_of_judges(entries):
                continue
            values = [values_by_layer(f, e) for f, e in zip(by_judge, entries, strict=True)]
            if len({v.shape[2] for v in values}) > 1 or values[0].shape[2] < 2:
                continue  # values by judges on different queries have no common mean
            value, low, high, levels, components = over_judges(name, values)
            if shares := compute_shares(components, levels):
                ends = f"[{scale * low:.2f}, {scale * high:.2f}]"
                parts.append(f"{name} {scale * value:.2f} {ends} {_format_shares(shares)}")
        if parts:
            lines.append(
                f"uncertainty of {by_judge[0].system} over {len(by_judge)} judges (mean, interval, "
                f"shares of the squared standard error): {'; '.join(parts)}"
            )
    return lines


def _are_of_judges(entries: Sequence[MeasureScore]) -> bool:
    """Whether the values of a measure are from several judges, one from each."""
    recipes = {e.signature for e in entries}
    judged = all("|judge:" in recipe for recipe in recipes)
    return judged and 1 < len(recipes) == len(entries)
