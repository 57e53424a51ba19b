"""Thoughts of reasoning models in submissions: counted, and no part of any answer."""

import json
from pathlib import Path
from typing import Any

import pytest

import citeforge as cf
from citeforge.evaluator.submissions.submission import Submission
from citeforge.evaluator.submissions.unwrapping import Unwrapper
from citeforge.schemas.submission import CitedSpan, SubmissionLine, TokenLogprob
from conftest import Inline, write_jsonl

THOUGHT = "Passage [3] says 1931."
ANSWER = "It opened in 1964 [1]."


def _line(output: str, **more: Any) -> SubmissionLine:
    return SubmissionLine("q01", output, **more)


def test_thoughts_are_counted_and_leave_the_answer() -> None:
    unwrapper = Unwrapper()
    line = unwrapper.unwrap(_line(f"<think>{THOUGHT}</think>\n\n{ANSWER}"))
    assert line.output == ANSWER
    assert (unwrapper.n_thinking, unwrapper.n_words, unwrapper.n_endless) == (1, 4, 0)


def test_a_thought_that_never_ends_is_an_empty_truncated_answer() -> None:
    unwrapper = Unwrapper()
    line = unwrapper.unwrap(_line(f"<think>{THOUGHT}"))
    assert line.output == ""
    assert line.is_truncated
    assert (unwrapper.n_thinking, unwrapper.n_words, unwrapper.n_endless) == (1, 4, 1)


def test_spans_and_log_probabilities_move_with_the_answer() -> None:
    output = f"<think>{THOUGHT}</think>{ANSWER}"
    start = output.index("1964")
    spans = [
        CitedSpan(start, start + 4, 0),
        CitedSpan(7, 10, 1),
    ]  # the second one is in the thought
    logprobs = [TokenLogprob(0, "3", -0.5), TokenLogprob(1, "1", -0.1)]
    line = Unwrapper().unwrap(_line(output, spans=spans, logprobs=logprobs))
    assert [line.output[s.start : s.end] for s in line.spans or ()] == ["1964"]
    assert [(t.index, t.token) for t in line.logprobs or ()] == [(0, "1")]


def test_an_answer_without_thoughts_stays_the_same_object() -> None:
    line = _line(ANSWER)
    assert Unwrapper().unwrap(line) is line


def _scores(benchmark: Path, path: Path, inline: Inline, *more: str) -> dict[str, Any]:
    names = "CiteP,Length,ALCE.CitRec"
    words = ("score", path, "--benchmark", benchmark, "--judge", "lexical", "--details")
    inline(*words, "--measures", names, "--out", "s.json", *more).check_returncode()
    return json.loads((path.parent / "s.json").read_text())


def test_scores_of_thoughts_are_those_of_the_answer_alone(
    tmp_path: Path, package: Path, inline: Inline
) -> None:
    rows = {}
    for name, output in (("plain", ANSWER), ("thinks", f"<think>{THOUGHT}</think>\n\n{ANSWER}")):
        path = write_jsonl(tmp_path / f"{name}.jsonl", [{"query_id": "q01", "output": output}])
        rows[name] = _scores(package, path, inline)
    assert rows["thinks"]["measures"] == rows["plain"]["measures"]
    assert rows["thinks"]["answers"] == rows["plain"]["answers"]
    assert any("thoughts in 1 answer (4 words)" in w for w in rows["thinks"]["warnings"])


def test_reference_reads_thoughts_as_the_papers_code_does(
    tmp_path: Path, package: Path, inline: Inline
) -> None:
    """rage_toolkit cites every `[n]` of the output: `[3]` of the thought, too."""
    output = f"<think>{THOUGHT}</think>{ANSWER}"
    path = write_jsonl(tmp_path / "s.jsonl", [{"query_id": "q01", "output": output}])
    words = ("score", path, "--benchmark", package, "--protocol", "reference")
    ran = inline(*words, "--measures", "Distinct", "--out", "r.json")
    ran.check_returncode()
    scores = json.loads((tmp_path / "r.json").read_text())
    assert scores["measures"][0]["value"] == 2
    assert sum("--protocol strict leaves them out" in w for w in scores["warnings"]) == 1


def test_check_counts_thoughts(tmp_path: Path, benchmark: cf.Benchmark) -> None:
    rows = [
        {"query_id": "q01", "output": f"<think>{THOUGHT}</think>{ANSWER}"},
        {"query_id": "q02", "output": f"[THINK]{THOUGHT}"},
    ]
    result = cf.check(write_jsonl(tmp_path / "s.jsonl", rows), benchmark)
    found = {f.code: f.message for f in result.warnings if f.line is None}
    assert found["thoughts"].startswith("thoughts in 2 answers (8 words)")
    assert (result.n_truncated, result.n_empty) == (1, 1)


