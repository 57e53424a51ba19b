"""Read a benchmark's audit, and describe its negatives for reports and leaderboards."""

from collections.abc import Sequence
from pathlib import Path

from citeforge.builders.audit_sentences import write_estimate
from citeforge.engines.files import read_json
from citeforge.engines.textfiles import validated
from citeforge.package.manifest import AUDIT
from citeforge.package.package import Package
from citeforge.schemas.audit import Audit
from citeforge.schemas.errors import InputError
from citeforge.schemas.scores import ScoreFile


def read_audit(package: Package) -> Audit | None:
    """Read a benchmark package's audit; None if it has none or has changed since the audit.

    Raises:
        InputError: the file is not an audit.
    """
    if AUDIT not in package.manifest.files:
        return None
    path = package.folder / AUDIT
    audit = validated(Audit, read_json(path), path)
    return audit if audit.benchmark_hash == package.hash else None


def audit_for(folder: Path, files: Sequence[ScoreFile]) -> Audit:
    """Read a benchmark's audit, and check that all score files were scored on that benchmark.

    Raises:
        InputError: not a benchmark, not that of the score files, or not audited since it changed.
    """
    package = Package(folder)
    for file in files:
        if file.benchmark_hash != package.hash:
            raise InputError(
                f"{file.system} was scored on {file.benchmark}@{file.benchmark_hash[:8]}, and this "
                f"is {package.name}@{package.hash[:8]}",
                path=folder, allowed="the benchmark of the score files", code="wrong-benchmark"
            )  # fmt: skip
    audit = read_audit(package)
    if audit is None:
        changed = " since its tables changed" * (AUDIT in package.manifest.files)
        raise InputError(
            f"has not been audited{changed}", path=folder,
            allowed=f"run `citeforge audit {folder}`, then this command again", code="not-computed"
        )  # fmt: skip
    return audit


def describe_negatives(audit: Audit) -> list[str]:
    """Write an audit as sentences: false negatives, flaws, how suspected ones were judged."""
    share, cascade = audit.false_negatives, audit.cascade
    lines = []
    if share is not None:
        lines.append(
            f"Of {audit.negatives:,} negatives {write_estimate(share)} are relevant (estimated "
            f"from {share.n:,} labelled ones; 95 % interval: {share.method})."
        )
    elif audit.negatives:
        lines.append(
            f"What share of the {audit.negatives:,} negatives is relevant was not estimated: "
            "no sample is labelled (labels export --task audit-negative)."
        )
    flaws = [f"{len(rows):,} {kind}" for kind, rows in audit.flaws.items() if rows]
    lines.append(f"The audit lists: {', '.join(flaws) or 'no flaws'}.")
    if cascade is not None:
        strata = ", ".join(f"{n:,} {name}" for name, n in cascade.strata.items())
        lines.append(f"Suspects were decided by {', then '.join(cascade.stages)}: {strata}.")
        if cascade.after is not None:
            after = write_estimate(cascade.after)
            lines.append(f"Of those that stay when the relevant ones go: {after}.")
    return lines
