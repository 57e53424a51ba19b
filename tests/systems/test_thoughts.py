"""Thoughts that an LLM of a plugin leaves in its replies reach no system; they are counted."""

import json
from pathlib import Path
from typing import Any

import citeforge as cf
from citeforge.engines.llm.records import Request
from citeforge.plugins.published_systems.scenarios import read_queries
from citeforge.systems.llm_answers import answer_all
from citeforge.systems.registry import get_system
from citeforge.systems.run import run_system
from citeforge.systems.system import Reply, Steps, Task
from stand_ins import RuleLlm

THOUGHT = "<think>\nI should:\n1. think of rivers [3]\n2. think of tin\n</think>\n\n"


def thinking(answer: str) -> RuleLlm:
    """An LLM that says its thoughts, as a plugin's may."""
    return RuleLlm(lambda request: THOUGHT + answer)


def test_sub_queries_are_read_of_the_answer() -> None:
    def steps(task: Task | None) -> Steps:
        (reply,) = yield [Request((("user", "x"),), needs_text=False)]
        return Reply(json.dumps(read_queries(reply.text)))

    jobs: Any = [(None, steps)]
    llm = thinking("1. longest bridge span record\n2. bridge after Golden Gate [5]")
    (end,) = answer_all(jobs, llm, "answers")
    assert isinstance(end, Reply)
    assert json.loads(end.text) == ["longest bridge span record", "bridge after Golden Gate [5]"]


def test_answers_and_words_are_counted(package: Path, tmp_path: Path) -> None:
    out = tmp_path / "s.jsonl"
    ran = run_system(
        get_system("rage"), cf.load(package), ["mix"], 1, 0, out,
        llm=thinking("It opened in 1964 [5]."), limit=2,
    )  # fmt: skip
    header, *lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert [line["output"] for line in lines] == ["It opened in 1964 [5]."] * 2
    n_words = len("I should: 1. think of rivers [3] 2. think of tin".split())
    counts = {"answers_after_thoughts": 2, "words_of_thoughts": 2 * n_words}
    assert counts.items() <= header["submission"]["counts"].items()
    assert counts.items() <= ran.counts.items()
