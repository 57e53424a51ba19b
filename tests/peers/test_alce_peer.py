"""ALCE's ``eval.py`` beside our ``reference``."""

import json
import logging
import random
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from citeforge.evaluator.statements.inputs import Inputs
from citeforge.package.items import Gold, Passage
from conftest_evaluator import gold
from engines.text.test_punkt import nltk_data
from peers import hard_answers as hard

__all__ = ["nltk_data"]
N_QUESTIONS = 200
Rows = list[tuple[str, str, tuple[Passage, ...]]]
Evaluator = Callable[..., dict[str, float]]


class MeanAggregator:
    """The plain mean instead of an unseeded bootstrap's midpoint (docs/definitions.md#alce)."""

    def __init__(self) -> None:
        self.values: list[float] = []

    def add_scores(self, scores: dict[str, Any]) -> None:
        self.values.append(scores["rougeLsum"].fmeasure)

    def aggregate(self) -> dict[str, Any]:
        mid = types.SimpleNamespace(fmeasure=float(np.mean(self.values)))
        return {"rougeLsum": types.SimpleNamespace(mid=mid)}


@pytest.fixture
def functions(
    peer: Callable[[str], Path], nltk_data: Path, monkeypatch: pytest.MonkeyPatch
) -> dict[str, Any]:
    """What ``eval.py`` defines; its model is :func:`hard.entails`."""
    checkout = peer("ALCE")
    for name in ("torch", "transformers"):
        stub = types.ModuleType(name)
        stub.__getattr__ = lambda attribute: object  # type: ignore[method-assign]
        monkeypatch.setitem(sys.modules, name, stub)
    monkeypatch.delitem(sys.modules, "utils", raising=False)
    monkeypatch.syspath_prepend(str(checkout))
    result: dict[str, Any] = {"__name__": "alce_eval"}
    exec(compile((checkout / "eval.py").read_text(), "eval.py", "exec"), result)
    sys.modules.pop("utils", None)
    result["_run_nli_autoais"] = lambda passage, claim: int(hard.entails(passage, claim))
    result["autoais_model"] = object()
    result["scoring"] = types.SimpleNamespace(BootstrapAggregator=MeanAggregator)
    monkeypatch.setattr(logging.getLogger("alce_eval"), "disabled", True)
    return result


