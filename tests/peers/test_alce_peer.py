"""ALCE's ``eval.py`` beside our ``reference``."""

import io
import json
import random
import re
import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest

from citeforge.evaluator.submissions.inputs import Inputs
from citeforge.package.items import Gold, Passage
from conftest_evaluator import gold
from peers import hard_answers as hard
from peers.frozen import FrozenNumbers, Program
from peers.tiny_models import make_t5
from servers.tiny_nli import cpu_judge

DRAWN_BY = "test_alce_peer.py"
EVAL = Program(
    "alce_eval",
    "princeton-nlp/ALCE",
    "eval.py: main(); a hash of both texts stands in for the NLI model, and the plain mean for the "
    "midpoint of ROUGE's unseeded bootstrap",
    DRAWN_BY,
)
EVAL_T5 = Program(
    "alce_eval_t5", EVAL.repository, "eval.py: main() with the T5 of tiny_models.py", DRAWN_BY
)
MAUVE = Program(
    "alce_mauve", EVAL.repository, "eval.py: the texts that compute_mauve() compares", DRAWN_BY
)
N_QUESTIONS = 20
Rows = list[tuple[str, str, tuple[Passage, ...]]]


class MeanAggregator:
    """The plain mean instead of an unseeded bootstrap's midpoint (docs/measures/alce.md)."""

    def __init__(self) -> None:
        self.values: list[float] = []

    def add_scores(self, scores: dict[str, Any]) -> None:
        self.values.append(scores["rougeLsum"].fmeasure)

    def aggregate(self) -> dict[str, Any]:
        mid = types.SimpleNamespace(fmeasure=float(np.mean(self.values)))
        return {"rougeLsum": types.SimpleNamespace(mid=mid)}


@contextmanager
def eval_functions(checkout: Path, t5: Path | None = None) -> Iterator[dict[str, Any]]:
    """What ``eval.py`` defines; its model is :func:`hard.entails`, or a T5."""
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        hard.install_punkt(Path(folder), patch)
        for name in () if t5 else ("torch", "transformers"):
            stub = types.ModuleType(name)
            stub.__getattr__ = lambda attribute: object  # type: ignore[method-assign]
            patch.setitem(sys.modules, name, stub)
        patch.delitem(sys.modules, "utils", raising=False)
        patch.syspath_prepend(str(checkout))
        patch.chdir(folder)
        functions: dict[str, Any] = {"__name__": "alce_eval"}
        exec(compile((checkout / "eval.py").read_text(), "eval.py", "exec"), functions)
        sys.modules.pop("utils", None)
        functions["scoring"] = types.SimpleNamespace(BootstrapAggregator=MeanAggregator)
        functions["logger"].disabled = True
        if t5:
            loader, tokenizer = functions["AutoModelForSeq2SeqLM"], functions["AutoTokenizer"]
            functions["autoais_model"] = loader.from_pretrained(t5)
            functions["autoais_tokenizer"] = tokenizer.from_pretrained(t5)
        else:
            functions["autoais_model"] = object()
            functions["_run_nli_autoais"] = lambda *texts: int(hard.entails(*texts))
        yield functions


def run_eval(
    checkout: Path,
    task: str,
    items: list[dict[str, Any]],
    options: list[str],
    t5: Path | None = None,
) -> dict[str, Any]:
    """Scores that ``main()`` writes, and the percentages that it prints of sentences."""
    with eval_functions(checkout, t5) as functions, pytest.MonkeyPatch.context() as patch:
        path = Path(f"{task}.json")  # its name decides whether it is QAMPARI
        path.write_text(json.dumps({"data": items}))
        patch.setattr(sys, "argv", ["eval.py", "--f", str(path), "--citations", *options])
        with redirect_stdout(io.StringIO()) as out:
            functions["main"]()
        scores: dict[str, Any] = json.loads(Path(f"{path}.score").read_text())
        return scores | {"sentences": re.findall(r"([\d.]+)%", out.getvalue())}


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
        # What lacks "-A" is another answer.
        listed = [re.sub(r" ?\[\d+\]?|-A", "", part) for part in output.split(",")]
        rng.shuffle(listed)
        own = [[part, "Io"] for part in listed[: rng.randint(0, 8)]]
        others = [_short(rng, output) for _ in range(rng.randint(1, 3))]
        return [gold("answer_list", aliases=aliases) for aliases in own + others]
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
OPTIONS: dict[str, tuple[list[str], dict[str, Any]]] = {
    "": ([], {}),
    "one citation": (["--at_most_citations", "1"], {"at_most_citations": 1}),
    "cot": (["--cot"], {"cot": True}),
}


