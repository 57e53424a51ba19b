"""Correctness that ALCE leaves to models: MAUVE, a QA model, and a judge of gold claims."""

import string
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from citeforge.engines.judge.records import Pair
from citeforge.evaluator.measures.alce.answers import ALCE, APPENDIX, alce_text
from citeforge.evaluator.measures.columns import (
    Key,
    Value,
    bounded,
    decided,
    judge_of,
    means_of_columns,
)
from citeforge.evaluator.measures.declared import CannotError, Found, Measure, percent
from citeforge.evaluator.statements.inputs import Inputs
from citeforge.evaluator.statistics.estimates import Measured, Sample
from citeforge.schemas.errors import InputError, MissingExtraError
from citeforge.schemas.text import normalise_answer


def mauve_text(question: str, answer: str) -> str:
    """Question and answer, cut to 100 words, trailing punctuation removed (ALCE's code)."""
    words = f"{question} {answer}".split()[:100]
    return " ".join(words).rstrip(string.punctuation)


def mauve(inputs: Inputs, measures: Sequence[Measure]) -> Found:
    """MAUVE against human answers; one number a run, without an interval.

    The human answer is ALCE's ``answer``, which ASQA has beside its long answers; else the first of
    those.
    """
    from citeforge.engines.models.answer_models import mauve_value as compute

    values = []
    for items in inputs.runs:
        human, outputs = [], []
        for item in items:
            gold = item.gold
            texts = [p.text for p in (*gold.answers, *gold.long_answers) if p.text is not None]
            if texts:
                human.append(mauve_text(item.query, texts[0]))
                outputs.append(mauve_text(item.query, alce_text(item, inputs)))
        if not human:
            raise CannotError("needs long answers (ASQA, ELI5) or gold answers")
        try:
            values.append(compute(human, outputs, inputs.tools.options.mauve_model))
        except (InputError, MissingExtraError) as error:
            raise CannotError(str(error)) from error
    n = len(inputs.benchmark.query_ids)
    sums = np.zeros((len(values), n, 1))
    sums[:, 0, 0] = values
    nothing = np.full((len(values), n), np.nan)
    yield "MAUVE", Measured(Sample(sums, lambda s: s[..., 0], nothing, has_interval=False))


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


def qa(inputs: Inputs, measures: Sequence[Measure]) -> Found:
    """QA-EM, QA-F1 and QA-Hit of ASQA: a QA model reads the output (ALCE, section 3)."""
    from citeforge.engines.models.extractive_qa import ExtractiveQa

    asked = {
        (run, item.row): (alce_text(item, inputs), golds)
        for run, item in inputs.items()
        if (golds := item.gold.qa_pairs)
    }
    if not asked:
        raise CannotError("needs qa_pairs (ASQA)")
    try:
        model = ExtractiveQa(inputs.tools.options.qa_model)
    except InputError as error:
        raise CannotError(str(error)) from error
    questions = [(gold.text or "", text) for text, golds in asked.values() for gold in golds]
    spans = iter(model.answers(questions))
    rows: dict[Key, tuple[float, float, float]] = {}
    for key, (_, golds) in asked.items():
        exact, overlap = [], []
        for gold in golds:
            predicted = next(spans)
            normal = normalise_answer(predicted)
            exact.append(any(normal == normalise_answer(a) for a in gold.aliases))
            overlap.append(max((token_f1(predicted, a) for a in gold.aliases), default=0.0))
        rows[key] = sum(exact) / len(exact), sum(overlap) / len(overlap), float(all(exact))
    return means_of_columns(inputs, ("QA-EM", "QA-F1", "QA-Hit"), rows)


def claim_recall(inputs: Inputs, measures: Sequence[Measure]) -> Found:
    """Share of the claims of a query that its answer entails."""
    judge = judge_of(inputs.tools)
    pairs = {
        (run, item.row): [Pair(alce_text(item, inputs), g.text or "") for g in claims]
        for run, item in inputs.items()
        if (claims := item.gold.claims)
    }
    if not pairs:
        raise CannotError("needs claims (ELI5)")
    judge.ask(p for group in pairs.values() for p in group)
    values = {k: Value.mean([decided(judge, p) for p in group]) for k, group in pairs.items()}
    yield bounded(inputs, "ALCE.ClaimRec", values)


_qa = partial(
    percent, family="alce", needs="qa_pairs (ASQA), a QA model", source=APPENDIX, uses=("qa",),
    compute=qa, options=lambda tools, protocol: Path(tools.options.qa_model).name,
)  # fmt: skip
MEASURES = (
    percent(
        "MAUVE", "alce", "closeness of question and answer texts to human ones",
        needs="answers or long answers, mauve-text, gpt2-large", source=ALCE, uses=("mauve",),
        compute=mauve, options=lambda tools, protocol: Path(tools.options.mauve_model).name,
    ),
    _qa("QA-EM", definition="qa_pairs that a QA model answers exactly from the output"),
    _qa("QA-F1", definition="token F1 of those answers"),
    _qa("QA-Hit", definition="outputs from which all qa_pairs are answered exactly"),
    percent(
        "ALCE.ClaimRec", "alce", "gold claims that the output entails",
        needs="claims (ELI5), a judge", source=ALCE, uses=("judge",), compute=claim_recall,
        unlabelled="it asks whether gold claims follow from the answer, and labels are of what the "
        "answer states",
    ),
)  # fmt: skip
