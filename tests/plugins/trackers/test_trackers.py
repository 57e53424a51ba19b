"""Scores in experiment trackers: what each client reads back is what the score file has."""

import json
import os
import struct
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import citeforge as cf
from citeforge.evaluator.compare import load_scores
from citeforge.plugins.trackers import clients
from citeforge.publishing.hidden import split_package
from citeforge.publishing.tracking import TRACKERS, TrackedRun, find_trackers, log_files
from citeforge.schemas import errors
from citeforge.schemas.catalogue import Choice
from citeforge.schemas.scores import ScoreFile
from conftest import Inline, refused
from conftest_plots import scored

PLUGIN = """
import json
from citeforge.schemas.catalogue import Choice

def note(run):
    files = {path.name: path.read_text() for path in run.files}
    with open("runs.jsonl", "a") as file:
        file.write(json.dumps([run.project, run.name, run.settings, run.values, files]) + "\\n")
    return f"line of {run.name}"

def fail(run):
    raise ConnectionError("no route\\nto the server")

PLUGINS = {"trackers": [Choice("notes", "", "lines", note), Choice("down", "", "fails", fail)]}
"""


@pytest.fixture
def answered(inline: Inline, package: Path, monkeypatch: pytest.MonkeyPatch) -> Inline:
    """Two submissions, and a plugin with two trackers: one that notes runs, and one that fails."""
    (inline.folder / "plug.py").write_text(PLUGIN)
    monkeypatch.setenv("CITEFORGE_PLUGINS", str(inline.folder / "plug.py"))
    for name in ("random", "top-1"):
        inline.ok("run", name, "--benchmark", package, "--out", f"{name}.jsonl")
    return inline


def wanted_values(file: ScoreFile) -> dict[str, float]:
    """What a tracker must show of a score file: values, ends of intervals, counts."""
    found: dict[str, float] = {**file.counts.model_dump()}
    for m in file.measures:
        name = m.name.replace("@", "_")
        found[f"{name}_n"] = m.n
        for key, number in ((name, m.value), (f"{name}_low", m.low), (f"{name}_high", m.high)):
            if number is not None:
                found[key] = number
    return found


@pytest.mark.slow
def test_each_submission_is_a_run_with_what_its_score_file_has(
    answered: Inline, package: Path
) -> None:
    files = ("random.jsonl", "top-1.jsonl")
    ran = answered.ok("score", *files, "--benchmark", package, "--out", "s", "--log", "notes")
    assert "notes: random mix: logged as line of random mix" in ran.stderr
    rows = [json.loads(line) for line in (answered.folder / "runs.jsonl").read_text().splitlines()]
    assert [row[:2] for row in rows] == [["facts", "random mix"], ["facts", "top-1 mix"]]
    for row, path in zip(rows, sorted((answered.folder / "s").glob("*.json")), strict=True):
        _, _, settings, values, written = row
        file = load_scores(path)
        assert values == wanted_values(file)
        assert written["scores.json"] == path.read_text()
        assert "<html" in written["report.html"] and file.system in written["report.html"]
        assert settings["benchmark"] == f"facts@{file.benchmark_hash[:8]}"
        assert settings["benchmark_hash"] == file.benchmark_hash
        assert settings["submission_sha256"] == file.submission_sha256
        signatures = {f"signature.{m.name}".replace("@", "_"): m.signature for m in file.measures}
        assert signatures.items() <= settings.items()
    assert "judge" not in settings
    scores = cf.score(answered.folder / files[0], package, ["ALCE.CitRec"], judge="lexical")
    assert cf.log_scores([scores], ["down"])[0].failure == "ConnectionError: no route to the server"


def test_settings_name_the_judge(answered: Inline, package: Path) -> None:
    options = ("--measures", "ALCE.CitRec", "--judge", "lexical", "--log", "notes")
    answered.ok("score", "random.jsonl", "--benchmark", package, *options)
    row = json.loads((answered.folder / "runs.jsonl").read_text())
    assert row[2]["judge"].startswith("lexical")
    assert (row[2]["system"], row[2]["context"], row[2]["protocol"]) == ("random", "mix", "strict")


def test_a_tracker_that_fails_loses_no_scores(answered: Inline, package: Path) -> None:
    words = ("score", "random.jsonl", "--benchmark", package, "--out")
    answered.ok(*words, "without.json")
    ran = answered.fails(3, "not-logged", *words, "with.json", "--log", "down", "--log", "notes")
    assert "down: random mix: not logged: ConnectionError: no route to the server" in ran.stderr
    assert "notes: random mix: logged as" in ran.stderr
    assert "1 of 2 runs were not logged" in ran.stderr
    assert "CiteP" in ran.stdout
    folder = answered.folder
    assert (folder / "with.json").read_bytes() == (folder / "without.json").read_bytes()


def test_wrong_trackers_are_refused_before_anything_is_scored(
    answered: Inline, package: Path
) -> None:
    words = ("score", "random.jsonl", "--benchmark", package, "--out", "s.json", "--log")
    ran = answered.fails(2, "unknown-name", *words, "mlfow")
    assert "did you mean 'mlflow'?" in ran.stderr
    answered.fails(2, "conflicting-options", *words, "notes", "--private")
    assert not (answered.folder / "s.json").exists()


