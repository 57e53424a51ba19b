"""A leaderboard's limit on the size of a submission."""

import gzip
from pathlib import Path

import pytest

import citeforge as cf
from citeforge.plugins.leaderboard.start import start_leaderboard
from citeforge.plugins.leaderboard.submit import add_submissions
from conftest import EXAMPLES, content, refused


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A leaderboard of a benchmark of three queries, and a submission."""
    cf.build(
        cf.RageRecipe(source=f"beir:{EXAMPLES / 'facts'}", candidates="bm25", limit=3),
        tmp_path / "facts",
    )
    cf.run("random", tmp_path / "facts", tmp_path / "random.jsonl")
    start_leaderboard(tmp_path / "board", [str(tmp_path / "facts")])
    return tmp_path


@pytest.mark.parametrize("name", ["random.jsonl", "random.jsonl.gz"])
def test_a_large_submission_is_refused_before_it_is_read(root: Path, name: str) -> None:
    """The limit is of what a file unpacks to; one byte less than it has is too little."""
    board, path = root / "board", root / name
    plain = (root / "random.jsonl").read_bytes()
    path.write_bytes(gzip.compress(plain) if name.endswith(".gz") else plain)
    config = board / "leaderboard.yaml"
    text = config.read_text()
    before = content(board)

    def allow(n_bytes: int) -> None:
        config.write_text(f"{text}submission_megabytes: {n_bytes / 1e6!r}\n")

    for only_check in (True, False):
        allow(len(plain) - 1)
        with refused("too-large") as caught:
            add_submissions([path], board, only_check=only_check)
        assert "submission_megabytes in leaderboard.yaml" in str(caught.value)
        config.write_text(text)
        assert content(board) == before
    allow(len(plain))
    assert add_submissions([path], board).site is not None
    # Unpacked, this one has 50 MB, and the size that is not named is 20.
    config.write_text(text)
    bomb = root / "top-1.jsonl.gz"
    bomb.write_bytes(gzip.compress(bytes(50_000_000)))
    with refused("too-large") as caught:
        add_submissions([bomb], board)
    assert "the 20 MB that this leaderboard takes" in str(caught.value)
