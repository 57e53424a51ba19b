"""Prompts that come back before answers: found word for word, taken off, counted."""

import json
from pathlib import Path
from typing import Any

import pytest

import citeforge as cf
from citeforge.builders.prompts import load_template, render_prompts
from citeforge.evaluator.submissions.submission import Submission
from citeforge.schemas.submission import CitedSpan
from conftest import Inline, write_jsonl

ANSWER = "It opened in 1964 [1]."


@pytest.fixture
def prompt(benchmark: cf.Benchmark) -> str:
    """The prompt of query q01."""
    return dict(render_prompts(benchmark, "mix", load_template("rage")))["q01"]


def read(tmp_path: Path, benchmark: cf.Benchmark, row: dict[str, Any]) -> tuple[str, int]:
    """Read one answer: (text, how many prompts were taken off)."""
    path = write_jsonl(tmp_path / "a.jsonl", [{"query_id": "q01", **row}])
    submission = Submission(path, benchmark)
    (answer,) = [answer for _, answer in submission.answers()]
    return answer.output, submission.unwrapper.n_echoes


CHANGES = {
    "as it is": lambda p: f"{p} {ANSWER}",
    "on one line": lambda p: " ".join([*p.split(), ANSWER]),
    "Windows": lambda p: p.replace("\n", "\r\n") + f"\r\n{ANSWER}",
    "Qwen": lambda p: (
        "<|im_start|>system\nYou are helpful.<|im_end|>\n<|im_start|>user\n"
        f"{p}<|im_end|>\n<|im_start|>assistant\n<think>\nIs it [3]?\n</think>\n\n{ANSWER}"
    ),
    "Llama": lambda p: (
        f"<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\n{p}<|eot_id|>"
        f"<|start_header_id|>assistant<|end_header_id|>\n\n{ANSWER}"
    ),
    "Mistral": lambda p: f"<s>[INST] {p} [/INST] {ANSWER}",
    "Gemma": lambda p: (
        f"<bos><start_of_turn>user\n{p}<end_of_turn>\n<start_of_turn>model\n{ANSWER}"
    ),
    "gpt-oss": lambda p: (
        f"<|start|>user<|message|>{p}<|end|><|start|>assistant<|channel|>analysis<|message|>Is it "
        f"[3]?<|end|><|start|>assistant<|channel|>final<|message|>{ANSWER}<|return|>"
    ),
    "tokens left out": lambda p: f"user\n{p}\nassistant\n{ANSWER}",
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("field", ["output", "generated_text"])
def test_the_part_behind_our_prompt_is_the_answer(
    tmp_path: Path, benchmark: cf.Benchmark, prompt: str, change: str, field: str
) -> None:
    assert read(tmp_path, benchmark, {field: CHANGES[change](prompt)}) == (ANSWER, 1)


def test_a_completion_with_echo_and_a_prompt_beside(
    tmp_path: Path, benchmark: cf.Benchmark, prompt: str
) -> None:
    choice = {"text": f"{prompt} {ANSWER}", "finish_reason": "stop"}
    body = {"object": "text_completion", "choices": [choice]}
    assert read(tmp_path, benchmark, {"response": body}) == (ANSWER, 1)
    row = {"prompt": prompt, "generated_text": f"{prompt} {ANSWER}"}
    assert read(tmp_path, benchmark, row) == (ANSWER, 1)
    own = "Which bridge took the record from it? Cite passages.\nAnswer:"
    assert read(tmp_path, benchmark, {"prompt": own, "output": f"{own} {ANSWER}"}) == (ANSWER, 1)
    assert read(tmp_path, benchmark, {"prompt": own, "output": ANSWER}) == (ANSWER, 0)
    assert read(tmp_path, benchmark, {"output": prompt}) == ("", 1)


def test_an_answer_that_repeats_its_question_or_a_passage_stays(
    tmp_path: Path, benchmark: cf.Benchmark, prompt: str
) -> None:
    question = prompt.rpartition("Question: ")[2].partition("\n")[0]
    for output in (f"{question} {ANSWER}", prompt.replace("[1]", "(1)"), prompt[200:] + ANSWER):
        assert read(tmp_path, benchmark, {"output": output}) == (output, 0)


def test_spans_move_with_the_answer(tmp_path: Path, benchmark: cf.Benchmark, prompt: str) -> None:
    output = f"{prompt} {ANSWER}"
    start = output.rindex("1964")
    span = {"start": start, "end": start + 4, "passage": 0}
    path = write_jsonl(
        tmp_path / "a.jsonl", [{"query_id": "q01", "output": output, "spans": [span]}]
    )
    ((_, answer),) = Submission(path, benchmark).answers()
    at = ANSWER.index("1964")
    assert answer.spans == [CitedSpan(at, at + 4, 0)]


def test_check_and_score_count_repeated_prompts(
    tmp_path: Path, benchmark: cf.Benchmark, package: Path, inline: Inline, prompt: str
) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", [{"query_id": "q01", "output": f"{prompt} {ANSWER}"}])
    (found,) = [
        f.message for f in cf.check(path, benchmark).warnings if f.code == "prompt-repeated"
    ]
    assert found == "the prompt is repeated in 1 answer; what follows it is scored"
    words = ("score", path, "--benchmark", package, "--measures", "Distinct,Length")
    n_shown = benchmark.context("mix").sizes[0]  # rage_toolkit's code cites all of the prompt
    for protocol, n_cited in (("strict", 1), ("reference", n_shown)):
        inline(*words, "--protocol", protocol, "--out", f"{protocol}.json").check_returncode()
        scores = json.loads((tmp_path / f"{protocol}.json").read_text())
        assert any("the prompt is repeated in 1 answer" in w for w in scores["warnings"])
        assert scores["measures"][0]["per_query"][0] == n_cited
