"""Attributed-IR's evaluators beside our ``reference``."""

import ast
import importlib
import json
import random
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest

from citeforge.engines.judge.no_model import LexicalJudge
from citeforge.engines.judge.records import Pair, Verdict
from citeforge.engines.judge.session import JudgeSession
from citeforge.package.items import Passage
from conftest import real_data
from conftest_evaluator import gold
from peers import hard_answers as hard
from peers.frozen import FrozenNumbers, Program, load_module
from peers.tiny_models import make_t5
from servers.tiny_nli import cpu_judge

REPOSITORY, DRAWN_BY = "hanane-djeddal/Attributed-IR", "test_attributed_ir_peer.py"
CITATIONS = Program(
    "attributed_ir_citations",
    REPOSITORY,
    "citations_eval.py: main() and compute_nli_prec_rec_autoais(); a hash of both texts, or the T5 "
    "of tiny_models.py, stands in for the NLI model",
    DRAWN_BY,
)
CORRECTNESS = Program(
    "attributed_ir_correctness",
    REPOSITORY,
    "evaluate_correctness.py: main(), BLEU of evaluate and nmt; rouge-score stands in for "
    "the metric of the old datasets library, with plain means for the midpoints of its unseeded "
    "bootstrap; no BERTScore",
    DRAWN_BY,
    ("huggingface/evaluate", "tensorflow/nmt"),
)
RETRIEVAL = Program(
    "attributed_ir_retrieval",
    REPOSITORY,
    "retrieval_metrics.py: compute_raw_performance() and compute_agg_performance()",
    DRAWN_BY,
)
N_QUESTIONS = 20
NAMES = ["AutoAIS.cit", "AutoAIS.cit@cited", "AutoAIS.psg", "NLI.rec", "NLI.prec"]
Rows = list[tuple[str, str, tuple[Passage, ...]]]
Entails = Callable[[str, str], bool]


@contextmanager
def script(checkout: Path, name: str, **stubs: types.ModuleType) -> Iterator[dict[str, Any]]:
    """What a script of theirs defines, with modules stubbed; a folder of its own is current."""
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        hard.install_punkt(Path(folder), patch)
        for module, stub in stubs.items():
            patch.setitem(sys.modules, module, stub)
        for module in [m for m in sys.modules if m == "src" or m.startswith("src.")]:
            patch.delitem(sys.modules, module)
        patch.delitem(sys.modules, "config", raising=False)
        patch.setattr(sys, "path", [str(checkout), *sys.path])
        patch.chdir(folder)
        path = checkout / "scripts" / name
        tree = ast.parse(path.read_text())
        tree.body = tree.body[:-1]  # main() runs when citations_eval.py is imported
        functions: dict[str, Any] = {"__file__": str(path), "__name__": path.stem}
        exec(compile(tree, str(path), "exec"), functions)
        yield functions
        for module in [m for m in sys.modules if m == "src" or m.startswith("src.")]:
            del sys.modules[module]


def run_main(
    functions: dict[str, Any], rows: list[dict[str, Any]], ending: str, *options: str
) -> dict[str, Any]:
    """What ``main()`` writes for some rows."""
    Path("results.json").write_text(json.dumps({"data": rows}))
    written = Path(f"results_{ending}.json")
    written.unlink(missing_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["x", "--results_file", "results.json", *options])
        functions["main"]()
    result: dict[str, Any] = json.loads(written.read_text())
    return result


@contextmanager
def citations_eval(checkout: Path, judge: Entails | Path) -> Iterator[dict[str, Any]]:
    """The script of citations, with a judge or a T5 in place of its model."""
    stub = types.ModuleType("anything")
    stub.__getattr__ = lambda attribute: object  # type: ignore[method-assign]
    heavy = ("datasets",) if isinstance(judge, Path) else ("torch", "transformers", "datasets")
    with script(checkout, "citations_eval.py", **dict.fromkeys(heavy, stub)) as functions:
        if isinstance(judge, Path):
            loader, tokenizer = functions["AutoModelForSeq2SeqLM"], functions["AutoTokenizer"]
            functions["autoais_model"] = loader.from_pretrained(judge)
            functions["autoais_tokenizer"] = tokenizer.from_pretrained(judge)
        else:
            functions["autoais_model"] = object()
            functions["_run_nli_autoais"] = lambda *texts: int(judge(*texts))
        yield functions


