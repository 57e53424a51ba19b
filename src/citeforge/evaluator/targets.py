"""Paths of the files to which the scores of submissions are written."""

import os
from collections.abc import Sequence
from pathlib import Path

from citeforge.engines.files import digest_path, require_file
from citeforge.evaluator.compare import load_scores
from citeforge.evaluator.submissions.formats import bare_name, system_name
from citeforge.schemas.errors import InputError, UsageError


def score_targets(
    out: Path | None, submissions: Sequence[Path], system_names: Sequence[str | None] = ()
) -> dict[Path, Path]:
    """Choose the path of each submission's score file in or at ``out``; empty without ``out``.

    Args:
        out: a file; or a folder, for several submissions or where the name has no ending.
        submissions: files and folders that are scored.
        system_names: name given to the system of each submission, or None; empty if none was given.

    Raises:
        UsageError: a file for several submissions, one file for two of them, or a submission.
        InputError: what is there are scores of another submission, or something else; a pipe.
    """
    if out is None:
        return {}
    if len(submissions) == 1 and not out.is_dir() and (out.suffix or out.exists()):
        targets = {submissions[0]: out}
    else:
        targets = {p: out / f"{bare_name(p)}.scores.json" for p in submissions}
    if len(set(targets.values())) < len(submissions):
        raise UsageError(
            "--out: two submissions would be written to one file; rename one of them",
            code="conflicting-options",
        )
    systems = [*system_names] or [None for _ in targets]
    for (submission, target), name in zip(targets.items(), systems, strict=True):
        # Not Path.resolve, which stops at a loop of links: reading it gives a better error.
        if os.path.realpath(target) in set(map(os.path.realpath, submissions)):
            raise UsageError(
                f"--out {target}: is a submission; name another file for its scores",
                code="conflicting-options",
            )
        require_file(target)
        if out.suffix != ".json":
            _require_own(target, submission, name)
    return targets


def context_target(target: Path, context: str, submission: Path, given_system: str | None) -> Path:
    """Name a submission's score file of one context set: ``NAME.CONTEXT.scores.json``.

    Args:
        target: score file that the submission has when it is of one set.
        context: name of the set.
        submission: what is scored.
        given_system: what its system is called, where it was given a name.

    Raises:
        InputError: what is there are scores of another submission, or something else.
    """
    ending = next((e for e in (".scores.json", ".json") if target.name.endswith(e)), "")
    own = target.with_name(f"{target.name.removesuffix(ending)}.{context}{ending}")
    _require_own(own, submission, given_system)
    return own


def _require_own(target: Path, submission: Path, given_system: str | None) -> None:
    """Raise an error if a path has a file that is not an older score file of this submission.

    Raises:
        InputError: another submission's scores, or something else.
    """
    if not require_file(target).exists():
        return
    existing = load_scores(target)
    if existing.submission_sha256 == digest_path(submission):
        return
    system = given_system or (submission.name if submission.is_dir() else system_name(submission))
    if (existing.submission, existing.system) != (submission.name, system):
        is_renamed = existing.submission == submission.name
        raise InputError(
            f"contains the scores of {existing.submission} (system {existing.system!r}), not of "
            f"{submission} (system {system!r})",
            path=target,
            allowed="remove the file if you renamed the system, or name another --out"
            if is_renamed
            else "name another --out, rename the submission, or remove the file",
            code="output-exists",
        )
