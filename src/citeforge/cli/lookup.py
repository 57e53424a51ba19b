"""Commands that verify a package, and diagnose the installation."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from citeforge.cli.command import path_argument, path_option
from citeforge.cli.json_output import json_option, present
from citeforge.cli.options import add_options, field_options, run_options
from citeforge.schemas.recipes.base import RunOptions

if TYPE_CHECKING:
    from citeforge.builders.verify import Verification
    from citeforge.engines.running.doctor import Finding


@click.command()
@path_argument("folder")
@json_option
def verify(folder: Path) -> None:
    """Check a package: hashes, schemas, ids, contexts.

    Exit code 0 when it is sound, 1 with one line for each problem.
    """
    from citeforge.builders.verify import Verification
    from citeforge.builders.verify import verify as find_problems
    from citeforge.engines.textfiles import count_text
    from citeforge.library.benchmarks import package_folder
    from citeforge.package.manifest import load_manifest
    from citeforge.schemas.errors import InputError

    folder = package_folder(folder)
    problems = find_problems(folder)
    manifest = load_manifest(folder, has_links=bool(problems))
    result = Verification(folder, len(manifest.files), manifest.benchmark_hash, problems)
    present(result, partial(_print_verification, result))
    if problems:
        raise InputError(count_text(len(problems), "problem"), path=folder, code="schema-mismatch")


def _print_verification(result: Verification) -> None:
    """Print the problems of a package on standard error; the benchmark's hash if it is sound."""
    for problem in result.problems:
        click.echo(f"{result.folder / problem.file}: {problem.message}", err=True)
    if not result.problems:
        click.echo(f"{result.folder}: {result.n_files} files verified")
        click.echo(f"benchmark hash {result.benchmark_hash}")


@click.command()
@click.option("--base-url", help="Endpoint to ask (default: OPENAI_BASE_URL).")
@path_option("--store", help="Replay store to look at.")
@click.option("--offline", is_flag=True, help="Ask no network.")
@add_options(field_options(RunOptions, ("cache", "cache_size")))
@json_option
def doctor(base_url: str | None, store: Path | None, offline: bool, **cache: Any) -> None:
    """Check installation, cache, endpoint, Hub and store; say what to do.

    Never shows a key. Exit code 1 when a store is there and cannot be read.
    """
    from citeforge.engines.running.doctor import examine
    from citeforge.schemas.errors import InputError

    run = run_options(cache, base_url=base_url)
    findings = examine(run, store, ask_network=not offline)
    present(findings, partial(_print_diagnosis, findings))
    if any(f.good is False for f in findings):
        raise InputError("something cannot be used; see the lines marked NO", code="unusable")


def _print_diagnosis(findings: Sequence[Finding]) -> None:
    """Print what was found of the installation, with what to do next."""
    width = max(len(f.what) for f in findings)
    for finding in findings:
        mark = {True: "ok", False: "NO", None: "--"}[finding.good]
        click.echo(f"{mark}  {finding.what:<{width}}  {finding.text}")
        if finding.advice:
            click.echo(f"    {'':<{width}}  → {finding.advice}")
