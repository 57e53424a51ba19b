"""The done-when of the main job on real HAGRID data."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from citeforge.evaluator.submissions.benchmark import Benchmark
from conftest import Cli, real_data
from servers.running import openai_server

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def data() -> Path:
    return real_data()


@pytest.mark.parametrize("kind", ["hagrid", "beir"])
def test_build_verify_run_score(
    data: Path, cli: Cli, inline: Cli, tmp_path: Path, kind: str
) -> None:
    """HAGRID's own files with the embedded model; the BEIR folder with one that is served, whose
    vectors are hashes of the texts, since no figure here depends on them."""
    source = {
        "hagrid": ("--source", f"hagrid:{data / 'hagrid' / 'dev.jsonl'}"),
        "beir": ("--source", f"beir:{data / 'beir_hagrid'}", "--split", "dev"),
    }[kind]
    out = tmp_path / "out"
    with openai_server(tmp_path / "log") as server:
        embedder = {
            "hagrid": ("--embedder", "offline"),
            "beir": ("--embedder", "openai:m", "--base-url", server.url),
        }[kind]
        built = cli("build", "rage", *source, *embedder, "--out", out, OPENAI_API_KEY="none")
    assert built.returncode == 0, built.stderr
    inline.ok("verify", out)
    inline.ok("run", "random", "--benchmark", out, "--out", "r.jsonl")
    inline.ok("check", "r.jsonl", "--benchmark", out)
    inline.ok("score", "r.jsonl", "--benchmark", out, "--out", "s.json")
    stats = json.loads((out / "stats.json").read_text())
    # data/README.md: 716 questions, 1,318 answers, 1,997 quotes; 2,789 passages in BEIR's corpus.
    assert stats["queries"] == 716
    assert stats["mapped_passages[relevant]"] == 1997
    assert stats["gold_rows"] == {"hagrid": 1318, "beir": 0}[kind]
    assert stats["passages"] == {"hagrid": 1978, "beir": 2789}[kind]
    benchmark = Benchmark(out)
    table = benchmark.context("mix")
    expected = sum(len(r) / n for r, n in zip(table.relevant, table.sizes, strict=True)) / 716
    scores = {m["name"]: m for m in json.loads((tmp_path / "s.json").read_text())["measures"]}
    assert scores["CiteP"]["low"] <= 100 * expected <= scores["CiteP"]["high"]
    if kind == "hagrid":
        gold = pq.read_table(out / "gold" / "gold-00000-of-00001.parquet", partitioning=None)
        assert sum(v == 1 for v in gold["attributable"].to_pylist()) == 826