def test_hidden_gold_stays_hidden(hidden_package: Path, answered: Inline) -> None:
    split_package(hidden_package, answered.folder / "public", answered.folder / "gold")
    gold = ("--benchmark", "public", "--gold", "gold")
    answered.ok("run", "random", "--benchmark", "public", "--out", "a.jsonl")
    answered.ok("score", "a.jsonl", *gold, "--out", "s.json", "--log", "notes")
    row = json.loads((answered.folder / "runs.jsonl").read_text())
    file = load_scores(answered.folder / "s.json")
    assert file.gold == "withheld"
    assert row[3] == wanted_values(file)
    assert json.loads(row[4]["scores.json"])["query_ids"] == []


def test_names_are_those_that_all_trackers_take() -> None:
    """Names that differ in refused characters alone get numbers."""
    file = scored("a/b?", {"P@1": [1.0, 0.0], "P#1": [1.0, 1.0]})
    runs: list[Any] = []
    (logged,) = log_files([file], [Choice("keep", "", "", runs.append)])
    (run,) = runs
    assert (logged.failure, run.name) == ("", "a_b_ mix")
    assert (run.values["P_1"], run.values["P_1_2"]) == (50, 100)
    assert not any(path.exists() for path in run.files)  # temporary


def test_a_database_without_its_client_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """``mlflow-skinny`` alone says of the address, which is its own default, that it is wrong."""
    rows = {
        "mlflow": SimpleNamespace(get_tracking_uri=lambda: "sqlite:///mlflow.db"),
        "mlflow.entities": SimpleNamespace(Metric=None, Param=None),
        "mlflow.store": SimpleNamespace(),
        "mlflow.store.db": SimpleNamespace(),
        "mlflow.store.db.db_types": SimpleNamespace(DATABASE_ENGINES=["postgresql", "sqlite"]),
    }
    for name, module in rows.items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(errors, "find_spec", lambda module: None)
    (logged,) = log_files([scored("a", {"P@1": [1.0, 0.0]})], [clients.MLFLOW])
    assert "--log mlflow with a database needs the module 'sqlalchemy'" in logged.failure
    assert "pip install 'citeforge[mlflow]'" in logged.failure


def test_passwords_and_keys_of_servers_are_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    """MLflow names its database by its whole address; clients' errors may repeat their keys."""
    address = "postgresql://me:P4ss/w@rd@db.example/mlflow"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", address)
    key = "sk-proj-0123456789abcdefghij"

    def fail(run: TrackedRun) -> str:
        raise ConnectionError(f"the server refused {key}\nof this project")

    def cut(run: TrackedRun) -> str:
        raise ConnectionError("x" * 275 + " " + key)

    rows = [
        Choice("place", "", "", lambda run: f"run 1 at {address}"),
        Choice("fail", "", "", fail),
        Choice("cut", "", "", cut),
    ]
    place, failed, long = log_files([scored("a", {"P@1": [1.0, 0.0]})], rows)
    assert place.place == "run 1 at postgresql://…@db.example/mlflow"
    assert failed.failure == "ConnectionError: the server refused [key] of this project"
    # 17 + 275 + 1 + 28 characters would be more than 300; with the mark of 5, they are 298.
    assert long.failure == "ConnectionError: " + "x" * 275 + " [key]"


def environment(folder: Path) -> dict[str, str]:
    """Variables under which every client stays in a folder."""
    return {
        **os.environ,
        "HOME": str(folder),
        "MLFLOW_TRACKING_URI": f"sqlite:///{folder}/mlflow.db",
        "WANDB_MODE": "offline",
        "WANDB_DIR": str(folder),
        "TRACKIO_DIR": str(folder / "trackio"),
        "CITEFORGE_PLUGINS": "",
    }


GUARD = """
import socket, sys
def refuse(self, address):
    if self.family != socket.AF_UNIX and address[0] not in ("127.0.0.1", "::1", "localhost"):
        raise SystemExit(f"a connection to {address}")
    return connect(self, address)
connect, socket.socket.connect = socket.socket.connect, refuse
from citeforge.__main__ import main
sys.exit(main())
"""


