"""Responses with many sources, documents and citations: twice of them take twice the steps."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import citeforge as cf
from long_texts import count_steps
from scoring import iter_answers

FEW = 40
MOST_STEPS = 2.3
"""Growth of the steps for twice the citations; a reader that compares all pairs has 4."""


def url(number: int) -> str:
    return f"https://example.org/{number}"


def write_links(n: int) -> dict[str, Any]:
    """OpenAI's annotations, whose offsets are of a guessed unit: one page each."""
    text, notes = "", []
    for number in range(n):
        link = f"([example.org]({url(number)}))"
        text += f"Moon {number} is icy. "
        notes.append({"type": "url_citation", "url": url(number), "title": f"Moon {number}",
                      "start_index": len(text), "end_index": len(text) + len(link)})  # fmt: skip
        text += f"{link} "
    part = {"type": "output_text", "text": text, "annotations": notes}
    message = {"type": "message", "role": "assistant", "status": "completed", "content": [part]}
    return {"query_id": "q01", "response": {"object": "response", "status": "completed",
                                            "model": "m", "output": [message]}}  # fmt: skip


def write_marks(n: int) -> dict[str, Any]:
    """Marks of documents that the line brings, and of as many that it lacks."""
    text = " ".join(f"Moon {number} is icy [{number}]." for number in range(1, 2 * n + 1))
    documents = [{"id": f"d{number}", "text": f"Moon {number} is icy."} for number in range(n)]
    return {"query_id": "q01", "question": "Which?", "answer": text, "documents": documents}


@pytest.mark.parametrize(("form", "write"), [("openai", write_links), ("answers", write_marks)])
def test_steps_double(
    tmp_path: Path, benchmark: cf.Benchmark, form: str, write: Callable[[int], dict[str, Any]]
) -> None:
    path = tmp_path / "responses.jsonl"

    def steps(n: int) -> int:
        path.write_text(json.dumps(write(n)) + "\n")
        return count_steps(lambda _: list(iter_answers(path, benchmark, f"{form}:own")), "")

    steps(1)  # whatever is loaded once
    few, many = steps(FEW), steps(2 * FEW)
    assert many <= MOST_STEPS * few
    ((_, answer),) = iter_answers(path, benchmark, f"{form}:own")
    assert answer.passages is not None
    assert len(answer.passages) == 2 * FEW
