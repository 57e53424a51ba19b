"""Submission formats of tools' files: rows, whose code is imported when a file is read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from citeforge.evaluator.submissions.formats import Fault, Format, OnError
from citeforge.plugins.responses.ways import WAY, list_ways
from citeforge.schemas.submission import Lines

if TYPE_CHECKING:
    from citeforge.evaluator.submissions.benchmark import Benchmark
    from citeforge.evaluator.submissions.origin import Claims


def _read(form: str, path: Path, benchmark: Benchmark, options: str, on_error: OnError) -> Lines:
    """Read a file of responses, one per line."""
    from citeforge.plugins.responses.file import ResponseFile

    return ResponseFile(form, path, benchmark, options).lines(on_error)


def _warn(form: str, path: Path, benchmark: Benchmark, options: str) -> Iterator[Fault]:
    """Yield warnings about a file of responses, one per line."""
    from citeforge.plugins.responses.file import ResponseFile

    return ResponseFile(form, path, benchmark, options).warnings()


def _looks(form: str, path: Path, start: bytes) -> bool:
    """Whether a file's first line shows that it has a tool's responses."""
    from citeforge.plugins.responses.detect import looks_like

    return looks_like(form, path, start)


def _read_traces(path: Path, benchmark: Benchmark, options: str, on_error: OnError) -> Lines:
    """Read a file of traces."""
    from citeforge.plugins.responses.file import ResponseFile
    from citeforge.plugins.responses.traces import read_traces

    return ResponseFile("traces", path, benchmark, options, read_traces).lines(on_error)


def _warn_of_traces(path: Path, benchmark: Benchmark, options: str) -> Iterator[Fault]:
    """Yield warnings about a file of traces."""
    from citeforge.plugins.responses.file import ResponseFile
    from citeforge.plugins.responses.traces import read_traces

    return ResponseFile("traces", path, benchmark, options, read_traces).warnings()


def _claims_in_traces(path: Path) -> Claims:
    """Yield the hashes of benchmarks that traces name."""
    from citeforge.plugins.responses.traces import claims_in_traces

    return claims_in_traces(path)


def _declare_format(form: str, about: str, is_numbered: bool = True) -> Format:
    """Make the submission format that reads a tool's files of responses.

    Args:
        form: name of the format.
        about: tools whose responses it reads.
        is_numbered: whether sources have a number among the passages shown.
    """
    ways = ", ".join((*list_ways(is_numbered), "marks", "runs"))
    return Format(
        form, WAY, f"{about}; WAY of {ways}", partial(_read, form), looks=partial(_looks, form),
        rank=30, faults=partial(_warn, form),
    )  # fmt: skip


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
TRACE_FILES = replace(
    _declare_format("traces", "traces: OpenTelemetry, Phoenix, Langfuse, MLflow, Weave"),
    read=_read_traces, claims=_claims_in_traces, faults=_warn_of_traces,
)  # fmt: skip
