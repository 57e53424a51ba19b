"""Exports and sites: whole or not at all, and no foreign file is replaced."""

import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import citeforge as cf
from citeforge.cli.main import cli
from citeforge.engines import folders
from citeforge.publishing.export import Export, export, write_export
from citeforge.schemas.recipes.base import Part
from conftest import EXAMPLES, content, refused


def run(*words: object) -> None:
    cli.main([str(w) for w in words], standalone_mode=False)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A benchmark, and the scores of one system."""
    folder = tmp_path_factory.mktemp("world")
    source = f"hagrid:{EXAMPLES / 'answers' / 'hagrid.jsonl'}"
    cf.build(cf.HagridRecipe(source=source), folder / "base")
    run("run", "random", "--benchmark", folder / "base", "--out", folder / "random.jsonl")
    (folder / "scores").mkdir()
    run("score", folder / "random.jsonl", "--benchmark", folder / "base",
        "--out", folder / "scores" / "random.json")  # fmt: skip
    return folder


def board(world: Path, scores: Path, out: Path) -> None:
    run("leaderboard", "build", "--benchmark", world / "base", "--scores", scores, "--out", out)


def test_an_export_that_fails_leaves_nothing(world: Path, tmp_path: Path) -> None:
    """While it is made, and after an error, the final name does not exist."""
    seen = []

    def half(folder: Path, out: Path, options: object) -> list[str]:
        (out / "corpus.jsonl").write_text("{}\n")
        seen.append((tmp_path / "x").exists())
        raise cf.InputError("something is wrong with the third file", code="storage")

    with refused("storage"):
        write_export(Export("half", "half of it", half), world / "base", tmp_path / "x", Part())
    assert seen == [False]
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_export_left_does_not_stop_the_next(world: Path, tmp_path: Path) -> None:
    left = tmp_path / "x.partial" / "package" / "qrels"
    left.mkdir(parents=True)
    (left / ".test.tsv.abcdefgh.citeforge.tmp").write_text("half")
    (tmp_path / "x.partial" / "lock").write_text('{"pid": 1, "host": "h", "since": "2026"}')
    export("trec", world / "base", tmp_path / "x")
    export("trec", world / "base", tmp_path / "y")
    assert content(tmp_path / "x") == content(tmp_path / "y")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x", "y"]


def test_a_site_stays_when_the_scores_cannot_be_read(world: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    board(world, world / "scores", site)
    before = content(site)
    bad = tmp_path / "bad"
    bad.mkdir()
    with refused("no-scores", path=bad):
        board(world, bad, site)
    (bad / "x.json").write_text('{"measures": [')
    with refused("bad-json", path=bad / "x.json"):
        board(world, bad, site)
    assert content(site) == before
    board(world, world / "scores", site)
    assert content(site) == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bad", "site"]


@pytest.mark.parametrize("name", ["CNAME", ".git/config", "queries/notes.txt", "systems/x/y.html"])
def test_foreign_files_in_a_site_stop_it(world: Path, tmp_path: Path, name: str) -> None:
    site = tmp_path / "site"
    board(world, world / "scores", site)
    (site / name).parent.mkdir(exist_ok=True)
    (site / name).write_text("mine")
    before = content(site)
    with refused("foreign-file", path=site) as caught:
        board(world, world / "scores", site)
    assert name in str(caught.value)
    assert content(site) == before


def test_audit_and_card_change_all_files_or_none(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = Path(shutil.copytree(world / "base", tmp_path / "base"))
    before = content(package)

    def full(path: Path, text: str) -> None:
        if path.name == "manifest.json":
            raise cf.InputError("the disk is full", path=path, code="disk-full")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)

    monkeypatch.setattr(folders, "write_text", full)
    for words in (("audit", package), ("export", "card", package, "--version", "2.0.0")):
        with refused("disk-full"):
            run(*words)
        assert content(package) == before
    monkeypatch.undo()
    run("audit", package)
    run("verify", package)
    assert "audit.json" in content(package)


def test_the_old_folder_is_there_until_the_new_one_is_whole(tmp_path: Path) -> None:
    out = tmp_path / "site"
    out.mkdir()
    (out / "index.html").write_text("old")
    with folders.atomic_directory(out, lambda _: []) as made:
        (made / "index.html").write_text("new")
        assert (out / "index.html").read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["site"]
    assert (out / "index.html").read_text() == "new"


DIES_BETWEEN_THE_RENAMES = """
import os, signal, sys
from pathlib import Path
from citeforge.engines import folders
rename = Path.rename
def once(path, to):
    rename(path, to)
    os.kill(os.getpid(), signal.SIGKILL)
Path.rename = once
with folders.atomic_directory(Path(sys.argv[1]), lambda _: []) as made:
    (made / "index.html").write_text("new")
"""


@pytest.mark.slow
def test_a_folder_whose_replacer_died_between_two_renames_is_put_back(tmp_path: Path) -> None:
    out = tmp_path / "site"
    out.mkdir()
    (out / "index.html").write_text("old")
    died = subprocess.run([sys.executable, "-c", DIES_BETWEEN_THE_RENAMES, out], check=False)
    assert died.returncode == -signal.SIGKILL
    assert not out.exists()
    with folders.staging_directory(out):
        assert (out / "index.html").read_text() == "old"
