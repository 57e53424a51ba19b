"""Correctness measures that need a model of their own: BERTScore, MAUVE, QA; and retrieval."""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Iterator

import numpy as np

from citeforge.evaluator.inputs import Inputs, Item
from citeforge.evaluator.measures import correctness
from citeforge.evaluator.measures.cannot import CannotError
from citeforge.evaluator.measures.declared import DEPTHS
from citeforge.evaluator.statistics import Sample, mean_sample
from citeforge.package.items import Gold
from citeforge.schemas.errors import InputError, MissingExtraError
from citeforge.schemas.text import normalise_answer

Samples = Iterator[tuple[str, Sample]]
Rows = dict[tuple[int, int], float]


def bertscore(inputs: Inputs, single: bool = False) -> Samples:
    """BERTScore against the gold answer with the best F, or against the single one (METRICS
    section 3)."""
    from citeforge.engines.answer_models import BertScore

    rows = []
    for run, item, texts in correctness.gold_answers(inputs, single):
        if texts:
            rows.append(((run, item.row), correctness.air_text(item, inputs), texts))
    try:
        scorer = BertScore(*inputs.tools.models.bertscore)
    except (InputError, MissingExtraError) as error:
        raise CannotError(str(error)) from error
    found = scorer.best([r[1] for r in rows], [r[2] for r in rows])
    for at, name in enumerate("PRF"):
        values = {key: scores[at] for (key, _, _), scores in zip(rows, found, strict=True)}
        full = f"BERTScore.{name}@1gold" if single else f"BERTScore.{name}"
        yield full, mean_sample(full, inputs.column(values))


def mauve_text(question: str, answer: str) -> str:
    """Question and answer, cut to 100 words, trailing punctuation removed (ALCE's code)."""
    words = f"{question} {answer}".split()[:100]
    return " ".join(words).rstrip(string.punctuation)


def _human(gold: list[Gold]) -> str | None:
    """ALCE's ``answer``, which ASQA has beside its long answers; else the first of those."""
    for kind in ("answer", "long_answer"):
        for piece in gold:
            if piece.kind == kind and piece.text is not None:
                return piece.text
    return None


def mauve(inputs: Inputs) -> Samples:
    """MAUVE against the gold long answers; one number a run, without an interval."""
    from citeforge.engines.answer_models import mauve as compute

    values = []
    for items in inputs.runs:
        human, written = [], []
        for item in items:
            answer = _human(inputs.gold[item.row])
            if answer is not None:
                human.append(mauve_text(item.query, answer))
                written.append(mauve_text(item.query, correctness.alce_text(item, inputs)))
        if not human:
            raise CannotError("needs long answers (ASQA, ELI5) or gold answers")
        try:
            values.append(compute(human, written, inputs.tools.models.mauve))
        except (InputError, MissingExtraError) as error:
            raise CannotError(str(error)) from error
    n = len(inputs.benchmark.query_ids)
    sums = np.zeros((len(values), n, 1))
    sums[:, 0, 0] = values
    nothing = np.full((len(values), n), np.nan)
    yield "MAUVE", Sample("MAUVE", sums, lambda s: s[..., 0], nothing, has_interval=False)


def token_f1(prediction: str, answer: str) -> float:
    """F1 of normalised tokens (SQuAD's); two texts without any agree."""
    a, b = normalise_answer(prediction).split(), normalise_answer(answer).split()
    if not a or not b:
        return float(a == b)
    shared = sum((Counter(a) & Counter(b)).values())
    if not shared:
        return 0.0
    p, r = shared / len(a), shared / len(b)
    return 2 * p * r / (p + r)


def qa(inputs: Inputs) -> Samples:
    """QA-EM, QA-F1 and QA-Hit of ASQA: a QA model reads the output (ALCE, section 3)."""
    from citeforge.engines.extractive_qa import ExtractiveQa

    pairs = {
        (run, item.row): (item, [g for g in inputs.gold[item.row] if g.kind == "qa_pair"])
        for run, item in inputs.items()
    }
    known = {k: v for k, v in pairs.items() if v[1]}
    if not known:
        raise CannotError("needs qa_pairs (ASQA)")
    try:
        model = ExtractiveQa(inputs.tools.models.qa)
    except InputError as error:
        raise CannotError(str(error)) from error
    columns: dict[str, Rows] = {"QA-EM": {}, "QA-F1": {}, "QA-Hit": {}}
    asked = [
        (gold.text or "", text)
        for item, golds in known.values()
        for text in [correctness.alce_text(item, inputs)]
        for gold in golds
    ]
    spans = iter(model.answers(asked))
    for key, (_, golds) in known.items():
        exact, overlap = [], []
        for gold in golds:
            predicted = next(spans)
            normal = normalise_answer(predicted)
            exact.append(any(normal == normalise_answer(a) for a in gold.aliases))
            overlap.append(max((token_f1(predicted, a) for a in gold.aliases), default=0.0))
        columns["QA-EM"][key] = sum(exact) / len(exact)
        columns["QA-F1"][key] = sum(overlap) / len(overlap)
        columns["QA-Hit"][key] = float(all(exact))
    for name, values in columns.items():
        yield name, mean_sample(name, inputs.column(values))


