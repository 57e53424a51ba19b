"""What each tool saves, in its documented shape, is read: answer, passages, citations."""

# ruff: noqa: E501 (cases, one a line)
import json
from pathlib import Path
from typing import Any

import pytest

import citeforge as cf
from citeforge.evaluator.check import check
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.evaluator.submissions.formats import detect
from citeforge.schemas.submission import SubmissionLine
from conftest import refused, write_jsonl
from scoring import iter_answers

TEXT = "Io is a moon [1]."
QUESTION = "Which moon is the most volcanically active body in the Solar System?"
"""Of query q01."""
Row = dict[str, Any]


def read(path: Path, benchmark: Benchmark, options: str = "") -> list[SubmissionLine]:
    return [a for _, a in iter_answers(path, benchmark, detect(path).name + options)]


def chat(message: Row | None, **more: Any) -> Row:
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return {"object": "chat.completion", "choices": [choice], **more}


def said(content: Any, **more: Any) -> Row:
    return {"role": "assistant", "content": content, **more}


def gemini(*parts: Row, **more: Any) -> Row:
    content = {"role": "model", "parts": list(parts)}
    return {"candidates": [{"content": content, "finishReason": "STOP", **more}]}


def anthropic(*blocks: Row, **more: Any) -> Row:
    return {"type": "message", "content": list(blocks), "stop_reason": "end_turn", **more}


def words(text: str, **more: Any) -> Row:
    return {"type": "text", "text": text, **more}


THOUGHT = {"type": "thinking", "thinking": "Is it [2]?"}
PLAIN = {
    "openai": chat(said(TEXT)),
    "annotations that are empty": chat(said(TEXT, annotations=[])),
    "parts": chat(said([words("Io is a "), words("moon [1].")])),
    "parts of Mistral": chat(said([{"type": "thinking", "thinking": [words("Is it [2]?")]}, words(TEXT)])),
    "reasoning_content": chat(said(TEXT, reasoning_content="Is it [2]?")),
    "reasoning": chat(said(TEXT, reasoning="Is it [2]?")),
    "legacy": {"object": "text_completion", "choices": [{"text": TEXT, "finish_reason": "stop"}]},
    "Responses": {"object": "response", "output": [
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Is it [2]?"}]},
        {"type": "message", "content": [{"type": "output_text", "text": TEXT, "annotations": []}]}]},
    "Responses with its thoughts": {"object": "response", "output": [
        {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "Is it [2]?"}]},
        {"type": "message", "content": [{"type": "output_text", "text": TEXT}]}]},
    "Assistants": {"object": "thread.message", "content": [words({"value": TEXT, "annotations": []})]},  # type: ignore[arg-type]
    "gemini": gemini({"text": TEXT}),
    "gemini with thoughts": gemini({"text": "Is it [2]?", "thought": True}, {"text": TEXT}),
    "anthropic": anthropic(words(TEXT, citations=None)),
    "anthropic with thoughts": anthropic(THOUGHT, words(TEXT)),
    "ollama": {"model": "m", "message": said(TEXT), "done": True, "done_reason": "stop"},
    "LangChain": said(TEXT, type="ai", response_metadata={}),
    "LangChain, dumped": {"lc": 1, "type": "constructor", "id": [], "kwargs": {"content": [{"type": "reasoning", "reasoning": "Is it [2]?"}, words(TEXT)]}},
    "LangChain, LLMResult": {"generations": [[{"text": TEXT, "message": {"type": "ai", "content": TEXT}}]]},
    "LangChain, LLMResult of a text": {"generations": [[{"text": TEXT}]]},
    "Mistral, Conversations": {"conversation_id": "c", "outputs": [{"type": "message.output", "content": TEXT}]},
    "ollama generate": {"model": "m", "response": TEXT, "thinking": "Is it [2]?", "done": True},
    "cohere": {"id": "c", "finish_reason": "COMPLETE", "message": {"role": "assistant", "content": [THOUGHT, words(TEXT)]}},
    "bedrock": {"output": {"message": said([{"reasoningContent": {"reasoningText": {"text": "Is it [2]?"}}}, {"text": TEXT}])}, "stopReason": "end_turn"},
}  # fmt: skip
"""Answers to our own prompts: nothing of the vendor is beside the marks."""


@pytest.mark.parametrize("name", PLAIN)
def test_a_response_without_annotations_is_an_answer_with_marks(
    name: str, benchmark: Benchmark, tmp_path: Path
) -> None:
    batch = {"id": "b", "custom_id": "q01", "error": None,
             "response": {"status_code": 200, "body": PLAIN[name]}}  # fmt: skip
    path = write_jsonl(
        tmp_path / "a.jsonl",
        [batch, {"query_id": "q02", "response": PLAIN[name], "context": "mix"}],
    )
    first, second = read(path, benchmark)
    assert (first.query_id, first.output, first.passages, first.spans) == ("q01", TEXT, None, None)
    assert (second.query_id, second.context) == ("q02", "mix")
    has_thought = "[2]" in json.dumps(PLAIN[name])
    assert first.meta == ({"thoughts": ["Is it [2]?"]} if has_thought else None)
    found = check(path, benchmark)
    assert not found.errors
    beside = ("missing-hash", "missing-answer")
    assert [w.code for w in found.warnings if w.code not in beside] == ["thoughts"] * has_thought


