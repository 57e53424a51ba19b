"""Answers that were made on another build of the benchmark are not scored as if they were its."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import citeforge as cf
from citeforge.engines.llm.records import LlmReply
from citeforge.engines.llm.replay import ReplayStore, SentRequest
from citeforge.evaluator.submissions.citation_range import CitationRange
from citeforge.schemas.recipes.command_options import PromptingOptions
from citeforge.systems.prompt_files import make_requests, read_prompts
from conftest import Inline, refused, write_jsonl


@pytest.fixture
def other(hidden_package: Path) -> Path:
    """The benchmark of the quick start with other candidates: the same names, other contexts."""
    return hidden_package


ANSWER = {"query_id": "q01", "output": "[1]"}


def texts(findings: Iterable[cf.Finding]) -> list[str]:
    return list(map(str, findings))


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def answered(inline: Inline, folder: Path, package: Path, wrong: str | None) -> Path:
    """The submission of a model that cites the first relevant passage of each prompt; for one query
    it cites a passage that is not relevant."""
    inline.ok("export", "prompts", package, "--out", "p.jsonl")
    benchmark = cf.load(package)
    table = benchmark.context("mix")
    rows = read_prompts(folder / "p.jsonl")
    requests = make_requests(rows, PromptingOptions(llm="openai:m"))
    with ReplayStore(folder / "made.db") as store:
        for row, request in zip(rows, requests, strict=True):
            at = benchmark.row_of[row.query_id]
            relevant = table.relevant[at]
            others = set(range(table.sizes[at])) - relevant
            cited = 1 + min(others if row.query_id == wrong else relevant)
            sent = SentRequest(request.key("m"), request.payload("m"), 0)
            store.keep(sent, LlmReply(f"So it is [{cited}]."))
    inline.ok("llm", "run", "p.jsonl", "--llm", "replay:made.db", "--out", "s.jsonl")
    return folder / "s.jsonl"


def test_the_same_names_and_other_contexts(
    inline: Inline, package: Path, other: Path, tmp_path: Path
) -> None:
    path = answered(inline, tmp_path, package, wrong="q07")
    here, there = cf.load(package), cf.load(other)
    header = lines_of(path)[0]["submission"]
    assert header == {
        "system": "openai:m",
        "benchmark": here.manifest.name,
        "benchmark_hash": here.manifest.benchmark_hash,
        "contexts": ["mix"],
    }
    scores = cf.score(path, here, ["CiteP"])
    assert scores["CiteP"].value == pytest.approx(100 * 29 / 30)
    assert scores.file.warnings == cf.check(path, here).warnings == []
    for command in ("score", "check"):
        result = inline(command, path, "--benchmark", other)
        assert result.returncode == 1, command
        for folder in (here, there):
            assert folder.manifest.benchmark_hash[:16] in result.stdout + result.stderr, command
    # Without the header nothing tells: the number is another one, and a warning says why.
    bare = tmp_path / "bare.jsonl"
    bare.write_text("".join(path.read_text().splitlines(keepends=True)[1:]))
    result = cf.score(bare, there, ["CiteP"])
    assert (result["CiteP"].value or 100) < 50
    (warning,) = cf.check(bare, there).warnings
    assert (warning.code, result.file.warnings) == ("missing-hash", [str(warning)])
    shown = inline("score", bare, "--benchmark", other)
    assert "warning: bare.jsonl: not known which build was answered: " in shown.stderr
    assert "bare: not known which build was answered" in shown.stdout
    # The header that the warning offers is taken; with the other hash in each line, it is refused.
    offered = str(warning).partition("begin the file with ")[2]
    assert there.manifest.benchmark_hash in offered
    bare.write_text(f"{offered}\n{bare.read_text()}")
    assert "missing-hash" not in [f.code for f in cf.check(bare, there).warnings]
    assert refused_lines(bare, there) == []


def refused_lines(path: Path, benchmark: cf.Benchmark) -> list[tuple[int | None, str]]:
    return [(f.line, f.code) for f in cf.check(path, benchmark).errors]


def test_lines_keep_the_fields_of_their_prompts(
    inline: Inline, package: Path, other: Path, tmp_path: Path
) -> None:
    """By them each line says what it answers, and no header is needed."""
    here, there = cf.load(package), cf.load(other)
    prompts = cf.export_prompts(here)
    rows = [prompt | {"output": f"So it is {n} [1]."} for n, prompt in enumerate(prompts)]
    path = write_jsonl(tmp_path / "kept.jsonl", rows)
    assert cf.check(path, here).warnings == cf.check(path, here).errors == []
    assert cf.score(path, here, ["CiteP"]).file.warnings == []
    assert refused_lines(path, there) == [(1, "wrong-benchmark")]
    with refused("wrong-benchmark", path=path, line=1, field="benchmark_hash"):
        cf.score(path, there)
    shown = inline("check", path, "--benchmark", other).stdout.splitlines()
    assert ":1: error: benchmark_hash: answers another build of this benchmark" in shown[0]
    assert shown[1:] == ["30 answers read, 1 error, 0 warnings"]
    # One line without its hash leaves the file unverified.
    del rows[7]["benchmark_hash"]
    write_jsonl(path, rows)
    assert [f.code for f in cf.check(path, here).warnings] == ["missing-hash"]


def test_a_stub_is_filled_in_once(package: Path, tmp_path: Path) -> None:
    benchmark, stub = cf.load(package), tmp_path / "mine.jsonl"
    cf.export_prompts(benchmark, stub=stub)
    header, *rows = lines_of(stub)
    assert header["submission"]["system"] == "mine"
    assert rows == [{"query_id": q, "context": "mix", "output": ""} for q in benchmark.query_ids]
    write_jsonl(stub, [header, *(row | {"output": f"{n} [1]"} for n, row in enumerate(rows))])
    assert cf.check(stub, benchmark).warnings == []
    with refused("output-exists", path=stub):
        cf.export_prompts(benchmark, stub=stub)


@pytest.mark.parametrize(
    ("named", "of_line", "error"),
    [
        (["gone"], None, (1, "unknown-context")),
        ("gone", None, (1, "unknown-context")),
        (["mix"], "mix", None),
        (["mix"], None, None),
        (["none"], None, None),
    ],
)
def test_the_contexts_of_the_header(
    package: Path, tmp_path: Path, named: object, of_line: str | None,
    error: tuple[int, str] | None,
) -> None:  # fmt: skip
    benchmark = cf.load(package)
    header = {"submission": {"system": "s", "contexts": named}}
    row = {"query_id": "q01", "output": "[1]"} | ({"context": of_line} if of_line else {})
    path = write_jsonl(tmp_path / "s.jsonl", [header, row])
    assert refused_lines(path, benchmark) == ([error] if error else [])


@pytest.mark.slow
def test_authorship_of_another_k(inline: Inline, twins_package: Path, tmp_path: Path) -> None:
    """Cells have the same names whatever k is; a bias of one k is none of another's."""
    for words in (
        ("build", "authorship", "--twins", twins_package, "--k", "6", "--out", "six"),
        ("build", "authorship", "--twins", twins_package, "--k", "3", "--out", "three"),
        ("run", "label-follower", "--benchmark", "six", "--out", "six.jsonl"),
        ("run", "label-follower", "--benchmark", "three", "--out", "three.jsonl"),
    ):
        inline.ok(*words)
    six, three = cf.load(tmp_path / "six"), cf.load(tmp_path / "three")
    assert list(six.manifest.contexts) == list(three.manifest.contexts)
    for command in ("score", "check"):
        result = inline(command, "six.jsonl", "--benchmark", "three")
        assert result.returncode == 1, command
        said = result.stdout + result.stderr
        assert six.manifest.benchmark_hash[:16] in said
        assert three.manifest.benchmark_hash[:16] in said
    for name, benchmark, sign in (
        ("six", three, "cite passages that this benchmark does not show"),
        ("three", six, "goes beyond passage 3, though up to 6 are shown"),
    ):
        bare = tmp_path / f"bare-{name}.jsonl"
        whole = (tmp_path / f"{name}.jsonl").read_text().splitlines(keepends=True)
        bare.write_text("".join(whole[1:]))
        found = cf.check(bare, benchmark).warnings
        assert [f.code for f in found[:2]] == ["missing-hash", "wrong-benchmark"]
        assert sign in found[1].message
        assert cf.score(bare, benchmark, ["authorship"]).file.warnings == texts(found[:2])
    # Where they belong, nothing is said of the passages.
    own = tmp_path / "bare-three.jsonl"
    (warning,) = cf.score(own, three, ["authorship"]).file.warnings
    assert warning.startswith("not known which build was answered: ")


