"""`check` reports everything with its line and changes nothing."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import citeforge as cf
from citeforge.engines.judge.no_model import LexicalJudge
from citeforge.engines.judge.session import JudgeSession
from citeforge.evaluator.check import Marks
from citeforge.evaluator.score import ScoringSetup, prepare_scoring, score_context
from citeforge.evaluator.submissions.formats import read_answers
from citeforge.evaluator.submissions.submission import Submission
from citeforge.schemas.submission import SubmissionLine
from conftest import refused, write_jsonl

LINES = [
    '{"query_id": "q01", "output": "Good [1]."}',
    "not json",
    '{"query_id": "q99", "output": "x"}',
    '{"query_id": "q01", "output": "again"}',
    '{"query_id": 2.5, "output": "x"}',
    '{"query_id": "q02", "output": "x", "context": "other"}',
    '{"query_id": "q02", "output": "x", "run": -1}',
    '{"query_id": "q03", "output": "In [2019], and [50], [60]."}',
    '{"query_id": "q04", "output": NaN}',
]


def test_everything_is_reported_with_its_line(tmp_path: Path, benchmark: cf.Benchmark) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text("\n".join(LINES) + "\n")
    before = path.read_bytes()
    result = cf.check(path, benchmark)
    assert [(f.line, f.field, f.code) for f in result.errors] == [
        (2, None, "bad-json"),
        (3, "query_id", "unknown-query"),
        (4, "query_id", "duplicate-id"),
        (5, "query_id", "wrong-type"),
        (6, "context", "unknown-context"),
        (7, "run", "out-of-range"),
        (9, None, "bad-json"),
    ]
    assert [(f.line, f.code, str(f)) for f in result.warnings if f.line is not None] == [
        (8, "unread-citation", "output: '[2019]' is not read as a citation"),
        (8, "not-shown", "output: cites 50, 60; the context has 1 to 7"),
    ]
    whole = [f.code for f in result.warnings if f.line is None]
    assert whole == ["missing-hash", *["missing-answer"] * (30 - 2)]
    assert path.read_bytes() == before


def test_a_closed_book_system_is_checked_as_it_is_scored(benchmark: cf.Benchmark) -> None:
    rows = [{"query_id": "q01", "output": "Good [1]."}]
    found = cf.check(rows, benchmark, context="none")
    assert not found.errors
    assert "output: cites 1; no passage was shown" in map(str, found.warnings)
    assert cf.score(rows, benchmark, ["ALCE.Length"], context="none").file.context == "none"


def test_whole_numbers_are_ids(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text('{"query_id": 21, "output": "", "passages": [{"docid": 7, "text": "a"}]}\n')
    ((_, answer),) = read_answers(path)
    assert (answer.query_id, answer.passages and answer.passages[0].docid) == ("21", "7")


@pytest.mark.parametrize(
    ("fields", "hint"),
    [
        ('"query_id": 2.5, "output": ""', "quotes around it"),
        ('"query_id": "q01", "output": null', "leave the line out"),
        ('"query_id": "q01", "output": "", "run": "0"', "without quotes"),
        ('"query_id": "q01 ", "output": ""', "did you mean 'q01'?"),
    ],
)
def test_an_error_of_a_type_or_an_id_says_what_would_be_right(
    fields: str, hint: str, tmp_path: Path, benchmark: cf.Benchmark
) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(f"{{{fields}}}\n")
    assert hint in " ".join(map(str, cf.check(path, benchmark).errors))


def test_an_endless_thought_is_told_once(tmp_path: Path, benchmark: cf.Benchmark) -> None:
    rows = [{"query_id": "q01", "output": "<think>Is it [3]?"}]
    found = cf.check(write_jsonl(tmp_path / "s.jsonl", rows), benchmark)
    codes = {w.code for w in found.warnings} - {"missing-answer", "anonymous"}
    assert "thoughts" in codes
    assert not codes & {"truncated-answer", "empty-text"}
    assert (found.n_empty, found.n_truncated) == (1, 1)


def test_a_wrong_field_of_the_header(tmp_path: Path, benchmark: cf.Benchmark) -> None:
    """``score`` refuses it, too."""
    answer = {"query_id": benchmark.query_ids[0], "output": "So [1]."}
    path = write_jsonl(tmp_path / "s.jsonl", [{"submission": {"system": "s", "cost": -1}}, answer])
    with refused("out-of-range", field="cost") as caught:
        cf.score(path, benchmark)
    (error,) = cf.check(path, benchmark).errors
    assert (error.code, error.field) == (caught.value.code, "cost")


def test_an_empty_file(tmp_path: Path, benchmark: cf.Benchmark) -> None:
    path = write_jsonl(tmp_path / "s.jsonl", [])
    (error,) = cf.check(path, benchmark).errors
    assert (error.code, error.line) == ("no-answers", None)
    with refused("no-answers", cf.InputError, path=path, line=None):
        cf.score(path, benchmark)


def test_a_run_a_line_is_refused_before_it_fills_the_memory(
    tmp_path: Path, benchmark: cf.Benchmark
) -> None:
    """Each run more would be 30 more expected answers."""
    n_runs = 3_000
    rows = [{"query_id": "q01", "output": "[1]", "run": run} for run in range(n_runs)]
    path = write_jsonl(tmp_path / "s.jsonl", rows)
    with refused("too-large", line=1001, field="run"):
        cf.score(path, benchmark, ["CiteP"])
    result = cf.check(path, benchmark)
    assert [f.line for f in result.errors] == list(range(1001, n_runs + 1))
    assert {f.code for f in result.errors} == {"too-large"}


@pytest.fixture(scope="module")
def setup(benchmark: cf.Benchmark) -> ScoringSetup:
    measures = ("rage", "ALCE.CitRec", "ALCE.CitPrec", "AutoAIS.cit", "AutoAIS.psg")
    options = cf.ScoreOptions(measures=measures)
    return prepare_scoring(benchmark, options, JudgeSession(LexicalJudge()))


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


damaged = st.builds(
    lambda line, at: line[:at] + b"\xff" + line[at:], lines, st.integers(0, 80)
)  # fmt: skip


@settings(max_examples=8 * settings().max_examples)
@example([b'{"submission":{}}', b'{"query_id":"q01","output":"\xff"}'])
@given(st.lists(lines | damaged, max_size=6))
def test_no_submission_makes_a_traceback(
    tmp_path: Path, benchmark: cf.Benchmark, setup: ScoringSetup, content: list[bytes]
) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"\n".join(content))
    try:
        found: Any = cf.check(path, benchmark)
    except cf.InputError:
        found = None
    try:
        result = score_context(path, setup)
        scored = True
        counts = result.counts
        # Nothing is skipped silently: every expected key is answered or missing.
        assert counts.n_answered + counts.n_missing == counts.n_queries * counts.n_runs
        assert all(m.value is not None for m in result.measures)
    except cf.InputError:
        scored = False
    # What check finds in order can be scored, and what it faults cannot.
    if found is not None:
        assert scored == (not found.errors)


def test_long_names_are_cut_in_messages(package: Path, tmp_path: Path) -> None:
    """A name of megabytes is no message of megabytes."""
    benchmark = cf.load(package)
    lines = [
        {
            "query_id": "q" * 10**6,
            "output": "So [1].",
            "context": next(iter(benchmark.manifest.contexts)),
        },
        {"query_id": benchmark.query_ids[0], "output": "So [1].", "context": "c" * 10**6},
    ]
    result = cf.check(write_jsonl(tmp_path / "s.jsonl", lines), benchmark)
    assert [f.line for f in result.errors] == [1, 2]
    assert all(len(f.message) < 1_000 for f in result.errors)


def test_ids_that_print_the_same(package: Path, tmp_path: Path) -> None:
    benchmark = cf.load(package)
    benchmark.query_ids = ["caf\u00e9", *benchmark.query_ids[1:]]
    path = write_jsonl(tmp_path / "s.jsonl", [{"query_id": "cafe\u0301", "output": "x"}])
    told = r"(did you mean 'caf\xe9', which prints like 'cafe\u0301'?)"
    (error,) = cf.check(path, benchmark).errors
    assert (error.code, error.line, told in error.message) == ("unknown-query", 1, True)
    with refused("unknown-query", line=1, message=error.message):
        cf.score(path, benchmark)


def _warnings(tmp_path: Path, benchmark: cf.Benchmark, output: str) -> list[tuple[str, str]]:
    """Code and message of what `check` says of one answer."""
    path = write_jsonl(tmp_path / "s.jsonl", [{"query_id": "q01", "output": output}])
    found = cf.check(path, benchmark).warnings
    return [(f.code, f.message) for f in found if f.code not in ("missing-hash", "missing-answer")]


def test_what_is_read_in_another_form_is_said_with_an_example(
    tmp_path: Path, benchmark: cf.Benchmark
) -> None:
    for output, told in (
        (
            "Good (Document 2) {3}. Bad [1, 3].",
            "1 in other forms than [n]: '(Document 2)' as passage 2",
        ),
        ("Good [1]. Bad [1, 3] [2-3].", ""),
    ):
        path = write_jsonl(tmp_path / "s.jsonl", [{"query_id": "q01", "output": output}])
        found = cf.check(path, benchmark)
        assert found.other_forms == told
        assert found.summary().startswith(f"1 answer read{told and f' ({told})'}, 0 errors")


def test_marks_that_are_not_read_are_named_in_one_line(
    tmp_path: Path, benchmark: cf.Benchmark
) -> None:
    [(code, message)] = _warnings(tmp_path, benchmark, "A [2019] [2020] [2021] [2022] is [1].")
    assert code == "unread-citation"
    assert message == "'[2019]', '[2020]', '[2021]' and 1 more are not read as citations"


def test_residue_that_is_read_as_words_is_named(tmp_path: Path, benchmark: cf.Benchmark) -> None:
    [(code, message)] = _warnings(tmp_path, benchmark, r"Long\textsuperscript{1}, old [2019].")
    assert code == "unread-citation"
    assert message == r"'\\textsuperscript{1}', '[2019]' are not read as citations"


def test_a_title_in_brackets_is_named(tmp_path: Path, benchmark: cf.Benchmark) -> None:
    passage = list(benchmark.items("mix"))[benchmark.row_of["q01"]].passages[0]
    name = passage.title or passage.id
    [(code, message)] = _warnings(tmp_path, benchmark, f"Good [{name}].")
    assert code == "unread-citation"
    assert name in message


def test_citations_are_counted_from_the_number_of_their_format(
    benchmark: cf.Benchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As AttriEval's files, whose first passage is [0]; `score` reads them so, too."""
    query = benchmark.query_ids[0]
    path = write_jsonl(tmp_path / "s.jsonl", [{"query_id": query, "output": "x"}])
    last = benchmark.context("mix").sizes[0]
    answer = SubmissionLine(query_id=query, output=f"One [0]. Two [{last}].")
    submission = Submission(path, benchmark)
    texts = [f.message for f in Marks(submission).warnings(answer, "mix", 0)]
    assert texts == [f"cites 0; the context has 1 to {last}"]
    from_zero = replace(submission.format, base=0)
    monkeypatch.setattr(submission, "format", from_zero)
    texts = [f.message for f in Marks(submission).warnings(answer, "mix", 0)]
    assert texts == [f"cites {last}; the context has 0 to {last - 1}"]


