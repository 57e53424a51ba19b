"""Assessments as measures see them: read once a submission, and named in signatures."""

from __future__ import annotations

from citeforge.evaluator.statements.inputs import Inputs
from citeforge.evaluator.tools import Tools
from citeforge.plugins.trec.assessments import Assessments, assessments_digest, read_assessments

SEVERAL_RUNS = "labels are of one answer a query, and the submission has several runs of each"
_KEY = ("assessments", -1, -1)
"""Where what was read is kept beside statements, which have (reader, run, row)."""


def assessments_of(inputs: Inputs) -> Assessments:
    """What the files of ``--assessments`` say; nothing without any.

    Raises:
        InputError: a file is wrong; says where.
    """
    assessments = inputs.statements.get(_KEY)
    if assessments is None:
        assessments = inputs.statements[_KEY] = read_assessments(inputs.tools.options.assessments)
    assert isinstance(assessments, Assessments)
    return assessments


def files_signature(tools: Tools, protocol: str) -> str | None:
    """Which labels were read, as it stands in signatures."""
    paths = tools.options.assessments
    return f"assessments:{assessments_digest(paths)}" if paths else None
