"""The gate as a command: exit codes, what it writes when it cannot decide, and reports to CI."""

import json
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import pytest

import citeforge as cf
from citeforge.evaluator import gate as gate_module
from citeforge.schemas.scores import ScoreFile
from conftest import Inline, refused
from conftest_plots import scored

N = 40
NEW = scored("new", {"CiteP": [0.6] * N})
OLD = scored("old", {"CiteP": [0.5] * N})
PAIR = ("new.json", "--baseline", "old.json")


@pytest.fixture(autouse=True)
def files(tmp_path: Path) -> None:
    """Two score files, a folder without any, and files that are none."""
    for file in (NEW, OLD, scored("third", {"CiteP": [0.4] * N})):
        (tmp_path / f"{file.system}.json").write_text(file.model_dump_json())
    (tmp_path / "empty").mkdir()
    (tmp_path / "loop.json").symlink_to("loop.json")
    (tmp_path / "cut.json").write_text(NEW.model_dump_json()[:-9])
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "none.json").write_text("")
    (tmp_path / "answers.json").write_text('{"query_id": "q1", "output": "[1]"}\n')
    (tmp_path / "typo.yaml").write_text("critical: [CiteP]\nmargn: 3\n")
    (tmp_path / "cut.yaml").write_text("critical: [\n")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("new.json",), "no-baseline"),
        (("new.json", "--baseline", "gone/baseline.json"), "missing-file"),
        (("new.json", "--baseline", "empty"), "missing-file"),
        (("empty", "--baseline", "old.json"), "missing-file"),
        (("gone.json", "--baseline", "old.json"), "missing-file"),
        (("loop.json", "--baseline", "old.json"), "storage"),
        ((f"{'n' * 300}.json", "--baseline", "old.json"), "storage"),
        (("cut.json", "--baseline", "old.json"), "bad-json"),
        (("bytes.json", "--baseline", "old.json"), "bad-encoding"),
        (("new.json", "--baseline", "none.json"), "bad-json"),
        (("answers.json", "--baseline", "old.json"), "wrong-kind"),
        (("new.json", "--baseline", "new.json"), "same-file"),
        (("new.json", "--baseline", "./empty/../new.json"), "same-file"),
        (("new.json", "--baseline", "old.json", "third.json"), "ambiguous-baseline"),
        ((*PAIR, "--policy", "gone.yaml"), "missing-file"),
        ((*PAIR, "--policy", "empty"), "storage"),
        ((*PAIR, "--policy", "typo.yaml"), "unknown-field"),
        ((*PAIR, "--policy", "cut.yaml"), "bad-yaml"),
        ((*PAIR, "--by", "category"), "not-computed"),
        ((*PAIR, "--out", "gate.txt"), "bad-option"),
    ],
)
def test_what_keeps_the_gate_from_running(
    inline: Inline, tmp_path: Path, words: Sequence[str], code: str
) -> None:
    """It ends with 5; JUnit, Markdown, JSON, the job's summary and output give the reason."""
    outs = ("--out", "gate.xml", "--out", "gate.md", "--out", "gate.json")
    (tmp_path / "gate.xml").write_text("<of an earlier run/>")
    paths = {v: str(tmp_path / v) for v in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT")}
    ran = inline.fails(5, code, "gate", *words, *outs, **paths)
    suite = ElementTree.parse(tmp_path / "gate.xml").getroot()[0]
    (case, *_) = suite.findall("testcase")
    error = case.find("error")
    assert (suite.get("errors"), suite.get("failures")) == ("1", "0")
    assert error is not None and error.get("type") == "could not run"
    reason = str(error.get("message"))
    assert reason in " ".join(ran.stdout.split()) or f"error: {reason}\n" == ran.stderr
    page = (tmp_path / "gate.md").read_text()
    assert page.startswith("### citeforge gate: could not run\n")
    assert (tmp_path / "GITHUB_STEP_SUMMARY").read_text() == page + "\n"
    assert (tmp_path / "GITHUB_OUTPUT").read_text() == "verdict=could not run\n"
    assert json.loads((tmp_path / "gate.json").read_text())["verdict"] == "could not run"


@pytest.mark.parametrize("words", [(), ("new.json", "--baseline"), ("new.json", "--marign", "3")])
def test_wrong_options_stay_wrong_usage(inline: Inline, words: Sequence[str]) -> None:
    assert inline("gate", *words).returncode == 2


def test_a_link_to_a_new_file_is_named_as_given(inline: Inline, tmp_path: Path) -> None:
    (tmp_path / "link.json").symlink_to("new.json")
    ran = inline.fails(5, "same-file", "gate", "new.json", "--baseline", "link.json")
    assert "--baseline link.json: is the new file new.json" in ran.stderr


def test_how_to_begin_is_said(inline: Inline) -> None:
    ran = inline.fails(5, "missing-file", "gate", "new.json", "--baseline", "gone.json")
    assert "gone.json: does not exist" in ran.stderr
    assert "if there is no baseline yet, leave out --baseline" in ran.stderr
    shown = " ".join(inline("gate", "new.json").stdout.split())
    assert "keep the scores and the answers, and name the scores with --baseline" in shown
    # What is wrong with the new file is not advice on baselines.
    assert "no baseline yet" not in inline("gate", "gone.json", "--baseline", "old.json").stderr


def test_a_first_run_still_finds_answers_that_exceed_a_bound(
    inline: Inline, tmp_path: Path
) -> None:
    counts = NEW.counts.model_copy(update={"n_answered": 20, "n_missing": 20})
    half = NEW.model_copy(update={"counts": counts})
    (tmp_path / "half.json").write_text(half.model_dump_json())
    inline.fails(1, "gate-failed", "gate", "half.json")


def test_a_mistake_in_the_code_is_no_verdict(
    inline: Inline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A traceback would end with 1, which reads as a regression."""

    def broken(*_: object) -> None:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr(gate_module, "pair_files", broken)
    ran = inline("gate", *PAIR, "--out", "gate.xml")
    assert ran.returncode == 5 and "ZeroDivisionError: by zero" in ran.stderr
    assert 'message="ZeroDivisionError: by zero"' in (tmp_path / "gate.xml").read_text()


def unwritable(folder: Path) -> list[Path]:
    """Paths to which nobody can write, whatever the permissions."""
    (folder / "file").write_text("")
    return [folder / "file" / "gate.xml", Path("/proc/gate.xml"), folder / ("n" * 300 + ".xml")]


@pytest.mark.parametrize(("new", "verdict", "exit_code"), [
    ("new", "pass", 0), ("third", "fail", 1), ("gone", "could not run", 5)
])  # fmt: skip
def test_what_cannot_be_written_changes_no_verdict(
    inline: Inline, tmp_path: Path, new: str, verdict: str, exit_code: int
) -> None:
    for path in unwritable(tmp_path):
        for variable in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT"):
            ran = inline("gate", f"{new}.json", "--baseline", "old.json", **{variable: str(path)})
            assert ran.returncode == exit_code, ran.stderr
            assert f"warning: {variable}={path}: cannot be written: " in ran.stderr
            assert verdict == "could not run" or ran.stdout.startswith(f"{verdict}: ")
        outs = ("--out", path, "--out", "kept.md")
        ran = inline("gate", f"{new}.json", "--baseline", "old.json", *outs)
        assert ran.returncode == exit_code and f"warning: --out {path}: " in ran.stderr
        assert f"gate: {verdict}\n" in (tmp_path / "kept.md").read_text()
    missing = tmp_path / "missing" / "summary"
    ran = inline("gate", f"{new}.json", "--baseline", "old.json", GITHUB_STEP_SUMMARY=str(missing))
    assert (ran.returncode, missing.exists()) == (exit_code, False)
    assert f"warning: GITHUB_STEP_SUMMARY={missing}: cannot be written: No such" in ran.stderr
    # A folder of --out is made, as for every other command.
    inline("gate", f"{new}.json", "--baseline", "old.json", "--out", "made/gate.xml")
    assert (tmp_path / "made" / "gate.xml").is_file()


def test_a_decision_never_replaces_what_the_gate_reads(inline: Inline, tmp_path: Path) -> None:
    before = {p.name: p.read_bytes() for p in tmp_path.glob("*.json") if p.is_file()}
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "old.json").write_text(OLD.model_dump_json())
    for words in (
        (*PAIR, "--out", "new.json"), (*PAIR, "--out", "./old.json"),
        ("gone.json", "--baseline", "old.json", "--out", "old.json"),
        ("new.json", "--baseline", "old", "--out", "old/gate.json"),
        (".", "--baseline", "gone", "--out", "gate.json"),
    ):  # fmt: skip
        ran = inline("gate", *words, "--out", "gate.xml")
        assert (ran.returncode, ran.code) == (5, "bad-option")
        assert "could not run" in (tmp_path / "gate.xml").read_text()
    assert before == {p.name: p.read_bytes() for p in tmp_path.glob("*.json") if p.is_file()}
    inline.ok("gate", "new.json", "--baseline", "old", "--out", "old/gate.xml")


def test_in_python_the_error_is_raised_and_the_files_are_written(tmp_path: Path) -> None:
    outs = [tmp_path / "gate.xml", tmp_path / "gate.md"]
    with refused("missing-file", cf.InputError, path=tmp_path / "gone.json"):
        cf.gate(cf.Scores(NEW), tmp_path / "gone.json", out=outs)
    assert all("could not run" in path.read_text() for path in outs)


def headline(new: ScoreFile, old: ScoreFile) -> str:
    return cf.gate(cf.Scores(new), cf.Scores(old)).headline


def test_systems_of_one_name_are_told_apart() -> None:
    first = OLD.model_copy(update={"system": "prod", "submission": "v1.jsonl"})
    second = NEW.model_copy(update={"system": "prod", "submission": "v2.jsonl"})
    assert headline(second, first) == "pass: prod · v2.jsonl against prod · v1.jsonl"
    # In CI both are made by one line, from a file of one name.
    second = second.model_copy(update={"submission": "v1.jsonl"})
    assert headline(second, first) == "pass: prod · new against prod · baseline"


@pytest.mark.parametrize("command", ["gate", "compare"])
def test_the_text_in_python_is_that_of_the_command(
    command: str, inline: Inline, tmp_path: Path
) -> None:
    """Only the width of a terminal folds the lines of the command."""
    new, old = tmp_path / "new.json", tmp_path / "old.json"
    if command == "gate":
        printed = inline("gate", *PAIR).stdout
        found: object = cf.gate(new, old)
    else:
        printed = inline("compare", "old.json", "new.json", COLUMNS="500").stdout
        found = cf.compare(old, new)
    assert str(found).split() == printed.split()
    assert "CiteP" in printed and "signature: " in printed
    assert "\n" not in repr(found) and len(repr(found)) < 100
