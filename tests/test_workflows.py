"""Workflows, ours and those in the docs: schema, pinned actions, no rights for foreign code."""

import re
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from docs.workflows import ROOT, check_ours, check_workflows, find_workflows

import citeforge as cf

WORKFLOWS = find_workflows()
LOADED: dict[str, dict[str, Any]] = {n: yaml.safe_load(t) for n, t in WORKFLOWS.items()}
OURS = {
    path.stem: yaml.safe_load(path.read_text(encoding="utf-8"))
    for path in (ROOT / ".github" / "workflows").glob("*.yml")
}
PINNED = r"(actions/[a-z-]+|pypa/gh-action-pypi-publish)@[0-9a-f]{40}"


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
        assert re.fullmatch(PINNED, step.get("uses", f"actions/a@{'0' * 40}"))
        # Names of branches are chosen by strangers: a shell reads them from variables alone.
        assert "${{" not in step.get("run", "")
    installed = re.findall(r'pip install "citeforge\[scores\]==(.*?)"', text)
    assert installed == [cf.__version__] * (on == "pull_request")


@pytest.mark.slow
def test_the_schemas_of_our_own_files(tmp_path: Path) -> None:
    assert check_ours() == ""
    copy = shutil.copytree(ROOT / ".github", tmp_path / "github")
    (copy / "stray.yml").write_text("a: 1\n")
    form = copy / "ISSUE_TEMPLATE" / "wish.yml"
    form.write_text(form.read_text().replace("type: checkboxes", "type: checkbox"))
    problems = check_ours(copy)
    assert "stray.yml: which schema" in problems and "checkbox" in problems


@pytest.mark.parametrize("name", OURS)
def test_what_our_workflows_may_do(name: str) -> None:
    workflow = OURS[name]
    # Every right beyond reading is given to one job alone, and that one checks nothing out.
    assert workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        if "steps" not in job:  # a workflow of our own, with the rights that this one gives it
            assert job["uses"].startswith("./.github/workflows/") and "permissions" not in job
            continue
        uses = [step["uses"] for step in job["steps"] if "uses" in step]
        assert all(re.fullmatch(PINNED, action) for action in uses)
        assert all("${{" not in step.get("run", "") for step in job["steps"])
        if "permissions" in job:
            assert "environment" in job
            assert not any(action.startswith("actions/checkout") for action in uses)
        else:
            assert "secrets." not in str(job)


def test_every_system_and_every_python_is_tried() -> None:
    matrix = OURS["ci"]["jobs"]["bare"]["strategy"]["matrix"]
    assert matrix["os"] == ["ubuntu-latest", "macos-latest", "windows-latest"]
    assert matrix["python"] == (pythons := ["3.11", "3.12", "3.13", "3.14"])
    # The metadata, and what `.ci/run` looks for, name the same ones.
    classifiers = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["classifiers"]
    assert re.findall(r"Python :: (3\.\d+)", " ".join(classifiers)) == pythons
    assert f"for version in {' '.join(pythons)}; do" in (ROOT / ".ci" / "run").read_text()
    [setup] = (
        s for s in OURS["ci"]["jobs"]["whole"]["steps"] if "python-version" in s.get("with", {})
    )
    assert setup["with"]["python-version"].split() == pythons[::-1]


def test_a_tag_publishes_only_what_has_passed_all_checks() -> None:
    jobs = OURS["release"]["jobs"]
    assert jobs["checks"]["uses"] == "./.github/workflows/ci.yml"
    assert "workflow_call" in OURS["ci"][True]  # YAML 1.1 reads `on` as true
    assert jobs["publish"]["needs"] == ["checks", "build"]
    assert all("if" not in job for job in jobs.values())
