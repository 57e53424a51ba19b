"""Submissions to the Space's queue, against the stand-in for the Hub: limits, races, secrets."""

import gzip
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest
import yaml
from benchmarks.hidden_board import Board, make_board, write_runs

from citeforge.plugins.leaderboard.board_check import Event
from citeforge.plugins.leaderboard.space import TOKEN, Desk
from citeforge.plugins.leaderboard.space_scoring import Outcome, Task, run_task
from citeforge.plugins.leaderboard.start import start_leaderboard
from citeforge.plugins.leaderboard.submit import add_submissions
from servers.hub import Hub, Repo, hub_server

QUEUE = "ann/queue"
NAME = "public"


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Board:
    """A board with hidden gold of 30 queries."""
    return make_board(tmp_path_factory.mktemp("queue"), 30, passages=500)


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    """A Hub with an empty private queue, whose token the Space has."""
    import huggingface_hub.constants as constants

    with hub_server() as hub:
        hub.repos[QUEUE] = Repo(private=True)
        hub.repos[QUEUE].commit("main", {}, "initial commit")
        address = f"{hub.url}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
        monkeypatch.setattr(constants, "ENDPOINT", hub.url)
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", address)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
        monkeypatch.setenv(TOKEN, hub.token)
        monkeypatch.delenv("HF_TOKEN", raising=False)
        yield hub


@pytest.fixture
def folder(board: Board, tmp_path: Path, hub: Hub) -> Path:
    """The Space's leaderboard: the public half, and the queue."""
    folder = tmp_path / "space"
    public = board.folder.parent / "public"
    start_leaderboard(folder, [f"{NAME}={public}"], space=True, queue=QUEUE)
    return folder


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """The subprocess's task is done here, where a test makes many submissions one after another."""

    def start(desk: Desk, task: Task, work: Path) -> Outcome:
        with chdir(work):
            return run_task(task)

    monkeypatch.setattr(Desk, "_run_subprocess", start)


def set_limits(folder: Path, **limits: int) -> None:
    config = folder / "leaderboard.yaml"
    content = yaml.safe_load(config.read_text())
    content["boards"][0] |= limits
    config.write_text(yaml.safe_dump(content))


def answers(board: Board, path: Path, system: str, output: str = "So [1].") -> str:
    return str(write_runs(path, system, [dict.fromkeys(board.queries, output)]))


def queued(hub: Hub) -> list[str]:
    repo = hub.repos[QUEUE]
    return sorted(repo.commits[repo.branches["main"]]["files"])


def read(hub: Hub, name: str) -> bytes:
    repo = hub.repos[QUEUE]
    return hub.blobs[repo.commits[repo.branches["main"]]["files"][name]["oid"]]


def test_a_submission_is_a_commit_that_the_owner_takes_in(
    board: Board, folder: Path, hub: Hub, tmp_path: Path
) -> None:
    desk, path = Desk(folder), answers(board, tmp_path / "mine.jsonl", "My system")
    assert "It is in the queue." in desk.submit(path, NAME, "ann").html
    stored = f"submissions/{NAME}/ann--my-system.jsonl"
    assert queued(hub) == [f"history/{NAME}.jsonl", stored]
    assert read(hub, stored) == Path(path).read_bytes()
    event = json.loads(read(hub, f"history/{NAME}.jsonl"))
    assert (event["account"], event["system"]) == ("ann", "My system")
    # The same file again is there already, and a new version takes its place.
    n_commits = len(hub.repos[QUEUE].commits)
    assert "It was in the queue already." in desk.submit(path, NAME, "ann").html
    assert len(hub.repos[QUEUE].commits) == n_commits
    second = answers(board, tmp_path / "second.jsonl", "My system", "So [2].")
    assert "It is in the queue." in desk.submit(second, NAME, "ann").html
    assert read(hub, stored) == Path(second).read_bytes()
    assert len(read(hub, f"history/{NAME}.jsonl").splitlines()) == 2
    assert "It is in the queue." in desk.submit(path, NAME, "ann").html  # and back to the first
    assert read(hub, stored) == Path(path).read_bytes()
    # What the owner downloads is what `add` takes.
    download = tmp_path / "queue" / "ann--my-system.jsonl"
    download.parent.mkdir()
    download.write_bytes(read(hub, stored))
    done = add_submissions([download], board.folder)
    assert [file.system for p in done.submissions for file in p.files] == ["My system"]


