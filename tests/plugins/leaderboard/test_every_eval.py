"""Records of Every Eval Ever; the peers' tests hold them against their own schema and validator."""

import hashlib
import json
import uuid
from pathlib import Path
from typing import Any

import pytest

import citeforge as cf
from citeforge.evaluator.measures.registry import find_measure, select
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.plugins.leaderboard.every_eval_ever import (
    RecordOptions,
    export_every_eval,
)
from citeforge.schemas.scores import About, ScoreFile
from conftest import Inline, content, refused, write_jsonl
from scoring import score

MODEL = RecordOptions(model="org/m")


def scored(package: Path, folder: Path, details: bool = True, runs: int = 1) -> Path:
    """A score file: every query but the last cites its first two passages."""
    benchmark = Benchmark(package)
    lines = [
        {"query_id": q, "output": "So it  is [1][2].", "run": run}
        for q in benchmark.query_ids[:-1]
        for run in range(runs)
    ]
    header = {"submission": {"system": "s", "benchmark_hash": benchmark.hash}}
    submission = write_jsonl(folder / "s.jsonl", [header, *lines])
    file = score(submission, benchmark, select(["rage"]), details=details)
    path = folder / "s.json"
    path.write_text(file.model_dump_json())
    return path


def records(out: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    (aggregate,) = out.rglob("*.json")
    lines = [line for p in out.rglob("*_samples.jsonl") for line in p.read_text().splitlines()]
    return json.loads(aggregate.read_text()), [json.loads(line) for line in lines]


def test_values_intervals_and_single_answers(package: Path, tmp_path: Path) -> None:
    path = scored(package, tmp_path)
    file = ScoreFile.model_validate_json(path.read_text())
    options = RecordOptions(
        model="org/m", organisation="Us", relationship="third_party", dataset="org/facts"
    )
    assert export_every_eval(path, tmp_path / "out", options) == [
        "s.json: single values of measures that have no best value: Distinct, Length",
        "s.json: the original text of answers; records contain their statements with citations",
    ]
    aggregate, lines = records(tmp_path / "out")
    assert aggregate["model_info"]["id"] == "org/m"
    assert aggregate["source_metadata"]["evaluator_relationship"] == "third_party"
    by_name = {r["metric_config"]["metric_name"]: r for r in aggregate["evaluation_results"]}
    for measure in (m for m in file.measures if m.value is not None):
        result = by_name[measure.name]
        assert result["score_details"]["score"] == measure.value
        uncertainty = result["score_details"]["uncertainty"]
        assert uncertainty["confidence_interval"]["lower"] == measure.low
        assert uncertainty["standard_error"]["value"] == measure.stderr
        assert result["metric_config"]["additional_details"]["signature"] == measure.signature
        assert result["source_data"]["hf_repo"] == "org/facts"
        mine = [x for x in lines if x["evaluation_result_id"] == result["evaluation_result_id"]]
        if measure.name in ("Distinct", "Length"):
            assert mine == []
            assert result["metric_config"]["max_score"] == "Infinity"
            continue
        values = dict(zip(file.query_ids, measure.per_query, strict=True))
        assert {x["sample_id"]: x["evaluation"]["score"] for x in mine} == {
            q: v * measure.scale for q, v in values.items() if v is not None
        }
        assert all(x["evaluation"]["is_correct"] == (values[x["sample_id"]] == 1) for x in mine)
    outputs = {x["sample_id"]: x["output"]["raw"] for x in lines}
    assert set(map(tuple, outputs.values())) == {("So it is. [1] [2]",), ("",)}
    missing = {x["sample_id"] for x in lines if x.get("error") == "no answer"}
    assert missing == {file.query_ids[-1]}


@pytest.mark.parametrize(
    ("measure", "high", "is_lower_better", "right", "direction"),
    [
        ("DRAGUN.Supportive", 1, False, [False, True], None),
        ("DRAGUN.Contradictory", 1, True, [True, False], None),
        ("ALCE.Overcited", 1, True, [True, False], None),
        ("CAB.P", 1, False, [], "neither"),
        ("FACT.Unread", "Infinity", True, [True, False], None),
    ],
)
def test_failures_are_not_praised(
    package: Path, tmp_path: Path, measure: str, high: object, is_lower_better: bool,
    right: list[bool], direction: str | None,
) -> None:  # fmt: skip
    """Of a measure of failures, an answer with the lowest value is the right one."""
    path = scored(package, tmp_path)
    file = ScoreFile.model_validate_json(path.read_text())
    known = find_measure(measure)
    assert known is not None
    first = file.measures[0]
    values = [0.0, 1.0, *[None] * (len(file.query_ids) - 2)]
    changed = first.model_copy(
        update={"name": measure, "value": 0.5, "scale": known.scale, "per_query": values}
    )
    path.write_text(file.model_copy(update={"measures": [changed]}).model_dump_json())
    lost = export_every_eval(path, tmp_path / "out", MODEL)
    aggregate, lines = records(tmp_path / "out")
    (result,) = aggregate["evaluation_results"]
    config = result["metric_config"]
    assert (config["lower_is_better"], config["max_score"]) == (
        is_lower_better, high if high == "Infinity" else known.scale
    )  # fmt: skip
    assert [line["evaluation"]["is_correct"] for line in lines] == right
    assert config["additional_details"].get("direction") == direction
    assert (f"s.json: single values of measures that have no best value: {measure}" in lost) == (
        not right
    )


def test_answers_to_queries_without_values_are_refused(package: Path, tmp_path: Path) -> None:
    path = scored(package, tmp_path)
    record = json.loads(path.read_text())
    record["answers"][0]["query_id"] = "nobody"
    path.write_text(json.dumps(record))
    with refused("unknown-query", path=path, field="answers"):
        export_every_eval(path, tmp_path / "out", MODEL)
    assert not (tmp_path / "out").exists()


def test_the_files_belong_together(package: Path, tmp_path: Path) -> None:
    path = scored(package, tmp_path)
    for out in ("a", "b"):
        export_every_eval(path, tmp_path / out, MODEL)
    assert content(tmp_path / "a") == content(tmp_path / "b")
    aggregate, lines = records(tmp_path / "a")
    said = aggregate["detailed_evaluation_results"]
    samples = tmp_path / "a" / said["file_path"]
    assert said["checksum"] == hashlib.sha256(samples.read_bytes()).hexdigest()
    assert said["total_rows"] == len(lines)
    name = samples.name.removesuffix("_samples.jsonl")
    assert uuid.UUID(name).version == 4
    assert (samples.parent / f"{name}.json").is_file()
    assert {x["evaluation_id"] for x in lines} == {aggregate["evaluation_id"]}
    assert {x["output"]["raw"][0] for x in lines} == {"So it is. [1] [2]", ""}


def test_without_single_answers_there_is_the_aggregate(package: Path, tmp_path: Path) -> None:
    path = scored(package, tmp_path, details=False)
    lost = export_every_eval(path, tmp_path / "out", MODEL)
    assert "s.json: records of single answers: score with --details" in lost
    aggregate, lines = records(tmp_path / "out")
    assert lines == []
    assert "detailed_evaluation_results" not in aggregate


def test_hostile_names_stay_in_their_folder(package: Path, tmp_path: Path) -> None:
    path = scored(package, tmp_path)
    file = ScoreFile.model_validate_json(path.read_text())
    names = {"../../x": "_.._.._x", 'a/b"<é>': "a_b____"}
    for number, (name, folder) in enumerate(names.items()):
        about = About(model=f"o:/{name.replace('/', '-')}")
        changed = file.model_copy(update={"benchmark": name, "about": about})
        path.write_text(changed.model_dump_json())
        out = tmp_path / f"out{number}"
        export_every_eval(path, out, RecordOptions())
        (result,) = out.glob("data/*/o_/*/*.json")
        assert result.relative_to(out).parts[1] == folder
        aggregate, _ = records(out)
        assert aggregate["evaluation_results"][0]["source_data"]["dataset_name"] == name


def test_what_does_not_belong_there_is_refused(package: Path, tmp_path: Path) -> None:
    path = scored(package, tmp_path, runs=2)
    out = tmp_path / "out"
    lost = export_every_eval(path, out, MODEL)
    assert any("all runs but the first" in what for what in lost)
    with refused("bad-name"):
        export_every_eval(path, out, RecordOptions())
    (tmp_path / "none").mkdir()
    with refused("no-scores", path=tmp_path / "none"):
        export_every_eval(tmp_path / "none", out, MODEL)
    (tmp_path / "none" / "a.json").write_text("{}")
    with pytest.raises(cf.InputError) as caught:
        export_every_eval(tmp_path / "none", out, MODEL)
    assert caught.value.path == str(tmp_path / "none" / "a.json")
    for name, source, option in (("trec", package, "model"), ("every-eval-ever", path, "min_f1")):
        with refused("bad-option", cf.UsageError):
            cf.export(name, source, tmp_path / "new", **{option: "org/m"})
    assert not (tmp_path / "new").exists()


def test_the_command_takes_a_folder(package: Path, tmp_path: Path, inline: Inline) -> None:
    scored(package, tmp_path)
    done = inline.ok("export", "every-eval-ever", ".", "--out", "out", "--model", "org/m")
    assert "out: 2 files" in done.stdout
    assert "not carried: s.json: the original text of answers" in done.stdout
