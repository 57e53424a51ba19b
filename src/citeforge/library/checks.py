"""Checks of answers in Python, of submission files or of answers that are Python objects."""

from dataclasses import replace
from pathlib import Path

from citeforge.engines.pipes import pipes_copied
from citeforge.evaluator.check import Findings
from citeforge.evaluator.check import check as check_file
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.evaluator.submissions.finding import Finding
from citeforge.library.answers import Answers, in_python, submission_file
from citeforge.library.benchmarks import load
from citeforge.schemas.errors import UnknownValueError, extras_named
from citeforge.schemas.recipes.rage import RESERVED


@extras_named()
@pipes_copied()
def check(
    answers: Answers, benchmark: Benchmark | str | Path, context: str | None = None,
    file_format: str = "auto", system: str | None = None,
) -> Findings:  # fmt: skip
    """Check the format and ids of answers before they are scored; as ``citeforge check``.

    Args:
        answers: submission file, dictionaries with ``query_id`` and ``output``, or a DataFrame with
            such columns, as :func:`score` takes them.
        benchmark: what they answer: opened, a folder, or ``hub:ORG/NAME``.
        context: context set that lines without one answer; None for those that they name.
        file_format: format of a submission file.
        system: name of the system, for answers in memory.

    Returns:
        Errors and warnings with lines; of answers in memory, with their numbers from 1.

    Raises:
        InputError: a file cannot be read at all, or an answer cannot be written as JSON.
        UnknownValueError: the benchmark has no such context set.
    """
    opened = load(benchmark)
    known = [*opened.manifest.contexts, *(() if opened.has_graphs else RESERVED)]
    if context is not None and context not in known:
        raise UnknownValueError("context", context, known)
    with submission_file(answers, system) as path:
        found = check_file(path, opened, context, file_format)
    if isinstance(answers, str | Path):
        return found
    # The first line of our file is a header, which the caller does not know of.
    return replace(
        found,
        errors=[_without_header(one) for one in found.errors],
        warnings=[_without_header(one) for one in found.warnings],
    )


def _without_header(finding: Finding) -> Finding:
    """Lower a finding's line number by one, since a header line was added to the answers."""
    line = None if finding.line is None else finding.line - 1
    message, option = in_python(finding.message), in_python(finding.option)
    return replace(finding, line=line, message=message, option=option)
