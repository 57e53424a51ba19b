"""What ALCE's ``run.py`` does with a model's replies, step by step, beside ours."""

import json
import sys
import types
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from citeforge.engines.llm.records import LlmReply, Request
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.package.items import Item
from citeforge.plugins.published_systems.alce.options import InteractOptions
from citeforge.systems.run import run_system

Found = tuple[str, list[list[int]]]
"""The answer, and the documents that each check showed, from 0."""

SAME = [
    ["Check: Document [1][2]", " A sentence [1].", "Output: Another [2].", "End"],
    ["Output: One [1].", "End."],
    ["Check: Document [9]", "Nothing is known.", "End"],
    ["Check: Document [1][2][3][4]", "Of four, three are shown [1].", "end"],
    ["Check: Document [2], Document [4]", "So it is [4].", "Check: Document [1]", "Or so.", "End"],
    ["I do not know."],
    ["Check: Document [1]", "Ended in 1918 [1].", "End"],
    ["Sorry, I found no relevant documents."],
    ["None of the documents helps."],
    [f"Output: Sentence {i} [1]." for i in range(14)],
]
OTHER = [
    # Theirs keeps a lower-case prefix as a part of the answer.
    (["output: So [1].", "End"], "output: So [1].", "So [1]."),
    # A model that says one thing for ever fills theirs with it.
    (["Output: So [1]."] * 3 + ["End"], "So [1]. So [1]. So [1].", "So [1]."),
    # Behind a check theirs takes "End" for a sentence.
    (["Check: Document [1]", "End", "End"], "End", ""),
]  # fmt: skip


@pytest.fixture
def theirs(
    peer: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[Item, list[str]], Found]:
    """``main()`` of ``run.py`` on one question, with a model that says what it is told to."""
    checkout = peer("ALCE")
    searching = types.ModuleType("searcher")
    searching.SearcherWithinDocs = object  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "searcher", searching)
    monkeypatch.delitem(sys.modules, "utils", raising=False)
    monkeypatch.syspath_prepend(str(checkout))
    source = compile((checkout / "run.py").read_text(), "run.py", "exec")
    monkeypatch.chdir(tmp_path)

    def run(item: Item, replies: list[str]) -> Found:
        result: dict[str, Any] = {"__name__": "alce_run"}
        exec(source, result)
        result["LLM"] = lambda args: Scripted(replies)
        docs = [{"title": p.title, "text": p.text, "summary": "s"} for p in item.passages]
        Path("q.json").write_text(
            json.dumps([{"question": item.query, "answer": "", "docs": docs}])
        )
        prompt = {
            "instruction": "I",
            "demo_sep": "",
            "demos": [],
            "demo_prompt": "{INST}{Q}\n{D}\nAnswer: {A}",
            "doc_prompt": "[{ID}] {T} {P}\n",
        }
        Path("p.json").write_text(json.dumps(prompt))
        words = "--prompt_file p.json --eval_file q.json --ndoc 10 --shot 0 --model m --tag t"
        more = "--dataset_name d --interactive True --interactive_query doc_id"
        argv = ["run.py", *words.split(), *more.split(), "--use_shorter", "summary"]
        monkeypatch.setattr(sys, "argv", argv)
        result["main"]()
        (written,) = Path("result").glob("*.json")
        row = json.loads(written.read_text())["data"][0]
        return row["output"].strip(), row["doc_history"]

    return run


class Scripted:
    """Stands for ALCE's ``LLM``."""

    prompt_exceed_max_length = fewer_than_50 = 0

    def __init__(self, replies: list[str]) -> None:
        self.replies = iter(replies)
        self.tokenizer = types.SimpleNamespace(tokenize=str.split)

    def generate(self, prompt: str, max_tokens: int, stop: Any = None) -> str:
        return next(self.replies, "End")


class Model:
    """Stands for ours: short versions for summaries, then the same replies."""

    def __init__(self, replies: list[str]) -> None:
        self.replies, self.prompts = iter(replies), list[str]()

    def identity(self) -> dict[str, Any]:
        return {"name": "scripted"}

    def complete(self, requests: Sequence[Request]) -> list[LlmReply]:
        return [self._one(r.messages[-1][1]) for r in requests]

    def _one(self, prompt: str) -> LlmReply:
        if prompt.endswith("Summary:"):
            return LlmReply("s")
        self.prompts.append(prompt)
        return LlmReply(next(self.replies, "End"))


def ours(benchmark: Benchmark, item: Item, replies: list[str], out: Path) -> Found:
    model = Model(replies)
    run_system(
        "interact", benchmark, ["mix"], 1, 0, out, llm=model, options=InteractOptions(shots=0),
        limit=1,
    )  # fmt: skip
    seen = [
        [i for i, p in enumerate(item.passages) if p.text in prompt]
        for prompt in model.prompts
        if prompt.endswith("Output:")
    ]
    return json.loads(out.read_text().splitlines()[1])["output"], seen


@pytest.mark.parametrize("replies", SAME, ids=lambda r: r[0])
def test_the_same_replies_lead_to_the_same_answer(
    package: Path, tmp_path: Path, theirs: Callable[[Item, list[str]], Found], replies: list[str]
) -> None:
    benchmark = Benchmark(package)
    item = next(iter(benchmark.items("mix")))
    answer, shown = ours(benchmark, item, replies, tmp_path / "s.jsonl")
    their_answer, their_shown = theirs(item, replies)
    assert answer == their_answer
    assert shown == [sorted(result) for result in their_shown]


@pytest.mark.parametrize(
    ("replies", "their_answer", "our_answer"), OTHER, ids=["prefix", "loop", "end"]
)
def test_where_ours_is_meant_to_differ(
    package: Path,
    tmp_path: Path,
    theirs: Callable[[Item, list[str]], Found],
    replies: list[str],
    their_answer: str,
    our_answer: str,
) -> None:
    benchmark = Benchmark(package)
    item = next(iter(benchmark.items("mix")))
    assert ours(benchmark, item, replies, tmp_path / "s.jsonl")[0] == our_answer
    assert theirs(item, replies)[0] == their_answer
