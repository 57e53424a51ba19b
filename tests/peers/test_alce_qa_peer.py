"""ALCE's QA measures with the pipeline that it was written for, beside ours."""

import json
import os
import random
import subprocess
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from citeforge.engines.models.extractive_qa import ExtractiveQa
from citeforge.evaluator.statements.protocols import text_of
from citeforge.evaluator.submissions.inputs import Inputs
from citeforge.package.items import Gold, Passage
from conftest_evaluator import gold
from peers import hard_answers as hard
from peers.frozen import FrozenNumbers, Program
from peers.tiny_models import make_qa_model

QA = Program(
    "alce_qa",
    "princeton-nlp/ALCE",
    "eval.py: compute_qa() with transformers 4.28.1, which ALCE states, and the model of "
    "tiny_models.py",
    "test_alce_qa_peer.py",
)
N_QUESTIONS = 8
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


def run_qa(checkout: Path, items: list[dict[str, Any]], folder: Path) -> dict[str, Any]:
    """Scores and answers of ALCE's code."""
    interpreter = os.environ.get("CITEFORGE_PEERS_PYTHON")
    if not interpreter:
        pytest.skip("CITEFORGE_PEERS_PYTHON names no interpreter with transformers 4.28.1")
    program = Path(__file__).with_name("alce_qa_program.py")
    (folder / "items.json").write_text(json.dumps(items))
    files = (folder / "peer_model", folder / "items.json", folder / "out.json")
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    subprocess.run(
        [interpreter, program, checkout, *files],
        check=True,
        env={**environment, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
    )
    result: dict[str, Any] = json.loads(files[-1].read_text())
    return result


def test_answers_and_scores(printed: FrozenNumbers, tmp_path: Path) -> None:
    rows, golds = make()
    model = make_qa_model(tmp_path / "model")
    inputs: Inputs = hard.make_inputs(rows, "asqa", golds, qa_model=str(model))
    texts = [text_of(item, inputs, "alce") for item in inputs.runs[0]]
    items: list[dict[str, Any]] = [
        {
            "output": text,
            "qa_pairs": [{"question": g.text, "short_answers": list(g.aliases)} for g in pairs],
        }
        for text, pairs in zip(texts, golds, strict=True)
    ]
    run = partial(run_qa, folder=tmp_path)
    theirs = printed(QA, f"{len(KINDS)} kinds of answer", run, items)
    answers = ExtractiveQa(str(model)).answers(
        [(g.text or "", text) for text, pairs in zip(texts, golds, strict=True) for g in pairs]
    )
    assert list(answers) == theirs["answers"]
    # No answer, cut and whole ones are among them.
    assert "" in theirs["answers"]
    assert len(set(theirs["answers"])) > 50
    ours = hard.totals(inputs, ["QA-EM", "QA-F1", "QA-Hit"])
    assert {name: 100 * value for name, value in ours.items()} == pytest.approx(
        theirs["scores"], abs=1e-9
    )
    assert 0 < theirs["scores"]["QA-EM"] < theirs["scores"]["QA-F1"]
