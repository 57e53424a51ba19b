"""Answers that were made on another build of the benchmark are not scored as if they were its."""

import json
from pathlib import Path

import pytest

from citeforge.builders.rage.build import build_rage
from citeforge.engines.embedding.embed import make_embedder
from citeforge.engines.llm.records import LlmReply
from citeforge.engines.llm.replay import ReplayStore
from citeforge.evaluator.measures.registry import select
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.evaluator.submissions.check import check
from citeforge.evaluator.submissions.origin import CitationRange
from citeforge.schemas.command_options import PromptingOptions
from citeforge.schemas.errors import InputError
from citeforge.schemas.recipes.records import RageRecipe, RunOptions
from citeforge.systems.llm.answering import read_prompts, requests_of
from conftest import EXAMPLES, ROOT, Inline
from scoring import score


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The benchmark of the quick start with another seed: the same names, other contexts."""
    out = tmp_path_factory.mktemp("other") / "facts"
    config = RageRecipe(source=f"beir:{EXAMPLES / 'facts'}", embedder="offline", seed=1)
    build_rage(config, RunOptions(out=out), lambda: make_embedder("offline", device="cpu"))
    return out


def lines_of(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def answered(inline: Inline, folder: Path, package: Path, wrong: str | None) -> Path:
    """The submission of a model that cites the first relevant passage of each prompt; for one query
    it cites a passage that is not relevant."""
    assert inline("export", "prompts", package, "--out", "p.jsonl").returncode == 0
    benchmark = Benchmark(package)
    table = benchmark.context("mix")
    rows = read_prompts(folder / "p.jsonl")
    requests = requests_of(rows, PromptingOptions(llm="openai:m"))
    with ReplayStore(folder / "made.db") as store:
        for row, request in zip(rows, requests, strict=True):
            at = benchmark.row_of[row.query_id]
            relevant = table.relevant[at]
            others = set(range(table.sizes[at])) - relevant
            cited = 1 + min(others if row.query_id == wrong else relevant)
            store.keep(request.key("m"), request.payload("m"), 0, LlmReply(f"So it is [{cited}]."))
    made = inline("llm", "run", "p.jsonl", "--llm", "replay:made.db", "--out", "s.jsonl")
    assert made.returncode == 0, made.stderr
    return folder / "s.jsonl"


def test_the_same_names_and_other_contexts(
    inline: Inline, package: Path, other: Path, tmp_path: Path
) -> None:
    path = answered(cli, tmp_path, package, wrong="q07")
    here, there = Benchmark(package), Benchmark(other)
    header = lines_of(path)[0]["submission"]
    assert header == {
        "system": "openai:m",
        "benchmark": here.manifest.name,
        "benchmark_hash": here.manifest.benchmark_hash,
        "contexts": ["mix"],
    }
    (found,) = score(path, here, select(["CiteP"])).measures
    assert round(found.value or 0, 2) == round(100 * 29 / 30, 2) == 96.67
    assert score(path, here, select(["CiteP"])).warnings == []
    assert check(path, here).warnings == []
    for command in ("score", "check"):
        result = inline(command, path, "--benchmark", other)
        assert result.returncode == 1, command
        for folder in (here, there):
            assert folder.manifest.benchmark_hash[:16] in result.stdout + result.stderr, command
    # Without the header nothing tells: the number is another one, and a warning says why.
    bare = tmp_path / "bare.jsonl"
    bare.write_text("".join(path.read_text().splitlines(keepends=True)[1:]))
    result = score(bare, there, select(["CiteP"]))
    (found,) = result.measures
    assert found.value is not None
    assert found.value < 50
    assert "the header has no benchmark_hash" in result.warnings[0]
    assert "the header has no benchmark_hash" in check(bare, there).warnings[0][1]
    shown = inline("score", bare, "--benchmark", other)
    assert "warning: bare.jsonl: the header has no benchmark_hash" in shown.stderr


def test_authorship_of_another_k(inline: Inline, package: Path, tmp_path: Path) -> None:
    """Cells have the same names whatever k is; a bias of one k is none of another's."""
    for words in (
        ("llm", "import", "t.db", ROOT / "examples/twins/replay.jsonl"),
        ("build", "twins", "--benchmark", package, "--llm", "replay:t.db", "--out", "twins"),
        ("build", "authorship", "--twins", "twins", "--k", "6", "--out", "six"),
        ("build", "authorship", "--twins", "twins", "--k", "3", "--out", "three"),
        ("run", "label-follower", "--benchmark", "six", "--out", "six.jsonl"),
        ("run", "label-follower", "--benchmark", "three", "--out", "three.jsonl"),
    ):
        result = inline(*words)
        assert result.returncode == 0, result.stderr
    six, three = Benchmark(tmp_path / "six"), Benchmark(tmp_path / "three")
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
        found = [text for _, text in check(bare, benchmark).warnings]
        assert any("has no benchmark_hash" in text for text in found)
        assert any(sign in text for text in found), name
        scored = score(bare, benchmark, select(["authorship"]))
        assert any(sign in text for text in scored.warnings), name
    # Where they belong, nothing is said of the passages.
    own = tmp_path / "bare-three.jsonl"
    assert len(score(own, three, select(["authorship"])).warnings) == 1