def test_prompts_of_two_benchmarks_are_not_one_submission(
    inline: Inline, package: Path, other: Path, tmp_path: Path
) -> None:
    inline("export", "prompts", package, "--out", "a.jsonl")
    inline("export", "prompts", other, "--out", "b.jsonl")
    both = tmp_path / "both.jsonl"
    both.write_text((tmp_path / "a.jsonl").read_text() + (tmp_path / "b.jsonl").read_text())
    with refused("wrong-benchmark", path=both, line=31, field="benchmark_hash"):
        read_prompts(both)
    old = tmp_path / "old.jsonl"
    old.write_text('{"query_id": "q01", "context": "mix", "prompt": "Why?"}\n')
    assert read_prompts(old)[0].benchmark_hash is None
    old.write_text(old.read_text() + (tmp_path / "a.jsonl").read_text())
    with refused("wrong-benchmark", line=2) as caught:
        read_prompts(old)
    assert "the lines before are of a benchmark that it does not name" in str(caught.value)


def test_a_benchmark_without_its_gold_is_the_same_benchmark(package: Path, tmp_path: Path) -> None:
    benchmark = cf.load(package)
    benchmark.also_known = frozenset({"f" * 64})
    header = {"submission": {"benchmark_hash": "f" * 64}}
    path = write_jsonl(tmp_path / "s.jsonl", [header, ANSWER])
    (missing,) = cf.score(path, benchmark, ["CiteP"]).file.warnings
    assert missing.startswith("29 answers missing")
    benchmark.also_known = frozenset()
    with refused("wrong-benchmark", path=path, line=1, field="benchmark_hash"):
        cf.score(path, benchmark, ["CiteP"])


