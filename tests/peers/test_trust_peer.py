"""Trust-Align's ``trust_eval`` beside our ``reference``."""

import json
import random
import sys
import types
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from citeforge.package.items import Gold
from conftest_evaluator import gold
from peers import hard_answers as hard
from peers.frozen import FrozenNumbers, Program

EVALUATOR = Program(
    "trust_eval",
    "declare-lab/trust-align",
    "trust_eval: Evaluator.compute_metrics(), with a sentence of refusal of our own; a hash of "
    "both texts stands in for the NLI model, and gold is looked for in passages by its functions",
    "test_trust_peer.py",
)
N_QUESTIONS = 20
REFUSAL = "Nothing in these sources says so"
REFUSALS = (
    f"{REFUSAL}.",
    f"Sorry! {REFUSAL} [1]. Rome is old [2].",
    "Nothing in the sources says this. [3]",
    "Nothing [1] in these [2] sources [1] says so [3][2].",
    "Nothing in sources.",
)
TYPES = {"asqa": "em", "qampari": "em5", "eli5": "cm"}
CORRECT = {"em": "calib_str_em_f1", "em5": "calib_qampari_em_f1", "cm": "calib_claims_nli_f1"}
STUBS = (
    "torch", "torch.distributed", "transformers", "vllm", "vllm.transformers_utils",
    "vllm.transformers_utils.tokenizers", "colorlog",
)  # fmt: skip


def run_evaluator(checkout: Path, task: str, items: list[dict[str, Any]]) -> dict[str, float]:
    """The Trust-Score and its parts that ``Evaluator`` computes; it needs fuzzywuzzy."""
    package = types.ModuleType("trust_eval")
    package.__path__ = [str(checkout / "trust_eval" / "trust_eval")]
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        hard.install_punkt(Path(folder), patch)
        for name in STUBS:
            stub = types.ModuleType(name)
            stub.__getattr__ = lambda attribute: object  # type: ignore[method-assign]
            patch.setitem(sys.modules, name, stub)
        logging = types.ModuleType("trust_eval.logging_config")
        logging.logger = types.SimpleNamespace(  # type: ignore[attr-defined]
            info=lambda *words: None, warning=lambda *words: None
        )
        patch.setitem(sys.modules, "trust_eval", package)
        patch.setitem(sys.modules, "trust_eval.logging_config", logging)
        from trust_eval import evaluator, metrics  # type: ignore[import-not-found]

        for name in STUBS:  # SciPy asks what torch is
            patch.delitem(sys.modules, name)
        patch.setattr(metrics, "_run_nli_autoais", lambda *texts: int(hard.entails(*texts[:2])))
        for item in items:
            for doc in item["docs"]:
                doc["answers_found"] = [
                    int(hard.entails(f"{doc['title']} {doc['text']}", aliases[0]))
                    if task == "eli5"
                    else int(metrics._exact_presence(aliases, doc["text"]))
                    for aliases in item["answers"]
                ]
        path = Path(folder) / "data.json"
        path.write_text(json.dumps({"data": items}))
        config = types.SimpleNamespace(
            eval_file=path, result_path=None, refusal_flag=REFUSAL, refusal_threshold=85,
            eval_type=TYPES[task], calib=True, parametric=False, is_qampari=task == "qampari",
            at_most_citations=3,
        )  # fmt: skip
        scores = evaluator.Evaluator(config).compute_metrics()
        for name in ("evaluator", "metrics", "utils", "auto_ais_loader"):
            sys.modules.pop(f"trust_eval.{name}")
    return {
        "Trust.Score": scores["trust_score"],
        "Trust.Refusals": scores["macro_f1"],
        "Trust.Correct": scores[CORRECT[TYPES[task]]],
        "Trust.Citations": scores["answered_citation_f1"],
    }


def gold_of(task: str, rng: random.Random, output: str) -> list[Gold]:
    """Pieces of gold, some of which stand in passages, and some in the output."""
    if task == "eli5":
        return [gold("claim", hard.KINDS["uncited"](rng, 1)) for _ in range(rng.randint(1, 3))]
    kind = "qa_pair" if task == "asqa" else "answer_list"
    words = [word.strip("[]0123456789 .") for word in output.split(",")] + hard.WORDS
    drawn = [rng.choice([*words, "zebra", "quagga", "okapi"]) for _ in range(rng.randint(1, 4))]
    if rng.random() < 0.4:
        drawn = ["zebra"]
    return [gold(kind, "q?", aliases=[word, f"{word} of it"]) for word in drawn]


@pytest.mark.parametrize("kind", hard.KINDS)
@pytest.mark.parametrize("task", TYPES)
def test_every_part(printed: FrozenNumbers, tmp_path: Path, task: str, kind: str) -> None:
    rows, golds, items = [], [], []
    for i, (question, output, shown) in enumerate(hard.make_items(kind, N_QUESTIONS, seed=5)):
        rng = random.Random(f"{task} {kind} {i}")
        text = rng.choice(REFUSALS) if rng.random() < 0.3 else output
        rows.append((question, text, shown))
        golds.append(gold_of(task, rng, output))
        items.append(
            {
                "question": question,
                "output": text,
                "docs": [{"title": p.title, "text": p.text} for p in shown],
                "answers": [[g.text] if task == "eli5" else list(g.aliases) for g in golds[-1]],
            }
        )
    theirs = printed(EVALUATOR, f"{task}, {kind}", run_evaluator, task, items)
    wordings = tmp_path / "wordings.yaml"
    wordings.write_text(f"trust_refusal: {REFUSAL}\n")
    ours = hard.totals(hard.make_inputs(rows, task, golds, wordings=wordings), list(theirs))
    assert ours == pytest.approx({k: v / 100 for k, v in theirs.items()}, abs=1e-9)