def layout(rows: Rows, **more: Sequence[Any]) -> list[dict[str, Any]]:
    """Rows as their scripts read them."""
    return [
        {
            "query": question,
            "output": output,
            "quotes": [{"docid": p.id, "text": p.text} for p in shown],
            **{key: values[i] for key, values in more.items()},
        }
        for i, (question, output, shown) in enumerate(rows)
    ]


def run_citations(
    checkout: Path, rows: list[dict[str, Any]], judge: Entails | Path = hard.entails
) -> dict[str, Any]:
    """Scores by the citations, and by all passages."""
    options = ("scores_attribution", "--architecture", "RTG-vanilla")
    with citations_eval(checkout, judge) as functions:
        cited = run_main(functions, rows, *options, "--alce", "--autoais", "Cit")
        shown = run_main(functions, rows, *options, "--autoais", "Pssg")
    return {"cited": cited, "shown": shown}


def rounded_percent(value: float) -> float:
    return round(100 * value, 2)


def assert_same(theirs: dict[str, Any], ours: dict[str, list[float]]) -> None:
    """Hold our values per query against what they wrote."""
    cited, shown = theirs["cited"], theirs["shown"]
    for name, expected in (
        ("NLI.prec", cited["alce_prec_per_example"]),
        ("NLI.rec", cited["alce_rec_per_example"]),
        ("AutoAIS.cit", cited["autoais_per_example"]),
        ("AutoAIS.psg", shown["autoais_per_example"]),
    ):
        assert ours[name] == pytest.approx(expected, abs=1e-9), name
    only = rounded_percent(float(np.mean(ours["AutoAIS.cit@cited"])))
    assert only == cited["AutoAIS only sentences with citation"]


@pytest.mark.parametrize("kind", hard.KINDS)
def test_autoais_and_nli(printed: FrozenNumbers, kind: str) -> None:
    rows = hard.make_items(kind, N_QUESTIONS)
    data = layout(rows)
    theirs = printed(CITATIONS, kind, run_citations, data)
    assert_same(theirs, hard.per_query(hard.make_inputs(rows), NAMES))


def test_autoais_and_nli_by_a_model(printed: FrozenNumbers, tmp_path: Path) -> None:
    rows = hard.make_items("several marks", N_QUESTIONS, seed=4)
    data, t5 = layout(rows), make_t5(tmp_path)
    theirs = printed(CITATIONS, "T5", partial(run_citations, judge=t5), data)
    judge = cpu_judge(t5, "true-t5")
    assert_same(theirs, hard.per_query(hard.make_inputs(rows, judge=judge), NAMES))


def test_passages_without_text(printed: FrozenNumbers) -> None:
    shown = (Passage("a", "", ""), Passage("b", "", "Some text."), Passage("c", "", "Other text."))
    texts = [p.text for p in shown]
    outputs = ["A [1].", "A [1]. B [2].", "A [1][2]. B [3][1].", "A [2][3][1].", "C [1][9]."]
    outputs += [f"{word} [1][2]. {word} [3][1]. {word} [3][2]." for word in hard.WORDS]

    def run(checkout: Path, texts: list[str], outputs: list[str]) -> Any:
        with citations_eval(checkout, hard.entails) as functions:
            function = functions["compute_nli_prec_rec_autoais"]
            return [function(texts, output) for output in outputs]

    theirs = printed(CITATIONS, "passages without text", run, texts, outputs)
    rows = [("q", output, shown) for output in outputs]
    ours = hard.per_query(hard.make_inputs(rows), ["NLI.prec", "NLI.rec"])
    for at, name in enumerate(("NLI.prec", "NLI.rec")):
        assert ours[name] == pytest.approx([both[at] for both in theirs], abs=1e-9)
    assert min(recall for _, recall in theirs) == -1