DOCUMENTS = {
    "a text": "Io is hot.",
    "text": {"text": "Io is hot."},
    "LangChain": {"id": None, "page_content": "Io is hot.", "metadata": {"source": "d1"}, "type": "Document"},
    "LangChain dumped": {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "document", "Document"],
                         "kwargs": {"page_content": "Io is hot.", "metadata": {"source": "d1"}}},
    "LangChain in JavaScript": {"pageContent": "Io is hot.", "metadata": {"source": "d1"}},
    "LlamaIndex": {"node": {"id_": "0b6f0b0c-8f2c-4a56-b3a5-0e4f6a7d9c11", "text": "Source 1:\nIo is hot.", "metadata": {"doc_id": "d1"}}, "score": 0.8},
    "LlamaIndex since 0.12": {"node": {"id_": "d1", "text_resource": {"text": "Io is hot."}, "metadata": {}}, "score": 0.8},
    "Haystack": {"id": "d1", "content": "Io is hot.", "meta": {"title": "Io"}, "score": 0.8},
    "Azure": {"content": "Io is hot.", "title": "Io", "filepath": "d1.pdf", "url": None, "chunk_id": "0"},
    "Cohere": {"id": "d1", "snippet": "Io is hot.", "title": "Io"},
    "Cohere 2": {"type": "document", "id": "d1", "document": {"id": "d1", "snippet": "Io is hot."}},
    "Pyserini": {"docid": "d1", "contents": "Io is hot."},
    "BEIR": {"_id": "d1", "title": "Io", "text": "Io is hot."},
    "Bedrock": {"content": {"type": "TEXT", "text": "Io is hot."}, "location": {"type": "S3", "s3Location": {"uri": "s3://b/d1"}}},
    "Gemini": {"retrievedContext": {"uri": "gs://b/d1", "title": "Io", "text": "Io is hot."}},
}  # fmt: skip


@pytest.mark.parametrize("name", DOCUMENTS)
def test_documents_of_every_tool_have_their_text_and_id(
    name: str, benchmark: Benchmark, tmp_path: Path
) -> None:
    row = {"query_id": "q01", "response": TEXT, "source_nodes": [DOCUMENTS[name]]}
    ((answer),) = read(write_jsonl(tmp_path / "a.jsonl", [row]), benchmark)
    (passage,) = answer.passages or ()
    assert (answer.output, passage.text) == (TEXT, "Io is hot.")
    assert passage.docid in ("d1", "s3://b/d1", "gs://b/d1", None)
    assert (passage.docid is None) == (name in ("a text", "text"))


DOC = {"page_content": "Io is hot.", "metadata": {}}
AI = {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", "AIMessage"],
      "kwargs": {"content": TEXT, "response_metadata": {"finish_reason": "length"}}}  # fmt: skip
