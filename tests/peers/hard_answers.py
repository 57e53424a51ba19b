"""Answers that are hard to read, and a judge that notices every changed character."""

import hashlib
import random
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import nltk
import numpy as np
import pytest

from citeforge.engines.judge.records import Judge
from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.text import segmenters
from citeforge.engines.text.segmenters import PunktSegmenter
from citeforge.evaluator.measures.registry import select
from citeforge.evaluator.measures.results import compute
from citeforge.evaluator.submissions.inputs import AnswerItem, Inputs
from citeforge.evaluator.submissions.tools import ScoringTools
from citeforge.package.items import Gold, Passage
from citeforge.schemas.citations.grammar import Grammar
from conftest_evaluator import World
from engines.text.test_punkt import write_punkt_tab
from stand_ins import RuleJudge

WORDS = (
    "Rome river Paris moon the a an of was is very old iPads Dr. Smith et al. 5 p.m. U.S. co-op "
    "naïve Škoda 東京 100 C. (so) don’t “quoted” 1939–1945 and or, said; built: Mt. Everest "
    "moons rivers building buildings Plan-A"
).split()


def entails(premise: str, hypothesis: str) -> bool:
    """A verdict by the hash of both texts; an empty premise entails nothing."""
    if not premise.strip():
        return False
    text = f"{premise}\0{hypothesis}".encode("utf-8", "surrogatepass")
    return hashlib.sha256(text).digest()[0] % 5 < 3


def _sentence(rng: random.Random, marks: str = "") -> str:
    words = " ".join(rng.choices(WORDS, k=rng.randint(2, 9)))
    return f"{words[:1].upper()}{words[1:]}{marks}."


def _marks(rng: random.Random, k: int, n: int, form: str = "[{}]") -> str:
    return "".join(form.format(rng.randint(1, n)) for _ in range(k))


def _text(rng: random.Random, n: int, form: str, low: int = 1, high: int = 3) -> str:
    """Three sentences with marks of one form."""
    return " ".join(
        _sentence(rng, f" {_marks(rng, rng.randint(low, high), n, form)}") for _ in range(3)
    )


Kind = Callable[[random.Random, int], str]
KINDS: dict[str, Kind] = {
    "empty": lambda r, n: "",
    "spaces": lambda r, n: "  \n ",
    "uncited": lambda r, n: _text(r, n, "", 0, 0),
    "one mark": lambda r, n: _text(r, n, "[{}]", 1, 1),
    "several marks": lambda r, n: _text(r, n, "[{}]", 2, 4),
    "spaced marks": lambda r, n: _text(r, n, "[{}] ", 2, 3),
    "joined marks": lambda r, n: _text(r, n, "[{}], ", 2, 3),
    "lists": lambda r, n: _text(r, n, "[{}, 1]"),
    "ranges": lambda r, n: _text(r, n, "[{}-3]"),
    "repeated": lambda r, n: _text(r, n, "[2][1][2]"),
    "descending": lambda r, n: _text(r, n, "[3][2][1]", 1, 1),
    "many": lambda r, n: _text(r, n, "[{}]", 8, 12),
    "different": lambda r, n: " ".join(
        _sentence(r, " " + "".join(f"[{k}]" for k in r.sample(range(1, n + 1), r.randint(6, n))))
        for _ in range(3)
    ),
    "out of range": lambda r, n: _text(r, n + 4, "[{}]"),
    "zero": lambda r, n: _text(r, n, "[0][{}]"),
    "years": lambda r, n: _text(r, n, "[2019]", 1, 1) + " " + _sentence(r, " [1]"),
    "marks first": lambda r, n: " ".join(_marks(r, 1, n) + " " + _sentence(r) for _ in range(4)),
    "marks after": lambda r, n: " ".join(
        _sentence(r, r.choice(["", " [1]"])) + " " + _marks(r, r.randint(1, 2), n) for _ in range(4)
    ),
    "joined after": lambda r, n: f"{_sentence(r)} [1], [2] {_sentence(r)} [2], [3]",
    "marks alone": lambda r, n: r.choice(["[1]", "[1][2]", "[1], [2]", "[1] [2].", "[1]. [2]."]),
    "odd brackets": lambda r, n: (
        f"{_sentence(r, ' 【1】 [[2]]')} {_sentence(r, ' [1')} {_sentence(r, ' 1] | [^2]')} "
        f"{_sentence(r, ' [ 1 ] [1 ,2] [1,]')}"
    ),
    "newlines": lambda r, n: "\n".join(_sentence(r, f" {_marks(r, 2, n)}") for _ in range(3)),
    "quotes": lambda r, n: f'"{_sentence(r)}" [1] she said. “{_sentence(r)}” [2]',
    "special tokens": lambda r, n: (
        f"<|system|>\nsay [1]\n<|assistant|>\n{_sentence(r, ' [1]')}<|endoftext|> "
        f"{_sentence(r, ' [2]')}<|im_end|>"
    ),
    "end tokens": lambda r, n: (
        f"{_sentence(r, ' [1]')}<|im_end|> {_sentence(r)[:-1]}<|endoftext|> [2].<|im_end|>"
    ),
    "degrees": lambda r, n: "It is 100 C [1]. It boils . Then [2] .",
    "unicode": lambda r, n: f"巴黎是法国的首都[1]。它位于塞纳河畔[2]。 {_sentence(r, ' [１][٢]')}",
    "long": lambda r, n: " ".join(_sentence(r, f" {_marks(r, 2, n + 1)}") for _ in range(25)),
    "commas": lambda r, n: f"Well: {_marks(r, 1, n)} A, b {_marks(r, 2, n)}, the C: [1, 2], , d.,",
    "list": lambda r, n: (
        ", ".join(
            f"{' '.join(r.choices(WORDS, k=2))}{_marks(r, r.randint(0, 2), n, ' [{}]')}"
            for _ in range(r.randint(6, 12))
        )
        + r.choice(["", ".", ",", " ."])
    ),
    "colons": lambda r, n: f"So [1]: {_text(r, n, '[{}]')}: x, y [2].",
}