def test_prompts_of_two_benchmarks_are_not_one_submission(
    inline: Inline, package: Path, other: Path, tmp_path: Path
) -> None:
    inline("export", "prompts", package, "--out", "a.jsonl")
    inline("export", "prompts", other, "--out", "b.jsonl")
    both = tmp_path / "both.jsonl"
    both.write_text((tmp_path / "a.jsonl").read_text() + (tmp_path / "b.jsonl").read_text())
    with pytest.raises(InputError, match="the lines before are of facts with hash") as caught:
        read_prompts(both)
    assert caught.value.line == 31
    old = tmp_path / "old.jsonl"
    old.write_text('{"query_id": "q01", "context": "mix", "prompt": "Why?"}\n')
    assert read_prompts(old)[0].benchmark_hash is None
    old.write_text(old.read_text() + (tmp_path / "a.jsonl").read_text())
    with pytest.raises(InputError, match="a benchmark that it does not name"):
        read_prompts(old)


def test_a_benchmark_without_its_gold_is_the_same_benchmark(package: Path, tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    benchmark = Benchmark(package)
    benchmark.also_known = frozenset({"f" * 64})
    header = {"submission": {"benchmark_hash": "f" * 64}}
    path.write_text(json.dumps(header) + '\n{"query_id": "q01", "output": "[1]"}\n')
    assert score(path, benchmark, select(["CiteP"])).warnings == []
    benchmark.also_known = frozenset()
    with pytest.raises(InputError, match="has"):
        score(path, benchmark, select(["CiteP"]))


@pytest.mark.parametrize("value", [5, [], {}, "", True])
def test_a_hash_that_is_none_is_refused(package: Path, tmp_path: Path, value: object) -> None:
    path = tmp_path / "s.jsonl"
    header = {"submission": {"benchmark_hash": value}}
    path.write_text(json.dumps(header) + '\n{"query_id": "q01", "output": "[1]"}\n')
    with pytest.raises(InputError, match="was made on a benchmark with hash"):
        score(path, Benchmark(package), select(["CiteP"]))


def test_how_far_citations_reach() -> None:
    few = CitationRange()
    for _ in range(20):
        few.add({1, 2, 3}, 0, 6)
    # 60 citations that all miss the last three of six: (1/2)^60 < 1e-9
    assert len(few.warnings()) == 1
    top = CitationRange()
    for _ in range(1000):
        top.add({1}, 0, 10)
    assert top.warnings() == []  # copying the first passage is a system
    spread = CitationRange()
    for _ in range(8):
        spread.add({1, 2, 3}, 0, 6)
    assert spread.warnings() == []  # (1/2)^24 = 6e-8: may be chance
    beyond = CitationRange()
    for i in range(100):
        beyond.add({1, 2}, int(i < 20), 2)
    assert "20 of 100 answers with citations cite" in beyond.warnings()[0]
    one = CitationRange()
    for i in range(100):
        one.add({1, 2}, int(i < 19), 2)
    assert one.warnings() == []


def test_graphs(inline: Inline, tmp_path: Path) -> None:
    """A KaLMA submission without a hash whose triples are not shown here."""
    graph = EXAMPLES / "people" / "graph.ttl"
    for words in (
        ("build", "kalma", "--kg", f"file:{graph}", "--pairs-from-kg", "father", "--out", "k"),
        ("run", "echo-relevant", "--benchmark", "k", "--out", "s.jsonl"),
    ):
        made = inline(*words)
        assert made.returncode == 0, made.stderr
    benchmark = Benchmark(tmp_path / "k")
    header, *rows = lines_of(tmp_path / "s.jsonl")
    bare = tmp_path / "bare.jsonl"
    moved = [
        {**row, "output": f"So it is [Q{n}, place of birth: Nowhere {n}]."}
        for n, row in enumerate(rows)
    ]
    bare.write_text("".join(json.dumps(row) + "\n" for row in moved))
    result = [text for line, text in check(bare, benchmark).warnings if line is None]
    assert "has no benchmark_hash" in result[0]
    assert "cite triples that this benchmark does not show" in result[1]
    kept = header["submission"]
    assert isinstance(kept, dict)
    assert kept["benchmark_hash"] == benchmark.manifest.benchmark_hash
    assert kept["contexts"] == list(benchmark.manifest.contexts)
