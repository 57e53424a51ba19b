"""Workflows that the docs show: GitHub's schema, pinned actions, and no rights for foreign code."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from docs.workflows import check_workflows, find_workflows

import citeforge as cf

WORKFLOWS = find_workflows()
LOADED: dict[str, dict[str, Any]] = {n: yaml.safe_load(t) for n, t in WORKFLOWS.items()}


def test_which_workflows_there_are() -> None:
    assert [LOADED[name]["name"] for name in WORKFLOWS] == ["citations", "citations", "comment"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("right", "wrong", "place"),
    [
        ("", "", ""),
        ("runs-on", "run-on", "$.jobs.gate"),
        ("on: pull_request", "on: pull_requests", "$.on"),
        ("contents: read", "contents: reed", "$.permissions"),
        ("timeout-minutes: 60", "timeout-minutes: soon", "$.jobs.gate['timeout-minutes']"),
    ],
)
def test_the_schema_of_github(tmp_path: Path, right: str, wrong: str, place: str) -> None:
    changed = {name: text.replace(right, wrong) for name, text in WORKFLOWS.items()}
    problems = check_workflows(changed, tmp_path)
    assert place in problems and bool(problems) == bool(place), problems


@pytest.mark.parametrize("name", WORKFLOWS)
def test_what_a_workflow_may_do(name: str) -> None:
    text, workflow = WORKFLOWS[name], LOADED[name]
    assert "pull_request_target" not in text
    on = workflow[True]  # YAML 1.1 reads `on` as true
    rights = workflow["permissions"]
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    # What runs code of a pull request only reads; what writes checks nothing out.
    if on == "pull_request":
        assert rights == {"contents": "read"}
        assert all("secrets." not in str(step) for step in steps)
    else:
        assert list(on) == ["workflow_run"] and "actions/checkout" not in text
        assert on["workflow_run"]["workflows"] == ["citations"]
    for step in steps:
        assert re.fullmatch(
            r"actions/[a-z-]+@[0-9a-f]{40}", step.get("uses", f"actions/a@{'0' * 40}")
        )
        # Names of branches are chosen by strangers: a shell reads them from variables alone.
        assert "${{" not in step.get("run", "")
    installed = re.findall(r'pip install "citeforge\[scores\]==(.*?)"', text)
    assert installed == [cf.__version__] * (on == "pull_request")
