"""What may be replaced, who may build, and what a finished package is taken for."""

import errno
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from citeforge.builders.packaging.verify import verify
from citeforge.engines.io import files
from citeforge.engines.io.folders import atomic_directory
from citeforge.publish.card import write_card
from citeforge.schemas.errors import InputError
from citeforge.schemas.recipes.base import IfExists
from conftest import Cli, content
from conftest_builders import HAGRID, hagrid

# --- Only what is ours is ever replaced ---------------------------------------------------------


def repository(folder: Path) -> dict[str, bytes]:
    """Somebody's work: a git folder, a manifest of another program, a text."""
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / "manifest.json").write_text('{"name": "my web app", "icons": []}')
    (folder / "thesis.tex").write_text("years of work")
    return content(folder)


@pytest.mark.parametrize("if_exists", ["overwrite", "resume", "refuse"])
def test_a_foreign_folder_is_never_replaced(tmp_path: Path, if_exists: IfExists) -> None:
    out = tmp_path / "work"
    before = repository(out)
    with pytest.raises(InputError, match=r"manifest\.json.*another --out") as error:
        hagrid(out, if_exists)
    # Neither would be taken.
    assert not re.search("--overwrite|--resume", str(error.value))
    assert content(out) == before
    assert not (tmp_path / "work.partial").exists()


@pytest.mark.parametrize("if_exists", ["overwrite", "resume", "refuse"])
def test_a_folder_without_manifest_is_never_replaced(tmp_path: Path, if_exists: IfExists) -> None:
    out = tmp_path / "work"
    out.mkdir()
    (out / "thesis.tex").write_text("years of work")
    with pytest.raises(InputError, match="not a benchmark package; another --out"):
        hagrid(out, if_exists)
    assert content(out) == {"thesis.tex": b"years of work"}


@pytest.mark.parametrize("name", ["notes.txt", ".git/HEAD", "corpus/mine.parquet", "card.md"])
@pytest.mark.parametrize("if_exists", ["overwrite", "resume", "refuse"])
def test_foreign_files_in_a_package_stop_the_build(
    tmp_path: Path, if_exists: IfExists, name: str
) -> None:
    out = tmp_path / "package"
    hagrid(out)
    (out / name).parent.mkdir(exist_ok=True)
    (out / name).write_text("mine")
    before = content(out)
    with pytest.raises(InputError, match=f"holds what citeforge did not write: {name}"):
        hagrid(out, if_exists, name="another")
    assert content(out) == before


def test_a_link_in_a_package_stops_the_build(tmp_path: Path) -> None:
    out = tmp_path / "package"
    hagrid(out)
    shutil.move(out / "stats.json", tmp_path / "stats.json")
    (out / "stats.json").symlink_to(tmp_path / "stats.json")
    with pytest.raises(InputError, match=r"did not write: stats\.json"):
        hagrid(out, "overwrite")


def test_a_damaged_package_of_ours_may_be_replaced(tmp_path: Path) -> None:
    out = tmp_path / "package"
    hagrid(out)
    before = content(out)
    (out / "stats.json").unlink()
    (out / "README.md").write_text("changed")
    hagrid(out, "overwrite")
    assert content(out) == before


def test_a_foreign_working_folder_is_left_alone(tmp_path: Path) -> None:
    strange = tmp_path / "package.partial"
    before = repository(strange)
    for if_exists in ("refuse", "resume", "overwrite"):
        with pytest.raises(InputError, match=r"package.partial: holds what citeforge did not"):
            hagrid(tmp_path / "package", if_exists)  # type: ignore[arg-type]
    assert content(strange) == before


@pytest.mark.parametrize("out", [".", "..", "x/.."])
@pytest.mark.parametrize("more", [(), ("--overwrite",), ("--resume",)])
def test_out_needs_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, out: str, more: tuple[str, ...]
) -> None:
    (tmp_path / "x").mkdir()
    monkeypatch.chdir(tmp_path / "x")
    if_exists: IfExists = (
        "overwrite" if more == ("--overwrite",) else "resume" if more else "refuse"
    )
    with pytest.raises(InputError, match="is not the name of a folder to make"):
        hagrid(Path(out), if_exists)


def test_out_that_is_a_link_a_file_or_a_mount_point(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "file").write_text("mine")
    for name, message in (("link", "is a symbolic link"), ("file", "is a file")):
        with pytest.raises(InputError, match=message):
            hagrid(tmp_path / name, "overwrite")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text() == "mine"
    with pytest.raises(InputError, match="is a mount point"):
        hagrid(Path("/proc"), "overwrite")


# --- Kills -------------------------------------------------------------------------------------


