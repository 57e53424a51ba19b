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
    from citeforge.builders.verify import SignatureState, Verification
    from citeforge.engines.running.doctor import Finding


@click.command()
@path_argument("folder")
@path_option("--key", help="Also check its signature (model.sig) by this public key (PEM).")
@click.option("--identity", help="By this e-mail address or workflow, which Sigstore confirmed.")
@click.option(
    "--issuer", metavar="URL", help="Who knows the identity: https://github.com/login/oauth."
)
@json_option
def verify(folder: Path, key: Path | None, identity: str | None, issuer: str | None) -> None:
    """Check a package: hashes, schemas, ids, contexts; and who signed it.

    Exit code 0 when it is sound, 1 with one line for each problem. A signature is checked where you
    name the signer; a package without one is then refused.
    """
    from citeforge.builders.verify import Verification
    from citeforge.builders.verify import verify as find_problems
    from citeforge.engines.textfiles import count_text
    from citeforge.library.benchmarks import package_folder
    from citeforge.package.manifest import SIGNATURE, load_manifest
    from citeforge.publishing.signing import SignatureCheck, check_signature
    from citeforge.schemas.errors import InputError

    check = SignatureCheck(key, identity, issuer)
    folder = package_folder(folder)
    problems = find_problems(folder)
    manifest = load_manifest(folder, has_links=bool(problems))
    state: SignatureState = "unchecked" if (folder / SIGNATURE).is_file() else "none"
    if check.is_asked and not problems:
        check_signature(folder, check)
        state = "checked"
    result = Verification(folder, len(manifest.files), manifest.benchmark_hash, problems, state)
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
        if result.signature == "checked":
            click.echo("signature: all files are as this signer signed them")
        if result.signature == "unchecked":
            click.echo("signature: not checked; name the signer: --key, or --identity and --issuer")


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
    """Print the checks of an installation as lines: ok, NO or --, the finding, and advice."""
    width = max(len(f.what) for f in findings)
    for finding in findings:
        mark = {True: "ok", False: "NO", None: "--"}[finding.good]
        click.echo(f"{mark}  {finding.what:<{width}}  {finding.text}")
        if finding.advice:
            click.echo(f"    {'':<{width}}  → {finding.advice}")
