"""``leaderboard init`` and ``add``: from an empty folder to a site, refusals, two at once."""

import gzip
import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import pytest
import yaml
from huggingface_hub import SpaceCard

import citeforge as cf
from citeforge.engines.folders import file_lock
from citeforge.evaluator.compare import load_scores
from citeforge.evaluator.withhold import withhold_scores
from citeforge.plugins.leaderboard.build import build_leaderboard
from citeforge.plugins.leaderboard.start import WORKFLOW, start_leaderboard
from citeforge.plugins.leaderboard.submit import LOCK, add_submissions
from citeforge.publishing.hidden import split_package
from conftest import EXAMPLES, Inline, content, refused
from conftest_boards import broken

SYSTEMS = ("random", "echo-relevant", "top-1")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A benchmark of three queries, submissions of three systems, and a leaderboard of it."""
    root = tmp_path_factory.mktemp("intake")
    source = f"beir:{EXAMPLES / 'facts'}"
    recipe = cf.RageRecipe(source=source, candidates="bm25", limit=3)
    cf.build(recipe, root / "facts")
    cf.build(recipe.model_copy(update={"hidden": True, "name": "facts"}), root / "closed")
    for name in SYSTEMS:
        cf.run(name, root / "facts", root / f"{name}.jsonl")
    start_leaderboard(root / "board", [str(root / "facts")], title="Facts")
    return root


@pytest.fixture
def root(made: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(made, tmp_path / "root"))


def test_twice_is_once(root: Path) -> None:
    board = root / "board"
    files = [root / f"{name}.jsonl" for name in SYSTEMS[:2]]
    done = add_submissions(files, board)
    assert [p.files[0].system for p in done.submissions if p.files] == ["random", "echo-relevant"]
    assert done.site is not None
    assert done.site.controls == 2
    once = content(board)
    assert {n for n in once if n.startswith("s") and n.endswith((".json", ".jsonl"))} == {
        "scores/facts/random.json", "scores/facts/echo-relevant.json",
        "submissions/facts/random.jsonl", "submissions/facts/echo-relevant.jsonl",
    }  # fmt: skip
    assert once["submissions/facts/random.jsonl"] == files[0].read_bytes()
    for again in (files, files[:1], []):
        add_submissions(again, board)
        assert content(board) == once
    # What lies there is scored as `citeforge score` does, and what `build` makes of it is the same.
    cf.score_files([files[0]], root / "facts", out=root / "x.json")
    assert (root / "x.json").read_bytes() == once["scores/facts/random.json"]
    build_leaderboard(board)
    assert content(board) == once
    # One by one ends like both at once.
    other = Path(shutil.copytree(board, root / "other"))
    for name in ("scores", "submissions", "site"):
        shutil.rmtree(other / name)
    for file in reversed(files):
        add_submissions([file], other)
    gone = {"submissions/README.md", "submissions/facts/.gitkeep"}
    assert content(other) == {n: b for n, b in once.items() if n not in gone}


def test_a_submission_that_declares_itself_a_reference_line_is_warned_of(root: Path) -> None:
    """Three intakes of the same file: the check, the check of a board, and taking it in."""
    path = root / "random.jsonl"
    text = "control: is a reference line, as its header says"
    assert any(text in str(found) for found in cf.check(path, root / "facts").warnings)
    for only_check in (True, False):
        done = add_submissions([path], root / "board", only_check=only_check)
        assert [text in line for line in done.to_text_lines()].count(True) == 1
    system = root / "top-1.jsonl"
    assert not any(text in str(found) for found in cf.check(system, root / "facts").warnings)


def test_errors_leave_everything_as_it_was(root: Path) -> None:
    board, good, bad = root / "board", root / "random.jsonl", root / "top-1.jsonl"
    add_submissions([good], board)
    before = content(board)

    def refuse(code: str, *files: Path, **more: Any) -> str:
        with refused(code) as caught:
            add_submissions(files, board, **more)
        assert content(board) == before
        return str(caught.value)

    broken(bad, lambda rows: rows[1].update(query_id="nobody"))
    summary, line = refuse("unknown-query", bad).splitlines()
    assert summary == "errors in 1 of 1 submission; nothing was changed"
    assert line.startswith(f"{bad}:2: query_id: ")
    refuse("unknown-query", bad, only_check=True)
    refuse("counted-failures", bad, root / "no-such.jsonl")
    bad.write_bytes(good.read_bytes())
    refuse("duplicate-id", bad)
    broken(good, lambda rows: rows[1].update(output="Another answer [1]."))
    refuse("output-exists", good)
    refuse("not-a-file", root / "no-such.jsonl")
    (root / "my answers.jsonl").write_bytes(good.read_bytes())
    refuse("bad-name", root / "my answers.jsonl")
    (root / "random.json").write_bytes(good.read_bytes())
    over = refuse("duplicate-id", root / "random.json")
    assert "would write over the scores of random.jsonl" in over and "--replace" in over
    (root / "x").mkdir()
    twin = Path(shutil.copy(good, root / "x"))
    refuse("duplicate-id", good, twin, replace=True)
    refuse("unknown-name", good, board="x")
    done = add_submissions([good], board, replace=True)
    assert content(board) != before
    assert (board / "submissions/facts/random.jsonl").read_bytes() == good.read_bytes()
    assert (
        done.submissions[0].files[0].submission_sha256
        != json.loads(before["scores/facts/random.json"])["submission_sha256"]
    )


def test_a_file_takes_the_place_of_one_with_another_ending(root: Path) -> None:
    board, first = root / "board", root / "random.jsonl"
    add_submissions([first], board)
    second = root / "random.jsonl.gz"
    broken(first, lambda rows: rows[1].update(output="Another answer [1]."))
    second.write_bytes(gzip.compress(first.read_bytes()))
    done = add_submissions([second], board, replace=True)
    assert done.refused == [] and done.site is not None and done.site.controls == 1
    there = board / "submissions" / "facts"
    assert sorted(p.name for p in there.iterdir()) == [".gitkeep", "random.jsonl.gz"]
    assert load_scores(board / "scores/facts/random.json").submission == "random.jsonl.gz"
    assert len((board / "history/facts.jsonl").read_text().splitlines()) == 2
    assert add_submissions([], board).refused == []


def test_a_check_lists_good_files_and_ends_as_the_intake_does(root: Path, inline: Inline) -> None:
    files = [root / f"{name}.jsonl" for name in SYSTEMS]
    broken(files[0], lambda rows: rows[1].update(query_id="nobody"))
    broken(files[1], lambda rows: rows.pop())
    words = ("leaderboard", "add", *files, "--boards", root / "board")
    before = content(root / "board")
    checked = inline(*words, "--check")
    assert content(root / "board") == before
    added = inline(*words)
    assert (checked.returncode, checked.code) == (added.returncode, added.code)
    assert checked.returncode == 3
    for ran in (checked, added):
        assert f"facts: {files[2]}: 3 answers, 0 warnings" in ran.stdout
        # Of a control, and of a missing answer.
        assert f"facts: {files[1]}: 2 answers, 2 warnings" in ran.stdout
        # Each kind of warning is shown once, with its queries.
        assert f"{files[1]}: warning: no answer to" in ran.stdout
        assert f"{files[0]}:2: query_id: " in ran.stderr
    assert "nothing was changed" in checked.stderr


def test_a_command_waits_while_another_one_adds(root: Path) -> None:
    """Both are on the site in the end: the second one reads what the first one wrote."""
    board = root / "board"
    other = shutil.copytree(board, root / "other")
    add_submissions([root / "echo-relevant.jsonl"], other)
    with ThreadPoolExecutor(1) as pool:
        with file_lock(board / LOCK, board, wait=True):
            later = pool.submit(add_submissions, [root / "random.jsonl"], board)
            assert wait([later], timeout=0.2).not_done
            assert not (board / "scores" / "facts").exists()
            shutil.copytree(other, board, dirs_exist_ok=True)
        done = later.result()
    assert done.site is not None and done.site.controls == 2
    assert not (board / LOCK).exists()


def test_which_board_it_is_for(root: Path) -> None:
    folder = root / "two"
    start_leaderboard(folder, ["a=" + str(root / "facts"), "b=" + str(root / "facts")])
    file = root / "random.jsonl"
    with refused("missing-option") as caught:
        add_submissions([file], folder)
    assert "one of a, b" in str(caught.value)
    add_submissions([file], folder, board="b")
    before = content(folder)
    build_leaderboard(folder)
    assert content(folder) == before
    there = folder / "submissions" / "b" / "random.jsonl"
    assert add_submissions([there], folder).submissions[0].board.name == "b"
    public, gold = root / "public", root / "gold"
    split_package(root / "closed", public, gold)
    third = root / "third"
    start_leaderboard(third, [str(root / "facts"), str(public)], [f"public={gold}"])
    # By the hash in the header: this one was made on the whole benchmark, that one on the half.
    assert add_submissions([file], third).submissions[0].board.name == "facts"
    cf.run("random", public, root / "blind.jsonl")
    done = add_submissions([root / "blind.jsonl"], third)
    assert done.submissions[0].board.name == "public"


def test_hidden_labels_stay_out_of_the_score_files(root: Path) -> None:
    public, gold, board = root / "public", root / "gold", root / "hidden"
    split_package(root / "closed", public, gold)
    cf.run("random", public, root / "blind.jsonl")
    start_leaderboard(board, [str(public)], [str(gold)])
    config = yaml.safe_load((board / "leaderboard.yaml").read_text())
    assert config["boards"] == [{"name": "public", "benchmark": str(public), "gold": str(gold)}]
    del config["boards"][0]["gold"]
    (board / "leaderboard.yaml").write_text(yaml.safe_dump(config))
    add_submissions([root / "blind.jsonl"], board, only_check=True)
    with refused("hidden-gold", field="boards: public"):
        add_submissions([root / "blind.jsonl"], board)
    config["boards"][0]["gold"] = str(gold)
    config["boards"][0]["score"] = {"details": True}
    (board / "leaderboard.yaml").write_text(yaml.safe_dump(config))
    add_submissions([root / "blind.jsonl"], board, only_check=True)
    done = add_submissions([root / "blind.jsonl"], board)
    options = cf.ScoreOptions(details=True)
    whole = cf.score_files([root / "blind.jsonl"], public, options, gold=gold).scores[0].file
    kept = load_scores(board / "scores" / "public" / "blind.json")
    assert any(p.label for a in whole.answers for p in a.passages)
    # Without the labels nobody knows which queries lack a relevant passage.
    blind = cf.score_files([root / "blind.jsonl"], public, options).scores[0].file
    assert blind.counts.n_no_relevant == 0
    assert kept == done.submissions[0].files[0] == withhold_scores(whole)
    assert kept.answers == []
    assert kept.measures == []  # three queries are too few for a figure


@pytest.mark.parametrize("place", ["other/zeta.jsonl", "facts/sub/zeta.jsonl", "zeta.jsonl"])
def test_a_file_in_no_boards_folder_is_refused(root: Path, place: str) -> None:
    """A pull request may add a file anywhere; after the merge nothing would ever score it."""
    path = root / "board" / "submissions" / place
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(root / "random.jsonl", path)
    with refused("bad-name") as caught:
        add_submissions([path], root / "board", only_check=True)
    assert "is in the folder of no board" in str(caught.value)
    assert "submissions/facts/zeta.jsonl" in str(caught.value)
    done = add_submissions([], root / "board")
    strange = root / "board" / "submissions" / place.removesuffix("/zeta.jsonl")
    assert [line.startswith(str(strange)) for line in done.refused] == [True]


def steps(board: Path) -> list[dict[str, Any]]:
    """Steps of the workflow's jobs that run a command, as GitHub would on main."""
    result = yaml.safe_load((board / WORKFLOW).read_text())
    assert result[True] == {  # YAML 1.1 reads `on` so
        "pull_request": {
            "paths": ["submissions/**", "scores/**", "history/**", "leaderboard.yaml"]
        },
        "push": {"branches": ["main"]},
        "workflow_dispatch": None,
    }
    return [s for job in result["jobs"].values() for s in job["steps"] if "run" in s]


