"""The examples are what the vendors' own client libraries understand.

``anthropic`` and ``openai`` are among our development tools; the others are looked at where they
are installed (``pip install google-genai langchain-core``).
"""

import json
from typing import Any

import pytest

from conftest import EXAMPLES


def rows(name: str) -> list[dict[str, Any]]:
    path = EXAMPLES / "vendors" / f"{name}.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_anthropic() -> None:
    batches = pytest.importorskip("anthropic.types.messages.message_batch_individual_response")
    seen = set()
    for row in rows("anthropic"):
        result = batches.MessageBatchIndividualResponse.model_validate(row)
        for block in result.result.message.content:
            seen |= {c.type for c in getattr(block, "citations", None) or ()}
    assert seen == {
        "char_location", "page_location", "content_block_location", "search_result_location",
        "web_search_result_location",
    }  # fmt: skip


def test_openai() -> None:
    from openai.types.chat import ChatCompletion
    from openai.types.responses import Response

    seen = set()
    for row in rows("openai"):
        if "body" in row["response"]:
            chat = ChatCompletion.model_validate(row["response"]["body"])
            seen |= {f"chat {a.type}" for a in chat.choices[0].message.annotations or ()}
            continue
        response = Response.model_validate(row["response"])
        for item in response.output:
            for part in getattr(item, "content", ()):
                seen |= {a.type for a in part.annotations}
                for a in part.annotations:
                    if a.type == "url_citation":
                        assert a.url in part.text[a.start_index : a.end_index]
    assert seen == {"chat url_citation", "url_citation", "file_citation"}


def test_gemini() -> None:
    types = pytest.importorskip("google.genai.types")
    n_segments = 0
    for row in rows("gemini"):
        result = types.GenerateContentResponse.model_validate(row["response"])
        (candidate,) = result.candidates
        for support in candidate.grounding_metadata.grounding_supports:
            segment = support.segment
            data = candidate.content.parts[segment.part_index or 0].text.encode()
            assert data[segment.start_index or 0 : segment.end_index].decode() == segment.text
            n_segments += 1
    assert n_segments == 4


def test_langchain() -> None:
    documents = pytest.importorskip("langchain_core.documents")
    messages = pytest.importorskip("langchain_core.messages")
    for row in rows("langchain"):
        for document in row.get("context") or row["source_documents"]:
            assert documents.Document.model_validate(document).page_content
        answer = row.get("answer")
        if isinstance(answer, dict) and "content" in answer:
            assert messages.AIMessage.model_validate(answer).text
