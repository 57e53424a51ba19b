"""Tasks and scorers for inspect_ai: the same answers give the same numbers there and here."""

import itertools
import json
import os
import subprocess
import sys
import time
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("inspect_ai")

from inspect_ai import Task
from inspect_ai import eval as run_task
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.log import read_eval_log
from inspect_ai.model import ModelOutput, ModelUsage, get_model

import citeforge as cf
from citeforge.engines.judge.no_model import LexicalJudge
from citeforge.engines.judge.records import JudgeFailure, Keep, Pair
from citeforge.engines.judge.session import JudgeSession
from citeforge.plugins.responses import task_scoring as scoring
from citeforge.plugins.responses.inspect_tasks import package as package_task
from citeforge.plugins.responses.task_scoring import Scoring, Settings
from citeforge.schemas.submission import SubmissionLine
from conftest import ROOT, Inline, refused

MEASURES = "rage,ALCE.CitRec,ALCE.CitPrec,TREC.WR"
SOLVER = Path(__file__).with_name("written.py")


def environment(folder: Path) -> dict[str, str]:
    """What the project's metadata say, also where another tree of it is installed."""
    info = folder / "there" / "citeforge-0.dist-info"
    info.mkdir(parents=True)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: citeforge\nVersion: 0\n")
    lines = []
    for group, entries in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {place}" for name, place in entries.items())]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
    (info / "direct_url.json").write_text('{"url": "file:///", "dir_info": {"editable": true}}')
    paths = (str(info.parent), str(ROOT / "src"), os.environ.get("PYTHONPATH", ""))
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(paths),
        "INSPECT_LOG_DIR": "logs",
        "COLUMNS": "500",
    }


def inspect_eval(folder: Path, *more: object) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "inspect_ai", "eval", "citeforge/package", "--display", "plain"]
    return subprocess.run(
        [*words, *map(str, more)],
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        text=True,
    )


def test_a_task_gives_the_numbers_of_score(package: Path, tmp_path: Path) -> None:
    """Two samples of the mock model, which cites the same passages for both."""
    reply = ModelOutput.from_content("mockllm/model", "So it is [1][2].")
    # With a usage of its own nothing counts tokens, whose table would come from the network.
    reply.usage = ModelUsage(input_tokens=7, output_tokens=3, total_tokens=10)
    (log,) = run_task(
        package_task(str(package), measures=["CiteP", "CiteR"]), display="none", limit=2,
        model=get_model("mockllm/model", custom_outputs=[reply, reply]), log_dir=str(tmp_path),
    )  # fmt: skip
    assert log.status == "success" and log.samples
    lines = [{"query_id": s.id, "output": s.output.completion} for s in log.samples]
    ours = cf.score(lines, package, ["CiteP", "CiteR"])
    for name in ours:
        per_query = dict(zip(ours.file.query_ids, ours[name].per_query, strict=True))
        for sample in log.samples:
            assert sample.scores
            assert sample.scores["measured"].value[name] == per_query[sample.id]  # type: ignore[index]


