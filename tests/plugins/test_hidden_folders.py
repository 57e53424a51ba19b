"""With any folder of a built-in plugin away, everything else works, and says what is missing."""

import os
import shutil
from pathlib import Path

import pytest

from citeforge.builders.packaging.package import amend_stats
from citeforge.engines.judge.no_model import LexicalJudge
from citeforge.evaluator.corrections import calibration_key
from conftest import EXAMPLES, ROOT
from servers import zygote

PLUGINS = ROOT / "src" / "citeforge" / "plugins"
FOLDERS = sorted(p.parent.name for p in PLUGINS.glob("*/__init__.py"))
GIVES = {
    "responses": ("deep-research", "FACT.Acc"),
    "trec": ("trec-rag24", "TREC.WP"),
}
"""Plugin to a format and a measure that go with it."""
COMMANDS = {
    "leaderboard": ("leaderboard build", "publish results build"),
    "labels": ("labels export",),
    "audit": ("audit DIR",),
    "ray": ("shard embed",),
    "graphs": ("kg profile",),
}
"""Plugin to commands that go with it, each with a word behind it."""
KINDS = {"bundles": "deflection"}
"""Plugin to a kind of benchmark that goes with it."""
SOURCES = {"trec": "trec:x"}
"""Plugin to a source that goes with it."""
SYSTEMS = {"published_systems": "vanilla"}
"""Plugin to a system that goes with it."""
EXPORTS = {
    "leaderboard": "every-eval-ever",
    "training": "sft",
    "trec": "trec-rag24",
    "layouts": "mteb",
}
"""Plugin to an export that goes with it."""
MODELS = {"offline_models": ("rage", "--llm", "offline")}
"""Plugin to a system that is run with a model of its own."""
BUILT_WITH = {
    "offline_models": (("--embedder", "openai:m"), "the embedder 'openai'"),
    "trec": (("--candidates", "run:x.run"), "the retriever 'run'"),
}
"""Plugin to an option of builds, and what it names that goes with it."""
SCRIPT = """
import sys
from importlib.machinery import PathFinder

class Without(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        away = name == FOLDER or name.startswith(FOLDER + ".")
        return None if away else super().find_spec(name, path, target)

# What forks this has imported no more of citeforge than its schemas.
assert not {"citeforge.engines", "citeforge.plugins"} & {*sys.modules}
sys.meta_path = [Without if finder is PathFinder else finder for finder in sys.meta_path]
from citeforge.cli.main import main
for args, expected in COMMANDS:
    try:
        code = main(args)
    except SystemExit as stop:
        code = stop.code
    if (code or 0) != expected:
        sys.exit(f"exit code {code} of {args}")
"""
PYTHON = """
import citeforge
from citeforge.schemas.errors import InputError

try:
    citeforge.audit
except InputError as error:
    print(error, file=sys.stderr)
else:
    sys.exit("citeforge.audit is there")
"""


