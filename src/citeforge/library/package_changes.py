"""Comparison of two builds of a benchmark in Python."""

from collections.abc import Sequence
from pathlib import Path

from citeforge.evaluator.package_changes import compare_packages as compare_opened
from citeforge.library.benchmarks import HUB, load
from citeforge.package.manifest import MANIFEST, is_manifest, no_package
from citeforge.package.package import Package
from citeforge.reports.pages.package_changes import find_changes_format, write_changes
from citeforge.schemas.errors import UsageError
from citeforge.schemas.package_changes import PackageChanges


def compare_packages(
    old: Package | str | Path, new: Package | str | Path, *,
    submission: str | Path | None = None, kept: str | Path | None = None,
    out: str | Path | None = None,
) -> PackageChanges:  # fmt: skip
    """Compare two packages; write a submission's still valid answers to the file ``kept``.

    Args:
        old: a package: opened, its folder, or ``hub:ORG/NAME``.
        new: package of a later build.
        submission: answers to the old one, to find those whose context is shown unchanged.
        kept: file to write with these answers, as answers to the new package; none if no answer is
            left.
        out: file to write: ``.html``, ``.md``, ``.tex``, ``.csv`` or ``.json``.

    Raises:
        InputError: a package or the submission is at fault.
        UsageError: ``kept`` without a submission, or a file of an unknown format.
    """
    if kept is not None and submission is None:
        raise UsageError("--kept requires --submission", code="missing-option")
    if out is not None:
        find_changes_format(Path(out))  # refused before the work
    changes = compare_opened(
        load(old), load(new), None if submission is None else Path(submission),
        None if kept is None else Path(kept),
    )  # fmt: skip
    if out is not None:
        write_changes(changes, Path(out))
    return changes


def are_packages(names: Sequence[Path]) -> bool:
    """Whether the arguments of ``compare`` are two packages; if not, they are score files.

    Raises:
        InputError: one of them does not exist, or is part of a package.
        UsageError: only some are packages, or they are not two.
    """
    for manifest in filter(is_manifest, names):
        raise no_package(manifest)
    packages = [n for n in names if str(n).startswith(HUB) or is_manifest(n / MANIFEST)]
    if not packages:
        return False
    if len(packages) < len(names):
        other = next(name for name in names if name not in packages)
        if not other.exists():
            raise no_package(other)
        raise UsageError(
            f"{packages[0]} is a package, {other} is not; give two packages, or score files",
            code="wrong-type",
        )
    if len(packages) != 2:
        raise UsageError(
            f"compare takes two packages, the old one first; {len(packages)} are given",
            code="too-few" if len(packages) < 2 else "conflicting-options",
        )
    return True
