"""Reader of traces of RAG systems: each trace becomes one line with an answer.

Read are the spans of Phoenix (its API, its client's data frames), Langfuse (traces, observations)
and OpenTelemetry (OTLP in JSON), with the attributes of OpenInference and of OpenTelemetry's GenAI
conventions. The root span has the question and the answer, else the last call of a model; the
documents are those of the last reranker, else of all retrievers.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from citeforge.engines.io.jsonlines import read_rows
from citeforge.evaluator.submissions.format import OnError
from citeforge.plugins.responses.placing.records import errors_at
from citeforge.plugins.responses.vendors.parts import read_parts
from citeforge.plugins.responses.vendors.values import Node, nested, parsed

_ROW: Any = dict[str, Any]
_TRACE = "trace_id | context.trace_id"
_SPAN = "span_id | context.span_id | id"
_PARENT = "parent_span_id | parent_id | parent_observation_id"
_START = "start_time | start_time_unix_nano | timestamp"
_KIND = (
    "attributes.openinference.span.kind | attributes.gen_ai.operation.name | span_kind | type | "
    "kind"
)
_INPUT = "attributes.input.value | attributes.input | input | attributes.gen_ai.input.messages"
_OUTPUT = "attributes.output.value | attributes.output | output"
_MODEL_OUTPUT = (
    "attributes.llm.output_messages.*.message | attributes.gen_ai.output.messages.* | "
    "attributes.gen_ai.completion.* | attributes.llm.choices.*.completion"
)
_MODEL_INPUT = (
    "attributes.llm.input_messages.*.message | attributes.gen_ai.input.messages.* | "
    "attributes.gen_ai.prompt.*"
)
_QUERY_ID = "attributes.metadata.query_id | metadata.query_id | attributes.query_id"
_QUESTION = (
    "question | query | user_input | input | kwargs.query | messages.-1.content | -1.content"
)
_ANSWER = (
    "answer | result | response | output | text | generations.0.0.text | choices.0.message | "
    "messages.-1 | content | -1"
)
_DOCUMENTS = (
    "attributes.retrieval.documents.*.document | attributes.gen_ai.retrieval.documents.* | "
    "attributes.retrieval.documents.*"
)
_RERANKED = "attributes.reranker.output_documents.*.document"
_FINISH = (
    "attributes.llm.finish_reason | attributes.gen_ai.response.finish_reasons.0 | "
    "attributes.gen_ai.output.messages.0.finish_reason"
)


def read_traces(path: Path, on_error: OnError) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (number of the first line, question, answer and documents) of each trace.

    Args:
        path: JSON Lines: a span, a trace, or a batch of spans on each.
        on_error: called with the error of every wrong line, which is then left out; None to raise.

    Raises:
        InputError: file, line, and what would be right.
    """
    traces: dict[str, tuple[int, list[Node]]] = {}  # number of the first line, spans
    for number, row in read_rows(path, _ROW, on_error=on_error):
        with errors_at(path, number, on_error):
            for span in _spans(row):
                name = next((str(n.value) for n in span.each(_TRACE)), f"line {number}")
                traces.setdefault(name, (number, []))[1].append(span)
    for line, spans in traces.values():
        with errors_at(path, line, on_error):
            yield line, _row_of(spans)


def _spans(row: dict[str, Any]) -> Iterator[Node]:
    """Yield the spans of a line, with attributes as nested objects."""
    line = Node(row)
    batch = line.each("resource_spans.*.scope_spans.*.spans.*")
    if batch:
        for span in batch:
            if not isinstance(span.value, dict):
                span.fail_type("a span")
            flat = {str(a.text("key")): _otlp_value(a) for a in span.each("attributes.*")}
            yield _span({**span.value, "attributes": flat})
    elif line.has("observations"):
        yield _span({**row, "traceId": row.get("id")})
        for inner in line.each("observations.*"):
            if isinstance(inner.value, dict):
                yield _span({"traceId": row.get("id"), "parentObservationId": row.get("id"),
                             **inner.value})  # fmt: skip
    else:
        yield _span(row)