@pytest.mark.slow
def test_the_workflow_runs_from_init_to_a_site(root: Path) -> None:
    """Every `run:` line with bash, in the order of the file; pip and hf stand in a folder of ours,
    and write down how they were called."""
    board, bin_ = root / "board", root / "bin"
    bin_.mkdir()
    here = {
        "pip": 'echo "pip $@" >> ../called',
        "hf": 'echo "hf $@" >> ../called; ls "$3" > ../uploaded',
    }
    for name, body in here.items():
        (bin_ / name).write_text(f"#!/bin/bash\n{body}\n")
        (bin_ / name).chmod(stat.S_IRWXU)
    path = os.pathsep.join([str(bin_), str(Path(sys.executable).parent), os.environ["PATH"]])
    env = {**os.environ, "PATH": path, "SPACE": "org/board"}

    def git(*words: str) -> str:
        who = ("-c", "user.name=x", "-c", "user.email=x@localhost")
        return subprocess.run(
            ["git", *who, *words], cwd=board, capture_output=True, text=True, check=True
        ).stdout

    def commit() -> None:
        git("add", ".")
        git("commit", "-q", "--allow-empty", "-m", "x")

    git("init", "-q", "-b", "main")
    git("init", "-q", "--bare", str(root / "remote.git"))
    git("remote", "add", "origin", str(root / "remote.git"))
    commit()
    git("push", "-q", "-u", "origin", "main")

    def run(steps: list[dict[str, Any]]) -> None:
        for step in steps:
            words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
            done = subprocess.run(words, cwd=board, env=env, capture_output=True, text=True)
            assert done.returncode == 0, (step, done.stderr)

    # The first push is of an empty board, before there is any history.
    run([step for step in steps(board) if "HEAD^1" not in step["run"]])
    (root / "called").unlink()
    shutil.copy(root / "random.jsonl", board / "submissions" / "facts" / "team.jsonl")
    commit()
    run(steps(board))
    assert (root / "called").read_text().splitlines() == [
        *[f"pip install citeforge=={cf.__version__}"] * 2,
        "hf upload org/board public . --repo-type space --delete *",
    ]  # fmt: skip
    assert "systems/" not in (board / "site" / "index.html").read_text()[:200]
    assert len(list((board / "site" / "systems").iterdir())) == 1
    uploaded = (root / "uploaded").read_text().split()
    assert {"README.md", "index.html", "systems", "queries"} <= set(uploaded)
    # What lies in a Space is read by the Hub's own library.
    card = SpaceCard.load(board / "public" / "README.md")
    assert (card.data.sdk, card.data.app_file, card.data.title) == ("static", "index.html", "Facts")
    assert git("show", "origin/main:history/facts.jsonl").count("team.jsonl") == 1

    def check(step: str) -> int:
        line = next(s["run"] for s in steps(board) if step in s["run"])
        return subprocess.run(["bash", "-ec", line], cwd=board, env=env).returncode

    submission = board / "submissions/facts/team.jsonl"
    commit()
    broken(submission, lambda rows: rows[1].update(query_id="x"))
    commit()
    assert check("--check") != 0  # a pull request with errors
    assert check("-- scores history") == 0
    add = next(s["run"] for s in steps(board) if "leaderboard add ||" in s["run"])
    done = subprocess.run(["bash", "-ec", add], cwd=board, env=env, capture_output=True, text=True)
    assert done.returncode == 0  # merged all the same, it does not stop the board
    assert "::warning::" in done.stdout
    assert not (board / "site" / "systems").exists()
    commit()
    shutil.copy(root / "random.jsonl", board / "submissions" / "facts" / "other.jsonl")
    broken(
        board / "submissions/facts/other.jsonl",
        lambda rows: rows[0]["submission"].update(system="o"),
    )
    commit()
    assert check("--check") == 0  # nor does it stop another pull request
    (board / "scores" / "facts" / "other.json").write_text("{}")
    commit()
    assert check("-- scores history") != 0


