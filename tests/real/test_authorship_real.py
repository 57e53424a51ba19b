"""HAGRID's dev set as an authorship benchmark."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from citeforge.package.manifest import load_intact
from conftest import Cli, real_data


@pytest.mark.parametrize("route", ["quotes and BM25", "mined negatives"])
def test_label_only_benchmark_of_hagrid(cli: Cli, tmp_path: Path, route: str) -> None:
    source = real_data() / "hagrid" / "dev.jsonl"
    rows = [json.loads(line) for line in source.read_text().splitlines()]
    one = sum(len({q["docid"] for q in r["quotes"]}) == 1 for r in rows)
    assert one == 230
    if route == "mined negatives":
        base = ("rage", "--source", f"hagrid:{source}", "--embedder", "offline", "--out", "b")
        last = ("authorship", "--benchmark", "b", "--label-set", "names", "--out", "a")
    else:
        base = ("hagrid", "--source", f"hagrid:{source}", "--out", "b")
        last = ("authorship", "--benchmark", "b", "--candidates", "bm25", "--out", "a")
    for args in (base, last):
        result = cli("build", *args)
        assert result.returncode == 0, result.stderr
    manifest = load_intact(tmp_path / "a")
    assert manifest.contexts["hh_vanilla"].short == {}
    assert cli("verify", "a").returncode == 0
    stats = json.loads((tmp_path / "a" / "stats.json").read_text())
    assert stats["queries"] == 230
    assert stats["context hh_vanilla: passages, mean"] == 10
    assert cli("run", "label-follower", "--benchmark", "a", "--out", "s.jsonl").returncode == 0
    assert cli("run", "label-blind", "--benchmark", "a", "--out", "t.jsonl").returncode == 0
    result = cli("score", "s.jsonl", "t.jsonl", "--benchmark", "a", "--out", "scores")
    assert result.returncode == 0, result.stderr
    place = "hh_names" if route == "mined negatives" else "hh_human_llm"
    found = {}
    for name in ("s", "t"):
        file = json.loads((tmp_path / "scores" / f"{name}.scores.json").read_text())
        found[name] = {m["name"]: m for m in file["measures"]}[f"CAB.P[{place}]"]
    assert found["s"]["low"] > 0  # biased on purpose
    assert found["t"]["low"] <= 0 <= found["t"]["high"]
