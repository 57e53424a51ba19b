"""DeepTRACE's notebook beside ours: matrices, covers, uncited sources, one-sided answers.

Their LLM splits an answer into sentences and judges; here both sides get the sentences of punkt,
and hashes of texts stand in for all verdicts. Their repository is ``answer-engine-eval``.
"""

import json
import random
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from citeforge.engines.judge.records import Pair, Verdict
from citeforge.engines.text.segmenters import PunktSegmenter
from citeforge.evaluator.measures.registry import select
from citeforge.evaluator.measures.results import compute
from citeforge.evaluator.submissions.inputs import Inputs
from citeforge.package.items import Passage
from peers.frozen import FrozenNumbers, Program, load_module
from peers.hard_answers import KINDS, WORDS, entails, make_inputs, make_items
from stand_ins import AskedJudge

NOTEBOOK = Program(
    "deeptrace",
    "SalesforceAIResearch/answer-engine-eval",
    "Venkit.et.al.2024: the notebook's cell that counts, utils_coverage.py and utils_misc.py; "
    "hashes of texts stand in for all verdicts",
    "test_deeptrace_peer.py",
)
FOLDER = "Venkit.et.al.2024"
NAMES = [f"DeepTRACE.{n}" for n in (
    "Accuracy", "Thoroughness", "Unsupported", "Necessity", "Uncited", "OneSided")]  # fmt: skip
PRINTED = ("%Citation Imprecision", "%Citation Thoroughness", "%Unsupported Statements",
           "%Source Necessity", "%Uncited Sources", "%Opinion One-Sided Answer")  # fmt: skip
MARKS = ["", " [1]", "[2][1]", " [3, 1]", "[1][1]", " [9]", " [0]", "[01]", " [2-3]", " [ 2 ]",
         "[,1]", " [a]", " [12]"]  # fmt: skip
Rows = list[tuple[str, str, tuple[Passage, ...]]]
STANCES = {"agree": 1.0, "disagree": -1.0, "neutral": 0.0}


_FRAME: Any = SimpleNamespace(
    round=lambda n: SimpleNamespace(set_index=lambda name: SimpleNamespace(T=None))
)
"""In place of the table at the end of their cell, which is for the page alone."""


def stance(query: str, sentence: str) -> str:
    """Agree, disagree or neutral, by the verdicts on two texts."""
    if entails(f"{query} side", sentence):
        return "neutral"
    return "agree" if entails(f"{query} which", sentence) else "disagree"


def decide(pair: Pair) -> bool | Verdict:
    """All verdicts, for ours."""
    if pair.question == "llm-debated":
        return "Debate" in pair.premise
    if pair.question == "llm-core-statement":
        return is_core(pair.premise, pair.hypothesis)
    if pair.question == "llm-stance":
        support = STANCES[stance(pair.premise, pair.hypothesis)]
        return Verdict(support == 1, support=support)
    return not pair.question and entails(pair.premise, pair.hypothesis)


def is_core(query: str, sentence: str) -> bool:
    return "said" not in sentence


def _report(rng: random.Random) -> str:
    sentences = []
    for _ in range(rng.randrange(1, 9)):
        words = " ".join(rng.choices(WORDS, k=rng.randint(2, 7)))
        sentences.append(f"It{rng.choice(MARKS)} is {words}{rng.choice(MARKS)}.")
    return " ".join(sentences)