def test_init_and_its_refusals(root: Path, inline: Inline) -> None:
    new = root / "new"
    (new / ".git").mkdir(parents=True)
    (new / ".gitignore").write_text("*.pyc\n")
    specs, gold = ["hub:ORG/My-Bench@v1", f"own={root / 'facts'}"], ["hub:ORG/My-Bench-gold"]
    args = [w for n, v in (("benchmark", specs), ("gold", gold)) for x in v for w in (f"--{n}", x)]
    result = inline.ok("leaderboard", "init", new, *args, "--title", "A: 'b'")
    assert ".gitignore was there" in result.stdout
    assert (new / ".gitignore").read_text() == "*.pyc\n"
    config = yaml.safe_load((new / "leaderboard.yaml").read_text())
    assert config["title"] == "A: 'b'"
    assert config["boards"][0] == {
        "name": "my-bench", "benchmark": "hub:ORG/My-Bench@v1", "gold": "hub:ORG/My-Bench-gold",
    }  # fmt: skip
    before = content(new)
    assert start_leaderboard(new, specs, gold, "A: 'b'")[0] == []
    with refused("output-exists", path=new) as caught:
        start_leaderboard(new, specs, gold, "Another")
    assert "leaderboard.yaml, space/README.md" in str(caught.value)
    assert content(new) == before
    wrong: tuple[tuple[list[str], list[str], str], ...] = (
        (["x"], ["y=z"], "unknown-name"),
        (["a=x", "a=y"], [], "bad-option"),
        (["???"], [], "bad-option"),
        ([], [], "bad-option"),
    )
    for given, halves, code in wrong:
        with refused(code, cf.UsageError):
            start_leaderboard(root / "z", given, halves)
    with refused("not-a-package"):
        start_leaderboard(root / "z", [str(root / "a-typo")])
    assert not (root / "z").exists()
    # The workflow has the repository alone.
    outside = inline.ok("leaderboard", "init", root / "here", "--benchmark", root / "facts")
    assert f"warning: {root / 'facts'}: is outside of {root / 'here'}" in outside.stderr
    assert outside.stdout.splitlines()[-1].startswith("next: citeforge leaderboard add")
    shutil.copytree(root / "facts", root / "in" / "facts")
    inside = inline.ok("leaderboard", "init", root / "in", "--benchmark", root / "in" / "facts")
    assert "warning" not in inside.stderr
    misspelt = root / "here" / "leaderboard.yaml"
    misspelt.write_text(misspelt.read_text().replace("boards:\n", "boreds:\n"))
    result = inline.fails(1, "unknown-field", "leaderboard", "add", "--boards", root / "here")
    assert "boreds" in result.stderr
    result = inline.fails(1, "missing-file", "leaderboard", "add", "--boards", root / "facts")
    assert "citeforge leaderboard init" in result.stderr


