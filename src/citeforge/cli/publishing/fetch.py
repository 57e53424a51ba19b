"""Benchmarks by folder or by ``hub:ORG/NAME[@REVISION]``."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def local_package(name: Path) -> Path:
    """The folder of a package, downloaded from the Hub when the name says so."""
    from citeforge.library.benchmarks import package_folder as find

    return find(name)


def open_benchmark(name: Path, gold: Path | None = None) -> Any:
    """The Benchmark of a folder or ``hub:`` name, joined with its gold half when one is given."""
    from citeforge.library.benchmarks import load

    return load(name, gold)