@pytest.fixture
def evaluator(
    functions: dict[str, Any],
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> Evaluator:
    """Run ``main()`` on items; the file's name decides whether it is QAMPARI."""
    folder = tmp_path_factory.mktemp("alce")

    def run(task: str, items: list[dict[str, Any]], *options: str) -> dict[str, float]:
        path = folder / f"{task}.json"
        path.write_text(json.dumps({"data": items}))
        monkeypatch.setattr(sys, "argv", ["eval.py", "--f", str(path), *options])
        functions["main"]()
        result: dict[str, float] = json.loads(Path(f"{path}.score").read_text())
        return result

    return run


def item_of(
    row: tuple[str, str, tuple[Passage, ...]], pieces: list[Gold], task: str
) -> dict[str, Any]:
    """An item in ALCE's layout."""
    question, output, shown = row
    item: dict[str, Any] = {
        "question": question,
        "output": output,
        "docs": [{"title": p.title, "text": p.text} for p in shown],
    }
    for piece in pieces:
        if piece.kind == "answer":
            item["answer"] = piece.text
        elif piece.kind == "long_answer":
            item.setdefault("annotations", []).append({"long_answer": piece.text})
        elif piece.kind == "qa_pair":
            pair = {"question": piece.text, "short_answers": list(piece.aliases)}
            item.setdefault("qa_pairs", []).append(pair)
        elif piece.kind == "answer_list":
            item.setdefault("answers", []).append(list(piece.aliases))
        else:
            item.setdefault("claims", []).append(piece.text)
    return item


def _short(rng: random.Random, output: str) -> list[str]:
    """Aliases, some of which stand in the output."""
    words = output.split() or ["nothing"]
    at = rng.randrange(len(words))
    return [rng.choice(["Io", "the moon", "U.S."]), " ".join(words[at : at + rng.randint(1, 3)])]


def gold_of(task: str, rng: random.Random, output: str) -> list[Gold]:
    """Gold of a task, near to the output and far from it."""
    text = hard.KINDS["uncited"](rng, 3)
    if task == "qampari":
        return [gold("answer_list", aliases=_short(rng, output)) for _ in range(rng.randint(1, 7))]
    if task == "eli5":
        claims = [gold("claim", hard.KINDS["uncited"](rng, 1)) for _ in range(3)]
        return [*claims, gold("answer", text)]
    longs = [gold("long_answer", hard.KINDS["uncited"](rng, 3)) for _ in range(rng.choice([2, 3]))]
    pairs = [gold("qa_pair", f"q{i}?", aliases=_short(rng, output)) for i in range(2)]
    return [*pairs, *longs, gold("answer", text)]


def make(task: str, kind: str) -> tuple[Rows, list[list[Gold]], list[dict[str, Any]]]:
    rows = hard.make_items(kind, N_QUESTIONS, seed=2)
    golds = [
        gold_of(task, random.Random(f"{task} {kind} {i}"), row[1]) for i, row in enumerate(rows)
    ]
    items = [item_of(row, pieces, task) for row, pieces in zip(rows, golds, strict=True)]
    return rows, golds, items


CITATIONS = {"ALCE.CitRec": "citation_rec", "ALCE.CitPrec": "citation_prec"}
NAMES = {
    "asqa": {
        **CITATIONS,
        "ALCE.Length": "length",
        "ALCE.StrEM": "str_em",
        "ALCE.StrHit": "str_hit",
        "ALCE.ROUGE-Lsum": "rougeLsum",
    },
    "eli5": {
        **CITATIONS,
        "ALCE.Length": "length",
        "ALCE.ClaimRec": "claims_nli",
        "ALCE.ROUGE-Lsum": "rougeLsum",
    },
    "qampari": {
        **CITATIONS,
        "ALCE.Length": "length",
        "QAMPARI.NumPreds": "num_preds",
        "QAMPARI.P": "qampari_prec",
        "QAMPARI.R": "qampari_rec",
        "QAMPARI.R5": "qampari_rec_top5",
        "QAMPARI.F1": "qampari_f1",
        "QAMPARI.F1-5": "qampari_f1_top5",
    },
}
SCALE_ONE = {"ALCE.Length", "QAMPARI.NumPreds"}
COUNTERS = ["ALCE.Multi", "ALCE.MultiSupported", "ALCE.Overcited"]


def printed_counters(inputs: Inputs) -> str:
    """The line that ALCE prints, from our figures."""
    result = [hard.totals(inputs, COUNTERS)[name] for name in COUNTERS]
    return (
        "Among all sentences, {:.2f}% have multiple citations, among which {:.2f}% are supported "
        "by the joint set, among which {:.2f}% overcite."
    ).format(*(100 * value for value in result))


@pytest.mark.parametrize("kind", list(hard.KINDS))
@pytest.mark.parametrize("task", ["asqa", "eli5", "qampari"])
def test_every_figure(
    evaluator: Evaluator, capsys: pytest.CaptureFixture[str], task: str, kind: str
) -> None:
    rows, golds, items = make(task, kind)
    options: list[tuple[list[str], dict[str, Any]]] = [
        ([], {}),
        (["--at_most_citations", "1"], {"at_most_citations": 1}),
    ]
    if task == "qampari":
        options.append((["--cot"], {"cot": True}))
    more = ["--claims_nli"] if task == "eli5" else []
    for given, tools in options:
        theirs = evaluator(task, items, "--citations", *more, *given)
        printed = capsys.readouterr().out
        inputs = hard.make_inputs(rows, task, golds, **tools)
        ours = hard.totals(inputs, list(NAMES[task]))
        expected = {
            name: theirs[key] / (1 if name in SCALE_ONE else 100)
            for name, key in NAMES[task].items()
        }
        assert ours == pytest.approx(expected, abs=1e-9, nan_ok=True)
        if "Among all sentences" in printed:
            assert printed_counters(inputs) in printed


def test_mauve_reads_the_same_texts_and_gives_the_same_number(
    functions: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.undo()  # the real torch and transformers are needed here
    import mauve

    from citeforge.engines.models import answer_models
    from evaluator.measures.alce.test_model_measures import tiny_gpt2

    model = str(tiny_gpt2(tmp_path / "gpt2-tiny"))
    rows, golds, items = make("asqa", "several marks")
    for item in items:
        item["output"] = functions["remove_citations"](item["output"].strip().split("\n")[0])
    real, states = mauve.compute_mauve, answer_models._last_states
    asked: dict[str, Any] = {}
    read: list[list[str]] = []

    def compute(**given: Any) -> Any:
        asked.update(given, featurize_model_name=model, device_id=-1, verbose=False)
        return real(**asked)

    def last_states(network: Any, tokenizer: Any, texts: list[str]) -> Any:
        read.append(texts)
        return states(network, tokenizer, texts)

    with monkeypatch.context() as patch:
        patch.setattr(mauve, "compute_mauve", compute)
        theirs = functions["compute_mauve"](items)
    monkeypatch.setattr(answer_models, "_last_states", last_states)
    monkeypatch.setattr(answer_models, "locate", lambda name: (model, "tiny"))
    ours = hard.totals(hard.make_inputs(rows, "asqa", golds), ["MAUVE"])
    assert read == [asked["p_text"], asked["q_text"]]
    assert 100 * ours["MAUVE"] == pytest.approx(theirs, abs=1e-9)
