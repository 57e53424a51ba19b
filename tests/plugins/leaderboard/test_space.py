"""The Space's side without its page: scores, refusals, limits, and what a subprocess can see."""

import bz2
import gzip
import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path

import pytest

import citeforge as cf
from citeforge.plugins.leaderboard import space
from citeforge.plugins.leaderboard.boards import Board
from citeforge.plugins.leaderboard.space import TOKEN, Desk
from citeforge.plugins.leaderboard.space_scoring import (
    REPORT,
    SCORES,
    Outcome,
    Task,
    run_task,
    without_judge,
)
from citeforge.plugins.leaderboard.start import SCORING_SPACE, start_leaderboard
from citeforge.schemas.recipes.command_options import ScoreOptions
from conftest import EXAMPLES, Inline, refused
from conftest_boards import EVIL

ANSWERS = EXAMPLES / "labels" / "answers.jsonl"
SECRET = "hf_SecretOfTheOwner0123456789"


@pytest.fixture
def folder(package: Path, tmp_path: Path) -> Path:
    """A leaderboard on the example benchmark, with the files of its Space."""
    start_leaderboard(tmp_path / "board", [f"facts={package}"], title="Facts", space=True)
    return tmp_path / "board"


@pytest.fixture
def outcome(package: Path, tmp_path: Path) -> Callable[..., Outcome]:
    """Do what the subprocess does, in this process and a folder of its own."""
    work = tmp_path / "work"
    work.mkdir()

    def run(name: str, content: bytes, megabytes: float = 1, account: str | None = None) -> Outcome:
        (work / name).write_bytes(content)
        board = Board(name="facts", benchmark=str(package), history=work / "history.jsonl",
                      submissions=work / "submissions")  # fmt: skip
        with chdir(work):
            return run_task(Task(board.model_dump_json(), name, megabytes, 0, 0, account))

    return run


def codes(outcome: Outcome) -> list[str]:
    return [found.code for found in outcome.errors]


def test_scores_are_those_of_the_command(folder: Path, package: Path, inline: Inline) -> None:
    inline.ok("score", ANSWERS, "--benchmark", package, "--details", "--out", "scores.json")
    with Desk(folder).score(str(ANSWERS), "facts") as reply:
        report, scores = map(Path, reply.files)
        assert scores.read_bytes() == (inline.folder / "scores.json").read_bytes()
        assert "30 answers read, 0 errors" in reply.html
        assert 'sandbox="allow-scripts allow-downloads"' in reply.report
        assert "Titan is the largest moon" in report.read_text()  # the explorer of answers
    assert not report.exists()  # nothing of a participant stays


def test_files_of_the_space(folder: Path, inline: Inline, package: Path) -> None:
    names = {p.name for p in (folder / SCORING_SPACE).iterdir()}
    assert names == {"README.md", "requirements.txt", "app.py", "space.css"}
    needed = [
        line for line in (folder / SCORING_SPACE / "requirements.txt").read_text().splitlines()
        if not line.startswith("#")
    ]  # fmt: skip
    assert [line.partition("==")[0] for line in needed] == ["citeforge", "gradio[oauth]"]
    plain = inline.ok("leaderboard", "init", "plain", "--benchmark", package)
    assert SCORING_SPACE not in plain.stdout
    inline.ok("leaderboard", "init", "full", "--benchmark", package, "--space", "--queue", "a/b")
    assert "queue: a/b" in (inline.folder / "full" / "leaderboard.yaml").read_text()
    words = ("leaderboard", "init", "x", "--benchmark", package, "--queue")
    inline.fails(2, "option-without-effect", *words, "a/b")
    inline.fails(2, "bad-option", *words, "no name", "--space")


def test_errors_have_lines_and_fixes(outcome: Callable[..., Outcome]) -> None:
    found = outcome(
        "a.jsonl", b'{"query_id": "q01", "output": "[1]"}\n{"query_id": "q02", "output": 2}\n'
    )
    first = found.errors[0]
    assert (first.line, first.field) == (2, "output")
    assert "text: put quotes around it" in first.message
    assert not found.is_scored


def test_a_long_file_name_is_told_its_length(outcome: Callable[..., Outcome]) -> None:
    name = "x" * 115 + ".jsonl"
    assert len(name) == 121
    (found,) = outcome(name, ANSWERS.read_bytes()).errors
    assert str(found) == "the file's name has 121 characters; 120 at most"
    assert outcome(name[1:], ANSWERS.read_bytes()).errors == []


