"""Correctness, precision and recall of citations (KaLMA, section 4.2)."""

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from citeforge.evaluator.measures.declared import CitationQuality, Found, Measure
from citeforge.evaluator.measures.kalma_graphs import GraphMeasure, KalmaInputs, ParsedAnswer
from citeforge.evaluator.measures.kalma_reference import is_unreadable
from citeforge.evaluator.statistics.estimates import (
    Floats,
    Sample,
    harmonic,
    harmonic_sample,
    mean_sample,
    ratio,
)
from citeforge.schemas.kg import Key

Counts = tuple[float, float]
"""(hits, out of)."""


def strict_counts(reading: ParsedAnswer) -> dict[str, Counts]:
    """Count (hits, total) of one answer for Corr, P and R by citeforge's own definitions.

    A citation is correct when it is complete and its triple was shown; precise when it also states
    a fact of the minimum knowledge set, which any equivalent triple does. What the question itself
    says counts neither as right nor as wrong in P. A triple cited twice counts each time for P; a
    fact counts once for R, whichever of its triples are cited.
    """
    facts = reading.shown.facts
    gold = frozenset[Key]().union(*facts)
    correct = [c.compared for c in reading.citations if reading.shown.is_complete_and_shown(c)]
    n = len(reading.citations)
    n_premises = sum(k in reading.shown.premises for k in correct)
    return {
        "Corr": (float(len(correct)), float(n)),
        "P": (float(sum(k in gold for k in correct)), float(n - n_premises)),
        "R": (float(sum(not fact.isdisjoint(correct) for fact in facts)), float(len(facts))),
    }


def is_later(number: int) -> bool:
    """Whether a gold triple was added after round 1; also true of gold without rounds (0)."""
    return number != 1


def reference_counts(reading: ParsedAnswer) -> dict[str, Counts]:
    """Count (hits, total) of one answer for Corr, P and R as KaLMA's own code does.

    Precision is knowledge hit ÷ citations on the gold of all rounds, recall looks at the gold of
    rounds ≥ 2, and neither asks whether the triple was shown.
    """
    cited = set(reading.citations)
    hits = [(key in cited, is_later(number)) for key, number in reading.shown.gold]
    n = float(len(reading.citations))
    return {
        "Corr": (float(sum(c in reading.shown.verbatim for c in reading.citations)), n),
        "P": (float(sum(hit for hit, _ in hits)), n),
        "R": (float(sum(hit and later for hit, later in hits)), float(sum(x for _, x in hits))),
    }


def triple_citation_samples(inputs: KalmaInputs) -> Iterator[tuple[str, Sample]]:
    """Yield (measure, sample): micro and macro Corr, P, R, F1; citation and [NA] counts."""
    strict = inputs.protocol == "strict"
    count = strict_counts if strict else reference_counts
    names, shape = ("Corr", "P", "R"), (len(inputs.runs), len(inputs.benchmark.query_ids))
    sums = {name: np.zeros((*shape, 2)) for name in names}
    macro = {name: np.full(shape, np.nan) for name in names}
    n_cited, n_na = np.full(shape, np.nan), np.full(shape, np.nan)
    for run, readings in enumerate(inputs.runs):
        for reading in readings:
            if not strict and (not reading.shown.triples or is_unreadable(reading.output)):
                continue  # the reference passes both over
            for name, (hits, total) in count(reading).items():
                sums[name][run, reading.row] = hits, total
                macro[name][run, reading.row] = _answer_share(name, hits, total, strict)
            n_cited[run, reading.row] = len(reading.citations)
            n_na[run, reading.row] = reading.n_na
    has_gold = {"Corr": True, "R": bool(sums["R"][..., 1].any())}
    has_gold["P"] = any(r.shown.gold for readings in inputs.runs for r in readings)
    for name in (n for n in names if has_gold[n]):
        yield f"KaLMA.{name}@micro", micro_sample(sums[name], always=name != "R")
        yield f"KaLMA.{name}@macro", mean_sample(macro[name])
    if has_gold["P"] and has_gold["R"]:
        micro = _micro_f1(sums["P"], sums["R"])
        averaged = harmonic_sample(macro["P"], macro["R"])
        yield "KaLMA.F1@micro", micro if strict else _average_runs_first(micro)
        yield "KaLMA.F1@macro", averaged if strict else _average_runs_first(averaged)
    yield "KaLMA.Citations", mean_sample(n_cited)
    yield "KaLMA.NAs", mean_sample(n_na)


def _answer_share(name: str, hits: float, total: float, strict: bool) -> float:
    """Compute hits ÷ total of one answer, for macro averages; NaN where undefined.

    Without citations P and Corr are 0 in strict, undefined in reference; without gold R is
    undefined.
    """
    if total:
        return hits / total
    return 0.0 if strict and name != "R" else math.nan


