"""Benchmarks by folder or by ``hub:ORG/NAME[@REVISION]``."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import click


def package_folder(name: Path) -> Path:
    """The folder of a package, downloaded from the Hub when the name says so."""
    if not str(name).startswith("hub:"):
        return name
    from citeforge.publish.hub import local_folder

    return local_folder(name)


def open_benchmark(name: Path, gold: Path | None = None) -> Any:
    """The Benchmark of a folder or ``hub:`` name, joined with its gold half when one is given."""
    from citeforge.evaluator.benchmark import Benchmark

    folder = package_folder(name)
    if gold is None:
        return Benchmark(folder)
    from citeforge.publish.hidden import join_package
    from citeforge.publish.hub import Publisher, hub_errors, parse_hub

    work = click.get_current_context().with_resource(tempfile.TemporaryDirectory())
    found = parse_hub(gold.as_posix())
    half = gold
    if found is not None:
        with hub_errors(found[0]):
            half = Publisher().fetch(found[0], found[1])
    public_hash = join_package(folder, half, Path(work) / "joined")
    benchmark = Benchmark(Path(work) / "joined")
    benchmark.also_known = frozenset({public_hash})
    return benchmark