OWN = {
    "langchain": {"input": QUESTION, "context": [DOC], "answer": TEXT},
    "langchain, older": {"query": QUESTION, "source_documents": [DOC], "result": TEXT},
    "langchain, dumped message": {"input": QUESTION, "context": [DOC], "answer": AI},
    "langchain, message as a dict": {"input": QUESTION, "context": [DOC], "answer": {"type": "ai", "data": {"content": TEXT}}},
    "langchain, parts": {"input": QUESTION, "context": [DOC], "answer": {"type": "ai", "content": [THOUGHT, words(TEXT)]}},
    "langchain, state": {"question": QUESTION, "context": [DOC], "messages": [{"type": "human", "content": "?"}, {"type": "ai", "content": TEXT}]},
    "langchain, chain with docs": {"question": QUESTION, "docs": [DOC], "answer": TEXT},
    "langchain, response": {"question": QUESTION, "context": [DOC], "response": {"type": "ai", "content": TEXT, "response_metadata": {}}},
    "langchain, dumped message of a dict": {"input": QUESTION, "context": [DOC], "answer": {"type": "ai", "data": AI["kwargs"]}},
    "langchain, agent": {"messages": [{"type": "human", "content": QUESTION}, {"type": "tool", "content": "?", "artifact": [DOC]}, {"type": "ai", "content": TEXT}]},
    "langchain, agent with a dumped message": {"messages": [{"kwargs": {"type": "human", "content": QUESTION}}, {"kwargs": {"type": "tool", "artifact": [DOC]}}, {**AI, "kwargs": {**AI["kwargs"], "type": "ai"}}]},
    "haystack, components flat": {"query": QUESTION, "replies": [TEXT], "documents": [{"content": "Io is hot."}]},
    "ragas": {"user_input": QUESTION, "response": TEXT, "retrieved_contexts": ["Io is hot."], "reference": "Io"},
    "ragas, older": {"question": QUESTION, "answer": TEXT, "contexts": ["Io is hot."], "ground_truth": "Io"},
    "ragas, conversation": {"user_input": [{"type": "human", "content": QUESTION}, {"type": "ai", "content": TEXT}], "retrieved_contexts": ["Io is hot."]},
    "deepeval": {"input": QUESTION, "actual_output": TEXT, "retrieval_context": ["Io is hot."], "expected_output": "Io"},
    "deepeval in TypeScript": {"input": QUESTION, "actualOutput": TEXT, "retrievalContext": ["Io is hot."]},
    "llamaindex": {"query": QUESTION, "response": TEXT, "source_nodes": [{"node": {"text": "Io is hot."}, "score": 1}]},
    "llamaindex in TypeScript": {"query": QUESTION, "message": said(TEXT), "sourceNodes": [{"node": {"text": "Io is hot."}}]},
    "haystack": {"answer_builder": {"answers": [{"data": TEXT, "query": QUESTION, "documents": [{"content": "Io is hot."}], "meta": {}}]}},
    "haystack, to_dict": {"type": "haystack.dataclasses.answer.GeneratedAnswer", "init_parameters": {"data": TEXT, "query": QUESTION, "documents": [{"content": "Io is hot."}], "meta": {}}},
    "haystack, pipeline": {"query": QUESTION, "llm": {"replies": [TEXT], "meta": []}, "retriever": {"documents": [{"content": "Io is hot."}]}},
    "RAGChecker": {"query_id": "q01", "query": "?", "response": TEXT, "retrieved_context": [{"doc_id": "d", "text": "Io is hot."}]},
    "plain": {"query_id": "q01", "answer": TEXT, "passages": ["Io is hot."]},
    "flowise": {"question": QUESTION, "text": TEXT, "chatId": "c", "sourceDocuments": [{"pageContent": "Io is hot.", "metadata": {}}]},
    "Open WebUI": {"chat": {"messages": [said(QUESTION, role="user"), said(TEXT, sources=[{"source": {"name": "a"}, "document": ["Io is hot."], "metadata": [{}]}])]}},
    "Open WebUI, message": {"query_id": "q01", **said(TEXT, sources=[{"source": {"name": "a"}, "document": ["Io is", "hot."]}])},
    "Dify": {"query_id": "q01", "message_id": "m", "answer": TEXT, "metadata": {"retriever_resources": [{"position": 1, "document_name": "a", "content": "Io is hot."}]}},
    "RAGFlow": {"query_id": "q01", "code": 0, "data": {"answer": TEXT, "reference": {"chunks": [{"content": "Io is hot."}]}}},
    "AnythingLLM": {"query_id": "q01", "type": "textResponse", "textResponse": TEXT, "sources": [{"title": "a", "text": "Io is hot."}]},
    "LangSmith": {"run_type": "chain", "inputs": {"question": QUESTION}, "outputs": {"answer": TEXT, "contexts": ["Io is hot."]}},
    "Vectara": {"query_id": "q01", "summary": TEXT, "search_results": [{"text": "Io is hot.", "score": 1}]},
    "langchain, state of a graph": {"values": {"question": QUESTION, "context": [DOC], "answer": TEXT}, "next": []},
    "DSPy, response": {"question": QUESTION, "context": ["Io is hot."], "response": TEXT},
    "deepset": {"query_id": "q01", "results": [{"query": "?", "answers": [{"answer": TEXT, "type": "generative"}], "documents": [{"id": "d", "content": "Io is hot."}]}]},
    "FiD": {"question": QUESTION, "answers": ["Io"], "ctxs": [{"id": "1", "title": "Io", "text": "Io is hot."}], "output": TEXT},
    "FlashRAG": {"question": QUESTION, "golden_answers": ["Io"], "output": {"retrieval_result": [{"id": "1", "contents": "Io is hot."}], "pred": TEXT}},
    "CRAG": {"query": QUESTION, "prediction": TEXT, "search_results": [{"page_name": "Io", "page_url": "https://a.example", "page_snippet": "Io is hot."}]},
    "Tavily": {"query": QUESTION, "answer": TEXT, "results": [{"title": "Io", "url": "https://a.example", "content": "Io is hot."}]},
    "You.com": {"query_id": "q01", "answer": TEXT, "hits": [{"url": "https://a.example", "snippets": ["Io is hot."]}]},
    "LightRAG": {"query": QUESTION, "response": TEXT, "references": [{"reference_id": "1", "file_path": "io.txt", "content": ["Io is hot."]}]},
    "Elastic": {"query_id": "q01", "message": said(TEXT), "citations": [{"id": "1", "page_content": "Io is hot."}]},
    "plain by id": {"id": "q01", "prediction": TEXT, "documents": [{"contents": "Io is hot."}]},
}  # fmt: skip
"""Files of frameworks: a question, an answer with marks, and the documents that they number."""


@pytest.mark.parametrize("name", OWN)
def test_files_of_frameworks_bring_their_documents(
    name: str, benchmark: Benchmark, tmp_path: Path
) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", [OWN[name]])
    (answer,) = read(path, benchmark)
    assert (answer.query_id, answer.output, answer.spans) == ("q01", TEXT, None)
    assert [" ".join(p.text.split()) for p in answer.passages or ()] == ["Io is hot."]
    assert answer.is_truncated == ("dumped message" in name)
    assert not check(path, benchmark).errors


