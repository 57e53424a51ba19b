"""MAUVE: closeness of question and answer texts to human ones (ALCE)."""

from __future__ import annotations

import string
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from citeforge.evaluator.measures.alce.answers import ALCE, alce_text
from citeforge.evaluator.measures.cannot import CannotError
from citeforge.evaluator.measures.declared import Found, Measure, percent
from citeforge.evaluator.statements.inputs import Inputs
from citeforge.evaluator.statistics.estimates import Measured, Sample
from citeforge.evaluator.tools import Tools
from citeforge.package.items import GoldRows
from citeforge.schemas.errors import InputError, MissingExtraError


def mauve_text(question: str, answer: str) -> str:
    """Question and answer, cut to 100 words, trailing punctuation removed (ALCE's code)."""
    words = f"{question} {answer}".split()[:100]
    return " ".join(words).rstrip(string.punctuation)


def _human(gold: GoldRows) -> str | None:
    """ALCE's ``answer``, which ASQA has beside its long answers; else the first of those."""
    texts = (piece.text for piece in (*gold.answers, *gold.long_answers))
    return next((text for text in texts if text is not None), None)


def mauve(inputs: Inputs, measures: Sequence[Measure]) -> Found:
    """MAUVE against the gold long answers; one number a run, without an interval."""
    from citeforge.engines.models.answer_models import mauve_value as compute

    values = []
    for items in inputs.runs:
        human, outputs = [], []
        for item in items:
            answer = _human(inputs.gold[item.row])
            if answer is not None:
                human.append(mauve_text(item.query, answer))
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
    sample = Sample(sums, lambda s: s[..., 0], nothing, has_interval=False)
    yield "MAUVE", Measured(sample)


def _options(tools: Tools, protocol: str) -> str:
    return Path(tools.options.mauve_model).name


MEASURES = (
    percent(
        "MAUVE",
        "alce",
        "closeness of question and answer texts to human ones",
        needs="answers or long answers, mauve-text, gpt2-large",
        source=ALCE,
        uses=("mauve",),
        compute=mauve,
        options=_options,
    ),
)
