"""What tells the rows of a report apart, and whether they may be compared."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

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


def not_comparable(files: Sequence[ScoreFile]) -> list[str]:
    """Pairs of systems whose signatures differ, with the parts that differ and the measures."""
    first: dict[str, tuple[str, str]] = {}
    pairs: dict[str, list[str]] = {}
    for file in files:
        for measure in file.measures:
            system, signature = first.setdefault(measure.name, (file.system, measure.signature))
            parts = differing_parts(signature, measure.signature)
            if parts:
                text = f"{system} and {file.system}: {'; '.join(parts)}"
                pairs.setdefault(text, []).append(measure.name)
    return [f"{text} ({', '.join(names)})" for text, names in pairs.items()]


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