BARE = {
    "LibreChat": {"query_id": "q01", "messageId": "m", "sender": "GPT", "text": TEXT},
    "n8n": {"query_id": "q01", "json": {"output": TEXT}},
    "Hugging Face": {"query_id": "q01", "generated_text": TEXT, "details": {"finish_reason": "eos_token"}},
    "Hugging Face, chat": {"generated_text": [said(QUESTION, role="user"), said(TEXT)]},
    "Replicate": {"query_id": "q01", "status": "succeeded", "output": ["Io is a ", "moon [1]."]},
    "promptfoo": {"vars": {"question": QUESTION, "context": "Io"}, "prompt": {"raw": "?"}, "response": {"output": TEXT}},
    "MLflow": {"inputs": {"question": QUESTION}, "outputs": TEXT},
    "Opik": {"input": {"question": QUESTION}, "output": {"answer": TEXT}},
    "DSPy": {"question": QUESTION, "prediction": {"reasoning": "Is it [2]?", "answer": TEXT}},
    "OpenAI's Evals": {"item": {"question": QUESTION}, "sample": {"output_text": TEXT}},
    "llama.cpp": {"query_id": "q01", "content": TEXT, "stop": True},
    "KoboldAI": {"query_id": "q01", "results": [{"text": TEXT}]},
    "SGLang": {"query_id": "q01", "text": TEXT, "meta_info": {"finish_reason": {"type": "stop"}}},
    "vLLM": {"query_id": "q01", "prompt": "?", "outputs": [{"text": TEXT, "finish_reason": "stop"}]},
    "TruLens": {"record_id": "r", "input": QUESTION, "output": TEXT},
    "TruLens, texts as JSON": {"record_id": "r", "input": json.dumps(QUESTION), "output": json.dumps(TEXT)},
    "TruLens, older": {"record_id": "r", "main_input": QUESTION, "main_output": TEXT},
    "promptfoo, an assertion failed": {"vars": {"question": QUESTION}, "error": "Expected …", "gradingResult": {"pass": False}, "response": {"output": TEXT}},
    "LiteLLM": {"messages": [said(QUESTION, role="user")], "response": chat(said(TEXT))},
    "Helicone": {"request_body": {"messages": [said(QUESTION, role="user")]}, "response_body": chat(said(TEXT))},
    "LlamaIndex, ChatResponse": {"query_id": "q01", "response": {"message": {"role": "assistant", "blocks": [{"block_type": "thinking", "content": "Is it [2]?"}, {"block_type": "text", "text": TEXT}]}}},
    "messages of a thread": {"object": "list", "data": [{"object": "thread.message", "content": [words({"value": TEXT, "annotations": []})]}, {"object": "thread.message", "content": [words({"value": QUESTION})]}]},  # type: ignore[arg-type]
    "AutoGen": {"messages": [{"source": "user", "content": QUESTION, "type": "TextMessage"}, {"source": "m", "content": TEXT, "type": "TextMessage"}], "stop_reason": "done"},
    "Pydantic AI": {"messages": [{"kind": "request", "parts": [{"part_kind": "user-prompt", "content": QUESTION}]}, {"kind": "response", "parts": [{"part_kind": "thinking", "content": "Is it [2]?"}, {"part_kind": "text", "content": TEXT}]}]},
    "CrewAI": {"query_id": "q01", "raw": TEXT, "tasks_output": [{"raw": TEXT}]},
    "OpenAI's agents": {"input": QUESTION, "final_output": TEXT, "new_items": []},
    "Alpaca": {"instruction": QUESTION, "input": "", "output": TEXT},
    "Dify, a workflow": {"query_id": "q01", "workflow_run_id": "w", "data": {"status": "succeeded", "outputs": {"text": TEXT}}},
    "Claude": {"chat_messages": [{"sender": "human", "text": QUESTION}, {"sender": "assistant", "text": TEXT, "content": [words(TEXT)]}]},
    "Azure's evaluation": {"inputs.query": QUESTION, "inputs.response": TEXT, "outputs.groundedness": 5},
    "lm-evaluation-harness": {"doc_id": 0, "doc": {"question": QUESTION}, "resps": [[TEXT]], "filtered_resps": [TEXT]},
}  # fmt: skip
"""Files without documents: the marks cite the passages shown."""


@pytest.mark.parametrize("name", BARE)
def test_files_without_documents_cite_the_passages_shown(
    name: str, benchmark: Benchmark, tmp_path: Path
) -> None:
    (answer,) = read(write_jsonl(tmp_path / "a.jsonl", [BARE[name]]), benchmark)
    assert (answer.query_id, answer.output, answer.passages) == ("q01", TEXT, None)