def test_a_file_that_is_read_twice_is_counted_once(
    tmp_path: Path, benchmark: cf.Benchmark, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("citeforge.evaluator.submissions.submission._MOST_KEPT", 0)
    rows = [{"query_id": "q01", "output": f"<think>{THOUGHT}</think>{ANSWER}"}]
    submission = Submission(write_jsonl(tmp_path / "s.jsonl", rows), benchmark)
    submission.choose_context(None)
    assert len(list(submission.answers())) == 1
    assert submission.unwrapper.n_thinking == 1


@pytest.mark.parametrize(
    ("output", "said", "counts"),
    [
        ('{"answer": "It opened [5].\\nIt is long."}', "It opened [5].\nIt is long.", (1, 0)),
        ('{"answer": "It opened.", "citations": [5, 8]}', "It opened.", (1, 1)),
        ('```json\n{"response": "It opened [5]."}\n```', "It opened [5].", (1, 0)),
        ("```markdown\nIt opened [5].\n```", "It opened [5].", (0, 0)),
        ("<think>so</think>```\nIt opened [5].\n```", "It opened [5].", (0, 0)),
        ("One [1].\\nTwo [2].", "One [1]. \nTwo [2].", (0, 0)),
        # No answer in a wrapping.
        ('{"a": 1}', '{"a": 1}', (0, 0)),
        ("{1, 2} is a set}", "{1, 2} is a set}", (0, 0)),
        ("```a\nx\n```\nand\n```\ny\n```", "```a\nx\n```\nand\n```\ny\n```", (0, 0)),
        ("The \\nu and \\nabla [1].", "The \\nu and \\nabla [1].", (0, 0)),
    ],
)
def test_json_fences_and_escaped_line_breaks(
    output: str, said: str, counts: tuple[int, int]
) -> None:
    unwrapper = Unwrapper()
    assert unwrapper.unwrap(_line(output)).output == said
    assert (unwrapper.n_objects, unwrapper.n_lists) == counts


def test_spans_and_log_probabilities_move_around_a_thought_in_the_middle() -> None:
    output = "It opened [1]. <think>Is it [3]?</think> It is long [2]."
    places = [(m, output.index(m)) for m in ("opened", "Is it", "long")]
    spans = [CitedSpan(at, at + len(word), 0) for word, at in places]
    logprobs = [TokenLogprob(n, t, -0.1) for n, t in enumerate("132")]
    line = Unwrapper().unwrap(_line(output, spans=spans, logprobs=logprobs))
    assert line.output == "It opened [1].  It is long [2]."
    assert [line.output[s.start : s.end] for s in line.spans or ()] == ["opened", "long"]
    assert [(t.index, t.token) for t in line.logprobs or ()] == [(0, "1"), (1, "2")]


def test_an_answer_before_a_thought_without_end_is_truncated_and_not_empty(
    tmp_path: Path, benchmark: cf.Benchmark
) -> None:
    rows = [{"query_id": "q01", "output": f"{ANSWER}\n<think>{THOUGHT}"}]
    result = cf.check(write_jsonl(tmp_path / "s.jsonl", rows), benchmark)
    found = {f.code: f.message for f in result.warnings if f.line is None}
    assert "1 never end: the answers count as truncated" in found["thoughts"]
    assert (result.n_truncated, result.n_empty) == (1, 0)
    assert not found.keys() & {"truncated-answer", "empty-text"}


def test_unknown_reasons_to_stop_are_counted_and_named(
    tmp_path: Path, benchmark: cf.Benchmark, package: Path, inline: Inline
) -> None:
    reasons = ["moon_phase", "stop", "moon_phase", "tide"]
    rows = [
        {"query_id": f"q0{n}", "output": ANSWER, "finish_reason": reason}
        for n, reason in enumerate(reasons, 1)
    ]
    path = write_jsonl(tmp_path / "s.jsonl", rows)
    result = cf.check(path, benchmark)
    (found,) = [f.message for f in result.warnings if f.code == "unknown-value"]
    assert found.startswith("3 answers with a finish_reason that no known vendor uses: ")
    assert "'moon_phase' (2), 'tide' (1)" in found
    assert result.n_truncated == 0
    assert found in _scores(package, path, inline)["warnings"]
