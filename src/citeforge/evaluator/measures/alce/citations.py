"""Citation quality of ALCE: recall, precision, F1, and what they consist of."""

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from citeforge.evaluator.measures.alce.answers import (
    ALCE,
    options,
    reference_claims,
    strict_claims,
)
from citeforge.evaluator.measures.columns import Key, Value, extreme_mean
from citeforge.evaluator.measures.declared import CitationQuality, Found, Measure, percent
from citeforge.evaluator.measures.judging import CitationScores, citation_samples
from citeforge.evaluator.statements.inputs import Inputs
from citeforge.evaluator.statistics.estimates import (
    Floats,
    Measured,
    measured_between,
    ratio_sample,
)
from citeforge.evaluator.tools import Tools
from citeforge.schemas.commands.command_options import MOST_CITATIONS


def citations(inputs: Inputs, measures: Sequence[Measure]) -> Found:
    """All of them, from one round of questions to the judge."""
    read = strict_claims if inputs.protocol == "strict" else reference_claims
    names = ("ALCE.CitRec", "ALCE.CitPrec", "ALCE.CitF1")
    samples, parts = citation_samples(inputs, names, read, with_title=True)
    yield from samples
    yield from _counters(inputs, parts)


def _counters(
    inputs: Inputs, rows: Sequence[tuple[Key, int, CitationScores]]
) -> Iterator[tuple[str, Measured]]:
    """ALCE's counters: shares over all statements, not means over queries."""
    shape = (3, len(inputs.runs), len(inputs.benchmark.query_ids), 2)
    low, high = np.zeros(shape), np.zeros(shape)
    for (run, row), n, s in rows:
        for sums, side in ((low, "low"), (high, "high")):
            n_supported = sum(getattr(holds, side) for holds, _ in s.several)
            sums[:2, run, row] = (s.n_multiple, n), (n_supported, s.n_multiple)
    for run in range(len(inputs.runs)):
        several = [(at, *pair) for (r, at), _, s in rows if r == run for pair in s.several]
        _overcited(low[2, run], [(at, h, over.low) for at, h, over in several], highest=False)
        _overcited(high[2, run], [(at, h, over.high) for at, h, over in several], highest=True)
    names = ("ALCE.Multi", "ALCE.MultiSupported", "ALCE.Overcited")
    for name, lower, upper in zip(names, low, high, strict=True):
        yield name, measured_between(ratio_sample, lower, upper)


def _overcited(sums: Floats, several: list[tuple[int, Value, float]], highest: bool) -> None:
    """Add what each statement gives to ``sums``, shape (queries, 2), where the share is extreme.

    A statement that a failed judgement leaves open counts only where that moves the share.
    """
    sure = [value for _, holds, value in several if holds.low]
    maybe = [value for _, holds, value in several if holds.high and not holds.low]
    limit = extreme_mean(sure, maybe, highest)
    for row, holds, value in several:
        if holds.low or (holds.high and (value >= limit if highest else value <= limit)):
            sums[row] += value, 1


def _options(tools: Tools, protocol: str) -> str | None:
    if protocol == "strict":
        return options(tools, protocol)
    most = tools.options.at_most_citations
    return None if most == MOST_CITATIONS else f"at-most-{most}"


_cited = partial(
    percent, family="alce", needs="a judge", source=ALCE, uses=("judge", "segmenter"),
    compute=citations, options=_options,
)  # fmt: skip
_quality = partial(
    CitationQuality,
    reference="ALCE's code reads the first line alone, and three citations of a statement; one out "
    "of range costs recall and no precision.",
)
MEASURES = (
    _cited(
        "ALCE.CitRec", definition="statements whose citations together entail them", linear=True,
        citation_quality=_quality("recall", "All passages that a statement cites are joined, and "
                                  "together they must entail it."),
    ),
    _cited("ALCE.CitPrec", definition="citations that are needed for a supported statement",
           citation_quality=_quality("precision", "A citation counts only where its statement is "
                                     "supported and the others do not do without it.")),
    _cited("ALCE.CitF1", definition="harmonic mean of mean CitRec and mean CitPrec",
           citation_quality=_quality("both", "Joined passages must entail the statement, and "
                                     "citations that nobody needs cost precision.")),
    _cited(
        "ALCE.Multi", definition="share of statements with several citations", higher_is_better=None
    ),
    _cited("ALCE.MultiSupported", definition="of these, share that is supported", linear=True),
    _cited(
        "ALCE.Overcited",
        definition="of those, share with a citation that is not needed "
        "(reference: such citations to them)",
        higher_is_better=False,
    ),
)  # fmt: skip