URLS = ["https://a.example/x", "https://b.example/y", "https://c.example/z"]
FOUND = [{"title": "Y", "url": "https://b.example/y/", "snippet": "Io is hot."}]
NOTE = {"type": "url_citation", "url": "https://a.example/x", "title": "X"}
CITED = {
    # [n] is the nth of a list.
    "Perplexity": (chat(said("Io is hot.[2] It is old.[1]"), citations=URLS, search_results=FOUND), "Io is hot.[2] It is old.[1]", ["", "Io is hot.", ""]),
    "Perplexity, beyond the list": (chat(said("Io is hot [13]."), citations=URLS), "Io is hot [13].", ["", "", ""]),
    "Perplexity, results alone": (chat(said("Io is hot [1]."), search_results=FOUND), "Io is hot [1].", ["Io is hot."]),
    # A link counts by its URL, whatever its number.
    "Grok": (chat(said(f"Io is hot [[1]]({URLS[1]}).[[7]]({URLS[0]})"), citations=URLS), "Io is hot [2].[1]", ["", "", ""]),
    "OpenRouter, without places": (chat(said("Io is hot [1].", annotations=[{"type": "url_citation", "url_citation": {"url": URLS[0], "content": "Io is hot."}}])), "Io is hot [1].", ["Io is hot."]),
    "RAGFlow": (chat(said("Io is hot [ID:0].", reference=[{"content": "Io is hot."}])), "Io is hot [ID:0].", ["Io is hot."]),
    "RAGFlow, chunks by id": (chat(said("Io is hot [ID:0].", reference={"chunks": {"7": {"content": "Io is hot."}}})), "Io is hot [ID:0].", ["Io is hot."]),
    "Azure": (chat(said("Io is hot [doc1].", context={"citations": [{"content": "Io is hot.", "title": "Io", "filepath": "io.pdf"}]}), object="extensions.chat.completion"), "Io is hot [doc1].", ["Io is hot."]),
    "Mistral": (chat(said([words("Io is hot"), {"type": "tool_reference", "title": "X", "url": URLS[0]}, words(".")])), "Io is hot[1].", [""]),
    "Mistral, own documents": (chat(said([words("Io is hot"), {"type": "reference", "reference_ids": ["d7"]}, words(".")])), "Io is hot[1].", [""]),
    "Mistral, Conversations": ({"outputs": [{"content": [words("Io is hot"), {"type": "tool_reference", "title": "X", "url": URLS[0]}, words(".")]}]}, "Io is hot[1].", [""]),
    "LangChain": ({"type": "ai", "response_metadata": {}, "content": [words("Io is hot. It is old.", annotations=[{"type": "citation", "url": URLS[0], "start_index": 0, "end_index": 9, "cited_text": "Io"}])]}, "Io is hot[1]. It is old.", ["Io"]),
    "LangChain, a whole block": ({"type": "ai", "response_metadata": {}, "content": [words("It is old. "), words("Io is hot.", annotations=[{"type": "citation", "title": "Io"}])]}, "It is old. Io is hot[1].", [""]),
    "Pinecone": ({"message": said("Io is hot."), "finish_reason": "stop", "citations": [{"position": 9, "references": [{"file": {"name": "a.pdf"}, "pages": [1]}]}]}, "Io is hot[1].", [""]),
    "Vercel": ({"role": "assistant", "parts": [{"type": "step-start"}, {"type": "reasoning", "text": "Is it [2]?"}, words("Io is hot [1]."), {"type": "source-url", "sourceId": "s", "url": URLS[0]}]}, "Io is hot [1].", [""]),
    "Vercel, generateText": ({"text": "Io is hot [1].", "sources": [{"sourceType": "url", "id": "s", "url": URLS[0]}], "finishReason": "stop"}, "Io is hot [1].", [""]),
    "xAI, Responses": ({"object": "response", "output": [{"type": "message", "content": [{"type": "output_text", "text": f"Io is hot.[[1]]({URLS[0]}) It is old.", "annotations": [{**NOTE, "start_index": 10, "end_index": 16 + len(URLS[0]) + 1}]}]}]}, "Io is hot.[1] It is old.", [""]),
    "Exa": ({"answer": f"Io is hot ([X]({URLS[0]})).", "citations": [{"url": URLS[0], "title": "X", "text": "It is hot."}]}, "Io is hot [1].", ["It is hot."]),
    "Azure's agents": ({"object": "thread.message", "content": [{"type": "text", "text": {"value": "Io is hot【3:0†source】.", "annotations": [{"type": "url_citation", "text": "【3:0†source】", "start_index": 9, "end_index": 21, "url_citation": {"url": URLS[0], "title": "X"}}]}}]}, "Io is hot[1].", [""]),
    "Gemini's Interactions": ({"object": "interaction", "outputs": [{"type": "thought", "summary": []}, words("Io is hot. It is old.", annotations=[{"start_index": 0, "end_index": 10, "source": URLS[0]}])]}, "Io is hot[1]. It is old.", [""]),
    "Gemini, pages by URL": (gemini(words("Io is hot [1]."), urlContextMetadata={"urlMetadata": [{"retrievedUrl": URLS[0]}]}), "Io is hot [1].", [""]),
    "Vertex AI Search, a summary": ({"results": [], "summary": {"summaryText": "Io is hot [1].", "summaryWithMetadata": {"summary": "Io is hot.", "references": [{"title": "Io"}]}}}, "Io is hot [1].", [""]),
    "Vercel, steps": ({"steps": [{"content": [words("Io is hot [1]."), {"type": "source", "sourceType": "url", "id": "s", "url": URLS[0]}]}], "finishReason": "stop"}, "Io is hot [1].", [""]),
    # Spans of words.
    "Contextual AI": ({"message": said("Io is hot [1]. It is old."), "retrieval_contents": [{"number": 1, "content_id": "c", "content_text": "Io is hot."}], "attributions": [{"start_idx": 15, "end_idx": 24, "content_ids": ["c"]}]}, "Io is hot [\u20601]. It is old[1].", ["Io is hot."]),
    "Vertex AI Search": ({"answer": {"answerText": "Iö is hot. It is old.", "citations": [{"endIndex": "11", "sources": [{"referenceId": "0"}]}], "references": [{"chunkInfo": {"content": "Io is hot.", "documentMetadata": {"uri": URLS[0], "title": "X"}}}]}}, "Iö is hot[1]. It is old.", ["Io is hot."]),
    "Cohere 1": ({"text": "Io is hot. It is old.", "citations": [{"start": 0, "end": 9, "text": "Io is hot", "document_ids": ["doc_1"]}], "documents": [{"id": "doc_0", "text": "No."}, {"id": "doc_1", "text": "Io is hot."}]}, "Io is hot[2]. It is old.", ["No.", "Io is hot."]),
    "Cohere 2": ({"finish_reason": "COMPLETE", "message": {"content": [words("Io is hot. It is old.")], "citations": [
        {"type": "PLAN", "start": 0, "end": 2, "text": "No", "sources": []},
        {"type": "TEXT_CONTENT", "start": 11, "end": 20, "text": "It is old", "content_index": 0, "sources": [{"type": "document", "id": "doc:0", "document": {"id": "doc:0", "snippet": "Io is hot."}}]}]}},
        "Io is hot. It is old[1].", ["Io is hot."]),
    "Bedrock": ({"output": {"text": "Io is hot. It is old."}, "citations": [{"generatedResponsePart": {"textResponsePart": {"text": "Io is hot.", "span": {"start": 0, "end": 9}}}, "retrievedReferences": [{"content": {"text": "Io is hot."}, "location": {"type": "S3", "s3Location": {"uri": "s3://b/x"}}}]}]}, "Io is hot[1]. It is old.", ["Io is hot."]),
    "Bedrock, end excluded": ({"output": {"text": "Io is hot. It is old."}, "citations": [{"generatedResponsePart": {"textResponsePart": {"text": "Io is hot.", "span": {"start": 0, "end": 10}}}, "retrievedReferences": [{"content": {"text": "Io is hot."}}]}]}, "Io is hot[1]. It is old.", ["Io is hot."]),
    # Only the documents that are cited are there: their numbers are those of the whole list.
    "Haystack": ({"query": QUESTION, "answers": [{"data": "Io is hot [5].", "documents": [{"content": "Io is hot.", "meta": {"source_index": 5}}]}]}, "Io is hot [1].", ["Io is hot."]),
}  # fmt: skip
"""Name to response, the output with our marks, and the texts of the passages."""