def assert_same(printed: dict[str, Any], inputs: Inputs) -> None:
    """Hold our figures against what ALCE printed."""
    names = NAMES[inputs.task]
    assert hard.totals(inputs, list(names)) == pytest.approx(
        {name: printed[key] / (1 if name in SCALE_ONE else 100) for name, key in names.items()},
        abs=1e-9,
        nan_ok=True,
    )
    if printed["sentences"]:
        shares = hard.totals(inputs, COUNTERS)
        assert [f"{100 * shares[name]:.2f}" for name in COUNTERS] == printed["sentences"]


@pytest.mark.parametrize("kind", hard.KINDS)
@pytest.mark.parametrize(
    ("task", "option"),
    [(task, o) for task in NAMES for o in OPTIONS if o != "cot" or task == "qampari"],
)
def test_every_figure(printed: FrozenNumbers, task: str, option: str, kind: str) -> None:
    rows, golds, items = make(task, kind)
    words, tools = OPTIONS[option]
    options = [*words, *["--claims_nli"] * (task == "eli5")]
    theirs = printed(
        EVAL,
        f"{task}, {kind}{option and ', ' + option}",
        run_eval,
        task,
        items,
        options,
    )
    assert_same(theirs, hard.make_inputs(rows, task, golds, **tools))


@pytest.fixture(scope="module")
def t5(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_t5(tmp_path_factory.mktemp("t5"))


@pytest.mark.parametrize("kind", ["several marks", "out of range", "marks after"])
def test_every_figure_by_a_model(printed: FrozenNumbers, t5: Path, kind: str) -> None:
    rows, golds, items = make("eli5", kind)
    run = partial(run_eval, t5=t5)
    theirs = printed(EVAL_T5, kind, run, "eli5", items, ["--claims_nli"])
    judge = cpu_judge(t5, "true-t5")
    assert_same(theirs, hard.make_inputs(rows, "eli5", golds, judge=judge))


@pytest.mark.parametrize("kind", ["several marks", "long", "commas"])
def test_mauve_reads_the_same_texts(
    printed: FrozenNumbers, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: str
) -> None:
    """The library's number of the texts that ALCE gives it is ours, too."""
    read: list[list[str]] = []
    import mauve

    from citeforge.engines.models import answer_models
    from evaluator.measures.test_model_measures import tiny_gpt2

    rows, golds, items = make("asqa", kind)

    def run(checkout: Path, items: list[dict[str, Any]]) -> Any:
        asked: dict[str, Any] = {}

        def compute(**given: Any) -> Any:
            asked.update(given)
            return types.SimpleNamespace(mauve=0.0)

        with eval_functions(checkout) as functions, pytest.MonkeyPatch.context() as patch:
            patch.setattr(mauve, "compute_mauve", compute)
            cleaned = [
                item | {"output": functions["remove_citations"](item["output"].split("\n")[0])}
                for item in items
            ]
            functions["compute_mauve"](cleaned)
        return {key: asked[key] for key in ("p_text", "q_text", "max_text_length", "batch_size")}

    theirs = printed(MAUVE, f"asqa, {kind}", run, items)
    model = str(tiny_gpt2(tmp_path / "gpt2-tiny"))
    expected = mauve.compute_mauve(
        **theirs, featurize_model_name=model, device_id=-1, verbose=False
    ).mauve
    last_states = answer_models._last_states

    def keep(network: Any, tokenizer: Any, texts: list[str]) -> Any:
        read.append(texts)
        return last_states(network, tokenizer, texts)

    monkeypatch.setattr(answer_models, "_last_states", keep)
    monkeypatch.setattr(answer_models, "locate_model", lambda name: (model, "tiny"))
    ours = hard.totals(hard.make_inputs(rows, "asqa", golds), ["MAUVE"])
    assert read == [theirs["p_text"], theirs["q_text"]]
    assert ours["MAUVE"] == pytest.approx(expected, abs=1e-9)
