"""What ALCE's ``run.py`` does with a model's replies, step by step, beside ours."""

import json
import sys
import types
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from citeforge.engines.llm.records import Request
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.package.items import Item
from citeforge.plugins.published_systems.alce_options import InteractOptions
from citeforge.systems.registry import get_system
from citeforge.systems.run import run_system
from peers.frozen import FrozenNumbers, Program
from stand_ins import RuleLlm

RUN = Program(
    "alce_run",
    "princeton-nlp/ALCE",
    "run.py: main() with --interactive, and replies that are given in place of a model",
    "test_alce_actions_peer.py",
)
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


def run_interact(checkout: Path, n_passages: int, replies: list[str]) -> Found:
    """``main()`` of ``run.py`` on one question, with a model that gives these replies."""
    searching = types.ModuleType("searcher")
    searching.SearcherWithinDocs = object  # type: ignore[attr-defined]
    words = "--prompt_file p.json --eval_file q.json --ndoc 10 --shot 0 --model m --tag t"
    more = "--dataset_name d --interactive True --interactive_query doc_id --use_shorter summary"
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "searcher", searching)
        patch.delitem(sys.modules, "utils", raising=False)
        patch.syspath_prepend(str(checkout))
        patch.chdir(folder)
        patch.setattr(sys, "argv", ["run.py", *words.split(), *more.split()])
        result: dict[str, Any] = {"__name__": "alce_run"}
        exec(compile((checkout / "run.py").read_text(), "run.py", "exec"), result)
        result["LLM"] = lambda args: Scripted(replies)
        docs = [{"title": "T", "text": "x", "summary": "s"}] * n_passages
        Path("q.json").write_text(json.dumps([{"question": "q", "answer": "", "docs": docs}]))
        prompt = {
            "instruction": "I",
            "demo_sep": "",
            "demos": [],
            "demo_prompt": "{INST}{Q}\n{D}\nAnswer: {A}",
            "doc_prompt": "[{ID}] {T} {P}\n",
        }
        Path("p.json").write_text(json.dumps(prompt))
        result["main"]()
        (written,) = Path("result").glob("*.json")
        row = json.loads(written.read_text())["data"][0]
        sys.modules.pop("utils", None)
        return row["output"].strip(), row["doc_history"]


class Scripted:
    """Stands for ALCE's ``LLM``."""

    prompt_exceed_max_length = fewer_than_50 = 0

    def __init__(self, replies: list[str]) -> None:
        self.replies = iter(replies)
        self.tokenizer = types.SimpleNamespace(tokenize=str.split)

    def generate(self, prompt: str, max_tokens: int, stop: Any = None) -> str:
        return next(self.replies, "End")


def ours(benchmark: Benchmark, item: Item, replies: list[str], out: Path) -> Found:
    coming, prompts = iter(replies), list[str]()

    def reply(request: Request) -> str:
        """Short versions for summaries, then the same replies."""
        prompt = request.messages[-1][1]
        if prompt.endswith("Summary:"):
            return "s"
        prompts.append(prompt)
        return next(coming, "End")

    run_system(
        get_system("interact"), benchmark, ["mix"], 1, 0, out, llm=RuleLlm(reply),
        options=InteractOptions(shots=0), limit=1,
    )  # fmt: skip
    seen = [
        [i for i, p in enumerate(item.passages) if p.text in prompt]
        for prompt in prompts
        if prompt.endswith("Output:")
    ]
    return json.loads(out.read_text().splitlines()[1])["output"], seen


@pytest.fixture
def both(
    printed: FrozenNumbers, benchmark: Benchmark, tmp_path: Path
) -> Callable[[list[str]], tuple[Found, Found]]:
    """What the same replies lead to: ours, then theirs."""
    item = next(iter(benchmark.items("mix")))

    def run(replies: list[str]) -> tuple[Found, Found]:
        mine = ours(benchmark, item, replies, tmp_path / "s.jsonl")
        case = " | ".join(replies)
        return mine, printed(RUN, case, run_interact, len(item.passages), replies)

    return run


@pytest.mark.parametrize("replies", SAME, ids=lambda r: r[0])
def test_the_same_replies_lead_to_the_same_answer(
    both: Callable[[list[str]], tuple[Found, Found]], replies: list[str]
) -> None:
    (answer, shown), (their_answer, their_shown) = both(replies)
    assert answer == their_answer
    assert shown == [sorted(result) for result in their_shown]


@pytest.mark.parametrize(
    ("replies", "their_answer", "our_answer"), OTHER, ids=["prefix", "loop", "end"]
)
def test_where_ours_is_meant_to_differ(
    both: Callable[[list[str]], tuple[Found, Found]],
    replies: list[str],
    their_answer: str,
    our_answer: str,
) -> None:
    mine, theirs = both(replies)
    assert (mine[0], theirs[0]) == (our_answer, their_answer)
