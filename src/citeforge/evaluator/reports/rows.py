"""What tells the rows of a report apart, and whether they may be compared."""

from collections.abc import Callable, Collection, Sequence

from citeforge.engines.io.textfiles import count_text
from citeforge.schemas.scores import ScoreFile
from citeforge.schemas.signature import differing_parts, without_parts

_PARTS: tuple[Callable[[ScoreFile], str], ...] = (
    lambda f: f"k={f.design.k}" if f.design is not None else "",
    lambda f: f.protocol,
    lambda f: f.context if f.design is None else "",
    lambda f: f"{f.benchmark}@{f.benchmark_hash[:8]}",
    lambda f: f.submission,
)
"""What score files of one report may differ in, besides the system; in the order of use."""

_PREFERRED = ("CiteF1@query", "CiteF1", "ALCE.CitF1", "ALCE.CitRec", "NLI.F1", "NLI.rec",
              "KaLMA.F1@micro", "AutoAIS.cit", "ROUGE-Lsum.F", "BLEU")  # fmt: skip
REFERENCE = " (reference)"
"""What stands behind the name of a control, which is a reference line and not a competitor."""


def named_rows(files: Sequence[ScoreFile]) -> list[ScoreFile]:
    """The same score files, with what they differ in beside the names of their systems.

    ``k``, protocol and context set stand there wherever they differ between the files; benchmark
    and submission only while some rows could not be told apart without them. A control is called a
    reference.
    """
    names = [f.system for f in files]
    for number, part in enumerate(_PARTS):
        texts = [part(f) for f in files]
        if len(set(texts)) > 1 and (number < 3 or len(set(names)) < len(names)):
            names = [
                f"{name} · {text}" if text else name
                for name, text in zip(names, texts, strict=True)
            ]
    return [_called(file, name) for file, name in zip(files, names, strict=True)]


def marked_references(files: Sequence[ScoreFile]) -> list[ScoreFile]:
    """The same score files, controls called references."""
    return [_called(file, file.system) for file in files]


def _called(file: ScoreFile, name: str) -> ScoreFile:
    if file.is_control and not name.endswith(REFERENCE):
        name += REFERENCE
    return file if file.system == name else file.model_copy(update={"system": name})


def references_last(files: Sequence[ScoreFile]) -> list[ScoreFile]:
    """The same score files, those of controls behind the others."""
    return sorted(files, key=lambda file: file.is_control)


def counts_of(files: Sequence[ScoreFile]) -> tuple[int, int]:
    """How many systems there are, and how many references."""
    systems = {f.system for f in files if not f.is_control}
    return len(systems), len({f.system for f in files} - systems)


def systems_text(n_systems: int, n_references: int) -> str:
    """Both in words; references alone have no ``0 systems`` before them."""
    systems = [count_text(n_systems, "system")] if n_systems or not n_references else []
    references = [count_text(n_references, "reference")] if n_references else []
    return " and ".join(systems + references)


def not_comparable(files: Sequence[ScoreFile]) -> list[str]:
    """Systems whose signatures differ from another's, with the parts that differ and the measures.

    Those that differ from one system in the same parts and measures stand in one line.
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
    """The files as if their signatures lacked some parts, for ranks across these parts.

    Args:
        files: score files.
        prefixes: of the parts, such as ``ctx``; the same files come back where there is none.
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
    """The measure that tells most in one number, of those that all files have.

    Returns:
        Its name; the first file's first measure where they share none, empty without measures.
    """
    shared = set.intersection(*({m.name for m in f.measures} for f in files))
    for name in _PREFERRED:
        if name in shared:
            return name
    names = [m.name for m in files[0].measures]
    return next((n for n in names if n in shared), names[0] if names else "")


def of_cells(files: Sequence[ScoreFile]) -> bool:
    """Whether these are scores of an authorship benchmark, cell by cell."""
    return bool(files) and all(f.design is not None for f in files)
