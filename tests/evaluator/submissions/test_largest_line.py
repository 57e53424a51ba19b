"""One cap for a line of a file, a cell of a table and an answer, in every format."""

import gzip
import json
from collections.abc import Callable
from contextvars import ContextVar
from pathlib import Path

import pytest

import citeforge as cf
from citeforge.engines import jsonlines
from citeforge.library.checks import check
from conftest import refused
from scoring import iter_answers

MOST = 1_000
"""Bytes that a line may have here."""


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonlines, "_largest_line", ContextVar("small", default=MOST))


def line_of(size: int, query: str = "q01") -> bytes:
    """A line of so many bytes, without its end."""
    bare = json.dumps({"query_id": query, "output": ""}).encode()
    return bare.replace(b'"output": "', b'"output": "' + b"a" * (size - len(bare)))


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b""])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
def test_a_line_of_the_size_that_is_read(
    tmp_path: Path, benchmark: cf.Benchmark, end: bytes, bom: bytes
) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_bytes(bom + line_of(MOST) + end)
    ((line, answer),) = iter_answers(path, benchmark)
    assert (line, answer.query_id) == (1, "q01")
    path.write_bytes(bom + line_of(MOST + 1) + end)
    with refused("too-large", path=path, line=1) as caught:
        list(iter_answers(path, benchmark))
    text = str(caught.value)
    assert f"has {MOST + 1:,} bytes, more than the {MOST:,} bytes" in text
    assert "--largest-line MEGABYTES" in text


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_check_lists_a_line_that_is_too_large_and_goes_on(
    tmp_path: Path, benchmark: cf.Benchmark, pack: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "answers.jsonl"
    lines = [line_of(3 * MOST), line_of(90, "nobody"), line_of(90, "q02")]
    path.write_bytes(pack(b"\n".join(lines)))
    found = check(path, benchmark)
    assert [(e.code, e.line) for e in found.errors] == [("too-large", 1), ("unknown-query", 2)]


def test_a_cell_of_a_table(tmp_path: Path, benchmark: cf.Benchmark) -> None:
    path = tmp_path / "answers.csv"
    path.write_text(f"query_id,output\nq02,a\nq01,{'a' * (MOST + 1)}\n")
    with refused("too-large", path=path, line=3):
        list(iter_answers(path, benchmark))


def test_an_answer_in_a_file_without_lines(tmp_path: Path, benchmark: cf.Benchmark) -> None:
    path = tmp_path / "result.json"
    question = benchmark.queries["text"][0].as_py()
    items = [{"question": question, "output": "ä" * (MOST // 2 + 1), "docs": []}]  # two bytes each
    path.write_text(json.dumps({"data": items}))
    (error,) = check(path, benchmark).errors
    assert (error.code, error.line) == ("too-large", 1)
