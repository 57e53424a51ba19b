"""What submissions to a board with hidden gold learn of its labels, by the board's own code."""

import itertools
import json
import random
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from citeforge.plugins.leaderboard.submit import add_submissions
from citeforge.schemas.errors import InputError

SUBMISSIONS = (1, 3, 10, 30)
SHOWN, RELEVANT = 9, 3
"""Passages of each context, and how many of them are relevant: anybody may know both."""
_DILUTION = 999
_ANCHORS = 24
"""Queries whose figure is known: enough that figures are published, few enough to weigh much."""
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
        claims: labels that it says.
        right: of these, how many are as it says.
        chance: how many would be right by the share of relevant passages alone.
    """

    claims: int
    right: int
    chance: float


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


def spelling(board: Board, number: int) -> tuple[dict[str, str], list[tuple[Label, int]]]:
    """A submission whose value spells labels: each has half the weight of the one before.

    A citation of a passage that was not shown counts as a wrong one: so many make a label small.
    The last label is hardly seen in the precision, and is read from the recall.

    Returns:
        Outputs, and the labels with the number of such citations.
    """
    n, weights = len(board.queries), [0]
    while 100 / n / (2 * (weights[-1] + 1)) > 1:
        weights.append(2 * weights[-1] + 1)
    if 100 / n / RELEVANT > 1:
        weights.append(_DILUTION)
    outputs, labels = {}, []
    for at, wrong in enumerate(weights):
        which = number * len(weights) + at
        label = (board.queries[which % n], which // n % SHOWN)
        outside = "".join(f"[{SHOWN + 1 + i}]" for i in range(wrong))
        outputs[label[0]] = f"So [{label[1] + 1}]{outside}."
        labels.append((label, wrong))
    return outputs, labels


def decoded(
    board: Board, labels: Sequence[tuple[Label, int]], figure: Mapping[str, float]
) -> Iterator[tuple[Label, bool]]:
    """Labels that no other labels than these could have given such figures with."""
    n, fits = len(board.queries), []
    for bits in itertools.product((False, True), repeat=len(labels)):
        precision = sum(b / (w + 1) for b, (_, w) in zip(bits, labels, strict=True)) * 100 / n
        recall = sum(bits) * 100 / n / RELEVANT
        if abs(precision - figure["CiteP"]) <= 0.5 and abs(recall - figure["CiteR"]) <= 0.5:
            fits.append(bits)
    for at, (label, _) in enumerate(labels):
        if fits and len({bits[at] for bits in fits}) == 1:
            yield label, fits[0][at]


def learnt(board: Board, claims: Mapping[Label, bool]) -> Learnt:
    """How good claims are beside the guess that passages are irrelevant or relevant as is usual."""
    right = sum((label in board.truth) == claim for label, claim in claims.items())
    share = RELEVANT / SHOWN
    n_relevant = sum(claims.values())
    if n_relevant == len(claims):  # one passage named as relevant a query
        return Learnt(len(claims), right, share * len(claims))
    return Learnt(len(claims), right, (1 - share) * len(claims))


def spell(board: Board, n: int) -> list[Learnt]:
    """The spelling attack by as many systems as there are submissions."""
    plans = [spelling(board, i) for i in range(n)]
    names = [f"spell-{i}" for i in range(n)]
    _submit(board, names, [outputs for outputs, _ in plans])
    shown = figures(board, names)
    found = []
    for size in [s for s in SUBMISSIONS if s <= n]:
        claims = dict(
            claim
            for (_, labels), figure in zip(plans[:size], shown[:size], strict=False)
            for claim in decoded(board, labels, figure)
        )
        found.append(learnt(board, claims))
    return found


def vote(board: Board, n: int, seed: int = 0) -> list[Learnt]:
    """The attack by votes (Blum & Hardt 2015): drawn answers, weighed by what they score."""
    rng = random.Random(seed)
    draws = [{q: rng.randrange(SHOWN) for q in board.queries} for _ in range(n)]
    names = [f"vote-{i}" for i in range(n)]
    _submit(board, names, [{q: f"So [{i + 1}]." for q, i in draw.items()} for draw in draws])
    values = [figure["CiteP"] for figure in figures(board, names)]
    found = []
    for size in [s for s in SUBMISSIONS if s <= n]:
        claims = {}
        for query in board.queries:
            votes = [0.0] * SHOWN
            for draw, value in zip(draws[:size], values[:size], strict=False):
                votes[draw[query]] += value - 100 * RELEVANT / SHOWN
            claims[query, max(range(SHOWN), key=lambda i: (votes[i], rng.random()))] = True
        found.append(learnt(board, claims))
    return found


def probe(board: Board, n: int) -> list[Learnt]:
    """The attack at the edge of rounding: one probed passage moves the recall over it, or not.

    Queries that cite all of their passages have the recall 1, whatever is relevant. So many of them
    are answered that the rounded recall differs by whether the probed passage is relevant.
    """
    size, step = len(board.queries), 1 / RELEVANT
    anchors = next(
        m for m in range(size) if round(100 * m / size) != round(100 * (m + step) / size)
    )
    relevant = round(100 * (anchors + step) / size)
    cite_all = f"So {''.join(f'[{i + 1}]' for i in range(SHOWN))}."
    plans: list[tuple[Label, dict[str, str]]] = []
    for number in range(n):
        query, *rest = board.queries[number % size :] + board.queries[: number % size]
        label = query, number // size
        plans.append(
            (label, {query: f"So [{label[1] + 1}].", **dict.fromkeys(rest[:anchors], cite_all)})
        )
    names = [f"probe-{i}" for i in range(n)]
    _submit(board, names, [outputs for _, outputs in plans])
    pairs = zip(plans, figures(board, names), strict=True)
    claims = [(label, figure["CiteR"] == relevant) for (label, _), figure in pairs]
    return [learnt(board, dict(claims[:size])) for size in SUBMISSIONS if size <= n]


def bring(board: Board, n: int) -> Learnt:
    """The attack by passages of its own: two probed queries bring one passage each.

    A probe without a relevant passage leaves the queries that define the recall. Queries that
    bring all of their passages, and cite them, have the recall 1, and all others bring nothing.
    """
    claims: dict[Label, bool] = {}
    for number in range(n):
        first, second, *rest = board.queries[2 * number :] + board.queries[: 2 * number]
        cite_all = "".join(f"[{i + 1}]" for i in range(SHOWN))
        brought = {q: (board.shown[q], f"So {cite_all}.") for q in rest[:_ANCHORS]}
        brought[first] = board.shown[first][:1], "So [1]."
        brought[second] = board.shown[second][:1], "So."
        lines = [
            {"query_id": query, "output": output, "passages": [{"docid": i} for i in ids]}
            for query, (ids, output) in ((q, brought.get(q, ([], "So."))) for q in board.queries)
        ]
        path = write_lines(_mine(board) / f"bring-{number}.jsonl", f"bring-{number}", lines)
        with suppress(InputError):
            add_submissions([path], board.folder)
        for entry in (e["CiteR"] for e in published(board, [path.stem])):
            cited = round(entry["value"] / 100 * entry["n"]) - _ANCHORS
            claims[first, 0] = cited == 1
            claims[second, 0] = entry["n"] - _ANCHORS - cited == 1
    return learnt(board, claims)


def _mine(board: Board) -> Path:
    """Folder of the attacker's files."""
    folder = board.folder.parent / "mine"
    folder.mkdir(exist_ok=True)
    return folder


def _submit(board: Board, names: Sequence[str], outputs: Sequence[Mapping[str, str]]) -> None:
    paths = [
        write_runs(_mine(board) / f"{name}.jsonl", name, [output])
        for name, output in zip(names, outputs, strict=True)
    ]
    add_submissions(paths, board.folder)


def main() -> None:
    """Print what attacks learn, by submissions and by size of the benchmark."""
    print("queries  attack  submissions  claims  right  by chance  beyond")
    for n_queries in (30, 716):
        with tempfile.TemporaryDirectory() as work:
            board = make_board(Path(work), n_queries)
            brought = bring(board, 3)
            print(f"{n_queries:7}  bring   {3:11}  {brought.claims:6}  {brought.right:5}")
            for attack in (spell, probe, vote):
                found = attack(board, SUBMISSIONS[-1])
                for n, one in zip(SUBMISSIONS, found, strict=True):
                    print(
                        f"{n_queries:7}  {attack.__name__:6}  {n:11}  {one.claims:6}  "
                        f"{one.right:5}  {one.chance:9.1f}  {one.right - one.chance:6.1f}",
                        flush=True,
                    )