def test_overlap(printed: FrozenNumbers) -> None:
    rows, golds, quotes, references, gold_quotes = [], [], [], [], []
    for kind in hard.KINDS:
        for i, row in enumerate(hard.make_items(kind, 10, seed=1)):
            # Some gold passages are among the shown ones; some gold answers are empty or uncited.
            ids = [f"p{i % 7}{k}" for k in (1, 0, 9)]
            text = ["Gold [1].", "Gold [2][1], [3].", "Gold.", "", "Gold [0, 2] [7]."][i % 5]
            rows.append(row if i % 4 else (row[0], row[1], row[2][: i % 3]))
            golds.append([gold("answer", text, attributable=1, informative=1, citations=["x"])])
            quotes.append(ids)
            references.append([{"answer": text, "attributable": 1, "informative": 1}])
            gold_quotes.append([{"docid": d} for d in ids])
    data = layout(rows, answers=references, gold_quotes=gold_quotes)

    def run(checkout: Path, data: list[dict[str, Any]]) -> Any:
        options = ("scores_attribution", "--architecture", "RTG-vanilla", "--overlap")
        with citations_eval(checkout, hard.entails) as functions:
            return run_main(functions, data, *options)

    theirs = printed(CITATIONS, "overlap", run, data)
    inputs = hard.make_inputs(rows, gold=golds, quotes=quotes)
    ours = hard.totals(inputs, ["Overlap.P", "Overlap.R"])
    assert rounded_percent(ours["Overlap.P"]) == theirs["overlap_precision"]
    assert rounded_percent(ours["Overlap.R"]) == theirs["overlap_recall"]
    assert theirs["overlap_recall"] > 0


class HfMetric:
    """What the metrics of evaluate inherit."""

    def add_batch(self, predictions: Sequence[Any], references: Sequence[Any]) -> None:
        self.batch = (list(predictions), list(references))

    def compute(self, predictions: Any = None, references: Any = None, **more: Any) -> Any:
        predictions, references = self.batch if predictions is None else (predictions, references)
        return self._compute(list(predictions), list(references), **more)

    def _compute(self, predictions: list[Any], references: list[Any], **more: Any) -> Any:
        raise NotImplementedError


class OldRouge(HfMetric):
    """ROUGE of the old datasets library: precision, recall and F."""

    def _compute(
        self, predictions: list[Any], references: list[Any], use_aggregator: bool = True, **_: Any
    ) -> Any:
        from rouge_score.rouge_scorer import RougeScorer

        scorer = RougeScorer(["rougeLsum"])
        scores = [
            tuple(scorer.score(reference, prediction)["rougeLsum"])
            for prediction, reference in zip(predictions, references, strict=True)
        ]
        return {"rougeLsum": [None, np.mean(scores, axis=0)] if use_aggregator else scores}


class NewRouge(OldRouge):
    """ROUGE of evaluate: F alone."""

    def _compute(self, *texts: Any, **_: Any) -> Any:
        return {"rougeLsum": super()._compute(*texts)["rougeLsum"][1][2]}


class NoBertScore(HfMetric):
    def _compute(self, predictions: list[Any], references: list[Any], **_: Any) -> Any:
        return dict.fromkeys(("precision", "recall", "f1"), [0.0] * len(predictions))


