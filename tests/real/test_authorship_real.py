"""HAGRID's dev set as an authorship benchmark."""

import json
from pathlib import Path

import pytest

from citeforge.package.manifest import load_intact
from conftest import Cli, real_data
from servers.running import openai_server

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("route", ["quotes and BM25", "mined negatives"])
def test_label_only_benchmark_of_hagrid(inline: Cli, tmp_path: Path, route: str) -> None:
    source = real_data() / "hagrid" / "dev.jsonl"
    rows = [json.loads(line) for line in source.read_text().splitlines()]
    one = sum(len({q["docid"] for q in r["quotes"]}) == 1 for r in rows)
    assert one == 230
    if route == "mined negatives":
        # Which negatives are mined plays no part here; those of the embedded model take a minute.
        base = ("rage", "--source", f"hagrid:{source}", "--embedder", "openai:m", "--out", "b")
        last = ("authorship", "--benchmark", "b", "--label-set", "names", "--out", "a")
    else:
        base = ("hagrid", "--source", f"hagrid:{source}", "--out", "b")
        last = ("authorship", "--benchmark", "b", "--candidates", "bm25", "--out", "a")
    with openai_server(tmp_path / "log") as server:
        words = ("--base-url", server.url) if route == "mined negatives" else ()
        inline.ok("build", *base, *words, OPENAI_API_KEY="none")
    inline.ok("build", *last)
    manifest = load_intact(tmp_path / "a")
    assert manifest.contexts["hh_vanilla"].short == {}
    inline.ok("verify", "a")
    stats = json.loads((tmp_path / "a" / "stats.json").read_text())
    assert stats["queries"] == 230
    assert stats["context_passages_mean[hh_vanilla]"] == 10
    inline.ok("run", "label-follower", "--benchmark", "a", "--out", "s.jsonl")
    # An interval of 95 % misses 0 now and then: with the mined ones it does with seed 0, and with
    # none of the eleven after it.
    blind = ("run", "label-blind", "--benchmark", "a", "--seed", 1, "--out", "t.jsonl")
    inline.ok(*blind)
    inline.ok("score", "s.jsonl", "t.jsonl", "--benchmark", "a", "--out", "scores")
    place = "hh_names" if route == "mined negatives" else "hh_human_llm"
    found = {}
    for name in ("s", "t"):
        file = json.loads((tmp_path / "scores" / f"{name}.scores.json").read_text())
        found[name] = {m["name"]: m for m in file["measures"]}[f"CAB.P[{place}]"]
    assert found["s"]["low"] > 0  # biased on purpose
    assert found["t"]["low"] <= 0 <= found["t"]["high"]
