"""What is in a file of a tool and is not read is named: documents, lists of answers."""

# ruff: noqa: E501 (cases, one a line)
from pathlib import Path

import pytest

from citeforge.evaluator.check import check
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.evaluator.submissions.formats import detect
from conftest import refused, write_jsonl
from plugins.responses.test_tools import BARE, QUESTION, TEXT, Row, chat, said


@pytest.mark.parametrize(
    ("row", "place"),
    [
        ({"question": QUESTION, "answer": TEXT, "found": [{"text": "Io is hot."}]}, "found"),
        ({"query_id": "q01", "response": chat(said(TEXT)), "context_data": {"sources": [{"text": "?"}]}}, "context_data.sources"),
        ({"vars": {"question": QUESTION, "context": "Io is hot."}, "response": {"output": TEXT}}, "vars.context"),
        ({"messages": [said(QUESTION, role="user"), {"role": "tool", "content": "Io is hot."}, said(TEXT)]}, "messages[1]"),
        ({"question": QUESTION, "response": said(TEXT), "tool_calls": [{"raw_output": {"nodes": [{"node": {"text": "Io is hot."}}]}}]}, "tool_calls[0].raw_output.nodes"),
    ],
)  # fmt: skip
def test_documents_that_no_declaration_knows_are_named(
    row: Row, place: str, benchmark: Benchmark, tmp_path: Path
) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", [row])
    found = [w.message for w in check(path, benchmark).warnings if w.code == "unread-documents"]
    assert len(found) == 1 and f"not read ({place}" in found[0]


def test_answers_in_a_list_inside_an_object_are_shown_the_way_out(tmp_path: Path) -> None:
    row = {"results": {"version": 3, "results": [BARE["promptfoo"]]}}
    path = write_jsonl(tmp_path / "a.json", [row])
    with refused("bad-json", path=path) as caught:
        detect(path)
    assert "jq -c '.results.results[]' a.json" in str(caught.value)
