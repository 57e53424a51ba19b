"""ALCE's QA measures with the pipeline that it was written for, beside ours.

``CITEFORGE_PEERS_PYTHON`` names an interpreter with transformers 4.28.1, which ALCE states.
"""

import json
import os
import random
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from citeforge.engines.models.extractive_qa import ExtractiveQa
from citeforge.evaluator.measures.alce.citations import alce_text
from citeforge.evaluator.statements.inputs import Inputs
from citeforge.package.items import Gold, Passage
from conftest_evaluator import gold
from peers import hard_answers as hard

N_QUESTIONS = 16
KINDS = [k for k in hard.KINDS if k not in ("long", "many")][::2]


def make() -> tuple[list[tuple[str, str, tuple[Passage, ...]]], list[list[Gold]]]:
    """Rows of many kinds of answer, with two questions each."""
    rows, golds = [], []
    for kind in KINDS:
        for i, row in enumerate(hard.make_items(kind, N_QUESTIONS, seed=3)):
            rng = random.Random(f"qa {kind} {i}")
            rows.append(row)
            golds.append(
                [
                    gold(
                        "qa_pair",
                        f"which {hard.KINDS['uncited'](rng, 1)[:40]}?",
                        aliases=["Io", rng.choice(hard.WORDS), "!"],
                    )
                    for _ in range(2)
                ]
            )
    return rows, golds


@pytest.fixture(scope="module")
def interpreter() -> str:
    result = os.environ.get("CITEFORGE_PEERS_PYTHON")
    if not result:
        pytest.skip("CITEFORGE_PEERS_PYTHON names no interpreter with transformers 4.28.1")
    return result


def test_answers_and_scores(peer: Callable[[str], Path], interpreter: str, tmp_path: Path) -> None:
    rows, golds = make()
    assert len(KINDS) >= 10
    assert len(rows) >= 200
    model = tmp_path / "model"
    inputs: Inputs = hard.make_inputs(rows, "asqa", golds, qa_model=str(model))
    texts = [alce_text(item, inputs) for item in inputs.runs[0]]
    items: list[dict[str, Any]] = [
        {
            "output": text,
            "qa_pairs": [{"question": g.text, "short_answers": list(g.aliases)} for g in pairs],
        }
        for text, pairs in zip(texts, golds, strict=True)
    ]
    (tmp_path / "items.json").write_text(json.dumps(items))
    program = Path(__file__).with_name("alce_qa_program.py")
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    subprocess.run(
        [interpreter, program, peer("ALCE"), model, tmp_path / "items.json", tmp_path / "out"],
        check=True,
        env={**environment, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
    )
    theirs = json.loads((tmp_path / "out").read_text())
    qa = ExtractiveQa(str(model))
    answers = [
        qa.answer(g.text or "", text)
        for text, pairs in zip(texts, golds, strict=True)
        for g in pairs
    ]
    assert answers == theirs["answers"]
    # Both verdicts, cut and whole answers stand among them.
    assert "" in answers
    assert len(set(answers)) > 100
    ours = hard.totals(inputs, ["QA-EM", "QA-F1", "QA-Hit"])
    for name, value in theirs["scores"].items():
        assert 100 * ours[name] == pytest.approx(value, abs=1e-9)
    assert theirs["scores"]["QA-F1"] > 0