def micro_sample(sums: Floats, always: bool = False) -> Sample:
    """Make the sample of a micro average: sum of hits ÷ sum of totals, 0 if the total is 0.

    Args:
        sums: hits and totals, shape (runs, queries, 2).
        always: whether it is 0, and not undefined, when nothing at all is divided.
    """
    per_query = ratio(sums[..., 0], sums[..., 1])
    return Sample(
        sums, lambda s: np.nan_to_num(ratio(s[..., 0], s[..., 1])), per_query, always=always
    )


def _micro_f1(precision: Floats, recall: Floats) -> Sample:
    """Make the sample of micro F1 from the hits and totals of precision and of recall."""
    sums = np.concatenate([precision, recall], axis=-1)

    def combine_to_f1(s: Floats) -> Floats:
        """Compute F1 from summed hits and totals of precision and recall; 0 if undefined."""
        p = np.nan_to_num(ratio(s[..., 0], s[..., 1]))
        r = np.nan_to_num(ratio(s[..., 2], s[..., 3]))
        return harmonic(p, r)

    return Sample(sums, combine_to_f1, combine_to_f1(sums), always=True)


def _average_runs_first(sample: Sample) -> Sample:
    """Make an F1 sample average P and R over runs before F1, as KaLMA's code does.

    Args:
        sample: sums (above P, below P, above R, below R) of each run.
    """
    runs, queries, k = sample.sums.shape
    if runs == 1:
        return sample
    merged = sample.sums.transpose(1, 0, 2).reshape(1, queries, runs * k)

    def combine_runs(s: Floats) -> Floats:
        """Compute P and R per run, average each over runs, and give their harmonic mean."""
        each = s.reshape(*s.shape[:-1], runs, k)
        means = [np.nan_to_num(ratio(each[..., i], each[..., i + 1])).mean(axis=-1) for i in (0, 2)]
        return harmonic(means[0], means[1])

    return Sample(merged, combine_runs, sample.per_query, always=sample.always)


def counted(inputs: KalmaInputs, measures: Sequence[Measure]) -> Found:
    """Compute the KaLMA measures of citations, which need no judge: yield (name, result)."""
    samples = dict(triple_citation_samples(inputs))
    why = "the benchmark has no minimum knowledge sets"
    for m in measures:
        yield m.name, samples.get(m.name, why)


PAPER = "Li et al. 2024 (KaLMA), section 4"
_KG = "a kalma benchmark"
_SETS = "a kalma benchmark with minimum knowledge sets"


def micro_and_macro(name: str, definition: str, **more: Any) -> tuple[GraphMeasure, ...]:
    """Declare a measure twice: as a micro average (ratio of sums) and as a macro average."""
    return tuple(
        GraphMeasure(
            f"KaLMA.{name}@{how}", "kalma", f"{definition}, {words}", source=PAPER, **more
        )
        for how, words in (
            ("micro", "over all of them"),
            ("macro", "per answer, then averaged"),
        )
    )  # fmt: skip


def _rounds(reference: str) -> dict[str, str]:
    """Map each protocol to the rounds of gold that a measure uses: all, or ``reference``."""
    return {"strict": "all", "reference": reference}


_quality = partial(
    CitationQuality,
    reference="KaLMA's code drops incomplete citations and answers without any, and does not ask "
    "whether a triple was shown.",
)
_SET = "Citations are held against the minimum knowledge set, not against the statement"
_OF_ANSWER = "citations, and `[NA]` marks, of an answer"
_counter = partial(
    GraphMeasure, family="kalma", needs=_KG, source=PAPER, compute=counted, high=None, scale=1,
    higher_is_better=None,
)  # fmt: skip
MEASURES = (
    *micro_and_macro(
        "Corr", "citations that are complete triples of the shown graph", needs=_KG,
        formula="complete citations whose triple was shown ÷ citations",
        compute=counted,
        citation_quality=_quality(
            "precision", "A citation is right where its triple was shown, wanted or not."
        ),
    ),
    *micro_and_macro(
        "P", "correct citations in the minimum knowledge set", needs=_SETS, compute=counted,
        formula="such citations that also state a fact of `G` ÷ citations",
        gold=_rounds("all"), citation_quality=_quality("precision", f"{_SET}."),
    ),
    *micro_and_macro(
        "R", "minimum knowledge hit by a correct citation", needs=_SETS, compute=counted,
        formula="facts of `G` that such a citation states ÷ facts of `G`",
        gold=_rounds("2+"), citation_quality=_quality("recall", f"{_SET}, all of which is wanted."),
    ),
    *micro_and_macro(
        "F1", "harmonic mean of P and R", needs=_SETS, compute=counted,
        formula="harmonic mean of P and R of the same averaging",
        gold=_rounds("P:all,R:2+"), citation_quality=_quality("both", f"{_SET}."),
    ),
    _counter("KaLMA.Citations", definition="citations per answer", formula=_OF_ANSWER),
    _counter("KaLMA.NAs", definition="[NA] marks per answer", formula=_OF_ANSWER),
)  # fmt: skip