@pytest.mark.parametrize(
    ("field", "value", "advice"),
    [
        ("date", "yesterday", "write it as 2026-11-23"),
        ("date", "23.11.2026", "write it as 2026-11-23"),
        ("date", "2026-11-23", ""),
        ("date", "2026", ""),
        ("date", "2026-11", ""),
        ("date", "2028-02-29", ""),
        ("date", "2026-02-29", "write it as 2026-11-23"),
        ("date", "2026-13-45", "write it as 2026-11-23"),
        ("date", "2026-13", "write it as 2026-11-23"),
        ("date", "0000", "write it as 2026-11-23"),
        ("date", "20261123", "write it as 2026-11-23"),
        ("date", "2026-W10-1", "write it as 2026-11-23"),
        ("url", "javascript:alert(1)", "begin with https://"),
        ("url", "www.example.org", "begin with https://"),
        ("url", "https://example.org/x", ""),
    ],
)
def test_dates_and_addresses_of_a_system_that_are_none(
    benchmark: cf.Benchmark, tmp_path: Path, field: str, value: str, advice: str
) -> None:
    path = tmp_path / "a.jsonl"
    answer = {"query_id": "q01", "output": "Good [1]."}
    write_jsonl(path, [{"submission": {"system": "a", field: value}}, answer])
    found = [w for w in cf.check(path, benchmark).warnings if w.field == field]
    assert [advice in w.message for w in found] == [True] * bool(advice)