@pytest.mark.parametrize("name", CITED)
def test_citations_of_a_tool_become_marks(name: str, benchmark: Benchmark, tmp_path: Path) -> None:
    response, output, texts = CITED[name]
    path = write_jsonl(tmp_path / "a.jsonl", [{"query_id": "q01", "response": response}])
    (answer,) = read(path, benchmark)
    assert answer.output == output
    assert [p.text for p in answer.passages or ()] == texts
    assert answer.context is None


def test_converse_cites_documents_of_the_request(benchmark: Benchmark, tmp_path: Path) -> None:
    cited = {"content": [{"text": "Io is hot"}], "citations": [
        {"title": "Io", "location": {"documentChar": {"documentIndex": 1, "start": 0, "end": 9}}, "sourceContent": [{"text": "Io is"}]}]}  # fmt: skip
    body = {
        "output": {
            "message": {
                "role": "assistant",
                "content": [{"citationsContent": cited}, {"text": "."}],
            }
        },
        "stopReason": "max_tokens",
    }
    row = {"query_id": "q01", "response": body, "documents": ["No.", "Io is hot."]}
    (answer,) = read(write_jsonl(tmp_path / "a.jsonl", [row]), benchmark)
    assert (answer.output, answer.is_truncated) == ("Io is hot[2].", True)
    assert answer.spans is not None and answer.spans[0].quote == "Io is"


def test_numbers_of_mistral_are_those_of_the_documents(
    benchmark: Benchmark, tmp_path: Path
) -> None:
    body = chat(said([words("Io is hot"), {"type": "reference", "reference_ids": [1]}, words(".")]))
    row = {"query_id": "q01", "response": body, "documents": ["No.", "Io is hot."]}
    (answer,) = read(write_jsonl(tmp_path / "a.jsonl", [row]), benchmark)
    assert answer.output == "Io is hot[2]."


def test_an_empty_document_keeps_its_number(benchmark: Benchmark, tmp_path: Path) -> None:
    row = {"user_input": QUESTION, "response": "Io [2].", "retrieved_contexts": ["", "Io is hot."]}
    (answer,) = read(write_jsonl(tmp_path / "a.jsonl", [row]), benchmark)
    assert (answer.output, [p.text for p in answer.passages or ()]) == (
        "Io [2].",
        ["", "Io is hot."],
    )


