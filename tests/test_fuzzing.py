"""The fuzzer of files: a small fixed part of it, and whether it can fail."""

import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fuzzing.worker
from citeforge.ir_convert.registry import SOURCES
from citeforge.publishing.export import EXPORTS
from citeforge.schemas.errors import InputError
from fuzzing.__main__ import Session, report
from fuzzing.cases import run_case
from fuzzing.pool import Child
from fuzzing.targets import TARGETS
from fuzzing.world import GOLDEN
from patience import patience

SEED, ROUNDS = 20_241_121, 1


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Files to damage, made in this process with an embedder that other tests do not get."""
    from citeforge.engines.running import names
    from fuzzing.world import make_world

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(vars(names), "make_embedder", names.make_embedder)
        yield make_world(tmp_path_factory.mktemp("fuzzing") / "world")


def test_every_local_source_and_export_is_tried_with_damaged_files() -> None:
    commands = " ".join(c for target in TARGETS.values() for c in target.commands)
    over_network = {name for name in SOURCES.all() if name.endswith("-hub")} | {"ir-datasets"}
    of_reports = {name for name in EXPORTS.all() if name.startswith("trec-")}
    sources = {n for n in SOURCES.all() if f" {n}:" not in commands} - over_network
    exports = {n for n in EXPORTS.all() if f"export {n} " not in commands} - of_reports
    assert not sources | exports, "add these to tests/fuzzing/targets.py"


@pytest.mark.slow
def test_a_fixed_part(world: Path, tmp_path: Path) -> None:
    """Some damaged files of every kind: no traceback, no hang, and every message names a file."""
    session = Session(world, tmp_path, patience(60))
    names = (f"{t}:{n}" for n in range(SEED, SEED + ROUNDS) for t in TARGETS)
    session.run(names, 1, math.inf)
    assert session.counts["cases"] == ROUNDS * len(TARGETS)
    assert not session.faults, report(session, SEED)
    # The damage is such that both ways out are taken often.
    assert session.counts["exit 0"] > session.counts["cases"] / 10
    assert session.counts["exit 1"] > session.counts["cases"] / 3


@pytest.mark.slow
def test_a_case_is_its_name(world: Path, tmp_path: Path) -> None:
    seen = []
    for name in ("first", "second"):
        folder = tmp_path / name / "case"

        def ask(args: list[str], cwd: Path) -> dict[str, Any]:
            seen.append((args, {p.name: p.read_bytes() for p in sorted(cwd.iterdir())}))
            return {"exit": 0, "stdout": "", "stderr": "", "trace": "", "where": ""}

        run_case("sheet:5", world, folder, ask)
    assert seen[0] == seen[1]
    assert seen[0][1]["sheet.csv"] != (world / "sheet.csv").read_bytes() or (
        seen[0][1]["sheet.csv.key.json"] != (world / "sheet.csv.key.json").read_bytes()
    )


@pytest.mark.slow
def test_planted_bugs_are_found(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader that lets an exception out, one that names no file, and an odd exit code."""
    import citeforge.plugins.labels.judging as module

    folders = (tmp_path / str(n) / "case" for n in range(9))

    def run(fault: BaseException) -> str:
        def reader(path: Path) -> Any:
            raise fault

        monkeypatch.setattr(module, "read_pairs", reader)
        return run_case("pairs:1", world, next(folders), ask).fault

    def ask(args: list[str], cwd: Path) -> dict[str, Any]:
        monkeypatch.chdir(cwd)
        return fuzzing.worker.call(args)

    assert run(KeyError("planted")).startswith("KeyError in plugins/labels/judging.py:judge_pairs")
    assert (
        run(InputError("is wrong", code="wrong-value"))
        == "no file is named: labels judge: error: is wrong"
    )
    assert run(InputError("is wrong", path="pairs.jsonl", code="wrong-value")) == ""
    assert run(SystemExit(7)) == "exit code 7 of labels judge"


@pytest.mark.slow
def test_a_child_that_dies_or_hangs_is_noticed_and_replaced(tmp_path: Path) -> None:
    """By a pipe into which nobody writes, and by what the system does to greedy processes. The
    limit says what is a hang: nothing with the one, whatever has no answer yet with the other."""
    pipe = tmp_path / "answers.jsonl"
    os.mkfifo(pipe)
    endless = ["check", str(pipe), "--benchmark", str(GOLDEN / "package")]
    child = Child(math.inf, tmp_path)
    try:
        assert child.ask(["--version"], tmp_path)["exit"] == 0
        child.limit = 0.0
        assert child.ask(endless, tmp_path)["where"] == "hang"
        child.limit = math.inf
        assert child.ask(["--version"], tmp_path)["exit"] == 0
        process = child._process
        assert process is not None
        process.kill()
        process.wait()
        assert child.ask(["--version"], tmp_path)["where"] == "crash"
        assert child.ask(["--version"], tmp_path)["exit"] == 0
    finally:
        child.close()


def test_every_example_file_is_fuzzed() -> None:
    """A new example, or a command that reads files, belongs into the fuzzer."""
    from citeforge.cli.commands import one_line_helps

    commands = {c.split()[0] for t in TARGETS.values() for c in t.commands}
    # These read no file, or a network's, or their own; `view` serves until it is stopped.
    unread = {"publish", "list", "doctor", "view"}
    assert set(one_line_helps()) - commands == unread, "see tests/fuzzing/targets.py"