EMPTY = "empty, as measures of rankings alone may have them; does the system print its answer?"


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (
            ["So [1].", " So [1].\n", "So [1]."],
            "the same: 'So [1].'; does the system read the question?",
        ),
        (["", " ", "\n"], EMPTY),
        (["So [1].", "So [1].", "So [2]."], None),
        (["Yes.", "Yes."], None),  # a coincidence
    ],
)
def test_one_text_for_all_queries_is_a_fault_of_the_system(
    texts: list[str], said: str | None, tmp_path: Path, benchmark: cf.Benchmark
) -> None:
    queries = benchmark.query_ids
    rows = [{"query_id": q, "output": text} for q, text in zip(queries, texts, strict=False)]
    path = write_jsonl(tmp_path / "s.jsonl", rows)
    found = cf.check(path, benchmark).warnings
    scored = cf.score(path, benchmark, ["CiteP"]).file.warnings
    of_check = [str(w) for w in found if w.code in ("same-answers", "empty-text")]
    assert of_check == ([] if said is None else [f"all 3 answers are {said}"])
    assert [w for w in scored if "all 3 answers" in w] == of_check
    runs = [{"query_id": queries[0], "output": "So [1].", "run": n} for n in range(3)]
    path = write_jsonl(tmp_path / "s.jsonl", runs)
    assert "same-answers" not in [w.code for w in cf.check(path, benchmark).warnings]
