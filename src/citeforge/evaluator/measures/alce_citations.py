"""ALCE's reading of answers, and the quality of their citations (Gao et al. 2023, and its code).

## alce

Gao et al. 2023, sections 3 and 4; `reference`: their `eval.py`. Statement `s` cites the set `C`.

Queries without the gold that a measure needs are left out. A missing or empty answer has 0.
`strict` counts each distinct citation of a statement once. `reference` keeps repeats and, after the
check of the range, the first `--at-most-citations` (3).

The statements of a QAMPARI answer are "question item". Items are cut at commas; in `strict` at
commas, semicolons and their like in other scripts outside quotation marks and brackets, at line
breaks, and at "and" before the last item or behind a mark. Bullets, numbers, headers of tables and
lines that introduce the list are no items; `Paris (France)` also counts as `Paris`. `--cot` reads
what follows the first colon. ROUGE is a plain mean in both protocols, where ALCE's code prints the
midpoint of an unseeded bootstrap.

*Example.* S1 cites 1 and 2, S2 cites 3 and 9 (out of range), S3 nothing. φ(1+2, S1) = φ(1, S1) = 1,
φ(2, S1) = 0, φ(3, S2) = 0. Citation 2 is irrelevant. CitRec = 1/3. CitPrec = 1/4 under `strict`,
1/2 under `reference`, where S2 leaves. Multi = 1/3 (`reference` 2/3), MultiSupported = 1/1 (1/2),
Overcited = 1/1.
"""

from functools import partial

import numpy as np

from citeforge.evaluator.measures.declared import CitationQuality, per_submission
from citeforge.evaluator.measures.handed import Answers
from citeforge.evaluator.measures.judging import CitationScores, citation_f1, judge_citations
from citeforge.evaluator.measures.values import NOTHING, ByAnswer, Value, extreme_mean
from citeforge.evaluator.statistics.estimates import (
    Floats,
    Sample,
    ratio_sample,
    sample_between,
)
from citeforge.evaluator.submissions.inputs import AnswerKey
from citeforge.evaluator.submissions.tools import Need, ScoringTools
from citeforge.schemas.recipes.command_options import MOST_CITATIONS

ALCE = "Gao et al. 2023 (ALCE), section 3"
APPENDIX = "Gao et al. 2023 (ALCE), appendix"


def list_option(tools: ScoringTools, protocol: str) -> str | None:
    """Name the option in ``tools`` that changes list scores, for signatures; None if unset."""
    return "cot" if tools.options.cot else None


def _overcited(scores: ByAnswer[CitationScores]) -> Sample:
    """Compute which share of supported statements with several citations has a needless one."""
    low, high = np.zeros((*scores.shape, 2)), np.zeros((*scores.shape, 2))
    for run in range(scores.shape[0]):
        several = [(at, *pair) for (r, at), s in scores.items() if r == run for pair in s.several]
        _add_overcited(low[run], [(at, h, over.low) for at, h, over in several], highest=False)
        _add_overcited(high[run], [(at, h, over.high) for at, h, over in several], highest=True)
    return sample_between(ratio_sample, low, high)


def _add_overcited(
    query_sums: Floats, statements: list[tuple[int, Value, float]], highest: bool
) -> None:
    """Add (needless citations, supported statements) to the sums of each query, for one bound.

    A statement that a failed judgement leaves open counts only where that moves the share.

    Args:
        query_sums: numerator and denominator of each query, shape (queries, 2), which are changed.
        statements: (row of the query, whether it is supported, number of needless citations) of
            statements that cite several.
        highest: whether the upper bound is computed, or the lower one.
    """
    sure = [value for _, holds, value in statements if holds.low]
    maybe = [value for _, holds, value in statements if holds.high and not holds.low]
    limit = extreme_mean(sure, maybe, highest)
    for row, holds, value in statements:
        if holds.low or (holds.high and (value >= limit if highest else value <= limit)):
            query_sums[row] += value, 1


def _citation_options(tools: ScoringTools, protocol: str) -> str | None:
    """Name the options in ``tools`` that change citation scores, for signatures; None if unset."""
    if protocol == "strict":
        return list_option(tools, protocol)
    most = tools.options.at_most_citations
    return None if most == MOST_CITATIONS else f"at-most-{most}"


@per_submission(
    "alce", evaluator="alce", needs=(Need.STATEMENTS, Need.PASSAGES, Need.JUDGE),
    requires="a judge", source=ALCE, options=_citation_options,
    reads_labels=False,
)  # fmt: skip
def cited(answers: Answers) -> dict[AnswerKey, CitationScores]:
    """Let the judge score every answer's citations (recall, precision) as ALCE defines them."""
    return judge_citations(answers, with_title=True)


def _several_supported(scores: CitationScores) -> tuple[Value, int]:
    """Count an answer's statements with several citations: (those supported by them, all)."""
    return sum((holds for holds, _ in scores.several), NOTHING), scores.n_multiple


_quality = partial(
    CitationQuality,
    reference="ALCE's code reads the first line alone, and three citations of a statement; one out "
    "of range costs recall and no precision.",
)
MEASURES = (
    cited.measure("ALCE.CitRec", "statements whose citations together entail them", linear=True,
        mean=lambda scores: scores.recall,
        formula="share of statements with `C` not empty and `φ(all of C, s) = 1`",
        edge_cases="no statement: 0; `reference`: undefined (an empty QAMPARI answer is one "
        "statement, 0)",
        citation_quality=_quality("recall", "All passages that a statement cites are joined, and "
        "together they must entail it.")),
    cited.measure(
        "ALCE.CitPrec", "citations that are needed for a supported statement",
        mean=lambda scores: scores.precision,
        formula="share of citations that count: their statement is supported as above, and they "
        "are not irrelevant. A citation `c` is irrelevant if `φ(c, s) = 0` and `φ(C without c, "
        "s) = 1`",
        edge_cases="nothing cited: 0. `strict`: out-of-range citations are in the denominator",
        citation_quality=_quality("precision", "A citation counts only where its statement is "
                                  "supported and the others do not do without it.")),
    cited.measure(
        "ALCE.CitF1", "harmonic mean of mean CitRec and mean CitPrec",
        sample=citation_f1,
        formula="harmonic mean of the two means",
        citation_quality=_quality("both", "Joined passages must entail the statement, and "
                                  "citations that nobody needs cost precision.")),
    cited.measure("ALCE.Multi", "share of statements with several citations",
        ratio=lambda scores: (scores.n_multiple, scores.n_statements), higher_is_better=None,
        formula="statements with several citations ÷ statements, over all answers",
        edge_cases="`strict` counts citations in range"),
    cited.measure("ALCE.MultiSupported", "of these, share that is supported", linear=True,
        ratio=_several_supported,
        formula="of the statements with several citations, the share that is supported",
        edge_cases="no such statement: undefined"),
    cited.measure("ALCE.Overcited",
        "of those, share with a citation that is not needed "
        "(reference: such citations to them)", sample=_overcited,
        formula="of these supported ones, the share with an irrelevant citation",
        edge_cases="none: undefined. `reference`: irrelevant citations ÷ these statements, so it "
        "can pass 1", higher_is_better=False),
)  # fmt: skip