@pytest.mark.parametrize("value", [5, [], {}, "", True])
def test_a_hash_that_is_none_is_refused(package: Path, tmp_path: Path, value: object) -> None:
    path = write_jsonl(tmp_path / "s.jsonl", [{"submission": {"benchmark_hash": value}}, ANSWER])
    with refused("wrong-benchmark", path=path, line=1, field="benchmark_hash"):
        cf.score(path, package, ["CiteP"])


def test_how_far_citations_reach() -> None:
    few = CitationRange()
    for _ in range(20):
        few.add({1, 2, 3}, 0, 6)
    # 60 citations that all miss the last three of six: (1/2)^60 < 1e-9
    assert [f.code for f in few.warnings()] == ["wrong-benchmark"]
    top = CitationRange()
    for _ in range(1000):
        top.add({1}, 0, 10)
    assert top.warnings() == []  # copying the first passage is a system
    spread = CitationRange()
    for _ in range(8):
        spread.add({1, 2, 3}, 0, 6)
    assert spread.warnings() == []  # (1/2)^24 = 6e-8: may be chance
    for n_beyond in (19, 20):
        beyond = CitationRange()
        for i in range(100):
            beyond.add({1, 2}, int(i < n_beyond), 2)
        assert texts(beyond.warnings()) == (
            []
            if n_beyond < 20
            else [
                "20 of 100 answers with citations cite passages that this benchmark does not "
                "show: were they made on another build of it?"
            ]
        )