def described(root: Path, **about: Any) -> bytes:
    """A good submission whose header has more fields, or others."""
    first, *rest = (root / "random.jsonl").read_text().splitlines()
    header = {"submission": json.loads(first)["submission"] | about}
    return "\n".join([json.dumps(header), *rest, ""]).encode()


def as_run(root: Path, run: str, **changes: Any) -> bytes:
    """A good submission as a run of TREC RAG 2025, with some fields of each line changed."""
    out = root / "run"
    more = {"submission": root / "top-1.jsonl", "team": "t", "run_id": run}
    cf.export("trec-rag25", root / "facts", out, **more)
    rows = [json.loads(line) for line in (out / "run.jsonl").read_text().splitlines()]
    return "".join(json.dumps(row | changes) + "\n" for row in rows).encode()


NOWHERE = [{"text": "A.", "citations": [99]}]
VERDICTS: dict[str, tuple[Callable[[Path], bytes], str | None]] = {
    "good": (described, None),
    "a name that turns the line": (lambda root: described(root, model="a\u202eb"), "wrong-value"),
    "a system with a line end": (lambda root: described(root, system="a\nb"), "bad-name"),
    "another build": (lambda root: described(root, benchmark_hash="0" * 64), "wrong-benchmark"),
    "an unknown set": (lambda root: described(root, contexts=["gone"]), "unknown-context"),
    "a wrong cost": (lambda root: described(root, cost="much"), "wrong-type"),
    "a run": (lambda root: as_run(root, "r1"), None),
    "a run that cites nowhere": (
        lambda root: as_run(root, "r1", answer=NOWHERE),
        "reference-index",
    ),
    "a line twice": (
        lambda root: described(root) + described(root).splitlines()[1],
        "duplicate-id",
    ),
    "a score file": (lambda root: b'{"scores_version": 1}', "wrong-kind"),
}


@pytest.mark.parametrize("name", VERDICTS)
def test_check_score_and_intake_agree(root: Path, name: str) -> None:
    """A file that one of them refuses is refused by all, for the same reason."""
    make, code = VERDICTS[name]
    path, package = root / "mine.jsonl", root / "facts"
    path.write_bytes(make(root))
    try:
        codes = {f.code for f in cf.check(path, package).errors}
    except cf.InputError as error:
        codes = {error.code}
    assert codes == ({code} if code else set())
    if code is None:
        cf.score(path, package)
        add_submissions([path], root / "board", only_check=True)
        return
    with refused(code, path=path):
        cf.score(path, package)
    with refused(code):
        add_submissions([path], root / "board", only_check=True)
