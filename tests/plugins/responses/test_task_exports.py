"""Exported tasks: their files, and that inspect_ai and lighteval give the numbers of `score`."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import citeforge as cf
from citeforge.builders.verify import verify
from citeforge.package.package import Package
from citeforge.plugins.responses.task_exports import TaskOptions, export_task
from citeforge.plugins.responses.task_files import read_task
from citeforge.publishing.hidden import split_package
from citeforge.schemas.errors import InputError, UsageError
from conftest import ROOT, Inline, content, refused

FRAMEWORKS = ("inspect", "lighteval")
HERE = Path(__file__).parent
HOSTILE = "a\"\"\" \\ ''' \n```\n# {{ 7*7 }} <script>${x}</script>"


def exported(inline: Inline, framework: str, package: Path, *more: object) -> Path:
    """An exported task that is scored without a judge and with one."""
    measures = ("--measures", "rage,ALCE.CitRec", "--judge", "lexical")
    inline.ok("export", framework, package, *measures, *more, "--out", "task")
    return inline.folder / "task"


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_the_folder_has_prompts_benchmark_and_settings(
    inline: Inline, package: Path, framework: str
) -> None:
    folder = exported(inline, framework, package)
    assert {path.name for path in folder.iterdir()} == {
        "README.md", "data", "package", "task.json", "task.py",
    }  # fmt: skip
    inline.ok("export", "prompts", package, "--out", "prompts.jsonl")
    prompts = (inline.folder / "prompts.jsonl").read_text()
    assert (folder / "data" / "prompts.jsonl").read_text() == prompts
    manifest = Package(package).manifest
    assert verify(folder / "package") == []
    assert set(content(folder / "package")) == {"manifest.json", *manifest.files}
    task = read_task(folder)
    assert (task.name, task.benchmark_hash) == ("citeforge_facts", manifest.answer_hash)
    assert (task.measures, task.judge, task.contexts) == (
        ["rage", "ALCE.CitRec"],
        "lexical",
        ["mix"],
    )
    ast.parse((folder / "task.py").read_text())
    command = {"inspect": "inspect eval task.py", "lighteval": '"citeforge_facts|0" --custom-tasks'}
    assert command[framework] in (folder / "README.md").read_text()


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_no_text_of_a_benchmark_becomes_code(
    inline: Inline, package: Path, tmp_path: Path, framework: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names, queries and judges with quotes, fences and templates stay in JSON alone."""
    plain = content(exported(inline, framework, package))
    manifest = Package(package).manifest.model_copy(update={"name": HOSTILE, "version": HOSTILE})
    monkeypatch.setattr(Package, "manifest", manifest, raising=False)
    monkeypatch.setattr(
        "citeforge.plugins.responses.task_exports.Package", lambda folder: Package(folder, manifest)
    )
    out = tmp_path / "hostile"
    out.mkdir()
    export_task(framework, package, out, TaskOptions(judge=HOSTILE))
    assert (out / "task.py").read_bytes() == plain["task.py"]
    assert (read_task(out).benchmark, read_task(out).judge) == (HOSTILE, HOSTILE)
    assert read_task(out).name.replace("_", "").isalnum()
    readme = (out / "README.md").read_text()
    assert readme.count("```") == 2 and "<script>" not in readme
    assert "\n# " not in readme


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_what_cannot_be_a_task_is_refused(
    inline: Inline, package: Path, hidden_package: Path, framework: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    public = inline.folder / "public"
    split_package(hidden_package, public, inline.folder / "gold")
    for folder, options, code, kind in (
        (hidden_package, {}, "hidden-gold", InputError),
        (public, {}, "hidden-gold", InputError),
        (package, {"measures": "CiteQ"}, "unknown-name", UsageError),
        (package, {"context": "none"}, "unknown-name", UsageError),
        (package, {"template": "none.j2"}, "missing-file", InputError),
    ):
        with refused(code, kind):
            cf.export(framework, folder, inline.folder / "out", **options)
        assert not (inline.folder / "out").exists()
    monkeypatch.setattr(Package, "contexts", [])
    with refused("wrong-kind", InputError, path=package):
        cf.export(framework, package, inline.folder / "out")


def raw_values(scores: cf.Scores) -> dict[str, float]:
    """Values of ``citeforge score`` as fractions."""
    found = {name: (scores[name].value, scores[name].scale) for name in scores}
    return {name: value / scale for name, (value, scale) in found.items() if value is not None}


def wanted(inline: Inline, package: Path) -> dict[str, float]:
    """Answers to random queries in ``r.jsonl``, and what they score."""
    inline.ok("run", "random", "--benchmark", package, "--out", "r.jsonl")
    measures = ["rage", "ALCE.CitRec"]
    return raw_values(cf.score(inline.folder / "r.jsonl", package, measures, judge="lexical"))


def run_module(folder: Path, *words: str, **more: str) -> None:
    """Run a module of another framework in the folder of a task."""
    env = {**os.environ, "HOME": str(folder), "PYTHONPATH": str(ROOT / "src"), **more}
    command = [sys.executable, "-m", *words]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_inspect_gives_the_numbers_of_score(inline: Inline, package: Path) -> None:
    """The task's values, and those of its log as a submission."""
    pytest.importorskip("inspect_ai")
    from inspect_ai.log import read_eval_log

    folder, values = exported(inline, "inspect", package), wanted(inline, package)
    run_module(
        folder, "inspect_ai", "eval", "task.py", "--display", "plain", "--model", "mockllm/model",
        "--solver", f"{HERE / 'written.py'}@written", "-S", f"answers={inline.folder / 'r.jsonl'}",
    )  # fmt: skip
    (path,) = (folder / "logs").glob("*.eval")
    log = read_eval_log(str(path))
    assert log.status == "success" and log.results
    metrics = {name: m.value for name, m in log.results.scores[0].metrics.items()}
    assert {name: metrics[name] for name in values} == pytest.approx(values, abs=1e-12)
    again = cf.score(path, folder / "package", ["rage", "ALCE.CitRec"], judge="lexical")
    assert raw_values(again) == values


def test_lighteval_gives_the_numbers_of_score(inline: Inline, package: Path) -> None:
    pytest.importorskip("lighteval", reason="lighteval is not installed here: make test-frameworks")
    folder, values = exported(inline, "lighteval", package), wanted(inline, package)
    run_module(
        folder, "lighteval", "custom", "replies", str(HERE / "replies.py"), "citeforge_facts|0",
        "--custom-tasks", "task.py", "--output-dir", "out", REPLIES=str(inline.folder / "r.jsonl"),
    )  # fmt: skip
    (path,) = (folder / "out").rglob("results_*.json")
    results = json.loads(path.read_text())["results"]["citeforge_facts|0"]
    assert {name: results[name] for name in values} == pytest.approx(values, abs=1e-12)
