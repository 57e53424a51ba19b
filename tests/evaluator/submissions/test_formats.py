"""Outside prediction files, written here in their own layouts."""

import csv
import json
import unicodedata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

import citeforge as cf
from citeforge.evaluator.submissions.formats import detect
from citeforge.evaluator.submissions.query_finder import QueryFinder
from citeforge.schemas.submission import SubmissionLine
from conftest import Inline, refused
from scoring import iter_answers

Q01 = "Which moon is the most volcanically active body in the Solar System?"


def read(path: Path, benchmark: cf.Benchmark, expected: str) -> list[SubmissionLine]:
    assert detect(path).name == expected
    return [answer for _, answer in iter_answers(path, benchmark)]


def write_csv(path: Path, rows: list[dict[str, Any]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.mark.parametrize("wrap", [True, False], ids=["object", "list"])
def test_alce(tmp_path: Path, benchmark: cf.Benchmark, wrap: bool) -> None:
    items = [
        {
            "question": Q01,
            "output": "Io [2].",
            "docs": [{"title": "T", "text": "a", "id": "7"}, {"title": "", "text": "b"}],
            "answers": [["Io"]],
        }
    ]
    path = tmp_path / "result.json"
    path.write_text(json.dumps({"args": {}, "data": items} if wrap else items))
    (answer,) = read(path, benchmark, "alce")
    assert (answer.query_id, answer.output) == ("q01", "Io [2].")
    assert answer.passages is not None
    assert (answer.passages[0].docid, answer.passages[0].title) == ("7", "T")


def test_alce_without_outputs(tmp_path: Path, benchmark: cf.Benchmark) -> None:
    path = tmp_path / "result.json"
    path.write_text(json.dumps([{"question": Q01, "docs": []}]))
    with refused("missing-field", path=path, field="item 1"):
        list(iter_answers(path, benchmark))


def test_attributed_ir_csv(tmp_path: Path, benchmark: cf.Benchmark) -> None:
    quotes = [{"idx": 1, "docid": "moon-io", "text": 'Io\'s "text",\nwith a line end'}]
    row = {"query_id": "q01", "query": Q01, "quotes": repr(quotes), "output": "Io [1]."}
    (answer,) = read(write_csv(tmp_path / "o.csv", [row]), benchmark, "attributed-ir")
    assert answer.passages is not None
    assert answer.passages[0].text == quotes[0]["text"]
    bad = write_csv(tmp_path / "b.csv", [{**row, "quotes": "__import__('os')"}])
    with refused("wrong-value", path=bad, line=2, field="quotes"):
        list(iter_answers(bad, benchmark))


def test_rage_toolkit_csv(tmp_path: Path, benchmark: cf.Benchmark) -> None:
    row = {
        "query_id": "q01",
        "query_text": Q01,
        "prompt": "p",
        "docs_for_query": "['Io text\\nIo', 'Europa']",
        "answer": "Io [1]",
        "answer_citations": "['1']",
        "doc_ids": "['moon-io', 'moon-europa']",
    }
    path = write_csv(tmp_path / "1_response_info_.csv", [row])
    (answer,) = read(path, benchmark, "rage-toolkit")
    assert answer.passages is not None
    assert [p.docid for p in answer.passages] == ["moon-io", "moon-europa"]


@pytest.mark.parametrize(
    ("field", "text", "code", "at"),
    [
        ("doc_ids", "['moon-io']", "wrong-value", "docs_for_query"),  # of two passages
        ("doc_ids", "7", "wrong-type", "doc_ids"),
        ("doc_ids", "[1, 2]", "wrong-type", "doc_ids"),
        ("docs_for_query", "[None, 'x']", "wrong-type", "docs_for_query"),
        ("docs_for_query", r"['\ud800', 'x']", "wrong-value", "docs_for_query"),
        ("docs_for_query", "[" * 9000, "wrong-value", "docs_for_query"),
        ("docs_for_query", "", "wrong-value", "docs_for_query"),
    ],
)
def test_rage_toolkit_csv_of_other_types(
    tmp_path: Path, benchmark: cf.Benchmark, field: str, text: str, code: str, at: str
) -> None:
    row = {"query_id": "q01", "docs_for_query": "['Io', 'Europa']", "answer": "Io [1]",
           "answer_citations": "['1']", "doc_ids": "['moon-io', 'moon-europa']"}  # fmt: skip
    path = write_csv(tmp_path / "r.csv", [row, {**row, field: text}])
    with refused(code, path=path, line=3, field=at):
        list(iter_answers(path, benchmark))


@pytest.mark.parametrize(
    "quotes",
    [
        "7",
        "[7]",
        "[{'docid': 'x'}]",
        "[{'text': None}]",
        "[{'text': 'x', 'docid': 0.5}]",
        "{'text': 'x'}",
    ],
)
def test_attributed_ir_csv_of_other_types(
    tmp_path: Path, benchmark: cf.Benchmark, quotes: str
) -> None:
    path = write_csv(tmp_path / "o.csv", [{"query_id": "q01", "quotes": quotes, "output": "x"}])
    with refused("wrong-type", path=path, line=2, field="quotes"):
        list(iter_answers(path, benchmark))


def test_attrieval_of_other_types(tmp_path: Path, benchmark: cf.Benchmark) -> None:
    import datasets

    row = {"query": Q01, "passages": {"passage_text": ["a"]}, "rag_raw_answer": None}
    datasets.Dataset.from_list([row]).save_to_disk(str(tmp_path / "saved"))
    with refused("missing-field", path=tmp_path / "saved", field="row 1"):
        list(iter_answers(tmp_path / "saved", benchmark))


def test_a_damaged_gzip_header(tmp_path: Path, benchmark: cf.Benchmark) -> None:
    """Every flipped byte of a submission: read as something, or the file is named."""
    import gzip

    line = {"query_id": "q01", "output": "Io [1]."}
    text = json.dumps({"submission": {"system": "s"}}) + "\n" + json.dumps(line) + "\n"
    whole = gzip.compress(text.encode())
    path = tmp_path / "s.jsonl.gz"
    refused = 0
    for at in range(2, len(whole)):
        data = bytearray(whole)
        data[at] ^= 0xFF
        path.write_bytes(data)
        try:
            list(iter_answers(path, benchmark))
        except cf.InputError as error:
            assert error.path == str(path)
            refused += 1
    assert refused > len(whole) - 15  # all but time stamp, flags and system of the header


def test_attrieval(tmp_path: Path, benchmark: cf.Benchmark) -> None:
    import datasets

    row = {
        "query": Q01,
        "passages": {"passage_text": ["a", "b"], "is_selected": [1, 0]},
        "rag_raw_answer": "Io [0].",
    }
    datasets.Dataset.from_list([row]).save_to_disk(str(tmp_path / "saved"))
    (answer,) = read(tmp_path / "saved", benchmark, "attrieval")
    assert (answer.query_id, answer.output) == ("q01", "Io [0].")


def test_trec_rag_2024(tmp_path: Path, benchmark: cf.Benchmark) -> None:
    row = {
        "run_id": "r",
        "topic_id": "q01",
        "topic": Q01,
        "references": ["moon-io", "elsewhere"],
        "response_length": 4,
        "answer": [
            {"text": "Io it is.", "citations": [0, 1]},
            {"text": "Nothing.", "citations": []},
        ],
    }
    path = tmp_path / "run.jsonl"
    path.write_text(json.dumps(row) + "\n")
    (answer,) = read(path, benchmark, "trec-rag24")
    # Citations count from 0 there, from 1 in this benchmark.
    assert answer.output == "Io it is [1][2].\nNothing."
    assert answer.passages is not None
    assert answer.passages[0].text.startswith("Io is the innermost")
    assert answer.passages[1].text == ""


def test_trec_rag_2025(tmp_path: Path, benchmark: cf.Benchmark) -> None:
    row = {
        "metadata": {"team_id": "t", "run_id": "r", "narrative_id": "q01"},
        "references": ["moon-io", "moon-europa"],
        "answer": [{"text": "Io.", "citations": ["moon-europa", 0, "unknown"]}],
    }
    path = tmp_path / "run.jsonl"
    path.write_text(json.dumps(row) + "\n")
    (answer,) = read(path, benchmark, "trec-rag25")
    assert answer.output == "Io [2][1][3]."


def test_scores_say_what_was_read(inline: Inline, package: Path, tmp_path: Path) -> None:
    items = [{"question": Q01, "output": "Io [1].", "docs": [{"title": "", "text": "Io."}]}]
    (tmp_path / "r.json").write_text(json.dumps({"data": items}))
    args = ("score", "r.json", "--benchmark", package, "--judge", "lexical")
    result = inline.ok(*args, "--measures", "ALCE.CitRec")
    assert "r read as alce" in result.stdout.replace("r.json", "r")
    inline.fails(2, "unknown-name", *args, "--format", "nonsense")
    checked = inline.ok("check", "r.json", "--benchmark", package)
    assert "1 answer read as alce, 0 errors, 30 warnings" in checked.stdout
    items[0]["question"] = "Something else?"
    (tmp_path / "r.json").write_text(json.dumps({"data": items}))
    (error,) = cf.check(tmp_path / "r.json", cf.load(package)).errors
    assert error.code == "unknown-query"


def test_questions_are_found_by_what_they_ask(tmp_path: Path) -> None:
    """White space and normal forms do not matter; a question of two queries is refused."""
    texts = ["Do masks help?", "Do masks  help?", "Où est le café?"]
    benchmark: Any = SimpleNamespace(
        queries={"text": pa.array(texts)},
        query_ids=["q1", "q2", "q3"],
        row_of={"q1": 0, "q2": 1, "q3": 2},
    )
    queries = QueryFinder(benchmark)
    for text in ("Où est le café?", unicodedata.normalize("NFD", texts[2]), f" {texts[2]} \n"):
        assert queries.find_id(None, text) == "q3"
    assert queries.find_id("q2", "Do masks help?") == "q2"  # its id decides
    with refused("ambiguous-query", field="question") as caught:
        queries.find_id(None, "Do masks help?")
    assert "q1, q2" in str(caught.value)
    assert queries.find_id(None, "Who?") == "Who?"  # which check and score refuse


def test_a_score_file_is_no_submission(inline: Inline, package: Path, tmp_path: Path) -> None:
    cf.run("top-1", package, tmp_path / "s.jsonl")
    inline.ok("score", "s.jsonl", "--benchmark", package, "--out", "A.json")
    for command in ("score", "check"):
        done = inline.fails(1, "wrong-kind", command, "A.json", "--benchmark", package)
        assert "A.json: is a score file, not a submission" in done.stderr
    done = inline.fails(1, "wrong-kind", "compare", "s.jsonl", "A.json")
    assert "is a submission, not a score file" in done.stderr
