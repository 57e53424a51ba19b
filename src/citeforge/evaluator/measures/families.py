"""Families to samples: which answers enter each measure, and in which statistics."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from citeforge.evaluator.inputs import Inputs, Item
from citeforge.evaluator.measures import alce, attributed_ir, correctness, model_based
from citeforge.evaluator.measures.alce import CitationJudging, CitationScores, Claim
from citeforge.evaluator.measures.bounds import Bounds, Value, extreme_mean
from citeforge.evaluator.measures.cannot import CannotError
from citeforge.evaluator.measures.declared import DEPTHS
from citeforge.evaluator.statistics import (
    Floats,
    Measured,
    Sample,
    harmonic_sample,
    mean_sample,
    ratio,
)
from citeforge.evaluator.tools import NO_JUDGE


def compute(inputs: Inputs, names: set[str]) -> dict[str, Measured | str]:
    """Samples of the named measures; a text instead says why one could not be computed."""
    found: dict[str, Measured | str] = {}
    for wanted, function in _GROUPS:
        here = [n for n in wanted if n in names]
        if not here:
            continue
        try:
            results = dict(function(inputs))
        except CannotError as error:
            found.update(dict.fromkeys(here, str(error)))
            continue
        for name in here:
            measured = results[name]
            sample = measured.sample
            empty = sample.has_interval and np.isnan(sample.per_query).all()
            found[name] = "no query defines it" if empty else measured
    return found


Rows = dict[tuple[int, int], float]


def _two_sided(inputs: Inputs, name: str, low: Rows, high: Rows) -> tuple[str, Measured]:
    upper = None if low == high else mean_sample(name, inputs.column(high))
    return name, Measured(mean_sample(name, inputs.column(low)), upper)


def _values(
    inputs: Inputs, name: str, values: dict[tuple[int, int], Value]
) -> tuple[str, Measured]:
    low = {k: v.low for k, v in values.items()}
    return _two_sided(inputs, name, low, {k: v.high for k, v in values.items()})


def _claims(
    inputs: Inputs, read: Callable[[Item, Inputs], list[Claim]]
) -> list[tuple[tuple[int, int], Item, list[Claim]]]:
    if inputs.tools.judge is None:
        raise CannotError(NO_JUDGE)
    if inputs.tools.segmenter is None and inputs.task != "qampari":
        raise CannotError(inputs.tools.why_no_segmenter or "needs a segmenter")
    found = []
    for run, item in inputs.items():
        # In `strict` all families read the same statements; they are cut once.
        key = ("strict" if inputs.protocol == "strict" else read.__qualname__, run, item.row)
        if key not in inputs.statements:
            inputs.statements[key] = read(item, inputs)
        found.append(((run, item.row), item, inputs.statements[key]))
    return found


def _citations(
    inputs: Inputs,
    prefix: tuple[str, str, str],
    read: Callable[[Item, Inputs], list[Claim]],
    with_title: bool,
) -> Iterator[tuple[str, Measured]]:
    rows = _claims(inputs, read)
    assert inputs.tools.judge is not None
    judging = CitationJudging(inputs.tools.judge, inputs.protocol == "strict", with_title)
    scores = judging.score([(item, claims) for _, item, claims in rows])
    recall: dict[tuple[int, int], Value] = {}
    precision: dict[tuple[int, int], Value] = {}
    for (key, _, _), found in zip(rows, scores, strict=True):
        if found.recall is not None and found.precision is not None:
            recall[key], precision[key] = found.recall, found.precision
    rec = _values(inputs, prefix[0], recall)
    prec = _values(inputs, prefix[1], precision)
    yield rec
    yield prec
    upper = None
    if rec[1].upper is not None or prec[1].upper is not None:
        highs = [m.upper or m.sample for m in (prec[1], rec[1])]
        upper = harmonic_sample(prefix[2], highs[0].per_query, highs[1].per_query)
    lows = (prec[1].sample.per_query, rec[1].sample.per_query)
    yield prefix[2], Measured(harmonic_sample(prefix[2], *lows), upper)
    if with_title:
        yield from _counters(
            inputs, [(k, len(c), s) for (k, _, c), s in zip(rows, scores, strict=True)]
        )


def _counters(
    inputs: Inputs, rows: list[tuple[tuple[int, int], int, CitationScores]]
) -> Iterator[tuple[str, Measured]]:
    """ALCE's counters: shares over all statements, not means over queries."""
    shape = (3, len(inputs.runs), len(inputs.benchmark.query_ids), 2)
    low, high = np.zeros(shape), np.zeros(shape)
    for (run, row), n, s in rows:
        for sums, side in ((low, 0), (high, 1)):
            n_supported = sum(holds[side] for holds, _ in s.several)
            sums[:2, run, row] = (s.n_multiple, n), (n_supported, s.n_multiple)
    for run in range(len(inputs.runs)):
        several = [(at, *pair) for (r, at), _, s in rows if r == run for pair in s.several]
        _overcited(low[2, run], [(at, h, over.low) for at, h, over in several], highest=False)
        _overcited(high[2, run], [(at, h, over.high) for at, h, over in several], highest=True)
    names = ("ALCE.Multi", "ALCE.MultiSupported", "ALCE.Overcited")
    for name, lower, upper in zip(names, low, high, strict=True):
        samples = [
            Sample(name, s, lambda s: ratio(s[..., 0], s[..., 1]), ratio(s[..., 0], s[..., 1]))
            for s in (lower, upper)
        ]
        yield name, Measured(samples[0], None if np.array_equal(lower, upper) else samples[1])


