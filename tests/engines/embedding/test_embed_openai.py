"""A server that puts prefixes itself, once a call says what its texts are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from citeforge.schemas.errors import UsageError
from citeforge.schemas.recipes.base import checked
from citeforge.schemas.recipes.records import RageRecipe
from conftest import Cli
from servers.running import openai_server


@pytest.mark.parametrize(
    ("option", "input_types", "prefix"),
    [((), {None}, "query: "), (("--input-type",), {"query", "passage"}, "")],
)
def test_a_build_tells_the_server_what_a_text_is_or_puts_the_prefix(
    small_beir: Path,
    tmp_path: Path,
    inline: Cli,
    option: tuple[str, ...],
    input_types: set[str | None],
    prefix: str,
) -> None:
    with openai_server(tmp_path / "log") as server:
        done = inline(
            *("build", "rage", "--source", f"beir:{small_beir}", "--licence", "cc0-1.0"),
            *("--embedder", "openai:e5-small", "--base-url", server.url, *option),
            *("--n-seemingly", 2, "--n-irrelevant", 1, "--mixture", "mix=1,1,1"),
            *("--out", tmp_path / "out"),
        )
        assert done.returncode == 0, done.stderr
        calls = server.requests()
    # Twelve passages fill one call, two queries another.
    assert sorted(len(call["input"]) for call in calls) == [2, 12]
    assert {call["input_type"] for call in calls} == input_types
    queries = min((call["input"] for call in calls), key=len)
    assert sorted(queries) == [f"{prefix}What is topic {n}?" for n in (1, 2)]
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["config"]["input_type"] is bool(option)
    assert manifest["models"]["embedder"]["query_prefix"] == prefix


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"embedder": "offline"}, "--input-type is for openai: embedders, not offline"),
        ({"embedder": "openai:m", "query_prefix": "q: "}, "leaves prefixes to the server"),
    ],
)
def test_input_type_is_for_servers_and_excludes_prefixes(
    values: dict[str, str], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        checked(RageRecipe, source="beir:x", input_type=True, **values)
