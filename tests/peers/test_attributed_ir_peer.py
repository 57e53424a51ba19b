"""Attributed-IR's ``citations_eval.py`` beside our ``reference``."""

import ast
import json
import sys
import types
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from citeforge.engines.judge.no_model import LexicalJudge
from citeforge.engines.judge.records import Pair, Verdict
from citeforge.engines.judge.session import JudgeSession
from citeforge.package.items import Passage
from conftest import real_data
from conftest_evaluator import gold
from engines.text.test_punkt import nltk_data
from peers import hard_answers as hard

__all__ = ["nltk_data"]
N_QUESTIONS = 200
NAMES = ["AutoAIS.cit", "AutoAIS.cit@cited", "AutoAIS.psg", "NLI.rec", "NLI.prec"]


@pytest.fixture
def evaluator(
    peer: Callable[[str], Path], nltk_data: Path, monkeypatch: pytest.MonkeyPatch
) -> dict[str, Any]:
    """The script's functions; its model is :func:`hard.entails`."""
    checkout = peer("Attributed-IR")
    for name in ("torch", "transformers", "datasets"):
        stub = types.ModuleType(name)
        stub.__getattr__ = lambda attribute: object  # type: ignore[method-assign]
        monkeypatch.setitem(sys.modules, name, stub)
    for name in [m for m in sys.modules if m == "src" or m.startswith("src.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(str(checkout))
    path = checkout / "scripts" / "citations_eval.py"
    tree = ast.parse(path.read_text())
    tree.body = tree.body[:-1]  # it runs main() when it is imported
    result: dict[str, Any] = {"__file__": str(path), "__name__": "citations_eval"}
    exec(compile(tree, str(path), "exec"), result)
    result["_run_nli_autoais"] = lambda passage, claim: int(hard.entails(passage, claim))
    result["autoais_model"] = object()
    return result


def run_main(
    evaluator: dict[str, Any],
    rows: list[tuple[str, str, tuple[Passage, ...]]],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    *options: str,
    **more: list[Any],
) -> dict[str, Any]:
    """What the script writes for some rows."""
    data = [
        {
            "query": question,
            "output": output,
            "quotes": [{"docid": p.id, "text": p.text} for p in shown],
            **{key: values[i] for key, values in more.items()},
        }
        for i, (question, output, shown) in enumerate(rows)
    ]
    path = folder / "results.json"
    path.write_text(json.dumps({"data": data}))
    written = folder / "results_scores_attribution.json"
    written.unlink(missing_ok=True)
    monkeypatch.setattr(
        sys,
        "argv",
        ["x", "--architecture", "RTG-vanilla", "--results_file", str(path), *options],
    )
    evaluator["main"]()
    return json.loads(written.read_text())


@pytest.mark.parametrize("kind", list(hard.KINDS))
def test_autoais_and_nli(
    evaluator: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    rows = hard.make_items(kind, N_QUESTIONS)
    ours = hard.per_query(hard.make_inputs(rows), NAMES)
    cited = run_main(evaluator, rows, tmp_path, monkeypatch, "--alce", "--autoais", "Cit")
    shown = run_main(evaluator, rows, tmp_path, monkeypatch, "--autoais", "Pssg")
    assert ours["NLI.prec"] == pytest.approx(cited["alce_prec_per_example"], abs=1e-9)
    assert ours["NLI.rec"] == pytest.approx(cited["alce_rec_per_example"], abs=1e-9)
    assert ours["AutoAIS.cit"] == pytest.approx(cited["autoais_per_example"], abs=1e-9)
    assert ours["AutoAIS.psg"] == pytest.approx(shown["autoais_per_example"], abs=1e-9)
    only = 100 * sum(ours["AutoAIS.cit@cited"]) / len(rows)
    assert round(only, 2) == cited["AutoAIS only sentences with citation"]


def test_passages_without_text(evaluator: dict[str, Any]) -> None:
    shown = (Passage("a", "", ""), Passage("b", "", "Some text."), Passage("c", "", "Other text."))
    outputs = ["A [1].", "A [1]. B [2].", "A [1][2]. B [3][1].", "A [2][3][1].", "C [1][9]."]
    rows = [("q", output, shown) for output in outputs]
    ours = hard.per_query(hard.make_inputs(rows), ["NLI.prec", "NLI.rec"])
    theirs = [
        evaluator["compute_nli_prec_rec_autoais"]([p.text for p in shown], output)
        for output in outputs
    ]
    pairs = zip(ours["NLI.prec"], ours["NLI.rec"], strict=True)
    assert [x for pair in pairs for x in pair] == pytest.approx(
        [x for pair in theirs for x in pair], abs=1e-9
    )
    assert min(ours["NLI.rec"]) == -1


def test_overlap(
    evaluator: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    everything, golds, quotes, references, gold_quotes = [], [], [], [], []
    for kind in hard.KINDS:
        for i, row in enumerate(hard.make_items(kind, 10, seed=1)):
            # Some gold passages are among the shown ones; some gold answers are empty or uncited.
            ids = [f"p{i % 7}{k}" for k in (1, 0, 9)]
            text = ["Gold [1].", "Gold [2][1], [3].", "Gold.", "", "Gold [0, 2] [7]."][i % 5]
            everything.append(row if i % 4 else (row[0], row[1], row[2][: i % 3]))
            golds.append([gold("answer", text, attributable=1, informative=1, citations=["x"])])
            quotes.append(ids)
            references.append([{"answer": text, "attributable": 1, "informative": 1}])
            gold_quotes.append([{"docid": d} for d in ids])
    ours = hard.totals(
        hard.make_inputs(everything, gold=golds, quotes=quotes), ["Overlap.P", "Overlap.R"]
    )
    theirs = run_main(
        evaluator,
        everything,
        tmp_path,
        monkeypatch,
        "--overlap",
        answers=references,
        gold_quotes=gold_quotes,
    )
    assert round(100 * ours["Overlap.P"], 2) == theirs["overlap_precision"]
    assert round(100 * ours["Overlap.R"], 2) == theirs["overlap_recall"]
    assert theirs["overlap_recall"] > 0


def test_real_outputs(
    evaluator: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The published outputs, with the lexical baseline as both sides' judge."""
    rows = []
    path = real_data() / "attributed_ir" / "zephyr_RTG_vanilla.jsonl"
    for line in path.read_text().splitlines():
        row = json.loads(line)
        shown = tuple(Passage(p["docid"], "", p["text"]) for p in row["passages"])
        rows.append((row["query_id"], row["output"], shown))
    session = JudgeSession(LexicalJudge())

    def entails(premise: str, hypothesis: str) -> int:
        pair = Pair(premise, hypothesis)
        verdict = session.ask([pair])[pair]
        assert isinstance(verdict, Verdict)
        return int(verdict.entailed)

    evaluator["_run_nli_autoais"] = entails
    inputs = hard.make_inputs(rows)
    inputs.tools = replace(inputs.tools, judge=session)
    ours = hard.totals(inputs, NAMES)
    cited = run_main(evaluator, rows, tmp_path, monkeypatch, "--alce", "--autoais", "Cit")
    shown_only = run_main(evaluator, rows, tmp_path, monkeypatch, "--autoais", "Pssg")
    result = {name: round(100 * value, 2) for name, value in ours.items()}
    assert result == {
        "NLI.prec": cited["ALCE precision"],
        "NLI.rec": cited["ALCE recall"],
        "AutoAIS.cit": cited["AutoAIS including all sentences"],
        "AutoAIS.cit@cited": cited["AutoAIS only sentences with citation"],
        "AutoAIS.psg": shown_only["AutoAIS including all sentences"],
    }
    assert (result["NLI.prec"], result["NLI.rec"]) == (47.62, 35.80)
