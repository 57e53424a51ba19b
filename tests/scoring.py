"""Scores and answers of files by the options that a test names."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from citeforge.evaluator.corrections import Correction
from citeforge.evaluator.measures.declared import Measure
from citeforge.evaluator.score import ScoringSetup, score_context
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.evaluator.submissions.formats import OnError, detect, format_of_file
from citeforge.evaluator.submissions.tools import ScoringTools
from citeforge.schemas.scores import ScoreFile
from citeforge.schemas.submission import Lines


def score(
    path: Path,
    benchmark: Benchmark,
    measures: Sequence[Measure],
    *,
    tools: ScoringTools | None = None,
    correction: Correction | None = None,
    system: str | None = None,
    details: bool = False,
    **options: Any,
) -> ScoreFile:
    """Scores of a submission; answers are kept only where a test asks for them."""
    chosen = (tools or ScoringTools()).with_options(details=details, **options)
    return score_context(path, ScoringSetup(benchmark, measures, chosen, correction), system)


def iter_answers(
    path: Path, benchmark: Benchmark, name: str = "auto", on_error: OnError = None
) -> Lines:
    """(line, answer) of a prediction file in any known format, found out where none is named."""
    form = detect(path) if name == "auto" else format_of_file(path, name)
    return form.answers(path, benchmark, name.partition(":")[2], on_error)
