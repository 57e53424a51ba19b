"""``citeforge gate`` in Python."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from citeforge.evaluator.gate import decide
from citeforge.evaluator.gate_policy import PolicySource, checked_policy, read_policy
from citeforge.library.scores import Scored, Scores, get_score_file, list_scores
from citeforge.reports.gate import Decision, describe_outcome
from citeforge.reports.gate_outputs import could_not_run, output_fault, write_outputs
from citeforge.schemas.errors import InputError, UsageError, read_error
from citeforge.schemas.recipes.base import make_record
from citeforge.schemas.recipes.command_options import CompareOptions
from citeforge.schemas.recipes.gate import GatePolicy
from citeforge.schemas.scores import ScoreFile

_BEGIN = (
    "if there is no baseline yet, leave out --baseline, and keep the new score file as the "
    "baseline of the next run (docs/gate.md)"
)


def gate(
    new: Scored | Sequence[Scored], baseline: Scored | Sequence[Scored] = (), *,
    policy: str | Path | GatePolicy | dict[str, Any] | None = None,
    out: str | Path | Sequence[str | Path] = (), by: Sequence[str] = (),
) -> Decision:  # fmt: skip
    """Decide whether a new system may replace the baseline; as ``citeforge gate``.

    Args:
        new: scores of the new system, or files of them: of one or several contexts, benchmarks or
            protocols; a folder stands for its JSON files.
        baseline: likewise of the old system; none in a first run, which never passes.
        policy: file, record, or its fields; None for the main measure and default margins.
        out: files to write: ``.xml`` (JUnit), ``.md`` or ``.json``; also written with the reason
            if an error is raised. One that cannot be written is a warning on standard error.
        by: fields of the queries whose slices must not be shown to fall.

    Returns:
        The verdict (``pass``, ``fail``, ``not enough evidence``, or ``could not run`` without a
        baseline), and a row for each thing that was looked at.

    Raises:
        InputError: a score file cannot be read or has no values by query, or the policy is wrong.
        UsageError: files that cannot be told apart, the same file on both sides, or a file to write
            that is none of a decision.
    """
    paths = [Path(one) for one in ([out] if isinstance(out, str | Path) else out)]
    inputs = [
        Path(one) for scores in (new, baseline)
        for one in ([scores] if isinstance(scores, str | Path | Scores) else scores)
        if isinstance(one, str | Path)
    ]  # fmt: skip
    faults = {path: output_fault(path, inputs) for path in paths}
    usable = [path for path in paths if not faults[path]]
    try:
        for path, fault in faults.items():
            if fault:
                raise UsageError(f"--out {path}: {fault}", code="bad-option")
        source = open_policy(policy)
        fields = make_record(CompareOptions, by=by).by
        decision = describe_outcome(decide(*_read_sides(new, baseline), source, fields))
    except Exception as error:
        write_outputs(could_not_run(error), usable)
        raise
    write_outputs(decision, usable)
    return decision


def open_policy(policy: str | Path | GatePolicy | dict[str, Any] | None) -> PolicySource:
    """Read a gate's policy from a file or a Python object; None is the default policy.

    Raises:
        InputError: it cannot be read, or a field is unknown or wrong.
    """
    if isinstance(policy, str | Path):
        return read_policy(Path(policy))
    record = policy if isinstance(policy, GatePolicy) else make_record(GatePolicy, **(policy or {}))
    return checked_policy(PolicySource(record))


def _read_sides(
    new: Scored | Sequence[Scored], baseline: Scored | Sequence[Scored]
) -> tuple[list[ScoreFile], list[ScoreFile]]:
    """Read the score files: (of the new system, of the baseline).

    Raises:
        InputError: one cannot be read; says how to begin if there is no baseline yet.
        UsageError: the same file on both sides.
    """
    try:
        ours = list_scores(new)
        try:
            theirs = list_scores(baseline)
            _require_different(ours, theirs)
            old = [*map(get_score_file, theirs)]
        except InputError as error:
            if error.code != "missing-file":
                raise
            raise InputError(
                error.message, path=error.path, allowed=_BEGIN, code=error.code
            ) from error
        return [*map(get_score_file, ours)], old
    except OSError as error:
        raise read_error(error, error.filename) from error


def _require_different(new: Sequence[Scored], baseline: Sequence[Scored]) -> None:
    """Raise an error if the path of a new score file is also the path of a baseline."""
    names = {os.path.realpath(one): one for one in baseline if not isinstance(one, Scores)}
    for one in new:
        old = None if isinstance(one, Scores) else names.get(os.path.realpath(one))
        if old is not None:
            same = "one of the new score files" if str(old) == str(one) else f"the new file {one}"
            raise UsageError(f"--baseline {old}: is {same}", code="same-file")
