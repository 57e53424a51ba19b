"""Spans of traced systems: one trace is one answer, with the documents of its retrievers."""

# ruff: noqa: E501 (spans, one a line)
import json
from pathlib import Path
from typing import Any

import pytest

from citeforge.evaluator.check import check
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.evaluator.submissions.formats import detect
from citeforge.plugins.responses.values import unflatten
from citeforge.schemas.submission import SubmissionLine
from conftest import refused, write_jsonl
from scoring import iter_answers

QUESTION = "Which moon is the most volcanically active body in the Solar System?"
"""Of query q01."""
TEXT = "Io is a moon [1]."
Row = dict[str, Any]


def read(path: Path, benchmark: Benchmark) -> list[SubmissionLine]:
    return [a for _, a in iter_answers(path, benchmark)]


def phoenix(span: str, parent: str | None, kind: str, **attributes: Any) -> Row:
    """A span as Phoenix's API and OpenTelemetry's console exporter write it."""
    said = {name.replace("__", "."): value for name, value in attributes.items()}
    return {
        "name": span, "context": {"trace_id": "t1", "span_id": span}, "span_kind": kind,
        "parent_id": parent, "start_time": f"2026-01-01T00:00:0{span[-1]}Z",
        "attributes": {"openinference.span.kind": kind, **said},
    }  # fmt: skip


def message(text: str, role: str = "assistant") -> Row:
    return {"role": role, "parts": [{"type": "text", "content": text}]}


def otlp(**attributes: Any) -> list[Row]:
    """Attributes as OTLP writes them in JSON."""
    return [{"key": k.replace("__", "."), "value": v} for k, v in attributes.items()]


RETRIEVED = {
    "retrieval.documents.1.document.content": "No.",
    "retrieval.documents.0.document.content": "Io is hot.",
    "retrieval.documents.0.document.id": "d1",
    "retrieval.documents.0.document.metadata": '{"title": "Io"}',
}
ROOT = phoenix("s1", None, "CHAIN", input__value=QUESTION, output__value=TEXT)
RETRIEVER = phoenix("s2", "s1", "RETRIEVER", input__value="io?", **RETRIEVED)
MODEL = phoenix("s3", "s1", "LLM", **{"llm.output_messages.0.message.content": "Raw [1].",
                                      "llm.finish_reason": "length"})  # fmt: skip
RERANKED = {"reranker.output_documents.0.document.content": "Io is hot."}
LLM_OUT = json.dumps(
    [
        {
            **message(TEXT),
            "parts": [{"type": "reasoning", "content": "Is it [2]?"}, *message(TEXT)["parts"]],
        }
    ]
)
PARTS = {"llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content": QUESTION,
         "llm.output_messages.0.message.contents.0.message_content.type": "reasoning",
         "llm.output_messages.0.message.contents.0.message_content.text": "Is it [2]?",
         "llm.output_messages.0.message.contents.1.message_content.type": "text",
         "llm.output_messages.0.message.contents.1.message_content.text": TEXT}  # fmt: skip
