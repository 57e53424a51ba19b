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

import citeforge as cf
from citeforge.builders.verify import verify
from citeforge.engines import files
from citeforge.engines.folders import atomic_directory
from citeforge.publishing.card import write_card
from citeforge.schemas.recipes.base import IfExists
from conftest import Cli, Inline, content, refused
from conftest_builders import HAGRID, hagrid


@pytest.fixture
def built(hagrid_package: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(hagrid_package, tmp_path / "package"))


# --- Only packages are ever replaced ---------------------------------------------------------


def repository(folder: Path) -> dict[str, bytes]:
    """Other work: a git folder, a manifest of another program, a text."""
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / "manifest.json").write_text('{"name": "my web app", "icons": []}')
    (folder / "thesis.tex").write_text("years of work")
    return content(folder)


IF_EXISTS: tuple[IfExists, ...] = ("overwrite", "resume", "refuse")


@pytest.mark.parametrize("if_exists", IF_EXISTS)
def test_a_foreign_folder_is_never_replaced(tmp_path: Path, if_exists: IfExists) -> None:
    out = tmp_path / "work"
    before = repository(out)
    with refused("missing-field", path=out / "manifest.json") as caught:
        hagrid(out, if_exists)
    # Neither would be taken.
    assert not re.search("--overwrite|--resume", str(caught.value))
    assert content(out) == before
    assert not (tmp_path / "work.partial").exists()


@pytest.mark.parametrize("if_exists", IF_EXISTS)
def test_a_package_is_never_replaced_by_one_that_is_made_of_it(
    package: Path, tmp_path: Path, if_exists: IfExists
) -> None:
    """Its manifest would name a package that is gone, so that it could not be built again."""
    out = Path(shutil.copytree(package, tmp_path / "package"))
    before = content(out)
    (tmp_path / "link").symlink_to(out)
    recipes = {
        "--keep-from": cf.RageRecipe(source="beir:gone", keep_from=out),
        "--source": cf.RageRecipe(source=f"rage:{out}"),
        "--benchmark": cf.TwinsRecipe(benchmark=tmp_path / "link", llm="replay:gone.db"),
    }
    for option, recipe in recipes.items():
        more = {} if if_exists == "refuse" else {if_exists: True}
        with refused("output-exists", path=out) as caught:
            cf.build(recipe, out, **more)
        assert f"is {option} of this build, which would replace it" in str(caught.value)
    with refused("output-exists", path=out):
        cf.update(out, out, overwrite=True, trust=True)
    assert content(out) == before
    assert not (tmp_path / "package.partial").exists()


@pytest.mark.parametrize("if_exists", IF_EXISTS)
def test_a_folder_without_manifest_is_never_replaced(tmp_path: Path, if_exists: IfExists) -> None:
    out = tmp_path / "work"
    out.mkdir()
    (out / "thesis.tex").write_text("years of work")
    with refused("output-exists", path=out):
        hagrid(out, if_exists)
    assert content(out) == {"thesis.tex": b"years of work"}


@pytest.mark.parametrize("name", ["notes.txt", ".git/HEAD", "corpus/mine.parquet", "card.md"])
@pytest.mark.parametrize("if_exists", IF_EXISTS)
def test_foreign_files_in_a_package_stop_the_build(
    built: Path, if_exists: IfExists, name: str
) -> None:
    (built / name).parent.mkdir(exist_ok=True)
    (built / name).write_text("mine")
    before = content(built)
    with refused("foreign-file", path=built) as caught:
        hagrid(built, if_exists, name="another")
    assert name in str(caught.value)
    assert content(built) == before


def test_a_link_in_a_package_stops_the_build(built: Path, tmp_path: Path) -> None:
    shutil.move(built / "stats.json", tmp_path / "stats.json")
    (built / "stats.json").symlink_to(tmp_path / "stats.json")
    with refused("foreign-file", path=built) as caught:
        hagrid(built, "overwrite")
    assert "stats.json" in str(caught.value)


def test_a_damaged_package_may_be_replaced(built: Path, hagrid_package: Path) -> None:
    (built / "stats.json").unlink()
    (built / "README.md").write_text("changed")
    hagrid(built, "overwrite", name="hagrid")
    assert content(built) == content(hagrid_package)


def test_a_foreign_working_folder_is_left_alone(tmp_path: Path) -> None:
    strange = tmp_path / "package.partial"
    before = repository(strange)
    for if_exists in IF_EXISTS:
        with refused("foreign-file", path=strange):
            hagrid(tmp_path / "package", if_exists)
    assert content(strange) == before