def _overcited(sums: Floats, several: list[tuple[int, Bounds, float]], highest: bool) -> None:
    """Add what each statement gives to ``sums``, shape (queries, 2), where the share is extreme.

    A statement that a failed judgement leaves open counts only where that moves the share.
    """
    sure = [value for _, holds, value in several if holds.low]
    maybe = [value for _, holds, value in several if holds.high and not holds.low]
    limit = extreme_mean(sure, maybe, highest)
    for row, holds, value in several:
        if holds.low or (holds.high and (value >= limit if highest else value <= limit)):
            sums[row] += value, 1


def _alce_citations(inputs: Inputs) -> Iterator[tuple[str, Measured]]:
    read = alce.strict_claims if inputs.protocol == "strict" else alce.reference_claims
    return _citations(inputs, ("ALCE.CitRec", "ALCE.CitPrec", "ALCE.CitF1"), read, True)


def _nli_citations(inputs: Inputs) -> Iterator[tuple[str, Measured]]:
    names = ("NLI.rec", "NLI.prec", "NLI.F1")
    return _citations(_with_passages(inputs), names, attributed_ir.claims_of, False)


def _with_passages(inputs: Inputs) -> Inputs:
    """``reference``: queries without passages leave."""
    if inputs.protocol == "strict":
        return inputs
    from dataclasses import replace

    runs = [[item for item in items if item.passages] for items in inputs.runs]
    if not any(runs):
        raise CannotError("the submission brings no passages")
    return replace(inputs, runs=runs)


def _auto_ais(inputs: Inputs) -> Iterator[tuple[str, Measured]]:
    inputs = _with_passages(inputs)
    rows = _claims(inputs, attributed_ir.claims_of)
    assert inputs.tools.judge is not None
    answers = [(item, claims) for _, item, claims in rows]
    found = attributed_ir.auto_ais(answers, inputs.tools.judge, with_passages=False)
    keys = [key for key, _, _ in rows]
    yield _values(inputs, "AutoAIS.cit", {k: a.cited_all for k, a in zip(keys, found, strict=True)})
    yield _values(
        inputs, "AutoAIS.cit@cited", {k: a.cited_only for k, a in zip(keys, found, strict=True)}
    )


def _auto_ais_passages(inputs: Inputs) -> Iterator[tuple[str, Measured]]:
    inputs = _with_passages(inputs)
    rows = _claims(inputs, attributed_ir.claims_of)
    assert inputs.tools.judge is not None
    answers = [(item, claims) for _, item, claims in rows]
    found = attributed_ir.auto_ais(answers, inputs.tools.judge, with_passages=True)
    values = {key: a.passages for (key, _, _), a in zip(rows, found, strict=True)}
    yield _values(inputs, "AutoAIS.psg", values)