LANGFUSE = [
    {"id": "o1", "traceId": "t", "type": "RETRIEVER", "startTime": "1", "input": QUESTION, "output": [{"page_content": "Io is hot.", "metadata": {"id": "d1"}}]},
    {"id": "o2", "traceId": "t", "type": "GENERATION", "startTime": "2", "input": [{"role": "user", "content": "a long prompt"}], "output": {"role": "assistant", "content": TEXT}},
]  # fmt: skip
TRACES: dict[str, tuple[list[Row], list[str] | None]] = {
    # The last span of a file may be its root.
    "phoenix": ([MODEL, RETRIEVER, ROOT], ["Io is hot.", "No."]),
    "phoenix with a reranker": ([ROOT, RETRIEVER, phoenix("s4", "s1", "RERANKER", **RERANKED)], ["Io is hot."]),
    "phoenix, a call alone": ([phoenix("s1", None, "LLM", **PARTS)], None),
    "phoenix, nothing found": ([ROOT, phoenix("s2", "s1", "RETRIEVER", input__value="io?")], []),
    "data frame": ([
        {"name": "q", "span_kind": "CHAIN", "parent_id": None, "start_time": "1", "context.span_id": "s1", "context.trace_id": "t", "attributes.input.value": json.dumps({"input": QUESTION}), "attributes.output.value": json.dumps({"answer": TEXT, "context": []}), "attributes.retrieval.documents": None},
        {"name": "r", "span_kind": "RETRIEVER", "parent_id": "s1", "start_time": "2", "context.span_id": "s2", "context.trace_id": "t", "attributes.retrieval.documents": [{"document.content": "Io is hot.", "document.score": 0.3}]},
    ], ["Io is hot."]),
    "OTLP": ([{"resourceSpans": [{"scopeSpans": [{"spans": [
        {"traceId": "t", "spanId": "a", "startTimeUnixNano": "2", "attributes": otlp(
            gen_ai__operation__name={"stringValue": "chat"},
            gen_ai__input__messages={"stringValue": json.dumps([message("Cite.", "system"), message(QUESTION, "user")])},
            gen_ai__output__messages={"stringValue": LLM_OUT},
            gen_ai__response__finish_reasons={"arrayValue": {"values": [{"stringValue": "length"}]}})},
        {"traceId": "t", "spanId": "b", "parentSpanId": "a", "startTimeUnixNano": "1", "attributes": otlp(
            gen_ai__operation__name={"stringValue": "retrieval"},
            gen_ai__retrieval__documents={"stringValue": json.dumps([{"id": "d1", "score": 0.9}])})},
    ]}]}]}], [""]),
    "OpenLLMetry": ([{"name": "c", "context": {"trace_id": "t", "span_id": "s"}, "parent_id": None, "attributes": {
        "gen_ai.prompt.0.role": "system", "gen_ai.prompt.0.content": "Cite.", "gen_ai.prompt.1.role": "user", "gen_ai.prompt.1.content": QUESTION,
        "gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.content": TEXT}}], None),
    "Langfuse, traces": ([{"id": "t", "input": {"question": QUESTION}, "output": {"answer": TEXT}, "observations": LANGFUSE}], ["Io is hot."]),
    "Langfuse, observations": ([
        {"id": "o0", "traceId": "t", "type": "SPAN", "startTime": "0", "parentObservationId": None, "input": "?", "output": TEXT, "metadata": {"query_id": "q01"}},
        *({**o, "parentObservationId": "o0"} for o in LANGFUSE)], ["Io is hot."]),
    "Langfuse, texts with JSON": ([
        {"id": "o0", "traceId": "t", "type": "SPAN", "startTime": "0", "input": json.dumps({"query": QUESTION}), "output": TEXT},
        {"id": "o1", "traceId": "t", "type": "RETRIEVER", "parentObservationId": "o0", "startTime": "1", "output": json.dumps({"documents": [{"content": "Io is hot."}]})}], ["Io is hot."]),
    "Langfuse, a retriever as a plain span": ([{"id": "t", "input": QUESTION, "output": TEXT, "observations": [{"id": "o", "type": "SPAN", "output": [{"page_content": "Io is hot."}]}]}], ["Io is hot."]),
    "MLflow": ([{"info": {"trace_id": "t"}, "data": {"spans": [
        {"trace_id": "t", "span_id": "a", "attributes": {"mlflow.spanType": '"CHAIN"', "mlflow.spanInputs": json.dumps({"question": QUESTION}), "mlflow.spanOutputs": json.dumps(TEXT)}},
        {"trace_id": "t", "span_id": "b", "parent_span_id": "a", "attributes": {"mlflow.spanType": '"RETRIEVER"', "mlflow.spanOutputs": json.dumps([{"page_content": "Io is hot."}])}}]}}], ["Io is hot."]),
    "Weave": ([{"id": "c", "op_name": "weave:///e/p/op/rag:1", "trace_id": "t", "parent_id": None, "inputs": {"question": QUESTION}, "output": {"answer": TEXT, "context": ["Io is hot."]}}], ["Io is hot."]),
}  # fmt: skip
"""Lines of a file, and the texts of the documents; None where there was no retriever."""


@pytest.mark.parametrize("name", TRACES)
def test_a_trace_is_an_answer(name: str, benchmark: Benchmark, tmp_path: Path) -> None:
    lines, texts = TRACES[name]
    path = write_jsonl(tmp_path / "a.jsonl", lines)
    assert detect(path).name == "traces"
    (answer,) = read(path, benchmark)
    assert (answer.query_id, answer.output) == ("q01", TEXT)
    assert (
        answer.passages is None
        if texts is None
        else [p.text for p in answer.passages or ()] == texts
    )
    assert answer.is_truncated == (MODEL in lines or name == "OTLP")
    has_thought = "[2]" in json.dumps(lines)
    assert answer.meta == ({"thoughts": ["Is it [2]?"]} if has_thought else None)
    assert not check(path, benchmark).errors


def test_traces_are_told_apart(benchmark: Benchmark, tmp_path: Path) -> None:
    other = {**ROOT, "context": {"trace_id": "t2", "span_id": "x1"},
             "attributes": {**ROOT["attributes"], "metadata": '{"query_id": "q02"}'}}  # fmt: skip
    path = write_jsonl(tmp_path / "a.jsonl", [ROOT, other, RETRIEVER])
    first, second = read(path, benchmark)
    assert (first.query_id, len(first.passages or ())) == ("q01", 2)
    assert (second.query_id, second.passages) == ("q02", [])  # in a file with documents


@pytest.mark.parametrize(
    ("row", "code", "field"),
    [
        (RETRIEVER, "missing-field", "answer"),
        (phoenix("s1", None, "CHAIN", output__value=TEXT), "missing-field", None),
        ({"resourceSpans": [{"scopeSpans": [{"spans": [7]}]}]}, "wrong-type", "resourceSpans[0].scopeSpans[0].spans[0]"),
    ],
)  # fmt: skip
def test_what_a_trace_lacks_is_named(
    row: Row, code: str, field: str | None, benchmark: Benchmark, tmp_path: Path
) -> None:
    path = write_jsonl(
        tmp_path / "a.jsonl", [{**row, "parent_id": None}, ROOT | {"context": {"trace_id": "z"}}]
    )
    with refused(code, path=path, line=1, field=field):
        read(path, benchmark)
    assert len(check(path, benchmark).errors) == 1


def test_names_with_dots_are_objects_and_lists() -> None:
    flat = {"a.b": 1, "a.l.1": "y", "a.l.0": "x", "a.b.c": 2, "d": [{"e.f": 3}], "g": {"h.i": 4}}
    assert unflatten(flat) == {
        "a": {"b": {"value": 1, "c": 2}, "l": ["x", "y"]}, "d": [{"e": {"f": 3}}],
        "g": {"h": {"i": 4}},
    }  # fmt: skip