def log_alone(folder: Path, package: Path, tracker: str, **more: str) -> ScoreFile:
    """Log the scores of ``random.jsonl`` in a process that connects to this machine alone."""
    words = ["score", "random.jsonl", "--benchmark", package, "--out", "s.json", "--log", tracker]
    ran = subprocess.run(
        [sys.executable, "-c", GUARD, *map(str, words)], cwd=folder, capture_output=True, text=True,
        env=environment(folder) | more,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert f"{tracker}: random mix: logged as run" in ran.stderr
    assert "rackio" not in ran.stdout
    return load_scores(folder / "s.json")


REASON = "is not installed here: make test-frameworks"


@pytest.mark.parametrize("store", ["sqlite", "file"])
def test_mlflow_reads_back_what_was_scored(answered: Inline, package: Path, store: str) -> None:
    mlflow = pytest.importorskip("mlflow", reason=f"mlflow {REASON}")
    folder = answered.folder
    uri = f"sqlite:///{folder}/mlflow.db" if store == "sqlite" else f"file:{folder}/mlruns"
    more = {"MLFLOW_TRACKING_URI": uri, "MLFLOW_ALLOW_FILE_STORE": "true"}
    file = log_alone(folder, package, "mlflow", **more)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
        client = mlflow.MlflowClient(uri)
        experiment = client.get_experiment_by_name("facts")
        (run,) = client.search_runs([experiment.experiment_id])
    assert (run.info.run_name, run.info.status) == ("random mix", "FINISHED")
    assert run.data.metrics == wanted_values(file)
    assert run.data.params["signature.CiteP"] == file.measures[0].signature
    kept = Path(run.info.artifact_uri.removeprefix("file:"))
    kept = kept if kept.is_absolute() else folder / kept
    assert (kept / "scores.json").read_text() == (folder / "s.json").read_text()
    assert "<html" in (kept / "report.html").read_text()


def test_an_mlflow_server_that_is_down_loses_no_scores(answered: Inline, package: Path) -> None:
    pytest.importorskip("mlflow", reason=f"mlflow {REASON}")
    ran = answered.fails(
        3, "not-logged", "score", "random.jsonl", "--benchmark", package, "--out", "s.json",
        "--log", "mlflow", MLFLOW_TRACKING_URI="http://127.0.0.1:9",
        MLFLOW_HTTP_REQUEST_MAX_RETRIES="0", MLFLOW_DISABLE_TELEMETRY="true",
    )  # fmt: skip
    assert "mlflow: random mix: not logged: MlflowException" in ran.stderr
    assert load_scores(answered.folder / "s.json").system == "random"


def read_wandb(data: bytes) -> list[Any]:
    """Records of an offline run: frames of LevelDB's log format behind a header of 7 bytes."""
    from wandb.proto.wandb_internal_pb2 import Record

    records, at, text = [], 7, b""
    while at + 7 <= len(data):
        if 32768 - at % 32768 < 7:  # no frame begins there: zeros up to the next block
            at += 32768 - at % 32768
            continue
        _, length, part = struct.unpack("<IHB", data[at : at + 7])
        text += data[at + 7 : at + 7 + length]
        at += 7 + length
        if part in (1, 4):  # a whole record, or the last part of one
            records.append(Record.FromString(text))
            text = b""
    return records


def test_wandb_reads_back_what_was_scored(answered: Inline, package: Path) -> None:
    pytest.importorskip("wandb", reason=f"wandb {REASON}")
    folder = answered.folder
    file = log_alone(folder, package, "wandb")
    (log,) = folder.glob("wandb/offline-run-*/*.wandb")
    records = read_wandb(log.read_bytes())
    (run, *_) = [r.run for r in records if r.WhichOneof("record_type") == "run"]
    assert (run.project, run.display_name) == ("facts", "random mix")
    config = {entry.key: json.loads(entry.value_json) for entry in run.config.update}
    assert config["signature.CiteP"] == file.measures[0].signature
    summaries = [r.summary for r in records if r.WhichOneof("record_type") == "summary"]
    values: dict[str, float] = {}
    for entry in (e for s in summaries for e in s.update):
        values[entry.key or ".".join(entry.nested_key)] = json.loads(entry.value_json)
    wanted = wanted_values(file)
    assert {name: values[name] for name in wanted} == wanted
    artifacts = [r.request.log_artifact.artifact for r in records if r.HasField("request")]
    artifacts += [r.artifact for r in records if r.WhichOneof("record_type") == "artifact"]
    names = {e.path for a in artifacts for e in a.manifest.contents}
    assert names == {"report.html", "scores.json"}


def test_trackio_reads_back_what_was_scored(answered: Inline, package: Path) -> None:
    pytest.importorskip("trackio", reason=f"trackio {REASON}")
    folder = answered.folder
    file = log_alone(folder, package, "trackio")
    code = (
        "import json, trackio\n"
        "from trackio.sqlite_storage import SQLiteStorage\n"
        "(run,) = trackio.Api().runs('facts')\n"
        "rows = SQLiteStorage.get_logs('facts', run.name, run_id=run.id)\n"
        "print(json.dumps([run.name, run.config, rows]))\n"
    )
    read = subprocess.run(
        [sys.executable, "-c", code], env=environment(folder), text=True, check=True,
        stdout=subprocess.PIPE,
    )  # fmt: skip
    name, config, (row,) = json.loads(read.stdout.splitlines()[-1])
    wanted = wanted_values(file)
    assert name == "random mix"
    assert {key: row[key] for key in wanted} == wanted
    assert config["signature.CiteP"] == file.measures[0].signature
    blobs = {p.read_bytes() for p in (folder / "trackio").rglob("*") if p.is_file()}
    assert (folder / "s.json").read_bytes() in blobs


def test_the_clients_are_looked_up_when_they_are_named() -> None:
    names = ["mlflow", "trackio", "wandb"]
    assert list(TRACKERS.all())[:3] == names
    assert find_trackers([]) == []
    with refused("unknown-name", cf.UsageError):
        find_trackers(["none"])
