"""The done-when of the main job on real HAGRID data."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from citeforge.evaluator.submissions.benchmark import Benchmark
from conftest import Cli, real_data
from servers.running import openai_server


@pytest.fixture(scope="module")
def data() -> Path:
    return real_data()


@pytest.fixture
def served(tmp_path: Path) -> Iterator[str]:
    """Where vectors are made of the hash of a text: they mean nothing, and are there at once."""
    with openai_server(tmp_path / "log") as server:
        yield server.url


@pytest.mark.parametrize("kind", ["hagrid", "beir"])
def test_build_verify_run_score(
    data: Path, cli: Cli, inline: Cli, tmp_path: Path, served: str, kind: str
) -> None:
    """With the embedded model, which takes most of the time, and with one that is served."""
    embedder = {
        "hagrid": ("--embedder", "offline"),
        "beir": ("--embedder", "openai:m", "--base-url", served),
    }[kind]
    source = {
        "hagrid": ("--source", f"hagrid:{data / 'hagrid' / 'dev.jsonl'}"),
        "beir": ("--source", f"beir:{data / 'beir_hagrid'}", "--split", "dev"),
    }[kind]
    out = tmp_path / "out"
    built = cli("build", "rage", *source, *embedder, "--out", out, OPENAI_API_KEY="none")
    assert built.returncode == 0, built.stderr
    assert inline("verify", out).returncode == 0
    assert inline("run", "random", "--benchmark", out, "--out", "r.jsonl").returncode == 0
    assert inline("check", "r.jsonl", "--benchmark", out).returncode == 0
    scored = inline("score", "r.jsonl", "--benchmark", out, "--out", "s.json")
    assert scored.returncode == 0, scored.stderr
    stats = json.loads((out / "stats.json").read_text())
    # data/README.md: 716 questions, 1,318 answers, 1,997 quotes; 2,789 passages in BEIR's corpus.
    assert stats["queries"] == 716
    assert stats["relevant passages"] == 1997
    assert stats["gold rows"] == {"hagrid": 1318, "beir": 0}[kind]
    assert stats["passages"] == {"hagrid": 1978, "beir": 2789}[kind]
    benchmark = Benchmark(out)
    table = benchmark.context("mix")
    expected = sum(len(r) / n for r, n in zip(table.relevant, table.sizes, strict=True)) / 716
    scores = {m["name"]: m for m in json.loads((tmp_path / "s.json").read_text())["measures"]}
    assert scores["CiteP"]["low"] <= 100 * expected <= scores["CiteP"]["high"]


def test_labels_of_the_gold_answers(data: Path, cli: Cli, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    out = tmp_path / "out"
    built = cli(
        *("build", "rage", "--source", f"hagrid:{data / 'hagrid' / 'dev.jsonl'}"),
        *("--embedder", "offline", "--n-seemingly", "0", "--out", out),
    )
    assert built.returncode == 0, built.stderr
    gold = pq.read_table(out / "gold" / "gold-00000-of-00001.parquet", partitioning=None)
    assert sum(v == 1 for v in gold["attributable"].to_pylist()) == 826