@pytest.mark.parametrize("out", [".", "..", "x/.."])
@pytest.mark.parametrize("if_exists", IF_EXISTS)
def test_out_needs_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, out: str, if_exists: IfExists
) -> None:
    (tmp_path / "x").mkdir()
    monkeypatch.chdir(tmp_path / "x")
    with refused("wrong-value", path=out):
        hagrid(Path(out), if_exists)


def test_out_that_is_a_file_or_a_mount_point(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    for out in (tmp_path / "file", Path("/proc")):
        with refused("not-a-folder", path=out):
            hagrid(out, "overwrite")
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("is_there", [True, False], ids=["folder", "nothing"])
def test_out_that_is_a_link_is_followed_and_stays(tmp_path: Path, is_there: bool) -> None:
    """The working folder is beside the folder that the link leads to, on its disk."""
    target, link = tmp_path / "elsewhere" / "real", tmp_path / "link"
    target.parent.mkdir()
    if is_there:
        target.mkdir()
    link.symlink_to("elsewhere/real")
    hagrid(link)
    with refused("output-exists", path=target):
        hagrid(link)
    hagrid(link, "overwrite")
    assert link.is_symlink()
    assert verify(target) == []
    assert sorted(p.name for p in tmp_path.iterdir()) == ["elsewhere", "link"]
    assert list(target.parent.iterdir()) == [target]


# --- Kills -------------------------------------------------------------------------------------


def test_a_replacement_that_was_cut_off_between_its_renames(built: Path) -> None:
    """The old package is back, whatever comes next."""
    before = content(built)
    old = built.with_name("package.partial") / "old"
    old.parent.mkdir()
    built.rename(old)
    with refused("output-exists", path=built):
        hagrid(built)
    assert content(built) == before
    assert not old.parent.exists()


def test_a_card_that_was_cut_off_is_finished_by_the_next_command(
    built: Path, tmp_path: Path
) -> None:
    whole = Path(shutil.copytree(built, tmp_path / "whole"))
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
        write_card(built, version="2.0.0")
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    assert content(built) != content(whole)
    assert verify(built) == []
    assert content(built) == content(whole)


def test_a_card_on_a_full_disk_leaves_the_package_as_it_was(built: Path) -> None:
    """RLIMIT_FSIZE stands for the disk."""
    import resource

    before = content(built)
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500))
        try:
            write_card(built, version="2.0.0")
        except cf.InputError as error:
            os._exit(1 if error.code == "disk-full" else 2)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
    assert content(built) == before
    assert verify(built) == []


# --- One builder an output folder --------------------------------------------------------------

HOLDER = """
import sys, time
from pathlib import Path
from citeforge.engines.folders import atomic_directory
with atomic_directory(Path(sys.argv[1])) as folder:
    (folder / "file").write_text("x")
    print("held", flush=True)
    sys.stdin.readline()
"""


def test_the_error_of_a_second_builder_names_the_first(tmp_path: Path, inline: Inline) -> None:
    out = tmp_path / "package"
    with atomic_directory(out) as folder:
        (folder / "file").write_text("x")
        result = inline("build", "hagrid", "--source", HAGRID, "--out", out, "--overwrite")
    assert (result.returncode, result.code) == (1, "locked")
    assert f"is being written by process {os.getpid()} on " in result.stderr
    assert " since 20" in result.stderr
    assert content(out) == {"file": b"x"}
    assert [p.name for p in tmp_path.iterdir()] == ["package"]


@pytest.mark.slow
def test_builders_in_two_processes(tmp_path: Path, cli: Cli) -> None:
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
    holder.stdin.write("\n")
    holder.stdin.close()
    assert holder.wait() == 0
    assert content(out) == {"file": b"x"}


def test_the_lock_of_a_dead_process_does_not_block(tmp_path: Path) -> None:
    """A process of its own: the kernel frees the locks of a killed one."""
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
    with refused("storage", path=tmp_path / "package"):
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
from citeforge.builders.alce.frozen import build_hagrid
from citeforge.builders import build as stages
from citeforge.schemas.recipes.answers import HagridRecipe
from citeforge.schemas.recipes.base import RunOptions
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
        print("refused" if error.code == "locked" else error, flush=True)
"""


@pytest.mark.slow
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