def _overlap(inputs: Inputs) -> Iterator[tuple[str, Measured]]:
    inputs = _with_passages(inputs)
    if not any(g.kind == "answer" and g.citations for gold in inputs.gold for g in gold):
        raise CannotError("needs gold answers with citations")
    precision: Rows = {}
    recall: Rows = {}
    for run, item in inputs.items():
        found = attributed_ir.overlap(item, inputs.gold[item.row], inputs)
        if found is not None:
            precision[run, item.row], recall[run, item.row] = found
    yield _two_sided(inputs, "Overlap.P", precision, precision)
    yield _two_sided(inputs, "Overlap.R", recall, recall)


def _str_em(inputs: Inputs) -> Iterator[tuple[str, Measured]]:
    em: Rows = {}
    hit: Rows = {}
    for run, item in inputs.items():
        found = correctness.str_em(item, inputs.gold[item.row], inputs)
        if found is not None:
            em[run, item.row], hit[run, item.row] = found
    if not em:
        raise CannotError("needs qa_pairs (ASQA)")
    yield _two_sided(inputs, "ALCE.StrEM", em, em)
    yield _two_sided(inputs, "ALCE.StrHit", hit, hit)


def _length(inputs: Inputs) -> Iterator[tuple[str, Measured]]:
    words = {
        (run, item.row): float(len(correctness.alce_text(item, inputs).split()))
        for run, item in inputs.items()
    }
    yield _two_sided(inputs, "ALCE.Length", words, words)


def _qampari(inputs: Inputs) -> Iterator[tuple[str, Measured]]:
    rows = {
        (run, item.row): correctness.qampari(item, inputs.gold[item.row], inputs)
        for run, item in inputs.items()
    }
    known = {k: v for k, v in rows.items() if v is not None}
    if not known:
        raise CannotError("needs answer lists (QAMPARI)")
    names = ("P", "R", "R5", "F1", "F1-5", "NumPreds")
    for at, name in enumerate(names):
        values = {k: v[at] for k, v in known.items()}
        yield _two_sided(inputs, f"QAMPARI.{name}", values, values)


def _claim_recall(inputs: Inputs) -> Iterator[tuple[str, Measured]]:
    from citeforge.engines.judge.records import JudgeFailure, Pair

    if inputs.tools.judge is None:
        raise CannotError(NO_JUDGE)
    pairs: dict[tuple[int, int], list[Pair]] = {}
    for run, item in inputs.items():
        claims = [g.text or "" for g in inputs.gold[item.row] if g.kind == "claim"]
        if claims:
            text = correctness.alce_text(item, inputs)
            pairs[run, item.row] = [Pair(text, claim) for claim in claims]
    if not pairs:
        raise CannotError("needs claims (ELI5)")
    decisions = inputs.tools.judge.ask(p for group in pairs.values() for p in group)
    values = {}
    for key, group in pairs.items():
        found = [decisions[p] for p in group]
        low = sum(not isinstance(d, JudgeFailure) and d.entailed for d in found)
        high = sum(isinstance(d, JudgeFailure) or d.entailed for d in found)
        values[key] = Value(low / len(found), high / len(found))
    yield _values(inputs, "ALCE.ClaimRec", values)


def _rouge(inputs: Inputs, single: bool) -> Iterator[tuple[str, Measured]]:
    try:
        from rouge_score.rouge_scorer import RougeScorer
    except ImportError as error:
        raise CannotError("needs rouge-score: pip install 'citeforge[scores]'") from error
    scorer = RougeScorer(["rougeLsum"], use_stemmer=False)
    columns: tuple[Rows, Rows, Rows] = ({}, {}, {})
    for run, item, texts in correctness.gold_answers(inputs, single):
        if not texts:
            continue
        found = correctness.rouge_lsum(correctness.air_text(item, inputs), texts, scorer)
        for column, value in zip(columns, found, strict=True):
            column[run, item.row] = value
    suffix = "@1gold" if single else ""
    for name, column in zip("PRF", columns, strict=True):
        yield _two_sided(inputs, f"ROUGE-Lsum.{name}{suffix}", column, column)


