"""What may be replaced, who may build, and what a finished package is taken for."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from citeforge.builders.authorship.build import AuthorshipOptions, build_authorship
from citeforge.builders.authorship.candidates import from_mapping
from citeforge.builders.authorship.labels import choose
from citeforge.builders.authorship.select import Selection
from citeforge.builders.frozen import FrozenOptions, build_alce, build_hagrid
from citeforge.builders.rage import BuildOptions, build_rage
from citeforge.builders.twins.build import TwinOptions, build_twins
from citeforge.builders.twins.checks import Thresholds
from citeforge.builders.twins.write import Attempts
from citeforge.builders.verify import verify
from citeforge.builders.workspace import IfExists
from citeforge.cli.main import cli as cli_group
from citeforge.engines.embed import make_embedder
from citeforge.engines.folders import whole_folder
from citeforge.engines.llm.records import Answer, Request, Result
from citeforge.publish.card import write_card
from citeforge.schemas.config import Mining, Mixture, RageConfig
from citeforge.schemas.errors import InputError
from citeforge.schemas.manifest import Manifest
from conftest import EXAMPLES, Cli

HAGRID = f"hagrid:{EXAMPLES / 'answers' / 'hagrid.jsonl'}"


def hagrid(out: Path, if_exists: IfExists = "refuse", **more: object) -> Manifest:
    source = str(more.pop("source", HAGRID))
    return build_hagrid(FrozenOptions(source, out, if_exists, **more))  # type: ignore[arg-type]


def content(folder: Path) -> dict[str, bytes]:
    return {
        p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()
    }


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
    with pytest.raises(InputError, match=r"manifest\.json|exists already"):
        hagrid(out, if_exists)
    assert content(out) == before
    assert not (tmp_path / "work.partial").exists()


@pytest.mark.parametrize("if_exists", ["overwrite", "resume"])
def test_a_folder_without_manifest_is_never_replaced(tmp_path: Path, if_exists: IfExists) -> None:
    out = tmp_path / "work"
    out.mkdir()
    (out / "thesis.tex").write_text("years of work")
    with pytest.raises(InputError, match="not a benchmark package; another --out"):
        hagrid(out, if_exists)
    assert content(out) == {"thesis.tex": b"years of work"}


@pytest.mark.parametrize("name", ["notes.txt", ".git/HEAD", "corpus/mine.parquet", "card.md"])
@pytest.mark.parametrize("if_exists", ["overwrite", "resume"])
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


# --- A changed world on --resume ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"name": "other"}, "name: package → other"),
        ({"licence": "mit"}, "licence: apache-2.0 → mit"),
        ({"skip_empty": True}, "skip_empty: false → true"),
    ],
)
def test_a_finished_package_of_another_recipe_is_refused(
    tmp_path: Path, more: dict[str, object], said: str
) -> None:
    out = tmp_path / "package"
    first = hagrid(out)
    if "licence" in more:
        said = said.replace("apache-2.0", first.licence or "nothing")
    before = content(out)
    with pytest.raises(InputError, match=f"finished package of another recipe .*{said}"):
        hagrid(out, "resume", **more)
    assert content(out) == before
    assert not (tmp_path / "package.partial").exists()


def test_a_finished_package_of_the_same_recipe_is_taken(tmp_path: Path) -> None:
    out = tmp_path / "package"
    hagrid(out)
    before = {p: p.stat().st_mtime_ns for p in out.rglob("*")}
    hagrid(out, "resume")
    assert {p: p.stat().st_mtime_ns for p in out.rglob("*")} == before
    assert [p.name for p in tmp_path.iterdir()] == ["package"]


def test_a_changed_source_is_refused(tmp_path: Path) -> None:
    source = tmp_path / "hagrid.jsonl"
    shutil.copyfile(EXAMPLES / "answers" / "hagrid.jsonl", source)
    out = tmp_path / "package"
    hagrid(out, source=f"hagrid:{source}")
    source.write_text(source.read_text() + "\n")
    with pytest.raises(InputError, match=r"another recipe \(sources.*files.hagrid.jsonl: "):
        hagrid(out, "resume", source=f"hagrid:{source}")


def test_a_damaged_finished_package_is_not_taken(tmp_path: Path) -> None:
    out = tmp_path / "package"
    hagrid(out)
    (out / "stats.json").write_text("{}")
    with pytest.raises(InputError, match="another sha256"):
        hagrid(out, "resume")


def test_k_of_alce_belongs_to_the_recipe(tmp_path: Path) -> None:
    source = f"alce:{EXAMPLES / 'answers' / 'asqa.json'}"
    out = tmp_path / "package"
    build_alce(FrozenOptions(source, out, k=2))
    build_alce(FrozenOptions(source, out, "resume", k=2))
    with pytest.raises(InputError, match="k: 2 → 3"):
        build_alce(FrozenOptions(source, out, "resume", k=3))


class Hashed:
    """Vectors of hashes; says what it was told to be."""

    def __init__(self, **said: object) -> None:
        self.said = {"name": "hashed", "query_prefix": "", "endpoint": "http://a/v1", **said}
        self.asked = 0

    def fingerprint(self) -> dict[str, object]:
        return self.said

    def encode(self, texts: Sequence[str], kind: str) -> Any:
        self.asked += len(texts)
        rows = np.array([list(hashlib.sha256(t.encode()).digest()) for t in texts], np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def rage(beir: Path, out: Path, if_exists: IfExists = "refuse", **said: object) -> Hashed:
    embedder = Hashed(**said)
    config = RageConfig(
        source=f"beir:{beir}", embedder="x", mining=Mining(seemingly_relevant=3, irrelevant=2),
        mixtures=(Mixture(name="mix", relevant=1, irrelevant=1, seemingly_relevant=2),),
    )  # fmt: skip
    build_rage(config, BuildOptions(out, if_exists), lambda: embedder)  # type: ignore[arg-type]
    return embedder


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ({"query_prefix": "query: "}, "embedder.query_prefix:  → query: "),
        ({"passage_prefix": "passage: "}, "embedder.passage_prefix: nothing → passage: "),
        ({"endpoint": "http://b/v1"}, "embedder.endpoint: http://a/v1 → http://b/v1"),
    ],
)
def test_prefixes_and_endpoint_belong_to_the_recipe(
    tmp_path: Path, small_beir: Path, said: dict[str, object], shown: str
) -> None:
    out = tmp_path / "package"
    rage(small_beir, out)
    assert rage(small_beir, out, "resume").asked == 0
    with pytest.raises(InputError, match=shown):
        rage(small_beir, out, "resume", **said)


def test_an_endpoint_is_recorded_without_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    def endpoint(url: str | None) -> object:
        return make_embedder("openai:m", base_url=url).fingerprint()["endpoint"]

    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    assert endpoint(None) == "https://api.openai.com/v1"
    assert endpoint("http://me:secret@host:8000/v1/?key=secret") == "http://host:8000/v1"
    monkeypatch.setenv("OPENAI_BASE_URL", "http://other/v1")
    assert endpoint(None) == "http://other/v1"


class Turning:
    """Writes twins by turning the words round."""

    def __init__(self) -> None:
        self.asked = 0

    def identity(self) -> dict[str, Any]:
        return {"name": "turning"}

    def complete(self, requests: Sequence[Request]) -> list[Result]:
        self.asked += len(requests)
        texts = [r.values["text"].rstrip(".").split() for r in requests]
        return [Answer(" ".join(reversed(t)) + ".") for t in texts]


def test_finished_twins_and_authorship_are_never_replaced_by_others(
    tmp_path: Path, small_beir: Path
) -> None:
    """`--resume` with another option used to replace the finished package without a word."""
    rage(small_beir, tmp_path / "base")
    out, writer = tmp_path / "twins", Turning()

    def twins(if_exists: IfExists = "refuse", **more: Any) -> None:
        options = TwinOptions(tmp_path / "base", out, if_exists=if_exists, keep_failed=True, **more)
        build_twins(options, writer)

    twins()
    before, asked = content(out), writer.asked
    twins("resume")
    assert writer.asked == asked
    for more, shown in (
        ({"attempts": Attempts(limit=1)}, "attempts.limit: 3 → 1"),
        ({"thresholds": Thresholds(copy_similarity=0.5)}, "copy_similarity: 0.95 → 0.5"),
        ({"name": "other"}, "name: twins → other"),
    ):
        with pytest.raises(InputError, match=shown):
            twins("resume", **more)
    assert content(out) == before
    assert writer.asked == asked

    def authorship(if_exists: IfExists = "refuse", **more: Any) -> None:
        options = AuthorshipOptions(
            tmp_path / "base", tmp_path / "authors", choose(("human_llm",), ()), ("hh",),
            if_exists=if_exists, **more,
        )  # fmt: skip
        build_authorship(options, from_mapping)

    authorship(selection=Selection(k=3))
    authorship("resume", selection=Selection(k=3))
    with pytest.raises(InputError, match=r"selection.k: 3 → 2"):
        authorship("resume", selection=Selection(k=2))


def test_a_finished_kalma_package_is_never_replaced_by_another(tmp_path: Path) -> None:
    out = tmp_path / "package"
    words = ["build", "kalma", "--kg", f"file:{EXAMPLES / 'people' / 'graph.ttl'}",
             "--pairs-from-kg", "spouse,father", "--limit", "2", "--rounds", "2",
             "--out", str(out)]  # fmt: skip
    cli_group.main(words, standalone_mode=False)
    before = content(out)
    cli_group.main([*words, "--resume"], standalone_mode=False)
    for more, shown in (
        (["--seed", "1"], "seed: 0 → 1"),
        (["--licence", "mit"], "licence: nothing → mit"),
        (["--rounds", "3"], "choices.rounds: 2 → 3"),
        (["--perplexity", "openai:m"], "perplexity.name: ngram → openai:m"),
    ):
        with pytest.raises(InputError, match=shown):
            cli_group.main([*words, *more, "--resume"], standalone_mode=False)
    assert content(out) == before


def test_names_are_cleaned_in_one_place(tmp_path: Path) -> None:
    """A name with the marks of signatures used to end `compare` in a traceback."""
    assert hagrid(tmp_path / "package", name="a|b c@d").name == "a-b-c-d"
    assert build_alce(
        FrozenOptions(f"alce:{EXAMPLES / 'answers' / 'asqa.json'}", tmp_path / "alce", name="x|y:z")
    ).name == "x-y-z"  # fmt: skip


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
from citeforge.engines.folders import whole_folder
with whole_folder(Path(sys.argv[1])) as folder:
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
    with pytest.raises(InputError, match=f"process {holder.pid}"), whole_folder(out):
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


PAIR = """
import sys
from pathlib import Path
from citeforge.builders.frozen import FrozenOptions, build_hagrid
from citeforge.schemas.errors import InputError
for line in sys.stdin:
    out, name = line.split()
    try:
        build_hagrid(FrozenOptions(sys.argv[1], Path(out), "overwrite", name=name))
        print("built", flush=True)
    except InputError as error:
        print("refused" if "is being written by" in str(error) else error, flush=True)
"""


def test_pairs_of_builders_give_one_whole_package(tmp_path: Path) -> None:
    """Forty pairs start together; a package is always one of the two, and whole."""
    hagrid(tmp_path / "expected-a", name="a")
    hagrid(tmp_path / "expected-b", name="b")
    expected = {n: content(tmp_path / f"expected-{n}") for n in "ab"}
    pair = [
        subprocess.Popen([sys.executable, "-c", PAIR, HAGRID], stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE, text=True)
        for _ in "ab"
    ]  # fmt: skip
    seen = []
    for number in range(40):
        out = tmp_path / f"out-{number}"
        for process, name in zip(pair, "ab", strict=True):
            assert process.stdin
            process.stdin.write(f"{out} {name}\n")
            process.stdin.flush()
        answers = [p.stdout.readline().strip() for p in pair if p.stdout]
        assert set(answers) <= {"built", "refused"}
        assert "built" in answers
        assert content(out) in [
            expected[n] for n, a in zip("ab", answers, strict=True) if a == "built"
        ]
        assert not (tmp_path / f"out-{number}.partial").exists()
        seen += answers
    for process in pair:
        assert process.stdin
        process.stdin.close()
        process.wait()
    assert "refused" in seen, "no two builders ever met: the test shows nothing"
