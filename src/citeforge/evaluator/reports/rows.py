"""What tells the rows of a report apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from citeforge.schemas.scores import ScoreFile

_PARTS: tuple[Callable[[ScoreFile], str], ...] = (
    lambda f: f"k={f.design.k}" if f.design is not None else "",
    lambda f: f.protocol,
    lambda f: f.context if f.design is None else "",
    lambda f: f"{f.benchmark}@{f.benchmark_hash[:8]}",
    lambda f: f.submission,
)
"""What score files of one report may differ in, besides the system; in the order of use."""


def named_rows(files: Sequence[ScoreFile]) -> list[ScoreFile]:
    """The same score files, with what they differ in beside the names of their systems.

    ``k``, protocol and context set stand there wherever they differ between the files; benchmark
    and submission only while some rows could not be told apart without them.
    """
    names = [f.system for f in files]
    for number, part in enumerate(_PARTS):
        texts = [part(f) for f in files]
        if len(set(texts)) > 1 and (number < 3 or len(set(names)) < len(names)):
            names = [
                f"{name} · {text}" if text else name
                for name, text in zip(names, texts, strict=True)
            ]
    return [
        file if file.system == name else file.model_copy(update={"system": name})
        for file, name in zip(files, names, strict=True)
    ]
