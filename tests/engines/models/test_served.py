"""Vectors of a served model, in a build."""

import json
from pathlib import Path

from conftest import Cli
from servers.running import openai_server


def test_a_build_puts_the_prefixes_of_the_model_before_its_texts(
    small_beir: Path, tmp_path: Path, inline: Cli
) -> None:
    with openai_server(tmp_path / "log") as server:
        inline.ok(
            *("build", "rage", "--source", f"beir:{small_beir}", "--licence", "cc0-1.0"),
            *("--embedder", "openai:e5-small", "--base-url", server.url),
            *("--n-seemingly", 2, "--n-irrelevant", 1, "--mixture", "mix=1,1,1"),
            *("--out", tmp_path / "out"),
        )
        calls = server.requests()
    # Twelve passages fill one call, two queries another.
    queries, passages = sorted((call["input"] for call in calls), key=len)
    assert (len(passages), passages[0].startswith("passage: ")) == (12, True)
    assert sorted(queries) == [f"query: What is topic {n}?" for n in (1, 2)]
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["models"]["embedder"]["query_prefix"] == "query: "
