"""Assessments as measures see them: read once a submission, and named in signatures."""

from collections.abc import Sized

from citeforge.engines.io.files import digest, digest_folder, sha256_file
from citeforge.evaluator.measures.columns import Value
from citeforge.evaluator.measures.declared import CannotError
from citeforge.evaluator.statements.inputs import Inputs
from citeforge.evaluator.tools import Tools
from citeforge.plugins.trec.assessments import Assessments, read_assessments

NOTHING = Value(0.0, 0.0)
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


def require_one_run(inputs: Inputs, labels: Sized) -> None:
    """Refuse labels beside several answers a query.

    Raises:
        CannotError: nobody knows of which run they are.
    """
    if labels and len(inputs.runs) > 1:
        raise CannotError(
            "labels are of one answer a query, and the submission has several runs of each"
        )


def files_signature(tools: Tools, protocol: str) -> str | None:
    """Eight hex digits over the labels that were read, as they stand in signatures.

    Raises:
        InputError: a file cannot be read.
    """
    paths = tools.options.assessments
    hashes = [digest_folder(p) if p.is_dir() else sha256_file(p) for p in paths]
    return f"assessments:{digest(hashes)[:8]}" if paths else None


def full_support(value: Value) -> Value:
    """The same with partial support as none."""
    return Value(float(value.low >= 1), float(value.high >= 1))