def run_correctness(checkout: Path, architecture: str, rows: list[dict[str, Any]]) -> Any:
    """Scores that ``evaluate_correctness.py`` writes, without BERTScore's."""
    evaluate, datasets = types.ModuleType("evaluate"), types.ModuleType("datasets")
    tabulate = types.ModuleType("tabulate")
    tabulate.tabulate = lambda *table, **options: ""  # type: ignore[attr-defined]
    nmt = load_module(checkout.parent / "nmt" / "nmt" / "scripts" / "bleu.py", "nmt_bleu")
    add_docs = types.SimpleNamespace(add_start_docstrings=lambda *texts: lambda metric: metric)
    evaluate.__dict__.update(
        Metric=HfMetric, MetricInfo=dict, utils=types.SimpleNamespace(file_utils=add_docs)
    )
    datasets.__dict__.update(load_metric=lambda name, **options: OldRouge())
    with (
        script(
            checkout,
            "evaluate_correctness.py",
            evaluate=evaluate,
            datasets=datasets,
            tabulate=tabulate,
        ) as functions,
        pytest.MonkeyPatch.context() as patch,
    ):
        package = types.ModuleType("hf_bleu")
        package.__path__ = [str(checkout.parent / "evaluate" / "metrics" / "bleu")]
        patch.setitem(sys.modules, "hf_bleu", package)
        patch.setitem(sys.modules, "hf_bleu.nmt_bleu", nmt)  # evaluate fetches it
        metrics = {
            "bleu": importlib.import_module("hf_bleu.bleu").Bleu,
            "rouge": NewRouge,
            "bertscore": NoBertScore,
        }
        evaluate.__dict__["load"] = lambda name, **options: metrics[name]()
        options = ("--multiple_gold_answers", "--per_example_scores")
        scores = run_main(functions, rows, "perf_answer", "--architecture", architecture, *options)
        for module in ("hf_bleu.bleu", "hf_bleu.tokenizer_13a"):
            del sys.modules[module]
    # Their BLEU of one example repeats the output for each reference: no definition of ours.
    scores.pop("bleu_per_example")
    return {key: value for key, value in scores.items() if "bert" not in key.lower()}


@pytest.mark.parametrize("architecture", ["RTG-vanilla", "G"])
def test_correctness(printed: FrozenNumbers, architecture: str) -> None:
    """BLEU and ROUGE; closed-book answers (G) keep their brackets."""
    rows, golds, references = [], [], []
    for kind in hard.KINDS:
        for question, output, shown in hard.make_items(kind, 4, seed=5):
            rng = random.Random(f"{kind} {len(rows)}")
            words = ["So", *output.split()]  # their BLEU divides by the words of the gold answer
            if architecture == "G":  # longer than the answer: a brevity penalty
                ends = [2 * len(words) + rng.randint(0, 9) for _ in range(rng.randint(1, 3))]
            else:
                ends = [rng.randint(1, len(words)) for _ in range(rng.randint(1, 3))]
            texts = [" ".join((9 * words)[:end]) for end in ends]
            texts[-1] += rng.choice(["", " [1, 2] [3]", " As " + hard.KINDS["lists"](rng, 3)])
            flags = [(rng.randint(0, 1), rng.randint(0, 1)) for _ in texts]
            rows.append((question, output, shown if architecture != "G" else ()))
            golds.append(
                [
                    gold("answer", text, attributable=a, informative=i)
                    for text, (a, i) in zip(texts, flags, strict=True)
                ]
            )
            references.append(
                [
                    {"answer": text, "attributable": a, "informative": i}
                    for text, (a, i) in zip(texts, flags, strict=True)
                ]
            )
    data = layout(rows, answers=references)
    theirs = printed(CORRECTNESS, architecture, run_correctness, architecture, data)
    inputs = hard.make_inputs(rows, gold=golds)
    parts = {"P": "Precision", "R": "Recall", "F": "fmeasure"}
    names = [f"ROUGE-Lsum.{part}{end}" for part in parts for end in ("", "@1gold")]
    ours = hard.totals(inputs, [*names, "BLEU", "BLEU@1gold"])
    expected = {
        "BLEU": theirs["Bleu All"]["bleu_score"],
        "BLEU@1gold": theirs["Bleu "]["bleu_score"],
    }
    for part, key in parts.items():
        expected[f"ROUGE-Lsum.{part}"] = theirs["Rouge All"][key]
        expected[f"ROUGE-Lsum.{part}@1gold"] = theirs["Rouge"][key]
    assert {name: rounded_percent(value) for name, value in ours.items()} == expected
    singly = hard.per_query(inputs, [f"ROUGE-Lsum.{part}" for part in parts])
    for part in parts:
        assert singly[f"ROUGE-Lsum.{part}"] == pytest.approx(
            theirs[f"rouge{part}_per_example"], abs=1e-9
        )