def _bleu(inputs: Inputs, single: bool) -> Iterator[tuple[str, Measured]]:
    try:
        from sacrebleu.metrics.bleu import BLEU
    except ImportError as error:
        raise CannotError("needs sacrebleu: pip install 'citeforge[scores]'") from error
    bleu = BLEU(smooth_method="none", tokenize="13a", force=True)
    shape = (len(inputs.runs), len(inputs.benchmark.query_ids), 10)
    sums = np.zeros(shape)
    values: Rows = {}
    for run, item, texts in correctness.gold_answers(inputs, single):
        if not texts:
            continue
        output = correctness.air_text(item, inputs)
        stats = correctness.bleu_statistics(output, texts, bleu)
        sums[run, item.row] = stats
        values[run, item.row] = float(_bleu_of(np.array(stats, np.float64)))
    name = "BLEU@1gold" if single else "BLEU"
    sample = Sample(name, sums, _bleu_of, inputs.column(values))
    yield name, Measured(sample)


def _bleu_of(sums: Floats) -> Floats:
    """Corpus BLEU in [0, 1] of summed statistics, shape (…, 10)."""
    hyp, ref = sums[..., 0], sums[..., 1]
    correct, total = sums[..., 2:6], sums[..., 6:10]
    with np.errstate(divide="ignore", invalid="ignore"):
        precisions = np.log(np.where(total > 0, correct / total, 0.0))
        penalty = np.where(hyp < ref, np.exp(1 - ref / hyp), 1.0)
        score = penalty * np.exp(precisions.mean(axis=-1))
    found: Floats = np.where((correct > 0).all(axis=-1), score, 0.0)
    return found


def _plain(
    function: Callable[[Inputs], Iterator[tuple[str, Sample]]],
) -> Callable[[Inputs], Iterator[tuple[str, Measured]]]:
    return lambda inputs: ((name, Measured(sample)) for name, sample in function(inputs))


_GROUPS: tuple[tuple[tuple[str, ...], Callable[[Inputs], Iterator[tuple[str, Measured]]]], ...] = (
    (
        (
            "ALCE.CitRec",
            "ALCE.CitPrec",
            "ALCE.CitF1",
            "ALCE.Multi",
            "ALCE.MultiSupported",
            "ALCE.Overcited",
        ),
        _alce_citations,
    ),
    (("ALCE.Length",), _length),
    (("ALCE.StrEM", "ALCE.StrHit"), _str_em),
    (
        ("QAMPARI.P", "QAMPARI.R", "QAMPARI.R5", "QAMPARI.F1", "QAMPARI.F1-5", "QAMPARI.NumPreds"),
        _qampari,
    ),
    (("ALCE.ClaimRec",), _claim_recall),
    (("AutoAIS.cit", "AutoAIS.cit@cited"), _auto_ais),
    (("AutoAIS.psg",), _auto_ais_passages),
    (("NLI.rec", "NLI.prec", "NLI.F1"), _nli_citations),
    (("Overlap.P", "Overlap.R"), _overlap),
    (("BLEU",), lambda i: _bleu(i, single=False)),
    (("BLEU@1gold",), lambda i: _bleu(i, single=True)),
    (
        ("ROUGE-Lsum.P", "ROUGE-Lsum.R", "ROUGE-Lsum.F"),
        lambda i: _rouge(i, single=False),
    ),
    (("BERTScore.P", "BERTScore.R", "BERTScore.F"), _plain(model_based.bertscore)),
    (
        ("BERTScore.P@1gold", "BERTScore.R@1gold", "BERTScore.F@1gold"),
        _plain(lambda i: model_based.bertscore(i, single=True)),
    ),
    (("MAUVE",), _plain(model_based.mauve)),
    (("QA-EM", "QA-F1", "QA-Hit"), _plain(model_based.qa)),
    (("ALCE.ROUGE-Lsum",), _plain(model_based.alce_rouge)),
    (
        tuple(f"{m}@{k}" for m in ("P", "R", "nDCG") for k in DEPTHS),
        _plain(model_based.retrieval),
    ),
    (
        ("ROUGE-Lsum.P@1gold", "ROUGE-Lsum.R@1gold", "ROUGE-Lsum.F@1gold"),
        lambda i: _rouge(i, single=True),
    ),
)
