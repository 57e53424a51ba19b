"""Boards of a benchmark with several context sets: each set is scored, once for each system."""

import shutil
from pathlib import Path

import pytest
import yaml

import citeforge as cf
from citeforge.evaluator.compare import load_scores
from citeforge.plugins.leaderboard.build import build_leaderboard
from citeforge.plugins.leaderboard.start import start_leaderboard
from citeforge.plugins.leaderboard.submit import add_submissions
from conftest import EXAMPLES, Inline, content, refused
from conftest_boards import broken


@pytest.fixture(scope="module")
def made_sets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A benchmark with two context sets, the answers of two systems, and a leaderboard of it."""
    root = tmp_path_factory.mktemp("sets")
    recipe = cf.RageRecipe(
        source=f"beir:{EXAMPLES / 'facts'}", candidates="bm25", limit=3,
        mixtures=("easy=1,2,0", "hard=1,0,2"),
    )  # fmt: skip
    cf.build(recipe, root / "noise")
    for name in ("random", "top-1"):
        cf.run(name, root / "noise", root / f"{name}.jsonl")
    start_leaderboard(root / "board", [str(root / "noise")], title="Noise")
    return root


@pytest.fixture
def sets(made_sets: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(made_sets, tmp_path / "sets"))


def test_every_context_set_that_a_submission_answers_is_scored(sets: Path, inline: Inline) -> None:
    board, scores = sets / "board", sets / "board" / "scores" / "noise"
    added = inline.ok(
        "leaderboard", "add", sets / "random.jsonl", sets / "top-1.jsonl", "--boards", board
    )
    assert "random: easy " in added.stdout
    assert "; hard " in added.stdout
    result = {p.name: load_scores(p).context for p in scores.glob("*.json")}
    assert result == {
        f"{system}.{name}.json": name for system in ("random", "top-1") for name in ("easy", "hard")
    }
    # As `citeforge score` writes them, with one line a submission in the history.
    cf.score_files([sets / "top-1.jsonl"], sets / "noise", out=sets / "top-1.json")
    for name in ("easy", "hard"):
        assert (scores / f"top-1.{name}.json").read_bytes() == (
            sets / f"top-1.{name}.json"
        ).read_bytes()
    assert (board / "history" / "noise.jsonl").read_text().count("easy|hard") == 2
    page = (board / "site" / "index.html").read_text()
    assert "easy, strict" in page
    assert "hard, strict" in page
    # Twice is once, and what `build` makes of what lies there is the same.
    once = content(board)
    assert add_submissions([], board).refused == []
    assert content(board) == once
    assert build_leaderboard(board)[2] == []
    assert content(board) == once


def test_a_system_has_each_context_set_once(sets: Path) -> None:
    board = sets / "board"
    add_submissions([sets / "random.jsonl"], board)
    shutil.copy(sets / "random.jsonl", sets / "again.jsonl")
    broken(sets / "again.jsonl", lambda rows: rows.__setitem__(
        slice(1, None), [r for r in rows[1:] if r["context"] == "hard"]))  # fmt: skip
    with refused("duplicate-id") as caught:
        add_submissions([sets / "again.jsonl"], board)
    assert "random.jsonl (context hard)" in str(caught.value)
    shutil.copy(sets / "top-1.jsonl", sets / "random.hard.jsonl")
    with refused("bad-name"):
        add_submissions([sets / "random.hard.jsonl"], board)


def test_scores_of_context_sets_that_are_no_longer_answered_go(sets: Path) -> None:
    board, file = sets / "board", sets / "random.jsonl"
    scores = board / "scores" / "noise"
    add_submissions([file], board)
    whole = file.read_bytes()
    broken(file, lambda rows: rows.__setitem__(
        slice(1, None), [r for r in rows[1:] if r["context"] == "hard"]))  # fmt: skip
    assert add_submissions([file], board, replace=True).refused == []
    assert [p.name for p in scores.glob("*.json")] == ["random.json"]
    file.write_bytes(whole)
    assert add_submissions([file], board, replace=True).refused == []
    assert sorted(p.name for p in scores.glob("*.json")) == ["random.easy.json", "random.hard.json"]


def test_a_board_may_narrow_to_one_context_set(sets: Path) -> None:
    config = sets / "board" / "leaderboard.yaml"
    content_ = yaml.safe_load(config.read_text())
    content_["boards"][0]["score"] = {"context": "hard"}
    config.write_text(yaml.safe_dump(content_))
    done = add_submissions([sets / "random.jsonl"], sets / "board")
    assert [f.context for f in done.submissions[0].files] == ["hard"]
    assert (sets / "board" / "scores" / "noise" / "random.json").is_file()