def test_retrieval(printed: FrozenNumbers) -> None:
    rng = random.Random(8)
    rows: Rows = []
    relevant = []
    for _ in range(40):
        ids = rng.choices([f"d{i}" for i in range(15)], k=rng.randint(0, 12))
        rows.append(("q", "", tuple(Passage(i, "", "x") for i in ids)))
        relevant.append(rng.sample([f"d{i}" for i in range(15)], rng.choice([0, 1, 2, 5])))
    data = [
        {"retrieved_ids": [p.id for p in shown], "reference_ids": ids}
        for (_, _, shown), ids in zip(rows, relevant, strict=True)
    ]

    def run(checkout: Path, data: list[dict[str, Any]]) -> Any:
        import pandas as pd

        with pytest.MonkeyPatch.context() as patch:
            patch.syspath_prepend(str(checkout / "src" / "evalution"))
            module = importlib.import_module("retrieval_metrics")
        raw = module.compute_raw_performance(pd.DataFrame(data))
        return {
            "raw": raw.drop(columns=["retrieved_ids", "reference_ids"]).to_dict("list"),
            "mean": module.compute_agg_performance(pd.DataFrame(data)).to_dict("index"),
        }

    theirs = printed(RETRIEVAL, "drawn rankings", run, data)
    inputs = hard.make_inputs(rows, quotes=relevant)
    singly = hard.per_query(inputs, list(theirs["raw"]))
    assert singly == {name: pytest.approx(values) for name, values in theirs["raw"].items()}
    total = hard.totals(inputs, list(theirs["raw"]))
    for letter, key in (("P", "Precision"), ("R", "Recall")):
        assert {f"@{k}": total[f"{letter}@{k}"] for k in (1, 3, 5, 10)} == pytest.approx(
            theirs["mean"][key]
        )


def test_real_outputs(peer: Callable[[str], Path]) -> None:
    """The published outputs, with the lexical baseline as both sides' judge."""
    rows = []
    path = real_data() / "attributed_ir" / "zephyr_RTG_vanilla.jsonl"
    for line in path.read_text().splitlines():
        row = json.loads(line)
        shown = tuple(Passage(p["docid"], "", p["text"]) for p in row["passages"])
        rows.append((row["query_id"], row["output"], shown))
    session = JudgeSession(LexicalJudge())

    def entails(premise: str, hypothesis: str) -> bool:
        pair = Pair(premise, hypothesis)
        verdict = session.ask([pair])[pair]
        assert isinstance(verdict, Verdict)
        return verdict.entailed

    theirs = run_citations(peer("Attributed-IR"), layout(rows), entails)
    inputs = hard.make_inputs(rows)
    inputs.tools = replace(inputs.tools, judge=session)
    result = {name: rounded_percent(value) for name, value in hard.totals(inputs, NAMES).items()}
    cited, shown_only = theirs["cited"], theirs["shown"]
    assert result == {
        "NLI.prec": cited["ALCE precision"],
        "NLI.rec": cited["ALCE recall"],
        "AutoAIS.cit": cited["AutoAIS including all sentences"],
        "AutoAIS.cit@cited": cited["AutoAIS only sentences with citation"],
        "AutoAIS.psg": shown_only["AutoAIS including all sentences"],
    }
    assert (result["NLI.prec"], result["NLI.rec"]) == (47.62, 35.80)