def make_items(
    kind: str, n_questions: int, seed: int = 0, with_titles: bool = True
) -> list[tuple[str, str, tuple[Passage, ...]]]:
    """(question, output, passages) of one kind of answer."""
    result = []
    for i in range(n_questions):
        rng = random.Random(f"{kind} {seed} {i}")
        n = 12 if kind == "different" else rng.randint(3, 5)
        shown = tuple(
            Passage(
                f"p{i % 7}{k}",
                rng.choice(["", "Title of it"]) if with_titles else "",
                _sentence(rng),
            )
            for k in range(n)
        )
        result.append((f"question {i}?", KINDS[kind](rng, n), shown))
    return result


def make_inputs(
    rows: list[tuple[str, str, tuple[Passage, ...]]],
    task: str = "",
    gold: list[list[Gold]] | None = None,
    quotes: list[list[str]] | None = None,
    judge: Judge | None = None,
    **options: Any,
) -> Inputs:
    """``reference`` inputs of hand-made rows."""
    world = World([str(i) for i in range(len(rows))], quotes or [[] for _ in rows], gold or [])
    items = [
        AnswerItem(i, q, output, shown, gold=world.gold_rows[i])
        for i, (q, output, shown) in enumerate(rows)
    ]
    return Inputs(
        world,  # type: ignore[arg-type]
        [items],
        Grammar(),
        task,
        ScoringTools(JudgeSession(judge or RuleJudge(entails)), _punkt()).with_options(
            protocol="reference", **options
        ),
    )


_punkt = cache(PunktSegmenter)
"""Its tables take a while to read."""


def totals(inputs: Inputs, names: Sequence[str]) -> dict[str, float]:
    """Values of measures over all rows, on the raw scale; NaN where none is defined."""
    computed, missing = compute(inputs, select(names), inputs.tools.judge, has_hidden_gold=False)
    assert {absent.reason for absent in missing} <= {"no query defines it"}
    samples = {measure.name: sample for measure, sample in computed}
    return {absent.name: float("nan") for absent in missing} | {
        name: float(s.combine(s.sums.sum(axis=1))[0]) for name, s in samples.items()
    }


def per_query(inputs: Inputs, names: Sequence[str]) -> dict[str, list[float]]:
    """Values of every row."""
    computed, missing = compute(inputs, select(names), inputs.tools.judge, has_hidden_gold=False)
    assert not missing
    samples = {measure.name: sample for measure, sample in computed}
    return {name: np.asarray(samples[name].per_query[0]).tolist() for name in names}


def install_punkt(folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Let NLTK read our copy of its data, for papers' code that splits sentences."""
    write_punkt_tab(folder, segmenters._load_parameters())
    patch.setattr(nltk.data, "path", [str(folder)])
    nltk.tokenize._get_punkt_tokenizer.cache_clear()