def test_a_replacement_that_was_cut_off_between_its_renames(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The old package stands again, whatever comes next."""
    out = tmp_path / "package"
    hagrid(out)
    before = content(out)
    old = tmp_path / "package.partial" / "old"
    old.parent.mkdir()
    out.rename(old)
    with pytest.raises(InputError, match="exists already"):
        hagrid(out)
    assert content(out) == before
    assert not old.parent.exists()


def test_a_card_that_was_cut_off_is_finished_by_whoever_comes_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "package"
    hagrid(out)
    whole = Path(shutil.copytree(out, tmp_path / "whole"))
    write_card(whole, version="2.0.0")
    real = Path.replace
    moved: list[str] = []

    def cut_off(self: Path, target: Path) -> Path:
        if self.parent.name == "ready":
            if len(moved) == 2:
                os.kill(os.getpid(), signal.SIGKILL)
            moved.append(self.name)
        return real(self, target)

    child = os.fork()
    if child == 0:
        Path.replace = cut_off  # type: ignore[method-assign]
        write_card(out, version="2.0.0")
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    assert content(out) != content(whole)
    assert verify(out) == []
    assert content(out) == content(whole)


def test_a_card_on_a_full_disk_leaves_the_package_as_it_was(tmp_path: Path) -> None:
    """RLIMIT_FSIZE stands for the disk."""
    import resource

    out = tmp_path / "package"
    hagrid(out)
    before = content(out)
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500))
        try:
            write_card(out, version="2.0.0")
        except InputError as error:
            os._exit(1 if "size limit" in str(error) else 2)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
    assert content(out) == before
    assert verify(out) == []


# --- One builder an output folder --------------------------------------------------------------

HOLDER = """
import sys, time
from pathlib import Path
from citeforge.engines.io.folders import atomic_directory
with atomic_directory(Path(sys.argv[1])) as folder:
    (folder / "file").write_text("x")
    print("held", flush=True)
    sys.stdin.readline()
"""


def test_the_second_builder_is_told_who_holds_the_folder(tmp_path: Path, cli: Cli) -> None:
    out = tmp_path / "package"
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(out)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert holder.stdout
    assert holder.stdin
    assert holder.stdout.readline() == "held\n"
    result = cli("build", "hagrid", "--source", HAGRID, "--out", out, "--overwrite")
    assert result.returncode == 1
    assert f"is being written by process {holder.pid} on " in result.stderr
    assert " since 20" in result.stderr
    assert "Traceback" not in result.stderr
    with pytest.raises(InputError, match=f"process {holder.pid}"), atomic_directory(out):
        pass
    holder.stdin.write("\n")
    holder.stdin.close()
    assert holder.wait() == 0
    assert content(out) == {"file": b"x"}
    assert [p.name for p in tmp_path.iterdir()] == ["package"]


def test_the_lock_of_a_dead_process_does_not_block(tmp_path: Path) -> None:
    out = tmp_path / "package"
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(out)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert holder.stdout
    holder.stdout.readline()
    holder.kill()
    holder.wait()
    assert json.loads((tmp_path / "package.partial" / "lock").read_text())["pid"] == holder.pid
    hagrid(out, "resume")
    assert verify(out) == []
    assert [p.name for p in tmp_path.iterdir()] == ["package"]


def test_a_file_system_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders are refused in one line; single files are written as ever."""

    def unsupported(handle: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("fcntl.flock", unsupported)
    with pytest.raises(InputError, match=r"without locks .*; another --out on a local disk"):
        hagrid(tmp_path / "package")
    files.write_text(tmp_path / "file", "text")
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_temporary_files_of_the_dead_are_swept_and_those_of_the_living_stay(
    tmp_path: Path,
) -> None:
    (tmp_path / ".a.txt.12345678.citeforge.tmp").write_text("half")
    (tmp_path / ".somebody.tmp").write_text("not ours")
    with files.atomic_file(tmp_path / "b.txt") as file:
        file.write(b"b")
        files.sweep(tmp_path)
    names = sorted(p.name for p in tmp_path.iterdir())
    assert names == [".somebody.tmp", "b.txt"]


PAIR = """
import sys
from pathlib import Path
from citeforge.builders.frozen import build_hagrid
from citeforge.builders.stages import build as stages
from citeforge.schemas.recipes.records import HagridRecipe, RunOptions
from citeforge.schemas.errors import InputError

put_in_place = stages.put_in_place

def wait(*places):
    print("inside", flush=True)
    sys.stdin.readline()
    put_in_place(*places)

while line := sys.stdin.readline():
    out, name, *waits = line.split()
    stages.put_in_place = wait if waits else put_in_place
    try:
        recipe = HagridRecipe(source=sys.argv[1], name=name)
        build_hagrid(recipe, RunOptions(out=Path(out), overwrite=True))
        print("built", flush=True)
    except InputError as error:
        print("refused" if "is being written by" in str(error) else error, flush=True)
"""


def test_pairs_of_builders_give_one_whole_package(tmp_path: Path) -> None:
    """One waits inside until the other was refused; then forty pairs start together. A package is
    always one of the two, and whole."""
    hagrid(tmp_path / "expected-a", name="a")
    hagrid(tmp_path / "expected-b", name="b")
    expected = {n: content(tmp_path / f"expected-{n}") for n in "ab"}
    pair = [
        subprocess.Popen([sys.executable, "-c", PAIR, HAGRID], stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE, text=True)
        for _ in "ab"
    ]  # fmt: skip

    def say(process: subprocess.Popen[str], line: str) -> None:
        assert process.stdin
        process.stdin.write(f"{line}\n")
        process.stdin.flush()

    def answer(process: subprocess.Popen[str]) -> str:
        assert process.stdout
        return process.stdout.readline().strip()

    first, second = pair
    out = tmp_path / "out"
    say(first, f"{out} a waits")
    assert answer(first) == "inside"
    say(second, f"{out} b")
    assert answer(second) == "refused"
    say(first, "go on")
    assert answer(first) == "built"
    assert content(out) == expected["a"]
    for number in range(40):
        out = tmp_path / f"out-{number}"
        for process, name in zip(pair, "ab", strict=True):
            say(process, f"{out} {name}")
        answers = [answer(process) for process in pair]
        assert set(answers) <= {"built", "refused"}
        assert "built" in answers
        assert content(out) in [
            expected[n] for n, a in zip("ab", answers, strict=True) if a == "built"
        ]
        assert not (tmp_path / f"out-{number}.partial").exists()
    for process in pair:
        assert process.stdin
        process.stdin.close()
        process.wait()