def _otlp_value(attribute: Node) -> Any:
    """Get the plain value of an OTLP attribute (``stringValue``, ``arrayValue`` and so on)."""
    value = attribute.first("value.%")
    if value is None:
        return None
    items = value.each("values.*")
    return [_otlp_value(Node({"value": i.value})) for i in items] if items else value.value


def _span(row: dict[str, Any]) -> Node:
    """Wrap a span, with dotted names as nested objects and JSON in texts parsed."""
    return Node(_with_json(nested(row)))


def _with_json(value: Any) -> Any:
    """Replace all texts inside a value that are JSON by their parsed values."""
    if isinstance(value, dict):
        return {k: _with_json(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_with_json(v) for v in value]
    return parsed(value)


def _row_of(spans: list[Node]) -> dict[str, Any]:
    """Make one line of a trace's spans: question, answer and documents."""
    spans = sorted(spans, key=lambda s: str(next((n.value for n in s.each(_START)), "")))
    ids = {str(n.value) for s in spans for n in s.each(_SPAN)[:1]}
    roots = [s for s in spans if not any(str(n.value) in ids for n in s.each(_PARENT))]
    models = [s for s in spans if s.has(_MODEL_OUTPUT) or _kind(s) in ("LLM", "GENERATION", "CHAT")]
    queries = [n.value for s in [*roots, *spans] for n in s.each(_QUERY_ID)]
    return {
        "query_id": next(iter(queries), None),
        "question": _question(roots, models),
        "answer": _answer(roots, models),
        "finish_reason": next((n.value for s in reversed(models) for n in s.each(_FINISH)), None),
        "documents": _documents(spans),
    }


def _kind(span: Node) -> str:
    """Kind of a span in capitals, such as LLM or RETRIEVER; may be empty."""
    return next((str(n.value).upper() for n in span.each(_KIND)), "")


def _question(roots: list[Node], models: list[Node]) -> str | None:
    """Find the question of a trace, in a root span or in the last message of a user."""
    for root in roots:
        for value in root.each(_INPUT):
            if isinstance(value.value, str):
                return value.value
            asked = value.first(_QUESTION)
            if asked is not None and isinstance(asked.value, str):
                return asked.value
    for model in models:
        users = [m for m in model.each(_MODEL_INPUT) if m.each("role")[:1] == [] or
                 m.each("role")[0].value == "user"]  # fmt: skip
        if users and (text := _text(users[-1])):
            return text
    return None


def _answer(roots: list[Node], models: list[Node]) -> Any:
    """Find the answer of a trace: a text, or a message with parts."""
    for root in roots:
        for value in root.each(_OUTPUT):
            if isinstance(value.value, str):
                return value.value
    for model in reversed(models):
        for message in model.each(_MODEL_OUTPUT)[:1]:
            return _message(message)
    for span in [*roots, *reversed(models)]:
        for value in span.each(_OUTPUT):
            if (inner := value.first(_ANSWER)) is not None:
                return _message(inner)
    return None


def _message(node: Node) -> Any:
    """Get the parts of a message if it has any, else the message itself."""
    parts = node.each("parts.* | contents.*.message_content")
    if not parts:
        return node.value
    return [p.value for p in parts]


def _text(message: Node) -> str:
    """Join the texts of a message, thoughts left out."""
    return "".join(p.text for p in read_parts(Node(_message(message))) if p.is_text)


def _documents(spans: list[Node]) -> list[Any] | None:
    """Find the documents of the last reranker, else of all retrievers; None without any."""
    reranked = [s.each(_RERANKED) for s in spans if s.has(_RERANKED)]
    if reranked:
        return [d.value for d in reranked[-1]]
    found = [d.value for s in spans for d in s.each(_DOCUMENTS)]
    retrievers = [s for s in spans if _kind(s) in ("RETRIEVER", "RETRIEVAL")]
    if not found:
        found = [d.value for s in retrievers for d in s.each("output.documents.* | output.*")]
    distinct = [d for at, d in enumerate(found) if d not in found[:at]]
    return distinct or ([] if retrievers else None)
