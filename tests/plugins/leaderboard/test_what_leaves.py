"""Two boards with hidden gold whose labels differ unseen: what leaves the owner's side is equal."""

import json
import re
from pathlib import Path

import pytest
from benchmarks.hidden_board import make_board, write_runs

from citeforge.evaluator.noise import NoiseKey
from conftest import Inline

N_QUERIES = 30
SWAPPED = range(N_QUERIES // 2, N_QUERIES)


def board_bytes(root: Path, swapped: range, inline: Inline, cited: str) -> dict[str, str]:
    """All that a board of these labels writes and prints, by file or command.

    Queries in the second half are answered by ``cited``. Left out are the folder, and the hash of
    the whole package, which the board's secret salts, with sums of files that name it.
    """
    root.mkdir()
    board = make_board(root, N_QUERIES, passages=500, swapped=swapped)
    joined = json.loads((root / "public" / "manifest.json").read_text())["config"]["joined_hash"]
    printed: dict[str, str] = {}

    def neutral(text: str) -> str:
        for word in (str(root), joined, joined[:8]):
            text = text.replace(word, "…")
        return re.sub(r'((?:json|manifest_sha256)"?: ?")[0-9a-f]{64}', r"\1…", text)

    def run(*words: object) -> None:
        done = inline(*map(str, words))
        printed[neutral(" ".join(map(str, words)))] = neutral(
            f"{done.returncode}\n{done.stdout}\n{done.stderr}"
        )

    half = len(board.queries) // 2
    public = ("--benchmark", root / "public")
    for name, first in (("alpha", "So [1][2]. It [9]."), ("beta", "So [3].")):
        outputs = dict.fromkeys(board.queries[:half], first) | dict.fromkeys(
            board.queries[half:], cited
        )
        path = write_runs(root / f"{name}.jsonl", f"system {name}", [outputs])
        run("check", path, *public)
        run("score", path, *public, "--gold", root / "gold", "--measures", "rage", "--out",
            root / "out" / f"{name}.json")  # fmt: skip
        run("leaderboard", "add", path, "--boards", board.folder)
    run("leaderboard", "build", "--boards", board.folder)
    scores = [root / "out" / f"{name}.json" for name in ("alpha", "beta")]
    run("compare", *scores)
    run("report", *scores, "--out", root / "out" / "report.html")
    run("leaderboard", "build", *public, "--gold", root / "gold", "--scores", root / "out",
        "--out", root / "site")  # fmt: skip
    run("export", "card", root / "public", "--scores", root / "out", "--out", root / "card.md")
    kept = [
        path
        for folder in (board.folder, root / "out", root / "site", root / "public", root / "card.md")
        for path in ([folder] if folder.is_file() else sorted(folder.rglob("*")))
        if path.is_file()
    ]
    assert kept
    return printed | {
        str(path.relative_to(root)): neutral(path.read_bytes().decode("latin-1")) for path in kept
    }


@pytest.mark.slow
def test_boards_whose_labels_differ_unseen_publish_the_same_bytes(
    tmp_path: Path, inline: Inline, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of the queries have other labels on the second board, and nobody cites there: whatever
    leaves the owner's side, files and pages and messages, must not depend on them.

    Noise is keyed by the hash of the whole package, so that the boards would draw other noise.
    """
    monkeypatch.setattr(NoiseKey, "draw", lambda *_: 0.5)
    one = board_bytes(tmp_path / "one", range(0), inline, "So.")
    two = board_bytes(tmp_path / "two", SWAPPED, inline, "So.")
    assert one.keys() == two.keys()
    assert len(one) > 60
    assert [name for name in one if one[name] != two[name]] == []
    # Where the answers cite, the same labels move figures: the boards do differ.
    three = board_bytes(tmp_path / "three", SWAPPED, inline, "So [1][2].")
    four = board_bytes(tmp_path / "four", range(0), inline, "So [1][2].")
    assert three["out/alpha.json"] != four["out/alpha.json"]
