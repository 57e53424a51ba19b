"""A judge of the system's own family is named beside its scores."""

from pathlib import Path
from typing import Any

import pytest

import citeforge as cf
from citeforge.engines.judge.profiles import built_in_profiles
from citeforge.reports.notes import caution_lines
from citeforge.reports.terminal import render_scores
from conftest import write_jsonl
from conftest_evaluator import Facts
from conftest_reports import report_text


class Llama(Facts):
    """A judge whose profile declares its family."""

    profile = built_in_profiles()["llm-binary"].model_copy(update={"family": "Llama"})

    def identity(self) -> dict[str, Any]:
        return {"name": "openai:llama-3.1-8b"}


@pytest.mark.parametrize(
    ("header", "shared"),
    [
        ({"family": "llama"}, "llama"),
        ({"model": "Llama-3.1-8B"}, "Llama-3.1-8B"),  # the very model of the judge
        ({"llm": {"name": "openai:llama-3.1-8b"}}, "openai:llama-3.1-8b"),  # as `run` writes it
        ({"llm": "llama-3.1-8b"}, "llama-3.1-8b"),
        ({"family": "qwen", "model": "qwen-3"}, None),
        ({}, None),
    ],
)
def test_a_family_of_header_and_profile(
    package: Path, tmp_path: Path, header: dict[str, Any], shared: str | None
) -> None:
    answers = [{"query_id": q, "output": "A [1]."} for q in cf.load(package).query_ids]
    lines = [{"submission": {"system": "mine", **header}}, *answers]
    path = write_jsonl(tmp_path / "s.jsonl", lines)
    judged = cf.score(path, package, ["ALCE.CitRec"], judge=Llama()).file
    assert judged.same_family == shared
    (line,) = caution_lines([judged, judged]) or [""]
    assert ("the family of mine" in line and f"({shared})" in line) == (shared is not None)
    for ending in ("md", "latex", "html"):
        assert line in report_text([judged], ending)
    assert line in render_scores([judged])
    assert cf.score(path, package, ["CiteF1"], judge=Llama()).file.same_family is None