def test_a_visitor_reads_of_no_option_and_no_extra(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page has no command line, and a visitor can install nothing on it."""
    monkeypatch.setattr("citeforge.reports.pages.markup.find_spec", lambda _: None)
    rows = [{"submission": {"system": "few", "limit": 9}},
            {"query_id": "q01", "output": "So [1]."}]  # fmt: skip
    path = tmp_path / "few.jsonl"
    for text in (rows, rows[1:], [{"submission": {"system": "\u200b"}}, rows[1]]):
        path.write_text("".join(json.dumps(row) + "\n" for row in text))
        with Desk(folder).score(str(path), "facts") as reply:
            page = Path(reply.files[0]).read_text() if reply.files else ""
            assert "Warnings" in reply.html or "up to 200 visible characters" in reply.html
            words = re.sub("<[^>]*>", "", reply.html)
            assert re.findall(r"\s--[a-z]+", words) == []
            assert "pip install" not in page and "There are no plots" not in page


NAMES = ["a b.jsonl", "a.exe", "<img src=x>.jsonl", "-rf.jsonl", ".hidden.jsonl", "ü.jsonl",
         "a\n.jsonl"]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_hostile_file_names_are_refused(outcome: Callable[..., Outcome], name: str) -> None:
    assert codes(outcome(name, ANSWERS.read_bytes())) == ["bad-name"]


LINE = b'{"query_id": "q01", "output": "So [1]."}\n'
BOMBS = {
    "gzip": gzip.compress(b"0" * 50_000_000),
    "bzip2": bz2.compress(b"0" * 50_000_000),
    "many lines": gzip.compress(LINE * 100_000),
    "a line": b'{"query_id": "q01", "output": "' + b"a" * 1_100_000 + b'"}\n',
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_bombs_are_refused_by_their_unpacked_size(
    outcome: Callable[..., Outcome], bomb: str
) -> None:
    assert codes(outcome("a.jsonl", BOMBS[bomb])) == ["too-large"]


def test_a_line_that_is_too_long_is_named(outcome: Callable[..., Outcome]) -> None:
    long = b'{"query_id": "q01", "output": "' + b"a" * 4_100_000 + b'"}\n'
    first = outcome("a.jsonl", LINE + long, megabytes=20).errors[0]
    assert (first.code, first.line) == ("too-large", 2)


def test_archives_are_refused(outcome: Callable[..., Outcome], tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("../../evil.jsonl", LINE)
    assert codes(outcome("a.jsonl", path.read_bytes())) == ["bad-archive"]
    assert codes(outcome("a.jsonl", b"[" * 100_000)) != []
    assert codes(outcome("a.jsonl", b"")) == ["no-answers"]


def test_texts_of_participants_are_escaped(outcome: Callable[..., Outcome], folder: Path) -> None:
    """A page of Gradio reads HTML, and templates of two kinds, in what it shows."""
    name = EVIL + "${alert(1)}{{constructor}}`"
    rows = [{"submission": {"system": name}}, {"query_id": name, "output": "[1]"}]
    content = "".join(json.dumps(row) + "\n" for row in rows).encode()
    found = outcome("a.jsonl", content)
    assert found.errors
    html = space._render_findings(found)
    assert "&lt;img" in html
    assert [word for word in ("<img", "<script", "${", "{{", "`") if word in html] == []
    rows = [{"submission": {"system": EVIL}}, {"query_id": "q01", "output": EVIL + " [1]"}]
    path = folder / "evil.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with Desk(folder).score(str(path), "facts") as reply:
        assert reply.report  # a frame of base64, whose content has no access to the page
        assert "<script" not in reply.html + reply.report
        assert EVIL not in Path(reply.files[0]).read_text()


def test_files_that_are_too_large_are_not_copied(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "large.jsonl"
    with path.open("wb") as file:
        file.truncate(96_000_000)
    with Desk(folder).score(str(path), "facts") as reply:
        assert "96.0 MB, more than the 20 MB that this leaderboard takes" in reply.html
    with Desk(folder).score(None, "facts") as reply:
        assert "drop one of at most 20 MB above" in reply.html


@pytest.mark.parametrize(
    ("limits", "message"),
    [({"seconds": 0}, "more than the 0 seconds"), ({"gigabytes": 0.2}, "0.2 GB of memory")],
)
def test_time_and_memory_are_limited(folder: Path, limits: dict[str, float], message: str) -> None:
    with Desk(folder, **limits).score(str(ANSWERS), "facts") as reply:  # type: ignore[arg-type]
        assert message in reply.html
        assert "score it on your own machine" in reply.html
        assert not reply.files


@pytest.mark.parametrize(
    ("signal", "message"),
    [("SIGKILL", "needs more memory than is free now"), ("SIGXCPU", "more than the 120 seconds")],
)
def test_ends_by_signals_are_told_apart(
    folder: Path, monkeypatch: pytest.MonkeyPatch, signal: str, message: str
) -> None:
    """The system ends the process that takes most memory by SIGKILL."""
    code = f"import os, signal; os.kill(os.getpid(), signal.{signal})"
    real = space.run_group
    monkeypatch.setattr(
        space, "run_group", lambda words, *rest: real([sys.executable, "-c", code], *rest)
    )
    with Desk(folder).score(str(ANSWERS), "facts") as reply:
        assert message in reply.html


def test_a_link_of_the_subprocess_is_not_followed(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its report is shown to participants: it must be no file of the process with the token."""
    (tmp_path / "secret").write_text(SECRET)
    outcome = json.dumps({"summary": "", "errors": [], "warnings": [], "is_scored": True})
    code = (
        f"import os; os.symlink({str(tmp_path / 'secret')!r}, 'report.html');"
        f"open('outcome.json', 'w').write({outcome!r})"
    )
    real = space.run_group
    monkeypatch.setattr(
        space, "run_group", lambda words, *rest: real([sys.executable, "-c", code], *rest)
    )
    with Desk(folder).score(str(ANSWERS), "facts") as reply:
        assert "could not be read; the log of the Space says why" in reply.html
        assert not reply.report


def test_an_upload_that_is_gone(folder: Path, tmp_path: Path) -> None:
    with Desk(folder).score(str(tmp_path / "gone.jsonl"), "facts") as reply:
        assert "upload it again" in reply.html


def test_the_subprocess_has_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    for name in (TOKEN, "HF_TOKEN", "OAUTH_CLIENT_SECRET", "OPENAI_API_KEY", "ANYTHING"):
        monkeypatch.setenv(name, SECRET)
    home = tmp_path / "home"
    (home / ".cache" / "huggingface").mkdir(parents=True)
    (home / ".cache" / "huggingface" / "token").write_text(SECRET)
    monkeypatch.setenv("HOME", str(home))
    code = (
        "import os; from huggingface_hub import get_token;"
        "print(dict(os.environ), get_token(), os.path.expanduser('~'))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=space._subprocess_environment(tmp_path), text=True,
        capture_output=True, check=True,
    )  # fmt: skip
    assert SECRET not in done.stdout
    assert str(home) not in done.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="prctl is Linux's")
