"""Measures of abstention in answers to a benchmark of documents.

## abstention

Of `documents` benchmarks: r = 1 for a refused question without an answer, a = 1 for another refused
one. Rules of all languages decide; an empty answer is a refusal, a missing one is wrong either way
(`reference`: it leaves). Other measures leave these questions out, except [trust](#trust).
*Example.* 1 of 2 without an answer refused, and 1 of 6 others: P = R = 1/2, F1 = 2/(2 + 2), Wrong =
1/6.
"""

from dataclasses import dataclass, replace

import numpy as np

from citeforge.evaluator.measures.declared import per_submission
from citeforge.evaluator.measures.handed import Answers
from citeforge.evaluator.statements.refusing import SIGNED_RULES, refuses
from citeforge.evaluator.statistics.estimates import Floats, Sample, mean_sample, ratio_sample
from citeforge.evaluator.submissions.tools import CannotError, Need

FAMILY = "abstention"


@dataclass(frozen=True)
class Refusals:
    """Refusals among the answers (1 or 0), by run and query; NaN where there is no answer.

    Attributes:
        right: of questions that the documents do not answer; NaN of others.
        wrong: of questions that they answer; NaN of others.
        every: of all questions.
    """

    right: Floats
    wrong: Floats
    every: Floats


@per_submission(
    FAMILY, needs=(Need.BENCHMARK,), source="ours", requires="questions without an answer",
    counts_unanswerable=True,
    options=lambda tools, protocol: SIGNED_RULES,
)  # fmt: skip
def refusals(answers: Answers) -> Refusals:
    """Mark by run and query which answers refuse, split by whether the question has an answer.

    Returns:
        1 for each answer that refuses, 0 for others, by run and query: of questions that the
        documents do not answer, of those that they answer, and of all.

    Raises:
        CannotError: every question has an answer, or which have none is unknown.
    """
    absent = answers.benchmark.unanswerable
    if not absent.any():
        raise CannotError(
            "needs questions without an answer (build documents --absent)", code="wrong-benchmark"
        )
    # A missing answer counts as wrong for questions with and without an answer.
    refused = answers.column(
        {
            answer.key: float(
                not absent[answer.row] if answer.is_missing else refuses(answer, answers.grammar)
            )
            for answer in answers
        }
    )
    return Refusals(np.where(absent, refused, np.nan), np.where(absent, np.nan, refused), refused)


def _precision(refusals: Refusals) -> Sample:
    """Compute the precision of refusals: the share of them on unanswerable questions."""
    return ratio_sample(np.nan_to_num(np.stack([refusals.right, refusals.every], axis=-1)))


def _mean_per_question(values: Floats) -> Sample:
    """Make the sample of a mean over questions, which are the same for all systems."""
    return replace(mean_sample(values), weights="fixed")


def _f1(refusals: Refusals) -> Sample:
    """Compute the F1 of refusals as detector of unanswerable questions."""
    n_absent = (~np.isnan(refusals.right)).astype(np.float64)
    above, below = 2 * np.nan_to_num(refusals.right), np.nan_to_num(refusals.every) + n_absent
    return ratio_sample(np.stack([above, below], axis=-1))


MEASURES = (
    refusals.measure("Abstain.P", "questions without an answer among all that are refused",
        sample=_precision, formula="`Σ r / Σ (r + a)`"),
    refusals.measure("Abstain.R", "refused among questions without an answer",
        sample=lambda r: _mean_per_question(r.right), formula="`mean r`"),
    refusals.measure("Abstain.F1", "harmonic mean of both", sample=_f1,
        formula="`2 Σ r / (Σ (r + a) + n)` with n questions without an answer"),
    refusals.measure("Abstain.Wrong", "refused among questions that have an answer",
        sample=lambda r: _mean_per_question(r.wrong), formula="`mean a`", higher_is_better=False),
)  # fmt: skip
