"""Reader of traces of RAG systems: each trace becomes one line with an answer.

Read are the spans of Phoenix (its API, its client's data frames), Langfuse (traces, observations),
MLflow, Weave and OpenTelemetry (OTLP in JSON), with the attributes of OpenInference and of
OpenTelemetry's GenAI conventions. The root span has the question and the answer, else the last call
of a model; the documents are those of the last reranker, else of all retrievers.
"""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from citeforge.engines.jsonlines import read_rows
from citeforge.evaluator.submissions.formats import OnError
from citeforge.evaluator.submissions.origin import Claims, find_hashes
from citeforge.plugins.responses.layout import declarations
from citeforge.plugins.responses.parts import read_parts
from citeforge.plugins.responses.records import errors_at
from citeforge.plugins.responses.sources import find_documents
from citeforge.plugins.responses.values import Node, parse_text, unflatten
from citeforge.schemas.submission import HEADER

_ROW: Any = dict[str, Any]


def read_traces(path: Path, on_error: OnError) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (first line, row with question, answer and documents) of each trace of a file.

    Args:
        path: JSON Lines: a span, a trace, or a batch of spans on each.
        on_error: called with the error of every wrong line, which is then left out; None to raise.

    Raises:
        InputError: file, line, and what would be right.
    """
    for line, spans in _group_spans(path, on_error):
        with errors_at(path, line, on_error):
            yield line, _Trace([span for span, _ in spans]).row()


def find_trace_hashes(path: Path) -> Claims:
    """Yield (first line, benchmark hashes in its spans or resource) of each trace of a file.

    Raises:
        InputError: the file cannot be read.
    """
    for line, spans in _group_spans(path, lambda error: None):
        yield line, find_hashes([written for _, written in spans])


def _group_spans(path: Path, on_error: OnError) -> list[tuple[int, list[tuple[Node, Any]]]]:
    """Group a file's spans by trace: (first line, (span, raw JSON) of each span).

    A span is there twice, as :func:`_read_spans` yields it.
    """
    traces: dict[str, tuple[int, list[tuple[Node, Any]]]] = {}
    for number, row in read_rows(path, _ROW, HEADER, on_error):
        with errors_at(path, number, on_error):
            for span, written in _read_spans(row):
                name = _first_text(span, declarations().spans.trace) or f"line {number}"
                traces.setdefault(name, (number, []))[1].append((span, written))
    return list(traces.values())


def _read_spans(row: dict[str, Any]) -> Iterator[tuple[Node, Any]]:
    """Yield (span, its raw JSON) of each span in a line of a trace file.

    In the span, dotted names are objects, and JSON in texts is parsed. The raw content is as the
    tool wrote it, with the resource that it belongs to.
    """
    line = Node(row)
    resources = [n.value for n in line.each("resource_spans.*.resource | resource")]
    batch = line.each(declarations().spans.batch)
    for span in batch:
        if not isinstance(span.value, dict):
            span.fail_type("a span")
        attributes = span.value.get("attributes")
        if isinstance(attributes, list):
            attributes = {
                str(a.text("key")): _decode_otlp_value(a) for a in span.each("attributes.*")
            }
        inner = unflatten({**span.value, "attributes": attributes})
        yield Node(_parse_json_texts(inner)), [span.value, resources]
    if not batch:
        name = row.get("id")
        outer = {**row, "traceId": name} if line.has("observations") else row
        yield Node(_parse_json_texts(unflatten(outer))), row
        for observation in line.each("observations.*"):
            if isinstance(observation.value, dict):
                more = {"traceId": name, "parentObservationId": name}
                yield (
                    Node(_parse_json_texts(unflatten(more | observation.value))),
                    observation.value,
                )


def _decode_otlp_value(attribute: Node) -> Any:
    """Decode the value of an OTLP attribute (``stringValue``, ``arrayValue``, …) to JSON."""
    value = attribute.first("value.%")
    if value is None:
        return None
    items = value.each("values.*")
    return [_decode_otlp_value(Node({"value": i.value})) for i in items] if items else value.value


def _parse_json_texts(value: Any) -> Any:
    """Parse all texts inside a JSON value that are JSON themselves."""
    if isinstance(value, dict):
        return {k: _parse_json_texts(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_parse_json_texts(v) for v in value]
    return parse_text(value)


def _first_text(node: Node, paths: str) -> str:
    """Get the first value at paths in a JSON node, as text; empty if there is none."""
    return next((str(n.value) for n in node.each(paths)), "")


class _Trace:
    """The spans of one trace."""

    def __init__(self, spans: list[Node]) -> None:
        """Sort a trace's spans by time, and find its root spans and LLM calls."""
        self._paths = paths = declarations().spans
        self._spans = sorted(spans, key=lambda s: _first_text(s, paths.start))
        ids = {_first_text(s, paths.span) for s in spans} - {""}
        self._roots = [s for s in self._spans if _first_text(s, paths.parent) not in ids]
        self._models = [
            s for s in self._spans
            if s.has(paths.model_output) or self._get_kind(s) in ("LLM", "GENERATION", "CHAT")
        ]  # fmt: skip

    def row(self) -> dict[str, Any]:
        """Extract from the trace: query id, question, answer, finish reason and documents."""
        paths = self._paths
        queries = [n.value for s in [*self._roots, *self._spans] for n in s.each(paths.query_id)]
        reasons = [n.value for s in self._models for n in s.each(paths.finish)[:1]]
        return {
            "query_id": next(iter(queries), None),
            "question": self._find_question(),
            "answer": self._find_answer(),
            "finish_reason": reasons[-1] if reasons else None,
            "documents": self._find_documents(),
        }

    def _get_kind(self, span: Node) -> str:
        """Get a span's type in capitals, such as LLM or RETRIEVER; empty if it states none."""
        return _first_text(span, self._paths.kind).strip('"').upper()

    def _find_question(self) -> str | None:
        """Find the user's question in a root span, else in an LLM call's last user message."""
        paths = self._paths
        for root in self._roots:
            for value in root.each(paths.input):
                asked = value if isinstance(value.value, str) else value.first(paths.question)
                if asked is not None and isinstance(asked.value, str):
                    return asked.value
        for model in self._models:
            messages = model.each(paths.model_input)
            users = [m for m in messages if _first_text(m, "role") in ("", "user")]
            parts = read_parts(Node(_get_message_parts(users[-1]))) if users else ()
            if text := "".join(p.text for p in parts if p.is_text):
                return text
        return None

    def _find_answer(self) -> Any:
        """Find the trace's answer in root spans or LLM calls: a text, message parts, or None.

        Returns:
            A text, or a list of message parts, as the tool wrote it; None if there is none.
        """
        paths = self._paths
        outputs = [n for s in self._roots for n in s.each(paths.output)]
        texts = [n for n in outputs if isinstance(n.value, str)]
        called = [n for s in reversed(self._models) for n in s.each(paths.model_output)[:1]]
        others = [n for s in reversed(self._models) for n in s.each(paths.output)]
        inner = (found for n in [*outputs, *others] if (found := n.first(paths.answer)) is not None)
        answer = next(chain(texts, called, inner), None)
        return None if answer is None else _get_message_parts(answer)

    def _find_documents(self) -> list[Any] | None:
        """Find the retrieved documents in the trace: of the last reranker, else all; or None."""
        paths, spans = self._paths, self._spans
        if reranked := [documents for s in spans if (documents := s.each(paths.reranked))]:
            return [d.value for d in reranked[-1]]
        retrievers = [s for s in spans if self._get_kind(s) in ("RETRIEVER", "RETRIEVAL")]
        found = [d for s in spans for d in s.each(paths.documents)]
        found = found or [d for s in retrievers for d in s.each(paths.retrieved)]
        outputs = [n for s in spans for n in s.each(paths.output) if not found]
        found = found or [d for n in outputs if n.has(paths.shown) for d in n.each(paths.shown)]
        lists = filter(None, map(find_documents, outputs))
        found = found or [d for documents in lists for d in documents.items()]
        values = [d.value for d in found]
        distinct = [d for at, d in enumerate(values) if d not in values[:at]]
        return distinct or ([] if retrievers else None)


def _get_message_parts(node: Node) -> Any:
    """Get the parts (texts, tool calls, …) of an LLM message, else the message itself."""
    parts = node.each("parts.* | contents.*.message_content")
    return [p.value for p in parts] or node.value