def test_the_token_cannot_be_read_from_memory(folder: Path) -> None:
    """A process that holds it may not be looked into by others of the same user."""
    config = folder / "leaderboard.yaml"
    config.write_text(config.read_text() + "queue: ann/queue\n")
    code = (
        "import ctypes, sys; from citeforge.plugins.leaderboard.space import Desk;"
        "desk = Desk(sys.argv[1]); print(desk.takes_submissions, ctypes.CDLL(None).prctl(3))"
    )
    for token, wanted in ((SECRET, "True 0"), ("", "False 1")):
        done = subprocess.run(
            [sys.executable, "-c", code, str(folder)], env={**os.environ, TOKEN: token}, text=True,
            capture_output=True, check=True,
        )  # fmt: skip
        assert done.stdout.strip() == wanted


def test_a_failure_tells_no_secret(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(TOKEN, SECRET)
    desk = Desk(folder)

    def fail(*args: object, **more: object) -> subprocess.CompletedProcess[bytes]:
        return subprocess.CompletedProcess([], 1, b"", f"Boom: {SECRET}".encode())

    monkeypatch.setattr("citeforge.plugins.leaderboard.space.run_group", fail)
    with desk.score(str(ANSWERS), "facts") as reply:
        assert "could not be read; the log of the Space says why" in reply.html
        assert SECRET not in reply.html
    said = capfd.readouterr().err
    assert "Boom" in said
    assert SECRET not in said


def test_a_judge_is_left_out() -> None:
    options = ScoreOptions(judge="lexical", measures=("rage", "alce"), judge_repeats=2)
    assert without_judge(options) == ScoreOptions(measures=("rage", "alce"), details=True)


def test_packages_with_hidden_labels_are_refused(tmp_path: Path) -> None:
    recipe = cf.RageRecipe(
        source=f"beir:{EXAMPLES / 'facts'}", candidates="bm25", limit=3, hidden=True
    )
    closed = cf.build(recipe, tmp_path / "closed").folder
    with refused("hidden-gold", path=closed):
        start_leaderboard(tmp_path / "board", [f"facts={closed}"], space=True)
    assert not (tmp_path / "board").exists()
    (tmp_path / "leaderboard.yaml").write_text("boards: [{name: facts, benchmark: closed}]")
    with refused("hidden-gold"):
        Desk(tmp_path)


def test_outcome_of_one_context_writes_its_files(
    outcome: Callable[..., Outcome], tmp_path: Path
) -> None:
    found = outcome("answers.jsonl", ANSWERS.read_bytes())
    assert found.is_scored
    assert {REPORT, SCORES} <= {p.name for p in (tmp_path / "work").iterdir()}
