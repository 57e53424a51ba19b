"""Systems that need no model, by name. A new one is a generator of lines and an entry here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from citeforge.baselines import controls, passages, rage
from citeforge.engines.files import atomic_file
from citeforge.evaluator.benchmark import Benchmark
from citeforge.schemas.errors import UnknownValueError, UsageError
from citeforge.schemas.manifest import Manifest
from citeforge.schemas.submission import make_header

Lines = Callable[[str, Benchmark, list[str], int, int], Iterator[dict[str, Any]]]
"""(system, benchmark, context sets, runs, seed) to the lines of a submission."""

SYSTEMS: dict[str, Lines] = {
    **dict.fromkeys(rage.SYSTEMS, rage.lines),
    **dict.fromkeys(passages.SYSTEMS, passages.lines),
    **dict.fromkeys(controls.CONTROLS, controls.lines),
}
"""Systems of benchmarks of passages; those of kalma benchmarks have names of these."""


def require_system(name: str) -> None:
    """Refuse an unknown name, before anything is opened.

    Raises:
        UnknownValueError: no such system.
    """
    if name not in SYSTEMS:
        raise UnknownValueError("system", name, SYSTEMS)


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
    require_system(name)
    manifest = benchmark.manifest
    known = list(manifest.contexts)
    for context in contexts:
        if context not in known:
            raise UnknownValueError("context", context, known)
    if reason := benchmark.kind.refusal(f"run {name}"):
        raise UsageError(f"{name}: {reason}")
    make = benchmark.kind.systems.get(name) or SYSTEMS[name]
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