def test_marks_follow_the_way_in_which_sources_are_found(
    benchmark: Benchmark, tmp_path: Path
) -> None:
    """The first document of the file is the third passage shown."""
    (item,) = benchmark.items(query_id="q01")
    document = {"page_content": "?", "metadata": {"id": item.passages[2].id}}
    row = {"query_id": "q01", "context": [document], "answer": TEXT}
    (answer,) = read(write_jsonl(tmp_path / "a.jsonl", [row]), benchmark, ":id")
    assert (answer.output, answer.context) == ("Io is a moon [3].", "mix")


@pytest.mark.parametrize(
    "row",
    [
        {"query_id": "q01", "response": said(TEXT, reasoning_content="Is it [2]?")},
        {"query_id": "q01", "context": [DOC], "answer": said(TEXT, additional_kwargs={"reasoning_content": "Is it [2]?"})},
        {"query_id": "q01", "llm": {"replies": [{"role": "assistant", "content": [{"reasoning": {"reasoning_text": "Is it [2]?"}}, {"text": TEXT}]}]}},
    ],
)  # fmt: skip
def test_thoughts_beside_a_message_of_a_framework_stay_apart(
    row: Row, benchmark: Benchmark, tmp_path: Path
) -> None:
    (answer,) = read(write_jsonl(tmp_path / "a.jsonl", [row]), benchmark)
    assert (answer.output, answer.meta) == (TEXT, {"thoughts": ["Is it [2]?"]})


def test_marks_beside_annotations_are_counted_and_an_option_reads_them(
    benchmark: Benchmark, tmp_path: Path
) -> None:
    text = f"Io is a moon [2]. See [x]({URLS[0]})."
    note = {**NOTE, "start_index": text.index("[x]"), "end_index": len(text) - 1}
    row = {"query_id": "q01", "response": chat(said(text, annotations=[note]))}
    path = write_jsonl(tmp_path / "a.jsonl", [row])
    (annotated,) = read(path, benchmark)
    assert [s.passage for s in annotated.spans or ()] == [0]
    assert benchmark.grammar.cited(annotated.output, 1)[0] == {0}
    found = [w for w in check(path, benchmark).warnings if "openai:marks" in w.message]
    assert [w.code for w in found] == ["unread-citation"]
    (marked,) = read(path, benchmark, ":marks")
    assert (marked.output, marked.passages, marked.spans) == (text, None, None)
    assert not any(
        "openai:marks" in w.message for w in check(path, benchmark, None, "openai:marks").warnings
    )


def test_an_answer_without_any_citation_is_of_the_context_of_the_others(
    benchmark: Benchmark, tmp_path: Path
) -> None:
    """Where the tool brings sources, it found none for this one; else it was shown ours."""
    plain = {"query_id": "q01", "response": chat(said("Io."))}
    marked = {"query_id": "q02", "response": chat(said(TEXT))}
    note = {**NOTE, "start_index": 0, "end_index": 2}
    cited = {"query_id": "q03", "response": chat(said("Io.", annotations=[note]))}
    path = tmp_path / "a.jsonl"
    assert [a.passages for a in read(write_jsonl(path, [plain, marked]), benchmark)] == [None, None]
    first, second, _ = read(write_jsonl(path, [plain, marked, cited]), benchmark)
    assert (first.passages, second.passages) == ([], None)
    found = [w.message for w in check(path, benchmark).warnings if w.code == "unread-citation"]
    assert [text[:8] for text in found] == ["1 answer"]


def test_several_choices_go_by_index_and_the_others_are_counted_or_runs(
    benchmark: Benchmark, tmp_path: Path
) -> None:
    choices = [
        {"index": 1, "message": said("Second."), "finish_reason": "stop"},
        {"index": 0, "message": said("First."), "finish_reason": "stop"},
    ]
    candidates = [{"index": 1, "content": {"parts": [{"text": "Second."}]}},
                  {"content": {"parts": [{"text": "First."}]}}]  # fmt: skip
    for body in ({"choices": choices}, {"candidates": candidates}):
        path = write_jsonl(tmp_path / "a.jsonl", [{"query_id": "q01", "response": body}])
        assert [a.output for a in read(path, benchmark)] == ["First."]
        found = [w for w in check(path, benchmark).warnings if w.code == "unread-answer"]
        assert [w.message[:9] for w in found] == ["1 further"]
        runs = [(a.run, a.output) for a in read(path, benchmark, ":runs")]
        assert runs == [(0, "First."), (1, "Second.")]


@pytest.mark.parametrize(
    "body",
    [
        chat(None) | {"choices": [{"message": said("Io"), "finish_reason": "length"}]},
        chat(None) | {"choices": [{"message": said("Io"), "finish_reason": "content_filter"}]},
        anthropic(words("Io")) | {"stop_reason": "max_tokens"},
        anthropic(words("Io")) | {"stop_reason": "model_context_window_exceeded"},
        gemini({"text": "Io"}, finishReason="MAX_TOKENS"),
        {"object": "response", "incomplete_details": {"reason": "max_output_tokens"}, "output": []},
        {"finish_reason": "MAX_TOKENS", "message": {"content": [words("Io")]}},
        {"done": True, "done_reason": "length", "message": said("Io")},
    ],
)
def test_answers_that_were_cut_are_known_by_every_name_of_it(
    body: Row, benchmark: Benchmark, tmp_path: Path
) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", [{"query_id": "q01", "response": body}])
    assert check(path, benchmark).n_truncated == 1


