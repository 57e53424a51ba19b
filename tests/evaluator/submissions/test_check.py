"""`check` reports everything with its line and changes nothing."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from citeforge.engines.judge.no_model import LexicalJudge
from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.text.sentences import SentenceSegmenter
from citeforge.evaluator.measures.registry import select
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.evaluator.submissions.check import check
from citeforge.evaluator.tools import Tools
from citeforge.schemas.errors import InputError
from conftest import write_jsonl
from scoring import score


@pytest.fixture(scope="module")
def benchmark(package: Path) -> Benchmark:
    return Benchmark(package)


LINES = [
    '{"query_id": "q01", "output": "Good [1]."}',
    "not json",
    '{"query_id": "q99", "output": "x"}',
    '{"query_id": "q01", "output": "again"}',
    '{"query_id": 2, "output": "x"}',
    '{"query_id": "q02", "output": "x", "context": "other"}',
    '{"query_id": "q02", "output": "x", "run": -1}',
    '{"query_id": "q03", "output": "In [2019], and [50], [60]."}',
    '{"query_id": "q04", "output": NaN}',
]


def test_everything_is_reported_with_its_line(tmp_path: Path, benchmark: Benchmark) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text("\n".join(LINES) + "\n")
    before = path.read_bytes()
    result = check(path, benchmark)
    messages = dict(result.errors)
    assert sorted(messages) == [2, 3, 4, 5, 6, 7, 9]
    assert "is not one JSON object" in messages[2]
    assert "'q99' is not in the benchmark" in messages[3]
    assert "comes twice, first in line 1" in messages[4]
    assert "query_id: Expected `str`, got `int`" in messages[5]
    assert "'other' is unknown; one of mix" in messages[6]
    assert "is negative" in messages[7]
    warnings = [(line, text) for line, text in result.warnings if line is not None]
    assert warnings == [
        (8, "output: '[2019]' is not read as a citation"),
        (8, "output: cites 50, 60; the context has 1 to 7"),
    ]
    missing = [text for line, text in result.warnings if line is None]
    assert "the header has no benchmark_hash" in missing[0]
    assert len(missing) == 1 + 30 - 2
    assert path.read_bytes() == before


def test_what_the_header_says_of_the_system(tmp_path: Path, benchmark: Benchmark) -> None:
    """``score`` refuses it, too."""
    answer = {"query_id": benchmark.query_ids[0], "output": "So [1]."}
    write_jsonl(tmp_path / "s.jsonl", [{"submission": {"system": "s", "cost": -1}}, answer])
    with pytest.raises(InputError, match=r"cost: .* greater than or equal to 0"):
        score(tmp_path / "s.jsonl", benchmark, select(["rage"]))
    (error,) = check(tmp_path / "s.jsonl", benchmark).errors
    assert "greater than or equal to 0" in error[1]


def test_an_empty_file(tmp_path: Path, benchmark: Benchmark) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text("")
    assert check(path, benchmark).errors == [(None, "the file holds no answers")]


def test_a_run_a_line_is_refused_before_it_fills_the_memory(
    tmp_path: Path, benchmark: Benchmark
) -> None:
    """200,000 runs of 30 queries would be 6 million expected answers."""
    path = tmp_path / "s.jsonl"
    with path.open("w") as file:
        for run in range(200_000):
            file.write(f'{{"query_id": "q01", "output": "[1]", "run": {run}}}\n')
    with pytest.raises(InputError, match="makes more than 1,000 runs") as caught:
        score(path, benchmark, select(["CiteP"]))
    assert caught.value.line == 1001
    result = check(path, benchmark)
    assert len(result.errors) == 200_000 - 1000
    assert result.errors[0][0] == 1001


MEASURES = select(["rage", "ALCE.CitRec", "ALCE.CitPrec", "AutoAIS.cit", "AutoAIS.psg"])
JUDGE = JudgeSession(LexicalJudge())
SEGMENTER = SentenceSegmenter()

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)
outputs = st.sampled_from(
    [
        "",
        "   \n\t ",
        "[1][2][3]",
        "```\nx[1]\n```",
        "مرحبا [1]. نص [2].",
        "never closed [1",
        "[[[[1]]]] [[2], [3]]",
        "Io is a moon [1]. " * 30,
        "A [9][0][2019] B [1-3] C [1, 2].",
        "one, two [1], [2], three",
    ]
)
lines = st.fixed_dictionaries(
    {},
    optional={
        "query_id": st.sampled_from(["q01", "q02", "q30", "q99"]) | json_values,
        "output": outputs | st.text() | json_values,
        "run": st.integers(-1, 2) | json_values,
        "context": st.sampled_from(["mix", "own"]) | json_values,
        "meta": json_values,
        "other": json_values,
    },
).map(lambda row: json.dumps(row).encode()) | st.binary(max_size=40)


@settings(max_examples=max(2000, settings().max_examples))
@given(st.lists(lines, max_size=6))
def test_no_submission_makes_a_traceback(
    tmp_path: Path, benchmark: Benchmark, content: list[bytes]
) -> None:
    """2,000 submissions, always the same; `make fuzz` draws 5,000 new ones."""
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"\n".join(content))
    try:
        found: Any = check(path, benchmark)
    except InputError:
        found = None
    try:
        result = score(path, benchmark, MEASURES, tools=Tools(JUDGE, SEGMENTER))
        scored = True
        counts = result.counts
        # Nothing is skipped silently: every expected key is answered or missing.
        assert counts.n_answered + counts.n_missing == counts.n_queries * counts.n_runs
        assert all(m.value is not None for m in result.measures)
    except InputError:
        scored = False
    # What check finds in order can be scored, and what it faults cannot.
    if found is not None:
        assert scored == (not found.errors)


def test_long_names_are_cut_in_messages(package: Path, tmp_path: Path) -> None:
    """A name of megabytes is no message of megabytes."""
    benchmark = Benchmark(package)
    lines = [
        {
            "query_id": "q" * 10**6,
            "output": "So [1].",
            "context": next(iter(benchmark.manifest.contexts)),
        },
        {"query_id": benchmark.query_ids[0], "output": "So [1].", "context": "c" * 10**6},
    ]
    result = check(write_jsonl(tmp_path / "s.jsonl", lines), benchmark)
    assert [line for line, _ in result.errors] == [1, 2]
    assert all(len(message) < 1_000 for _, message in result.errors)


def test_ids_that_print_the_same(package: Path, tmp_path: Path) -> None:
    benchmark = Benchmark(package)
    benchmark.query_ids = ["caf\u00e9", *benchmark.query_ids[1:]]
    path = write_jsonl(tmp_path / "s.jsonl", [{"query_id": "cafe\u0301", "output": "x"}])
    told = r"(did you mean 'caf\xe9', which prints like 'cafe\u0301'?)"
    ((line, fault),) = check(path, benchmark).errors
    assert (line, told in fault) == (1, True)
    with pytest.raises(InputError) as error:
        score(path, benchmark, select(["rage"]))
    assert told in str(error.value)
