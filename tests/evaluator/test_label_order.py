"""What labels say does not depend on the order of their lines."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citeforge.engines.judge.no_model import LexicalJudge
from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.running.names import make_segmenter
from citeforge.evaluator.corrections import LabelCorrection
from citeforge.evaluator.human_labels import HumanLabels, match_labels
from citeforge.evaluator.label_files import read_labels
from citeforge.evaluator.measures.registry import select
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.evaluator.submissions.inputs import Inputs, ItemCollector
from citeforge.evaluator.submissions.tools import ScoringTools
from citeforge.schemas.submission import OwnPassage, SubmissionLine
from conftest import refused, write_jsonl
from scoring import score

PASSAGES = [OwnPassage("Sand is dry.", "a"), OwnPassage("Sea is wet.", "b")]
OUTPUT = "Sand is so dry [1]. Sea is so wet [1][2]."
N = 6


def rows(benchmark: Benchmark) -> list[dict[str, Any]]:
    """Of answers that say the same and cite the same: pairs are shared, and labels differ."""
    lines: list[dict[str, Any]] = []
    for at, query in enumerate(benchmark.query_ids[:N]):
        of = {"system": "one", "query_id": query}
        whole, single = ("full", "not") if at % 2 else ("not", "full")
        lines.append({**of, "statement": 0, "citation": 0, "label": single})
        if at < 4:
            lines.append({**of, "statement": 0, "label": whole})
        lines.append({**of, "statement": 1, "label": "full"})
        lines.append({**of, "statement": 1, "citation": 1, "label": "partial" if at else "not"})
        lines.append({**of, "statement": 1, "citation": 0, "label": None})
    return lines


@pytest.fixture(scope="module")
def inputs(benchmark: Benchmark) -> Inputs:
    tools = ScoringTools(JudgeSession(LexicalJudge()), make_segmenter("nupunkt"))
    collector = ItemCollector(benchmark, "own", benchmark.grammar, tools)
    for row, query in enumerate(benchmark.query_ids[:N]):
        collector.add(row, SubmissionLine(query, OUTPUT, passages=PASSAGES))
    return collector.inputs(("it",))


def people(folder: Path, inputs: Inputs, lines: list[dict[str, Any]]) -> HumanLabels:
    return match_labels(read_labels(write_jsonl(folder / "labels.jsonl", lines)), inputs)


@given(order=st.permutations(range(28)), again=st.lists(st.integers(0, 27), max_size=9))
def test_any_order(
    tmp_path_factory: pytest.TempPathFactory,
    benchmark: Benchmark,
    inputs: Inputs,
    order: list[int],
    again: list[int],
) -> None:
    folder = tmp_path_factory.mktemp("labels")
    lines = rows(benchmark)  # 6 answers with 4 labels each, and 4 of them with a fifth
    expected = people(folder, inputs, lines)
    result = people(folder, inputs, [lines[i] for i in order] + [lines[i] for i in again])
    assert (expected.n_duplicates, result.n_duplicates) == (0, len(again))
    result.n_duplicates = 0
    assert result == expected
    # Sand with passage 1 is both, and so is Sea with passage 2: neither decides anything.
    assert len(expected.contested) == 2
    assert list(expected.verdicts.values()) == ["full"]  # Sea with both passages


def test_repeated_labels_are_told_and_change_nothing(tmp_path: Path, benchmark: Benchmark) -> None:
    queries = benchmark.query_ids[:20]
    answers = [{"submission": {"system": "one"}}] + [
        {"query_id": q, "output": f"Sand {i} is dry [1]."} for i, q in enumerate(queries)
    ]
    path = write_jsonl(tmp_path / "one.jsonl", answers)
    labels = [
        {"system": "one", "query_id": q, "statement": 0, "label": "full" if i % 3 else "not"}
        for i, q in enumerate(queries)
    ]
    result = []
    for lines in (labels, labels[::-1] + labels[:7]):
        read = read_labels(write_jsonl(tmp_path / "labels.jsonl", lines))
        tools = ScoringTools(JudgeSession(LexicalJudge()), make_segmenter("nupunkt"))
        result.append(score(path, benchmark, select(["ALCE.CitRec"]), tools=tools,
                           correction=LabelCorrection(read)))  # fmt: skip
    once, twice = result
    assert once.measures == twice.measures
    assert once.measures[0].corrected is not None
    assert [w for w in twice.warnings if w not in once.warnings] == [
        "7 labels repeat another one word for word; they are ignored"
    ]


def test_labels_that_contradict_each_other_are_refused_with_both_lines(
    tmp_path: Path, benchmark: Benchmark, inputs: Inputs
) -> None:
    lines = rows(benchmark)
    other = {**lines[1], "label": "full"}
    for order, first in (([*lines, other], 2), ([other, *lines[1:]], 1)):
        with refused("contradiction", line=len(order) if first == 2 else 2) as caught:
            people(tmp_path, inputs, order)
        assert f", line {first}," in str(caught.value)
