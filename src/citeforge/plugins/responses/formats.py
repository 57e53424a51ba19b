"""Submission formats of tools' files: rows, whose code is imported when a file is read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from citeforge.evaluator.submissions.formats import Fault, Format, OnError
from citeforge.plugins.responses.ways import WAY, list_ways
from citeforge.schemas.submission import Lines

if TYPE_CHECKING:
    from citeforge.evaluator.submissions.benchmark import Benchmark
    from citeforge.evaluator.submissions.origin import Claims


class ResponseFormat(Format):
    """Files with a tool's responses, one per line; the tool is the format's name."""

    def answers(self, path: Path, benchmark: Benchmark, options: str, on_error: OnError) -> Lines:
        """Yield the answers in a file of a tool's responses, with line numbers."""
        from citeforge.plugins.responses.file import ResponseFile

        return ResponseFile(self.name, path, benchmark, options).lines(on_error)

    def faults(self, path: Path, benchmark: Benchmark, options: str) -> Iterator[Fault]:
        """Yield warnings about a file of a tool's responses."""
        from citeforge.plugins.responses.file import ResponseFile

        return ResponseFile(self.name, path, benchmark, options).warnings()

    def looks_like(self, path: Path, start: bytes) -> bool:
        """Whether a file's first line is a response of the format's tool."""
        from citeforge.plugins.responses.detect import looks_like

        return looks_like(self.name, path, start)


class TraceFormat(ResponseFormat):
    """Files of traces, which have the calls of many tools."""

    def answers(self, path: Path, benchmark: Benchmark, options: str, on_error: OnError) -> Lines:
        """Yield the answers in a file of traces (OpenTelemetry and others), with line numbers."""
        from citeforge.plugins.responses.file import ResponseFile
        from citeforge.plugins.responses.traces import read_traces

        return ResponseFile(self.name, path, benchmark, options, read_traces).lines(on_error)

    def faults(self, path: Path, benchmark: Benchmark, options: str) -> Iterator[Fault]:
        """Yield warnings about a file of traces."""
        from citeforge.plugins.responses.file import ResponseFile
        from citeforge.plugins.responses.traces import read_traces

        return ResponseFile(self.name, path, benchmark, options, read_traces).warnings()

    def claims(self, path: Path) -> Claims:
        """Yield, per trace of a file, the hashes of benchmarks that it names."""
        from citeforge.plugins.responses.traces import find_trace_hashes

        return find_trace_hashes(path)


def _declare_format(
    form: str, about: str, is_numbered: bool = True, reader: type[Format] = ResponseFormat
) -> Format:
    """Declare the response format ``form`` of tools (``about``); its sources may be numbered.

    Args:
        form: name of the format.
        about: tools whose responses it reads.
        is_numbered: whether sources have a number among the passages shown.
        reader: class of the format.
    """
    ways = ", ".join((*list_ways(is_numbered), "marks", "runs"))
    return reader(form, WAY, f"{about}; WAY of {ways}", rank=30)


ANTHROPIC = _declare_format("anthropic", "Anthropic's Messages")
OPENAI = _declare_format(
    "openai", "OpenAI's protocol: OpenAI, Azure, Mistral, Perplexity, vLLM, …", is_numbered=False
)
GEMINI = _declare_format("gemini", "Gemini and Vertex AI Search", is_numbered=False)
BEDROCK = _declare_format("bedrock", "Bedrock: Converse, RetrieveAndGenerate")
COHERE = _declare_format("cohere", "Cohere's Chat", is_numbered=False)
OLLAMA = _declare_format("ollama", "Ollama: chat, generate", is_numbered=False)
LANGCHAIN = _declare_format("langchain", "LangChain's messages and chains, Flowise")
LLAMAINDEX = _declare_format("llamaindex", "LlamaIndex's responses")
HAYSTACK = _declare_format("haystack", "Haystack's answers")
RAGAS = _declare_format("ragas", "samples of ragas and RAGChecker")
DEEPEVAL = _declare_format("deepeval", "DeepEval's test cases")
ANSWERS = _declare_format("answers", "answers of many other tools (docs/vendors.md)")
TRACE_FILES = _declare_format(
    "traces", "traces: OpenTelemetry, Phoenix, Langfuse, MLflow, Weave", reader=TraceFormat
)