def test_our_own_lines_may_use_these_names_too(benchmark: Benchmark, tmp_path: Path) -> None:
    row = {"query_id": "q01", "output": "Io", "finish_reason": "max_tokens"}
    assert check(write_jsonl(tmp_path / "a.jsonl", [row]), benchmark).n_truncated == 1
    row["finish_reason"] = "stop"
    assert check(write_jsonl(tmp_path / "a.jsonl", [row]), benchmark).n_truncated == 0


@pytest.mark.parametrize(
    ("row", "form", "code", "field"),
    [
        # The tool is known; what is missing or wrong is named.
        ({"input": QUESTION, "answer": TEXT, "context": "first\n\nsecond"}, "langchain", "wrong-type", "context"),
        ({"input": QUESTION, "answer": TEXT, "context": ["page_content='x' metadata={}"]}, "langchain", "wrong-type", "context[0]"),
        ({"input": QUESTION, "answer": TEXT, "context": [{"metadata": {}}]}, "langchain", "missing-field", "context[0]"),
        ({"input": QUESTION, "answer": TEXT, "context": [{"page_content": 7}]}, "langchain", "wrong-type", "context[0].page_content"),
        ({"user_input": QUESTION, "retrieved_contexts": ["x"]}, "ragas", "missing-field", "response"),
        ({"user_input": QUESTION, "response": TEXT, "retrieved_contexts": "['x']"}, "ragas", "wrong-type", "retrieved_contexts"),
        ({"user_input": QUESTION, "response": {"foo": 1}, "retrieved_contexts": []}, "ragas", "wrong-type", "response"),
        ({"query_id": "q01", "source_nodes": []}, "llamaindex", "missing-field", "response"),
        ({"input": QUESTION, "retrieval_context": ["x"]}, "deepeval", "missing-field", "actual_output"),
        ({"query_id": "q01", "response": {"foo": 1}}, "answers", "wrong-type", "response"),
        ({"response": chat(said(TEXT))}, "openai", "missing-field", None),
        ({"query_id": "q01", "response": chat(said(7))}, "openai", "wrong-type", "response.choices[0].message.content"),
        ({"query_id": "q01", "response": {"choices": [7]}}, "openai", "wrong-type", "response.choices[0]"),
        ({"query_id": "q01", "response": {"text": "Io.", "citations": [{"start": 0, "end": 2, "text": "Ix", "document_ids": []}]}}, "cohere", "wrong-value", "response.citations[0]"),
        ({"query_id": "q01", "response": chat(said("Io.", annotations=[{**NOTE, "type": "page_citation"}]))}, "openai", "wrong-value", "response.choices[0].message.annotations[0]"),
        ({"query_id": "q01", "response": {"error": {"code": 502}}}, None, "endpoint-failed", None),
    ],
)  # fmt: skip
def test_what_a_file_of_a_known_tool_lacks_is_named(
    row: Row, form: str | None, code: str, field: str | None, benchmark: Benchmark, tmp_path: Path
) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", [row])
    assert detect(path).name == (form or "answers")
    with refused(code, path=path, line=1, field=field):
        list(read(path, benchmark))


def test_the_tool_is_named(benchmark: Benchmark, tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", [{"user_input": "?", "retrieved_contexts": []}])
    with pytest.raises(cf.InputError) as caught:
        list(read(path, benchmark))
    assert "this looks like a file of ragas" in str(caught.value)


@pytest.mark.parametrize("key", ["page_content", "contents", "content", "id", "_id"])
def test_passages_of_a_submission_with_other_names_are_refused(
    key: str, benchmark: Benchmark, tmp_path: Path
) -> None:
    row = {"query_id": "q01", "output": TEXT, "passages": [{"text": "Io."}, {key: "Io."}]}
    path = write_jsonl(tmp_path / "a.jsonl", [row])
    with refused("unknown-field", path=path, line=1, field=f"passages[1].{key}") as caught:
        list(read(path, benchmark))
    assert "the fields are text, docid, title, url" in str(caught.value)


def test_a_header_goes_before_responses(benchmark: Benchmark, tmp_path: Path) -> None:
    header = {"submission": {"system": "mine"}}
    path = write_jsonl(
        tmp_path / "a.jsonl", [header, {"query_id": "q01", "response": PLAIN["openai"]}]
    )
    assert [a.output for a in read(path, benchmark)] == [TEXT]


def test_long_lines_are_recognised(benchmark: Benchmark, tmp_path: Path) -> None:
    row = {"user_input": QUESTION, "retrieved_contexts": ["x" * 90_000], "response": TEXT}
    assert detect(write_jsonl(tmp_path / "a.jsonl", [row])).name == "ragas"
