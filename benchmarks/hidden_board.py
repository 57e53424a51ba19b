"""A board with hidden gold, submissions to it, and what is learnt of its labels."""

import json
import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from citeforge.plugins.leaderboard.submit import Intake, add_submissions

SHOWN, RELEVANT = 9, 3
"""Passages of each context, and how many of them are relevant: anybody may know both."""
CITE_ALL = f"So {''.join(f'[{i + 1}]' for i in range(SHOWN))}."
"""An answer of known scores: precision 1/3, recall 1."""
Label = tuple[str, int]
"""A query and the 0-based position of a passage."""


@dataclass(frozen=True)
class Board:
    """A board with hidden gold, and the labels that an attack is measured by.

    Attributes:
        folder: of ``leaderboard.yaml``.
        queries: ids of the queries.
        truth: the relevant labels.
        shown: ids of the passages shown, by query; they are public.
    """

    folder: Path
    queries: list[str]
    truth: frozenset[Label]
    shown: dict[str, list[str]]


@dataclass(frozen=True)
class Learnt:
    """What an attack learnt.

    Attributes:
        submissions: number of submissions that the board took.
        claims: number of labels that the attack claims to know.
        right: number of right claims.
        bits: what the claims tell of the labels beyond the share of relevant passages.
    """

    submissions: int
    claims: int
    right: int
    bits: float

    @property
    def bits_each(self) -> float:
        """Bits per submission."""
        return self.bits / max(self.submissions, 1)


def make_board(
    root: Path, n_queries: int, passages: int = 100_000, swapped: Collection[int] = ()
) -> Board:
    """A board of a benchmark of drawn labels, as its maintainer sets it up.

    Rows of ``swapped`` have the labels of their passages in reverse order; nothing public tells.
    """
    from benchmarks.score import make_package
    from citeforge.evaluator.submissions.benchmark import Benchmark
    from citeforge.plugins.leaderboard.start import start_leaderboard
    from citeforge.publishing.hidden import split_package

    make_package(root, n_queries, hidden=True, passages=passages, swapped=swapped)
    split_package(root / "package", root / "public", root / "gold")
    start_leaderboard(root / "board", [str(root / "public")], [str(root / "gold")])
    whole = Benchmark(root / "package")
    table = whole.context("mix")
    pairs = zip(whole.query_ids, table.relevant, strict=True)
    truth = frozenset((q, i) for q, found in pairs for i in found)
    shown = {q: table.ids_of(row) for row, q in enumerate(whole.query_ids)}
    return Board(root / "board", whole.query_ids, truth, shown)


def write_lines(path: Path, system: str, lines: Iterable[Mapping[str, object]]) -> Path:
    """A submission of these lines."""
    header = {"submission": {"system": system}}
    path.write_text("".join(json.dumps(line) + "\n" for line in (header, *lines)))
    return path


def write_runs(path: Path, system: str, runs: Sequence[Mapping[str, str]]) -> Path:
    """A submission: query to output, of each run."""
    lines = (
        {"query_id": query, "output": output, "run": number}
        for number, outputs in enumerate(runs)
        for query, output in outputs.items()
    )
    return write_lines(path, system, lines)


def published(board: Board, names: Sequence[str]) -> list[dict[str, dict[str, float]]]:
    """Scores that the board publishes of submissions, by measure; none of those it refused."""
    paths = (board.folder / "scores" / "public" / f"{name}.json" for name in names)
    contents = [json.loads(path.read_text()) for path in paths if path.is_file()]
    return [{m["name"]: m for m in content["measures"]} for content in contents]


def figures(board: Board, names: Sequence[str]) -> list[dict[str, float]]:
    """What the board publishes of submissions: measure to value; absent for those it refused."""
    return [
        {name: entry["value"] for name, entry in entries.items()}
        for entries in published(board, names)
    ]


def learnt(board: Board, claims: Mapping[Label, bool], submissions: int) -> Learnt:
    """Measure claims: their mutual information with the labels, less what chance would give.

    A table of two by two cells that are independent has log2(e) ÷ 2 bits by chance (Miller 1955).
    """
    pairs = Counter((label in board.truth, claim) for label, claim in claims.items())
    n, right = len(claims), pairs[True, True] + pairs[False, False]
    truths = Counter({t: pairs[t, True] + pairs[t, False] for t in (True, False)})
    said = Counter({c: pairs[True, c] + pairs[False, c] for c in (True, False)})
    bits = sum(k * math.log2(k * n / (truths[t] * said[c])) for (t, c), k in pairs.items() if k)
    return Learnt(submissions, n, right, max(0.0, bits - math.log2(math.e) / 2))


def own_folder(board: Board) -> Path:
    """Make the folder of the attacker's files."""
    folder = board.folder.parent / "mine"
    folder.mkdir(exist_ok=True)
    return folder


def submit(board: Board, outputs: Mapping[str, Mapping[str, str]]) -> Intake:
    """Add submissions of single runs to a board: name to its outputs by query."""
    paths = [
        write_runs(own_folder(board) / f"{name}.jsonl", name, [output])
        for name, output in outputs.items()
    ]
    return add_submissions(paths, board.folder)
