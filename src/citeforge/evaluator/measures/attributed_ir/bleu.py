"""Corpus BLEU-4 against gold answers (Attributed-IR)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from citeforge.evaluator.measures.attributed_ir.answers import against_gold, air_text
from citeforge.evaluator.measures.attributed_ir.gold import gold_answers
from citeforge.evaluator.measures.cannot import CannotError
from citeforge.evaluator.measures.columns import Rows
from citeforge.evaluator.measures.declared import Found, Measure
from citeforge.evaluator.statements.inputs import Inputs
from citeforge.evaluator.statistics.estimates import Floats, Measured, Sample


def bleu_statistics(output: str, references: Sequence[str], bleu: Any) -> list[int]:
    """sacreBLEU's sufficient statistics of one answer: hypothesis and reference length, then
    correct and total n-grams for n = 1 to 4.

    The reference length is that of the **shortest** reference (docs/definitions.md#attributed_ir).
    """
    stats: list[int] = bleu._extract_corpus_statistics([output], [[r] for r in references])[0]
    shortest = min((len(bleu.tokenizer(r).split()) for r in references), default=0)
    return [stats[0], shortest, *stats[2:]]


def bleu(inputs: Inputs, measures: Sequence[Measure], single: bool) -> Found:
    """Corpus BLEU against all gold answers, or the single one."""
    try:
        from sacrebleu.metrics.bleu import BLEU
    except ImportError as error:
        raise CannotError("needs sacrebleu: pip install 'citeforge[scores]'") from error
    counter = BLEU(smooth_method="none", tokenize="13a", force=True)
    shape = (len(inputs.runs), len(inputs.benchmark.query_ids), 10)
    sums = np.zeros(shape)
    values: Rows = {}
    for run, item, texts in gold_answers(inputs, single):
        if not texts:
            continue
        output = air_text(item, inputs)
        stats = bleu_statistics(output, texts, counter)
        sums[run, item.row] = stats
        values[run, item.row] = float(_bleu_of(np.array(stats, np.float64)))
    name = "BLEU@1gold" if single else "BLEU"
    sample = Sample(sums, _bleu_of, inputs.column(values))
    yield name, Measured(sample)


def _bleu_of(sums: Floats) -> Floats:
    """Corpus BLEU in [0, 1] of summed statistics, shape (…, 10)."""
    hyp, ref = sums[..., 0], sums[..., 1]
    correct, total = sums[..., 2:6], sums[..., 6:10]
    with np.errstate(divide="ignore", invalid="ignore"):
        precisions = np.log(np.where(total > 0, correct / total, 0.0))
        penalty = np.where(hyp < ref, np.exp(1 - ref / hyp), 1.0)
        score = penalty * np.exp(precisions.mean(axis=-1))
    values: Floats = np.where((correct > 0).all(axis=-1), score, 0.0)
    return values


_DEFINITIONS = (
    "corpus BLEU-4 against all gold answers, shortest reference (per query: of its answer alone)",
    "the same against one gold answer",
)
MEASURES = (
    against_gold(
        "BLEU", bleu, _DEFINITIONS, parts=(), references="all", needs="gold answers, sacrebleu"
    ),
)
