"""``citeforge gate`` in Python."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from citeforge.evaluator.gate import Decision, decide
from citeforge.evaluator.gate_outputs import check_outputs, write_outputs
from citeforge.evaluator.gate_policy import PolicySource, checked_policy, read_policy
from citeforge.library.scores import Scored, Scores, get_score_file, listed
from citeforge.schemas.errors import UsageError
from citeforge.schemas.recipes.base import make_record
from citeforge.schemas.recipes.command_options import CompareOptions
from citeforge.schemas.recipes.gate import GatePolicy


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
        out: files to write: ``.xml`` (JUnit), ``.md`` or ``.json``.
        by: fields of the queries whose slices must not be shown to fall.

    Returns:
        The verdict (``pass``, ``fail`` or ``not enough evidence``), and a row for each thing that
        was looked at.

    Raises:
        InputError: a score file cannot be read or has no values by query, or the policy is wrong.
        UsageError: files that cannot be told apart, or the same file on both sides.
    """
    paths = [Path(one) for one in ([out] if isinstance(out, str | Path) else out)]
    check_outputs(paths)
    if isinstance(policy, str | Path):
        source = read_policy(Path(policy))
    elif isinstance(policy, GatePolicy):
        source = checked_policy(PolicySource(policy))
    else:
        source = checked_policy(PolicySource(make_record(GatePolicy, **(policy or {}))))
    fields = make_record(CompareOptions, by=by).by
    ours, theirs = listed(new), listed(baseline)
    _require_different(ours, theirs)
    decision = decide([*map(get_score_file, ours)], [*map(get_score_file, theirs)], source, fields)
    write_outputs(decision, paths)
    return decision


def _require_different(new: Sequence[Scored], baseline: Sequence[Scored]) -> None:
    """Raise an error if the path of a new score file is also the path of a baseline."""
    names = {os.path.realpath(one) for one in baseline if not isinstance(one, Scores)}
    for one in new:
        if not isinstance(one, Scores) and os.path.realpath(one) in names:
            raise UsageError(f"--baseline {one}: is one of the new score files", code="same-file")