@pytest.mark.parametrize("folder", FOLDERS)
def test_everything_else_works(package: Path, tmp_path: Path, folder: str) -> None:
    answers, scores = str(tmp_path / "a.jsonl"), str(tmp_path / "a.json")
    form, measure = GIVES.get(folder, (None, None))
    theirs = COMMANDS.get(folder, ())
    commands: list[tuple[list[str], int]] = [
        (["--help"], 0),
        (["list", "measures"], 0),
        (["verify", str(package)], 0),
        (["run", "random", "--benchmark", str(package), "--out", answers], 0),
        (["check", answers, "--benchmark", str(package)], 0),
        (["score", answers, "--benchmark", str(package), "--out", scores], 0),
        (["report", scores, "--out", str(tmp_path / "r.md")], 0),
        (["report", scores, "--out", str(tmp_path / "r.html")], int(folder == "plots")),
        (["report", scores, "--out", str(tmp_path / "p.svg")], int(folder == "plots")),
        (
            ["report", scores, "--best", "bold", "--out", str(tmp_path / "b.md")],
            int(folder == "plots"),
        ),
        (["export", "--help"], 0),
        (
            ["export", "beir", str(package), "--out", str(tmp_path / "beir")],
            int(folder == "layouts"),
        ),
    ]
    if form:
        commands.append((["check", answers, "--benchmark", str(package), "--format", form], 1))
    build = ["build", "rage", "--source", f"beir:{EXAMPLES / 'facts'}", "--licence", "mit"]
    if folder in BUILT_WITH:
        words, _ = BUILT_WITH[folder]
        (tmp_path / "x.run").touch()
        commands.append(([*build, *words, "--out", str(tmp_path / "with")], 1))
    if folder == "audit":
        plain = ["--candidates", "bm25", "--drop-suspects"]
        commands.append(([*build, *plain, "--out", str(tmp_path / "built")], 1))
    if folder == "labels":
        wanted = ["--judge", "lexical", "--measures", "ALCE.CitRec"]
        score = ["score", answers, "--benchmark", str(_calibrated(package, tmp_path)), *wanted]
        commands.append((score, 0))
        commands.append(([*score, "--labels", answers], 1))
    if folder == "ray":
        commands.append((["score", answers, "--benchmark", str(package), "--engine", "ray"], 1))
    if measure:
        wanted = ["--measures", measure]
        commands.append((["score", answers, "--benchmark", str(package), *wanted], 2))
    commands += [(command.split(), 1) for command in theirs]
    if source := SOURCES.get(folder):
        words = ["--source", source, "--out", str(tmp_path / "s")]
        commands.append((["build", "rage", *words], 1))
    if kind := KINDS.get(folder):
        words = ["--benchmark", str(package), "--out", str(tmp_path / "k")]
        commands.append((["build", kind, *words], 1))
    if export := EXPORTS.get(folder):
        commands.append((["export", export, str(package), "--out", str(tmp_path / "x")], 1))
    if model := MODELS.get(folder):
        out = str(tmp_path / "m.jsonl")
        commands.append((["run", *model, "--benchmark", str(package), "--out", out], 1))
    if system := SYSTEMS.get(folder):
        out = str(tmp_path / "s.jsonl")
        asked = ["--llm", "template", "--benchmark", str(package), "--out", out]
        commands.append((["run", system, *asked], 1))
    if folder == "offline_models":
        int8 = ["--embedder", "offline", "--compute", "int8", "--device", "cpu"]
        commands.append(([*build, *int8, "--out", str(tmp_path / "built")], 1))
    place = f"citeforge.plugins.{folder}"
    program = f"FOLDER, COMMANDS = {place!r}, {commands!r}\n{SCRIPT}"
    program += PYTHON if folder == "audit" else ""
    env = {**os.environ, "HF_HOME": str(tmp_path / "hf"), "HF_HUB_DISABLE_TELEMETRY": "1"}
    done = zygote.run_program(program, tmp_path, env)
    assert done.returncode == 0, done.stderr[-2000:]
    if form:
        assert f"the plugin that gives the format {form!r} is not part of this copy" in done.stderr
    if folder == "audit":
        for what in ("--drop-suspects", "citeforge.audit"):
            assert f"the plugin that gives {what} is not part of this copy" in done.stderr
    if folder == "labels":
        assert "the plugin that gives --labels is not part of this copy" in done.stderr
        told = " ".join(f"{done.stdout} {done.stderr}".split())
        assert "calibration of lexical@1 corrects nothing: the plugin that gives correct" in told
    if folder == "ray":
        assert "the plugin that gives --engine ray is not part of this copy" in done.stderr
    if folder in BUILT_WITH:
        _, what = BUILT_WITH[folder]
        assert f"the plugin that gives {what} is not part of this copy" in done.stderr
    if folder == "offline_models":
        assert "the plugin that gives --compute int8 is not part of this copy" in done.stderr
    for command in theirs:
        name = command.rpartition(" ")[0]
        message = f"the plugin that gives the command {name!r} is not part of this copy"
        assert message in done.stderr
        assert f"\n  {name} " not in done.stdout
    if measure:
        assert f"unknown measure {measure!r}" in done.stderr
    if folder == "plots":
        for what in ("reports as html", "reports as svg", "tables for papers"):
            message = f"the plugin that gives {what} is not part of this copy"
            assert message in done.stderr
    if source:
        message = "the plugin that gives the source 'trec' is not part of this copy"
        assert message in done.stderr
    if kind:
        message = f"the plugin that gives the kind of benchmark {kind!r} is not part of this copy"
        assert message in done.stderr
    if export:
        message = f"the plugin that gives the format {export!r} is not part of this copy"
        assert message in done.stderr
    if system:
        message = f"the plugin that gives the system {system!r} is not part of this copy"
        assert message in done.stderr
    if model:
        message = f"the plugin that gives the LLM {model[-1]!r} is not part of this copy"
        assert message in done.stderr


def _calibrated(package: Path, folder: Path) -> Path:
    """A copy that keeps error rates of a judge."""
    copy = folder / package.name
    shutil.copytree(package, copy)
    amend_stats(copy, {calibration_key(LexicalJudge().signature): {"sensitivity": 0.9}})
    return copy
