"""Texts that are no answers: interim messages, chunks of streams, blocked prompts."""

from pathlib import Path
from typing import Any

import pytest

from citeforge.evaluator.check import check
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.evaluator.submissions.formats import detect
from conftest import refused, write_jsonl
from scoring import iter_answers

TEXT = "Io is a moon [1]."
LOOK = "I will look at passage [3] first."
Row = dict[str, Any]


def message(phase: str | None, text: str) -> Row:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "role": "assistant", "phase": phase, "content": content}


def responses(*output: Row) -> Row:
    return {"response": {"object": "response", "status": "completed", "output": list(output)}}


def text(words: str, **more: Any) -> Row:
    return {"type": "text", "text": words, **more}


def of_sdk(phase: str) -> Row:
    return {"providerMetadata": {"openai": {"itemId": "m", "phase": phase}}}


MARKED = {
    "Responses": responses(message("commentary", LOOK), message("final_answer", TEXT)),
    "Responses, twice": responses(
        {"type": "reasoning", "summary": []}, message("commentary", LOOK),
        {"type": "web_search_call", "status": "completed"}, message("final_answer", TEXT),
    ),
    "LangChain": {"response": {
        "type": "ai", "response_metadata": {},
        "content": [text(LOOK, phase="commentary"), text(TEXT, phase="final_answer")],
    }},
    "LangChain, standard blocks": {"response": {
        "type": "ai", "response_metadata": {},
        "content": [text(LOOK, extras={"phase": "commentary"}), text(TEXT)],
    }},
    "the AI SDK": {"role": "assistant", "parts": [
        text(LOOK, **of_sdk("commentary")), text(TEXT, **of_sdk("final_answer"))
    ]},
    "channels": {"response": {"object": "chat.completion", "choices": [{"message": {
        "role": "assistant",
        "content": [text(LOOK, channel="analysis"), text(TEXT, channel="final")],
    }}]}},
}  # fmt: skip


@pytest.mark.parametrize("name", MARKED)
def test_a_message_that_its_vendor_calls_interim_is_a_thought(
    name: str, benchmark: Benchmark, tmp_path: Path
) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", [{"query_id": "q01", **MARKED[name]}])
    ((_, answer),) = iter_answers(path, benchmark, detect(path).name)
    assert answer.output == TEXT
    assert answer.meta == {"thoughts": [LOOK]}
    codes = [w.code for w in check(path, benchmark).warnings]
    assert codes.count("thoughts") == 1
    assert "interim-text" not in codes


def test_messages_without_a_phase_are_the_answer(benchmark: Benchmark, tmp_path: Path) -> None:
    row = {"query_id": "q01", **responses(message(None, "Io is big."), message(None, TEXT))}
    path = write_jsonl(tmp_path / "a.jsonl", [row])
    ((_, answer),) = iter_answers(path, benchmark, detect(path).name)
    assert (answer.output, answer.meta) == (f"Io is big.\n\n{TEXT}", None)


@pytest.mark.parametrize(
    "body",
    [
        {"type": "message", "stop_reason": "end_turn", "content": [
            text("I will search."), {"type": "server_tool_use", "name": "web_search", "input": {}},
            {"type": "web_search_tool_result", "content": []}, text(TEXT),
        ]},
        {"object": "response", "output": [
            message(None, "I will search."), {"type": "web_search_call"}, message(None, TEXT)
        ]},
        {"candidates": [{"content": {"parts": [
            {"text": "I will search."}, {"functionCall": {"name": "f"}}, {"text": TEXT}
        ]}}]},
    ],
    ids=["anthropic", "openai", "gemini"],
)  # fmt: skip
def test_unmarked_text_before_a_call_of_a_tool_is_counted(
    body: Row, benchmark: Benchmark, tmp_path: Path
) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", [{"query_id": "q01", "response": body}])
    found = [w.message for w in check(path, benchmark).warnings if w.code == "interim-text"]
    said = "1 answer with a text before a call of a tool, which is read as a part of the answer"
    assert found == [said]


def test_a_call_before_the_only_text_is_not_counted(benchmark: Benchmark, tmp_path: Path) -> None:
    row = {"query_id": "q01", **responses({"type": "web_search_call"}, message(None, TEXT))}
    path = write_jsonl(tmp_path / "a.jsonl", [row])
    assert "interim-text" not in [w.code for w in check(path, benchmark).warnings]


DELTA = {"object": "chat.completion.chunk", "choices": [{"delta": {"content": "Io"}, "index": 0}]}


@pytest.mark.parametrize(
    ("row", "field"),
    [
        (DELTA, None),
        ({"response": DELTA}, "response"),
        ({"response": [DELTA, DELTA]}, "response"),
        ({"response": {"type": "content_block_delta", "delta": {"text": "Io"}}}, "response"),
        ({"response": {"type": "response.output_text.delta", "sequence_number": 3}}, "response"),
        ({"response": {"model": "m", "message": {"content": "Io"}, "done": False}}, "response"),
        ({"response": {"type": "content-delta", "delta": {"message": {}}}}, "response"),
    ],
    ids=["openai", "below response", "list", "anthropic", "responses", "ollama", "cohere"],
)
def test_a_chunk_of_a_stream_is_named_as_such(
    row: Row, field: str | None, benchmark: Benchmark, tmp_path: Path
) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", [{"query_id": "q01", **row}])
    with refused("wrong-value", path=path, line=1, field=field) as caught:
        list(iter_answers(path, benchmark, detect(path).name))
    assert "is a chunk of a stream, not a response" in str(caught.value)
    assert "ask without stream" in str(caught.value)


def test_a_blocked_prompt_is_named_with_its_reason(benchmark: Benchmark, tmp_path: Path) -> None:
    body = {"promptFeedback": {"blockReason": "SAFETY"}}
    path = write_jsonl(tmp_path / "a.jsonl", [{"query_id": "q01", "response": body}])
    with refused("missing-field", path=path, line=1, field="response.candidates") as caught:
        list(iter_answers(path, benchmark, detect(path).name))
    assert "the prompt was blocked: SAFETY" in str(caught.value)


@pytest.mark.parametrize(
    "body",
    [
        *(
            {"candidates": [{"content": {"parts": [{"text": "Io"}]}, "finishReason": reason}]}
            for reason in ("RECITATION", "SAFETY", "BLOCKLIST", "SPII", "OTHER", "LANGUAGE")
        ),
        {
            "output": {"message": {"content": [{"text": "Io"}]}},
            "stopReason": "guardrail_intervened",
        },
        {"text": "Io", "generation_id": "g", "finish_reason": "ERROR_TOXIC"},
        {"type": "message", "content": [text("Io")], "stop_reason": "pause_turn"},
        {"object": "response", "status": "incomplete", "output": [message(None, "Io")]},
    ],
)
def test_an_answer_that_a_vendor_cut_is_truncated(
    body: Row, benchmark: Benchmark, tmp_path: Path
) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", [{"query_id": "q01", "response": body}])
    ((_, answer),) = iter_answers(path, benchmark, detect(path).name)
    assert (answer.output, answer.is_truncated) == ("Io", True)
