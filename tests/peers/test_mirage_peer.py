"""MIRAGE's ``evaluation.py`` beside our ``reference``."""

import random
import sys
import types
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from citeforge.evaluator.submissions.inputs import Inputs
from peers import hard_answers as hard
from peers.frozen import FrozenNumbers, Program

EVALUATION = Program(
    "mirage",
    "nlpai-lab/MIRAGE",
    "LLM_Evaluator.calculate_EM_loose() of each answer, and Metrics.get_analysis_and_report()",
    "test_mirage_peer.py",
)
N_QUESTIONS = 20
NAMES = {"Vulnerable": "nv", "Acceptable": "ca", "Insensitive": "ci", "Misread": "cm"}
STUBS = (
    "torch", "torch.distributed", "vllm", "vllm.distributed", "datasets", "openai", "jsonlines",
    "retriever",
)  # fmt: skip


def run_evaluation(checkout: Path, three: list[list[str]], golds: list[list[str]]) -> Any:
    """Counts of the four kinds of query; what loads models and data sets is not called."""
    with pytest.MonkeyPatch.context() as patch:
        for name in STUBS:
            stub = types.ModuleType(name)
            stub.__getattr__ = lambda attribute: _Anything()  # type: ignore[method-assign]
            patch.setitem(sys.modules, name, stub)
        patch.syspath_prepend(str(checkout))
        import evaluation  # type: ignore[import-not-found]
        from LLM import LLM_Evaluator  # type: ignore[import-not-found]

        match = LLM_Evaluator.calculate_EM_loose
        base, mixed, oracle = (
            [
                {"EM_label": match(None, gold, [output])}
                for gold, output in zip(golds, outputs, strict=True)
            ]
            for outputs in three
        )
        report = evaluation.Metrics("", "").get_analysis_and_report(
            base, oracle, mixed, "system", "retriever", "top5"
        )
        for name in ("evaluation", "LLM", "utils"):
            sys.modules.pop(name, None)
    return report["Counts"]["metrics"]


class _Anything:
    """Stands for whatever a module offers that is not needed here."""

    def __call__(self, *args: object, **kwargs: object) -> "_Anything":
        return self

    def __getitem__(self, key: object) -> "_Anything":
        return self


def gold_of(rng: random.Random, outputs: list[str]) -> list[str]:
    """Short answers: a stretch of one of the answers, in other letters, and one of no answer."""
    text = rng.choice([*outputs, "zebra"])
    start = rng.randrange(max(len(text) - 6, 1))
    stretch = text[start : start + rng.randint(3, 9)] or "zebra"
    return [rng.choice([stretch, stretch.upper(), stretch.lower(), "quagga"]), "okapi"]


def with_gold(inputs: Inputs, golds: list[list[str]]) -> Inputs:
    """Give the benchmark of hand-made inputs the short answers of its queries."""
    world: Any = inputs.benchmark
    ids = world.query_ids
    none = pa.array([None] * len(ids), pa.string())
    world.queries = pa.table({"_id": ids})
    world.mappings = {"relevant": pa.table({"query-id": ids, "short_answers": none})}
    world.gold = pa.table({"query_id": ids, "aliases": golds})
    return inputs


@pytest.mark.parametrize("kind", hard.KINDS)
def test_the_four_counts(printed: FrozenNumbers, kind: str) -> None:
    rng = random.Random(kind)
    drawn = [hard.make_items(kind, N_QUESTIONS, seed=seed) for seed in (7, 8, 9)]
    three = [[output for _, output, _ in rows] for rows in drawn]
    # Systems often say the same with and without noise.
    three[1] = [rng.choice([m, m, o]) for m, o in zip(three[1], three[2], strict=True)]
    golds = [gold_of(rng, list(outputs)) for outputs in zip(*three, strict=True)]
    theirs = printed(EVALUATION, kind, run_evaluation, three, golds)
    base, mixed, oracle = (
        with_gold(hard.make_inputs([("q", output, ()) for output in outputs]), golds)
        for outputs in three
    )
    inputs = replace(mixed, beside={"none": base, "oracle": oracle})
    ours = hard.totals(inputs, [f"MIRAGE.{name}" for name in NAMES])
    expected = {f"MIRAGE.{name}": theirs[key] / N_QUESTIONS for name, key in NAMES.items()}
    assert ours == pytest.approx(expected, abs=1e-9)
