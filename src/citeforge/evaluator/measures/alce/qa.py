"""What a QA model answers from the output (ALCE on ASQA)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from citeforge.evaluator.measures.alce.answers import APPENDIX, alce_text
from citeforge.evaluator.measures.cannot import CannotError
from citeforge.evaluator.measures.columns import Key, means_of_columns
from citeforge.evaluator.measures.declared import Found, Measure, percent
from citeforge.evaluator.statements.inputs import Inputs
from citeforge.evaluator.tools import Tools
from citeforge.schemas.errors import InputError
from citeforge.schemas.text import normalise_answer


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

    pairs = {
        (run, item.row): (item, inputs.gold[item.row].qa_pairs) for run, item in inputs.items()
    }
    with_answers = {k: v for k, v in pairs.items() if v[1]}
    if not with_answers:
        raise CannotError("needs qa_pairs (ASQA)")
    try:
        model = ExtractiveQa(inputs.tools.options.qa_model)
    except InputError as error:
        raise CannotError(str(error)) from error
    rows: dict[Key, tuple[float, float, float]] = {}
    questions = [
        (gold.text or "", text)
        for item, golds in with_answers.values()
        for text in [alce_text(item, inputs)]
        for gold in golds
    ]
    spans = iter(model.answers(questions))
    for key, (_, golds) in with_answers.items():
        exact, overlap = [], []
        for gold in golds:
            predicted = next(spans)
            normal = normalise_answer(predicted)
            exact.append(any(normal == normalise_answer(a) for a in gold.aliases))
            overlap.append(max((token_f1(predicted, a) for a in gold.aliases), default=0.0))
        rows[key] = sum(exact) / len(exact), sum(overlap) / len(overlap), float(all(exact))
    return means_of_columns(inputs, ("QA-EM", "QA-F1", "QA-Hit"), rows)


def _options(tools: Tools, protocol: str) -> str:
    return Path(tools.options.qa_model).name


_qa = partial(
    percent, family="alce", needs="qa_pairs (ASQA), a QA model", source=APPENDIX, uses=("qa",),
    compute=qa, options=_options,
)  # fmt: skip
MEASURES = (
    _qa("QA-EM", definition="qa_pairs that a QA model answers exactly from the output"),
    _qa("QA-F1", definition="token F1 of those answers"),
    _qa("QA-Hit", definition="outputs from which all qa_pairs are answered exactly"),
)