def _as_their_rows(rows: Rows) -> list[dict[str, Any]]:
    """Answers as their pipeline leaves them before it reads citations."""
    segmenter, found = PunktSegmenter(), []
    for query, output, shown in rows:
        sources = {f"S{n}": "" for n in range(1, 11)}
        for n, passage in enumerate(shown, 1):
            readable = bool(passage.text.strip())
            sources |= {f"S{n}": f"url {n}", f"S{n}_content": passage.text,
                        f"S{n}_scrape_successful": readable}  # type: ignore[dict-item] # fmt: skip
        statements = [
            {
                "id": str(start), "sentence": sentence, "core": str(int(is_core(query, sentence))),
                "opinion_balance": stance(query, sentence),
                "supporting_sources": [
                    n for n, p in enumerate(shown, 1)
                    if entails(f"Title: {p.title}\n{p.text}", sentence)
                ],
            }
            for start, end in segmenter.split(output)
            for sentence in [output[start:end]]
        ]  # fmt: skip
        found.append({
            "id": query, "answer_engine": "one", "Question": query, "Output": output, **sources,
            "core_statements": statements, "confidence_score": "Neutral",
            "is_charged": "Debate" in query,
        })  # fmt: skip
    return found


def count(checkout: Path, rows: list[dict[str, Any]]) -> list[dict[str, float]]:
    """What their cell says of each answer alone; nothing where it leaves the answer out."""
    folder = checkout / FOLDER
    notebook = json.loads((folder / "Answer_Engine_Eval.ipynb").read_text("utf-8"))
    cells = ["".join(cell["source"]) for cell in notebook["cells"]]
    (cell,) = (text for text in cells if "greedy_set_cover(universe" in text)
    misc = load_module(folder / "utils_misc.py", "utils_misc")
    cover = load_module(folder / "utils_coverage.py", "utils_coverage").greedy_set_cover
    found = []
    for row in rows:
        for statement in row["core_statements"]:
            statement["citations"] = misc.extract_citations(statement["sentence"])
        names = {"data": [row], "np": np, "Counter": Counter, "greedy_set_cover": cover,
                 "extract_citations": misc.extract_citations,
                 "pd": SimpleNamespace(DataFrame=lambda results: _FRAME)}  # fmt: skip
        exec(cell, names)
        (result,) = names["results"]
        values = {name: float(result[name]) for name in PRINTED}
        found.append({name: v for name, v in values.items() if not np.isnan(v)})
    return found


def _ours(inputs: Inputs) -> dict[str, list[float]]:
    """Values of each row; not a number where one is not defined."""
    samples, _ = compute(inputs, select(NAMES), inputs.tools.judge, has_hidden_gold=False)
    found = {m.name: np.asarray(s.per_query[0]).tolist() for m, s in samples}  # type: ignore[union-attr]
    return {name: found.get(name, [np.nan] * len(inputs.runs[0])) for name in NAMES}


def _rows_of(kind: str) -> Rows:
    """Answers of a kind, every third to a question that takes a side."""
    is_report = kind == "reports"
    rows = make_items("long" if is_report else kind, 60 if is_report else 6)
    rng = random.Random(5)
    found = []
    for i, (_, output, shown) in enumerate(rows):
        unread = [Passage(p.id, p.title, "" if rng.random() < 0.2 else p.text) for p in shown]
        text = _report(rng) if is_report else output
        found.append((f"Debate {i}" if i % 3 == 0 else f"Fact {i}", text, tuple(unread[:10])))
    return found


@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:invalid value")
@pytest.mark.parametrize("kind", [*KINDS, "reports"])
def test_every_answer(printed: FrozenNumbers, kind: str) -> None:
    rows = _rows_of(kind)
    theirs = printed(NOTEBOOK, kind, count, _as_their_rows(rows))
    ours = _ours(make_inputs(rows, judge=AskedJudge(decide)))
    for at, result in enumerate(theirs):
        values = [ours[name][at] for name in NAMES]
        if not result:  # they leave it out; ours counts uncited passages beside filler, too
            assert all(np.isnan(v) for name, v in zip(NAMES, values, strict=True)
                       if name != "DeepTRACE.Uncited")  # fmt: skip
            continue
        expected = [result.get(name, np.nan) / 100 for name in PRINTED]
        expected[0] = 1 - expected[0]
        assert values == pytest.approx(expected, abs=1e-9, nan_ok=True)
    if kind == "reports":
        assert sum(map(bool, theirs)) > 40
        assert len({tuple(sorted(result.items())) for result in theirs}) > 40