def alce_rouge(inputs: Inputs) -> Samples:
    """ALCE's ROUGE-Lsum: better of the two ASQA long answers by F, or the answer of ELI5; stemmer,
    lower case, one sentence a line."""
    try:
        from rouge_score.rouge_scorer import RougeScorer
    except ImportError as error:
        raise CannotError("needs rouge-score: pip install 'citeforge[scores]'") from error
    if inputs.tools.segmenter is None:
        raise CannotError(inputs.tools.why_no_segmenter or "needs a segmenter")
    segmenter = inputs.tools.segmenter

    def lines(text: str) -> str:
        lowered = text.lower()
        return "\n".join(lowered[s:e] for s, e in segmenter.split(lowered))

    scorer = RougeScorer(["rougeLsum"], use_stemmer=True)
    values: Rows = {}
    for run, item in inputs.items():
        golds = _long_answers(inputs.gold[item.row], inputs)
        if golds:
            output = lines(correctness.alce_text(item, inputs))
            values[run, item.row] = correctness.rouge_lsum(
                output, [lines(g) for g in golds], scorer
            ).f
    if not values:
        raise CannotError("needs long answers (ASQA) or answers (ELI5)")
    yield "ALCE.ROUGE-Lsum", mean_sample("ALCE.ROUGE-Lsum", inputs.column(values))


def _long_answers(gold: list[Gold], inputs: Inputs) -> list[str]:
    golds = [g.text or "" for g in gold if g.kind == "long_answer"]
    if not golds and inputs.task in ("asqa", "eli5"):
        golds = [g.text or "" for g in gold if g.kind == "answer"]
    # ALCE's code knows two long answers and no more.
    return golds[:2] if inputs.protocol == "reference" else golds


def retrieval(inputs: Inputs) -> Samples:
    """P@k, R@k and nDCG@k of the shown passages, in their order, by ir-measures.

    ``reference``: P@k is divided by the distinct passages retrieved, not by k, and a query without
    relevant passages scores 0.
    """
    try:
        import ir_measures
    except ImportError as error:
        raise CannotError("needs ir-measures: pip install 'citeforge[scores]'") from error
    judged = inputs.benchmark.relevant_ids
    if not any(judged):
        raise CannotError("needs relevance judgements")
    if not any(p.id for _, item in inputs.items() for p in item.passages):
        raise CannotError("needs passages with ids")
    names = {
        f"{prefix}@{k}": ir_measures.parse_measure(f"{kind}@{k}")
        for prefix, kind in (("P", "P"), ("R", "R"), ("nDCG", "nDCG"))
        for k in DEPTHS
    }
    columns: dict[str, Rows] = {name: {} for name in names}
    for run, items in enumerate(inputs.runs):
        qrels = [ir_measures.Qrel(str(item.row), i, 1) for item in items for i in judged[item.row]]
        ranked = [
            ir_measures.ScoredDoc(str(item.row), name, float(-place))
            for item in items
            for place, name in enumerate(distinct_ids(item))
        ]
        back = {str(measure): name for name, measure in names.items()}
        for found in ir_measures.iter_calc(list(names.values()), qrels, ranked):
            columns[back[str(found.measure)]][run, int(found.query_id)] = found.value
        if inputs.protocol == "reference":
            for item in items:
                wanted = set(judged[item.row])
                for k in DEPTHS:
                    top = set(distinct_ids(item)[:k])
                    hits = len(top & wanted)
                    columns[f"P@{k}"][run, item.row] = hits / len(top) if top else 0.0
                    columns[f"R@{k}"][run, item.row] = hits / len(wanted) if wanted else 0.0
    for name, values in columns.items():
        yield name, mean_sample(name, inputs.column(values))


def distinct_ids(item: Item) -> list[str]:
    """Ids of the shown passages in order, each once."""
    return list(dict.fromkeys(p.id for p in item.passages if p.id))