@pytest.mark.slow
def test_interim_metrics_and_samples_ask_one_judge(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hundred samples, eight at once, by a judge that takes its time and fails on some pairs.

    inspect computes metrics between samples, at most every .9 s, while another thread is scoring.
    """

    class Slow(LexicalJudge):
        def decide(self, pairs: Sequence[Pair], keep: Keep) -> None:
            time.sleep(0.05)
            fails = {i for i, pair in enumerate(pairs) if len(pair.hypothesis) % 7 == 0}
            keep([(i, JudgeFailure("by length")) for i in sorted(fails)])
            rest = [i for i in range(len(pairs)) if i not in fails]
            super().decide(
                [pairs[i] for i in rest], lambda some: keep([(rest[i], v) for i, v in some])
            )

    monkeypatch.setattr(scoring, "open_judge", lambda name: JudgeSession(Slow()))
    queries = len(cf.load(package))
    epochs = -(-100 // queries)

    def reply(messages: list[Any], *_: object) -> ModelOutput:
        new = "x" * next(numbers)  # so that the judge is asked about every sample
        text = f"{messages[-1].text[-200:]} {new} [1][2]. And so it is [3]."
        output = ModelOutput.from_content("mockllm/model", text)
        output.usage = ModelUsage(input_tokens=7, output_tokens=3, total_tokens=10)
        return output

    numbers = itertools.count()
    (log,) = run_task(
        package_task(str(package), measures=["ALCE.CitRec", "ALCE.CitPrec"], judge="lexical"),
        model=get_model("mockllm/model", custom_outputs=reply), epochs=epochs,
        max_connections=8, max_samples=8, display="none", log_dir=str(tmp_path),
    )  # fmt: skip
    assert log.status == "success", log.error
    assert log.samples and len(log.samples) == queries * epochs >= 100
    assert not any(sample.error for sample in log.samples)
    lines = [
        {"query_id": s.id, "output": s.output.completion, "run": s.epoch - 1} for s in log.samples
    ]
    ours = cf.score(lines, package, ["ALCE.CitRec", "ALCE.CitPrec"], judge=JudgeSession(Slow()))
    assert log.results
    assert ours.file.counts.n_judge_failed > 0
    for name in ours:
        value = log.results.scores[0].metrics[name].value
        assert value == pytest.approx(ours[name].value / ours[name].scale, abs=1e-12)


@pytest.mark.slow
def test_the_command_gives_the_numbers_of_score(
    package: Path, inline: Inline, tmp_path: Path
) -> None:
    """A real process with the mock model, two epochs: every value of every sample, every mean and
    error, and the log read as a submission."""
    there = ("--benchmark", package)
    inline.ok("run", "random", *there, "--runs", "2", "--out", "r.jsonl")
    done = inspect_eval(
        tmp_path, "-T", f"benchmark={package}", "-T", f"measures={MEASURES}", "-T", "judge=lexical",
        "--model", "mockllm/model", "--solver", f"{SOLVER}@written",
        "-S", f"answers={tmp_path / 'r.jsonl'}",
        "--epochs", "2", "--metadata", "organisation=<i>O</i>",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (path,) = (tmp_path / "logs").glob("*.eval")
    how = (*there, "--measures", MEASURES, "--judge", "lexical")
    for file, out in (("r.jsonl", "ours.json"), (path, "theirs.json")):
        inline.ok("score", file, *how, "--out", out)
    ours, theirs = (json.loads((tmp_path / n).read_text()) for n in ("ours.json", "theirs.json"))
    log = read_eval_log(path)
    assert log.status == "success"
    _samples_agree(log, ours)
    _metrics_agree(log, ours)
    same = ("counts", "measures", "not_computed", "query_ids", "context", "benchmark_hash")
    assert {k: theirs[k] for k in same} == {k: ours[k] for k in same}
    assert (theirs["system"], theirs["submission_format"]) == ("mockllm/model", "inspect")
    assert theirs["about"]["model"] == "mockllm/model"
    assert theirs["about"]["organisation"] == "<i>O</i>"


def _samples_agree(log: Any, ours: dict[str, Any]) -> None:
    result: dict[str, dict[str, list[float]]] = {}
    for sample in log.samples:
        for name, value in sample.scores["measured"].value.items():
            result.setdefault(name, {}).setdefault(sample.id, []).append(value)
    assert set(result) == {m["name"] for m in ours["measures"]}
    for measure in ours["measures"]:
        for query, value in zip(ours["query_ids"], measure["per_query"], strict=True):
            first, second = result[measure["name"]][query]
            assert (first + second) / 2 == pytest.approx(value, abs=1e-12), (measure["name"], query)


def _metrics_agree(log: Any, ours: dict[str, Any]) -> None:
    (scores,) = log.results.scores
    assert len(scores.metrics) == 2 * len(ours["measures"])
    for measure in ours["measures"]:
        name, scale = measure["name"], measure["scale"]
        assert scores.metrics[name].value == pytest.approx(measure["value"] / scale, abs=1e-12)
        error = scores.metrics[f"{name}_stderr"].value
        assert error == pytest.approx(measure["stderr"] / scale, abs=1e-12)


@pytest.mark.slow
def test_mistakes_are_said_without_a_traceback(tmp_path: Path) -> None:
    done = inspect_eval(tmp_path, "-T", "benchmark=no[bold]", "--model", "mockllm/model")
    assert done.returncode != 0
    shown = done.stdout + done.stderr
    assert "no[bold]: does not exist" in shown
    assert "Traceback" not in shown


def test_samples_carry_prompts_and_origin(package: Path, inline: Inline, tmp_path: Path) -> None:
    task = package_task(str(package), system="mine")
    assert isinstance(task, Task)
    inline.ok("export", "prompts", package, "--out", "p.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "p.jsonl").read_text().splitlines()]
    assert [(s.id, s.input) for s in task.dataset] == [(r["query_id"], r["prompt"]) for r in rows]
    assert {s.metadata["benchmark_hash"] for s in task.dataset if s.metadata} == {
        rows[0]["benchmark_hash"]
    }
    assert task.metadata is not None
    assert task.metadata["system"] == "mine"
    for given, said in (
        ({}, "name a benchmark: -T benchmark="),
        ({"benchmark": str(package), "context": "x"}, "unknown context 'x'"),
        ({"benchmark": str(package), "measures": ["CiteX"]}, "unknown measure 'CiteX'"),
        ({"benchmark": str(package), "judge": "nobody"}, "nobody"),
        ({"benchmark": "no[bold]"}, r"no\[bold]: does not exist"),
    ):
        with pytest.raises(PrerequisiteError) as caught:
            package_task(**given)
        assert said in str(caught.value.message)


def test_a_part_of_the_answers_is_scored_over_its_queries(package: Path) -> None:
    scoring = Scoring(Settings(str(package), measures=("CiteP",)))
    queries = scoring.benchmark.query_ids[:3]
    shown = scoring.benchmark.context("mix")
    right = {q: min(shown.relevant[scoring.benchmark.row_of[q]]) + 1 for q in queries}
    lines = [SubmissionLine(q, f"So it is [{right[q]}].", "mix") for q in queries[:2]]
    lines.append(SubmissionLine(queries[2], "So it is.", "mix"))
    (result,) = scoring.score_all(lines)
    assert result.measures[0].value == pytest.approx(100 * (1 + 1 + 0) / 3)
    assert result.counts.n_missing == 0
    with refused("unknown-query", cf.UsageError):
        scoring.score_one(SubmissionLine("none", "", "mix"))
