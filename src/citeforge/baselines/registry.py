"""Systems that need no model, by name; they are declared in ``schemas/choices.py``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from citeforge.engines.files import atomic_file
from citeforge.engines.registry import Registry
from citeforge.evaluator.benchmark import Benchmark
from citeforge.schemas.choices import SYSTEMS as CHOICES
from citeforge.schemas.choices import Choice
from citeforge.schemas.errors import UnknownValueError, UsageError
from citeforge.schemas.manifest import Manifest
from citeforge.schemas.submission import make_header

Lines = Callable[[str, Benchmark, list[str], int, int], Iterator[dict[str, Any]]]
"""(system, benchmark, context sets, runs, seed) to the lines of a submission."""


def _unknown(name: str) -> UsageError:
    return UnknownValueError("system", name, [c.name for c in CHOICES])


SYSTEMS: Registry[Choice, Iterator[dict[str, Any]]] = Registry(
    "system", "systems", CHOICES, "", _unknown
)


def require_system(name: str) -> Lines:
    """What writes the lines of a system; refuses an unknown name before anything is opened.

    Raises:
        UnknownValueError: no such system.
        InputError: the plugin that gives it is broken.
    """
    return SYSTEMS.factory(name)


def run_system(
    name: str, benchmark: Benchmark, contexts: list[str], runs: int, seed: int, out: Path
) -> int:
    """Write the submission of a system.

    Args:
        name: system.
        benchmark: what it answers.
        contexts: context sets that it is shown; empty for all.
        runs: runs, numbered from 0.
        seed: seed of all draws.
        out: submission to write.

    Returns:
        Number of answers.

    Raises:
        UnknownValueError: no such system or context set.
        UsageError: the system does not answer this kind of benchmark, or has nothing to say.
    """
    lines_of = require_system(name)
    manifest = benchmark.manifest
    known = list(manifest.contexts)
    for context in contexts:
        if context not in known:
            raise UnknownValueError("context", context, known)
    if reason := benchmark.kind.refusal(f"run {name}"):
        raise UsageError(f"{name}: {reason}")
    make = benchmark.kind.systems.get(name) or lines_of
    lines = make(name, benchmark, contexts or known, runs, seed)
    return _write(name, manifest, contexts or known, lines, out)


def _write(
    system: str,
    manifest: Manifest,
    contexts: list[str],
    lines: Iterable[dict[str, Any]],
    out: Path,
) -> int:
    header = make_header(system, manifest.name, manifest.benchmark_hash, contexts)
    written = 0
    with atomic_file(out) as file:
        file.write(msgspec.json.encode(header) + b"\n")
        for line in lines:
            file.write(msgspec.json.encode(line) + b"\n")
            written += 1
        if not written:
            raise UsageError(
                f"{manifest.name} has nothing for the system {system!r} to answer with"
            )
    return written