def test_hidden_boards_are_checked_and_not_scored(
    board: Board, folder: Path, hub: Hub, tmp_path: Path
) -> None:
    path = answers(board, tmp_path / "mine.jsonl", "My system")
    with Desk(folder).score(path, NAME) as reply:
        assert "The labels of this benchmark are hidden" in reply.html
        assert not reply.files
        assert not reply.report
    assert queued(hub) == []


def test_the_button_says_what_is_done(
    board: Board, folder: Path, package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert Desk(folder).action == "Check"
    specs = [f"closed={board.folder.parent / 'public'}", f"open={package}"]
    start_leaderboard(tmp_path / "both", specs, space=True)
    assert Desk(tmp_path / "both").action == "Check and score"
    monkeypatch.delenv(TOKEN)
    rules = Desk(folder).rules(has_sign_in=True)
    assert "Nothing can be submitted here. Ask the owner" in rules
    assert "Scores need" not in rules


@pytest.mark.usefixtures("in_process")
def test_limits_by_account_and_by_system(
    board: Board, folder: Path, hub: Hub, tmp_path: Path
) -> None:
    desk = Desk(folder)
    for n in range(3):  # three, as a system may make on a board with hidden gold
        path = answers(board, tmp_path / f"{n}.jsonl", f"system {'abc'[n]}")
        assert "It is in the queue." in desk.submit(path, NAME, "ann").html
    path = answers(board, tmp_path / "d.jsonl", "another")
    html = desk.submit(path, NAME, "ann").html
    assert "the account ann has made 3 submissions, and this board takes 3 an account" in html
    assert "It is in the queue." in desk.submit(path, NAME, "bob").html
    # A name belongs to the account that came first; look-alikes are refused, too.
    path = answers(board, tmp_path / "e.jsonl", "SYSTEM A", "So [3].")
    assert "is already the system of ann--system-a.jsonl" in desk.submit(path, NAME, "bob").html
    path = answers(board, tmp_path / "f.jsonl", "systеm a", "So [3].")  # a Cyrillic letter
    assert "looks like" in desk.submit(path, NAME, "bob").html
    assert len(queued(hub)) == 5
    set_limits(folder, submissions_per_account=4)
    path = answers(board, tmp_path / "d.jsonl", "a fourth")
    assert "It is in the queue." in Desk(folder).submit(path, NAME, "ann").html
    set_limits(folder, submissions_per_account=9)
    for n in (2, 3, 4):
        path = answers(board, tmp_path / f"again{n}.jsonl", "system a", f"So [{n}].")
        html = Desk(folder).submit(path, NAME, "ann").html
    assert "system a&#39; has made 3 submissions, and this board takes 3 a system" in html


@pytest.mark.usefixtures("in_process")
def test_a_new_version_may_have_another_ending(
    board: Board, folder: Path, hub: Hub, tmp_path: Path
) -> None:
    desk = Desk(folder)
    first = answers(board, tmp_path / "a.jsonl", "My system")
    assert "It is in the queue." in desk.submit(first, NAME, "ann").html
    second = Path(answers(board, tmp_path / "b.jsonl", "My system", "So [2]."))
    packed = tmp_path / "b.jsonl.gz"
    packed.write_bytes(gzip.compress(second.read_bytes()))
    assert "It is in the queue." in desk.submit(str(packed), NAME, "ann").html
    stored = f"submissions/{NAME}/ann--my-system.jsonl.gz"
    assert queued(hub) == [f"history/{NAME}.jsonl", stored]
    # Both count: three submissions are what a board with hidden gold takes of a system.
    for number in (3, 4):
        path = answers(board, tmp_path / f"{number}.jsonl", "My system", f"So [{number}].")
        html = desk.submit(path, NAME, "ann").html
    assert "has made 3 submissions" in html


def test_a_race_of_one_account_keeps_the_limit(
    board: Board, folder: Path, hub: Hub, tmp_path: Path
) -> None:
    """Two Spaces, or one that was started twice: the later commit is refused, and checked again."""
    set_limits(folder, submissions_per_account=1)
    paths = [answers(board, tmp_path / f"{n}.jsonl", f"system {'ab'[n]}") for n in range(2)]
    desks = [Desk(folder), Desk(folder)]
    with ThreadPoolExecutor(2) as pool:
        htmls = list(pool.map(lambda n: desks[n].submit(paths[n], NAME, "ann").html, range(2)))
    assert sorted("It is in the queue." in html for html in htmls) == [False, True]
    assert sum("has made 1 submissions" in html for html in htmls) == 1
    assert len(queued(hub)) == 2


@pytest.mark.usefixtures("in_process")
def test_a_lost_race_for_the_first_commit_loses_no_submission(
    board: Board, folder: Path, hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The owner changes the card of an empty queue, between two requests of the Space."""
    from huggingface_hub import HfApi

    real, parents = HfApi.create_commit, []

    def interrupted(api: HfApi, *words: Any, parent_commit: str, **more: Any) -> Any:
        parents.append(parent_commit)
        if len(parents) < 3:
            hub.repos[QUEUE].commit("main", {}, "card")
        return real(api, *words, parent_commit=parent_commit, **more)

    monkeypatch.setattr(HfApi, "create_commit", interrupted)
    path = answers(board, tmp_path / "mine.jsonl", "My system")
    assert "It is in the queue." in Desk(folder).submit(path, NAME, "ann").html
    assert len(set(parents)) == 3  # two that the Hub refused, and the one that it took
    assert queued(hub) == [f"history/{NAME}.jsonl", f"submissions/{NAME}/ann--my-system.jsonl"]
    assert len(read(hub, f"history/{NAME}.jsonl").splitlines()) == 1


def test_no_account_and_no_queue(
    board: Board, folder: Path, hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = answers(board, tmp_path / "mine.jsonl", "My system")
    assert "Sign in to submit" in Desk(folder).submit(path, NAME, None).html
    monkeypatch.delenv(TOKEN)
    desk = Desk(folder)
    assert not desk.takes_submissions
    assert "takes no submissions" in desk.submit(path, NAME, "ann").html
    assert queued(hub) == []


def test_a_submission_names_its_system(
    board: Board, folder: Path, hub: Hub, tmp_path: Path
) -> None:
    lines = (tmp_path / "x.jsonl", "x")
    path = Path(answers(board, *lines))
    path.write_text("".join(path.read_text().splitlines(keepends=True)[1:]))
    assert "names no system in its first line" in Desk(folder).submit(str(path), NAME, "ann").html
    assert queued(hub) == []


@pytest.mark.usefixtures("in_process")
@pytest.mark.parametrize("system", ["../../history/public", "a/b\\c", "..", "<b>x</b>", "-"])
def test_names_of_systems_are_no_paths(
    board: Board, folder: Path, hub: Hub, tmp_path: Path, system: str
) -> None:
    html = Desk(folder).submit(answers(board, tmp_path / "a.jsonl", system), NAME, "ann").html
    stored = [name for name in queued(hub) if name.startswith("submissions/")]
    assert all(name.startswith(f"submissions/{NAME}/ann--") for name in stored)
    assert all(name.count("/") == 2 and ".." not in name for name in stored)
    assert "<b>" not in html


@pytest.mark.parametrize(
    ("name", "account"),
    [("bob--x.jsonl", "ann"), ("ann--x.jsonl", "bob"), ("ann--/../../etc/passwd", "ann"),
     ("/etc/passwd", "ann")],
)  # fmt: skip
def test_the_subprocess_cannot_choose_what_is_queued(
    board: Board, folder: Path, hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    name: str, account: str,
) -> None:  # fmt: skip
    event = Event(name, "0" * 64, "x", "mix", "0" * 64, account=account)
    monkeypatch.setattr(Desk, "_run_subprocess", lambda *_: Outcome("", [], [], event))
    path = answers(board, tmp_path / "mine.jsonl", "My system")
    html = Desk(folder).submit(path, NAME, "ann").html
    assert "could not be read; the log of the Space says why" in html
    assert queued(hub) == []


def test_errors_of_the_hub_tell_no_token(
    board: Board, folder: Path, hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    secret = "hf_SecretOfTheOwner0123456789"
    monkeypatch.setenv(TOKEN, secret)  # which the stand-in does not know
    path = answers(board, tmp_path / "mine.jsonl", "My system")
    html = Desk(folder).submit(path, NAME, "ann").html
    assert "The queue of submissions cannot be reached" in html
    log = capsys.readouterr().err
    assert "the Hub" in log
    assert "the Hub" not in html
    assert "SecretOfTheOwner" not in html + log
