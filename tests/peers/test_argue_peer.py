"""ARGUE's first evaluator, by authors of its paper, beside ours: reports of hard sentences.

A rule stands in for the LLM, and both sides start from our sentences.
"""

import hashlib
import importlib
import random
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

import pytest

from citeforge.engines.judge.records import Pair
from citeforge.evaluator.statements.split import split_statements
from citeforge.evaluator.submissions.inputs import Inputs
from citeforge.schemas.text import premise_of
from conftest import write_jsonl
from peers import hard_answers as hard
from peers.frozen import FrozenNumbers, Program
from stand_ins import AskedJudge

ARGUE = Program(
    "argue",
    "trevoradriaanse/report_gen_eval",
    "evaluator.evaluate_report(); a rule stands in for the LLM",
    "test_argue_peer.py",
)
Rows = list[dict[str, Any]]
NAMES = ["ARGUE.P", "ARGUE.R"]
ANSWERS = 8
ENTAILS, PROMPT = "entails", "\x1f"


def decide(question: str, premise: str, text: str) -> bool:
    """A verdict by the hash of all texts."""
    shown = premise if question == ENTAILS else ""
    data = "\0".join((question, shown, text)).encode("utf-8", "surrogatepass")
    n = hashlib.sha256(data).digest()[0]
    return n % 4 > 0 if question == ENTAILS else n % 2 == 0


def judge_pair(pair: Pair) -> bool:
    return decide(pair.question or ENTAILS, pair.premise, pair.hypothesis)


def run_evaluator(checkout: Path, rows: Rows, nuggets: Rows) -> list[list[float]]:
    """Precision and recall of each report by their code."""
    texts = {d: text for row in rows for d, text in row.pop("documents").items()}
    outside = (
        "dotenv", "langchain", "langchain.schema", "langchain_together", "langchain_community",
        "langchain_community.chat_models", "langchain_openai", "langchain_huggingface",
    )  # fmt: skip

    def answer(system: str, prompt: str, *more: Any, **options: Any) -> str:
        question, premise, text = prompt.split(PROMPT)
        is_first = question == "first"
        said = decide(ENTAILS if is_first else question, premise, text)
        return "YES" if said != is_first else "NO"

    def answer_all(system: str, prompts: list[str], *more: Any) -> list[str]:
        return [answer(system, prompt) for prompt in prompts]

    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as folder:
        for name in outside:
            module = ModuleType(name)
            module.__getattr__ = lambda attribute: lambda *words: None  # type: ignore[method-assign]
            patch.setitem(sys.modules, name, module)
        patch.syspath_prepend(str(checkout))
        evaluator = importlib.import_module("report_gen_eval.evaluator")
        for name in [n for n in sys.modules if n.partition(".")[0] == "report_gen_eval"]:
            patch.setitem(sys.modules, name, sys.modules.pop(name))
        evaluator.get_model_response = answer
        evaluator.batch_model_responses = answer_all
        evaluator.get_text_from_id_fast = lambda d, collection: texts.get(d, (None, None))
        prompts = {
            "CHECK_RELEVANCE": f"{ENTAILS}{PROMPT}{{citation_content}}{PROMPT}{{sentence}}",
            "NUGGET_AGREEMENT": f"{ENTAILS}{PROMPT}{{sentence}}{PROMPT}{{nugget_answer}}",
            "CHECK_NEGATIVE": f"llm-absence{PROMPT}{PROMPT}{{sentence}}",
            "REQUIRES_CITATION": f"llm-need-citation{PROMPT}{PROMPT}{{sentence}}",
            "FIRST_INSTANCE": f"first{PROMPT}{{previous_sentences}}{PROMPT}{{sentence}}",
        }
        for name, prompt in prompts.items():
            setattr(evaluator, f"{name}_USER", _Prompt(prompt))
        file = str(write_jsonl(Path(folder, "nuggets.jsonl"), nuggets))
        metrics = [evaluator.evaluate_report(row, file)["metrics"] for row in rows]
    return [[m["precision"], m["recall"]] for m in metrics]


class _Prompt(str):
    """A prompt whose passage is written as ours are, not with labels of title and content."""

    def format(self, *given: Any, **texts: Any) -> str:
        if content := texts.get("citation_content"):
            title, _, text = content.removeprefix("Title: ").partition("\n\nContent: ")
            texts["citation_content"] = premise_of(title, text)
        return super().format(*given, **texts)


def describe(inputs: Inputs) -> Rows:
    """The answers as their code reads them, with our sentences and citations."""
    rows = []
    segmenter = inputs.tools.get_segmenter()
    for item in inputs.runs[0]:
        reading = split_statements(item.output, inputs.grammar, segmenter, item.n_passages)
        rows.append(
            {
                "request_id": inputs.benchmark.query_ids[item.row],
                "run_id": "r",
                "collection_ids": ["c"],
                "documents": {
                    f"{item.row} {n}": (p.title, p.text) for n, p in enumerate(item.passages, 1)
                },
                "sentences": [
                    {"text": s.text, "citations": [f"{item.row} {n}" for n in s.numbers]}
                    for s in reading.statements
                ],
            }
        )
    return rows


@pytest.mark.parametrize("kind", hard.KINDS)
def test_reports_of_hard_sentences(kind: str, printed: FrozenNumbers, tmp_path: Path) -> None:
    rng = random.Random(kind)
    lists = [[f"Nugget {rng.randrange(40)}." for _ in range(rng.randrange(6))] for _ in range(8)]
    file = write_jsonl(
        tmp_path / "nuggets.jsonl",
        [
            {"qid": str(i), "nuggets": [{"text": t, "importance": "okay"} for t in texts]}
            for i, texts in enumerate(lists)
        ],
    )
    inputs = hard.make_inputs(
        hard.make_items(kind, ANSWERS), judge=AskedJudge(judge_pair), assessments=(file,)
    )
    nuggets = [
        {"query_id": str(i), "items": [
            {"question_text": "q", "info": {"importance": "okay"},
             "gold_answers": [{"answer": t} for t in texts]}
        ]} for i, texts in enumerate(lists)
    ]  # fmt: skip
    theirs = printed(ARGUE, kind, run_evaluator, describe(inputs), nuggets)
    ours = hard.per_query(inputs, NAMES)
    for name, column in zip(NAMES, zip(*theirs, strict=True), strict=True):
        assert ours[name] == pytest.approx(list(column), abs=1e-9), name
