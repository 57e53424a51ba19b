"""Attacks on a board with hidden gold: what each learns per submission, by the board's own code."""

import itertools
import json
import random
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from benchmarks.hidden_board import (
    CITE_ALL,
    RELEVANT,
    SHOWN,
    Board,
    Label,
    Learnt,
    figures,
    learnt,
    make_board,
    own_folder,
    published,
    submit,
    write_lines,
)
from citeforge.plugins.leaderboard.submit import add_submissions
from citeforge.schemas.errors import InputError

Attack = Callable[[Board, int], Learnt]
_DILUTION = 999
_ANCHORS = 24
"""Queries whose figure is known: enough that figures are published, few enough to weigh much."""
_WORTH = {"CiteP": 1.0, "CiteR": 1 / 3, "CiteF1@query": 1 / 2, "Reward": 2 / 3}
"""Figures of a query that cites one relevant passage of three."""
_ALL_WORTH = {"CiteP": 1 / 3, "CiteR": 1.0, "CiteF1@query": 1 / 2, "Reward": 2 / 3}
"""Figures of a query that cites all passages."""
_VARIANTS = 10
"""Near-identical submissions about one label."""


def _probed(board: Board, number: int, anchors: int | None = None) -> tuple[Label, dict[str, str]]:
    """Plan a submission whose figures tell one label.

    Queries that cite all of their passages have known scores. So many of them are answered that
    the rounded precision differs by whether the probed passage is relevant.

    Args:
        board: the board.
        number: of the probed label.
        anchors: queries that cite everything; None for half of the queries and what it takes to
            come to an edge of rounding.
    """
    size = len(board.queries)
    query, *rest = board.queries[number % size :] + board.queries[: number % size]
    if anchors is None:
        anchors = next(
            (m for m in range(size // 2, size - 1)
             if round(100 * (m / 3) / size) != round(100 * (m / 3 + 1) / size)), size // 2
        )  # fmt: skip
    label = query, number // size % SHOWN
    outputs = {query: f"So [{label[1] + 1}]."} | dict.fromkeys(rest[:anchors], CITE_ALL)
    return label, outputs


def _evidence(board: Board, figure: Mapping[str, float], outputs: Mapping[str, str]) -> float:
    """Weigh the figures of a probe for the label: positive where they fit a relevant passage.

    All figures have the same noise, so that each counts as much as the label moves it.
    """
    size, n_all = len(board.queries), sum(text == CITE_ALL for text in outputs.values())
    total = 0.0
    for name, worth in _WORTH.items():
        without = 100 * n_all * _ALL_WORTH[name] / size
        total += worth * (figure[name] - without - 100 * worth / size / 2)
    return total


def probe(board: Board, n: int) -> Learnt:
    """The edge of rounding: each submission is about another label."""
    plans = {f"probe-{i}": _probed(board, i) for i in range(n)}
    submit(board, {name: outputs for name, (_, outputs) in plans.items()})
    claims = {
        label: _evidence(board, figure, outputs) > 0
        for (label, outputs), figure in zip(plans.values(), figures(board, [*plans]), strict=True)
    }
    return learnt(board, claims, n)


def single(board: Board, n: int) -> Learnt:
    """Submissions of a single query each, all others missing."""
    plans = {f"single-{i}": _probed(board, i, anchors=0) for i in range(n)}
    submit(board, {name: outputs for name, (_, outputs) in plans.items()})
    claims = {
        label: _evidence(board, figure, outputs) > 0
        for (label, outputs), figure in zip(plans.values(), figures(board, [*plans]), strict=True)
    }
    return learnt(board, claims, n)


def average(board: Board, n: int) -> Learnt:
    """Several accounts with near-identical submissions: one more word, so that noise is new."""
    plans, totals = {}, defaultdict[Label, float](float)
    for i in range(n):
        label, outputs = _probed(board, i // _VARIANTS)
        changed = {query: f"{'Well ' * (i % _VARIANTS)}{text}" for query, text in outputs.items()}
        plans[f"account-{i}"] = label, outputs, changed
    submit(board, {name: changed for name, (*_, changed) in plans.items()})
    for (label, outputs, _), figure in zip(plans.values(), figures(board, [*plans]), strict=True):
        totals[label] += _evidence(board, figure, outputs)
    return learnt(board, {label: total > 0 for label, total in totals.items()}, n)


def _pairs(board: Board, n: int, prefix: str) -> Iterator[tuple[Label, float, float]]:
    """Submit pairs that differ in one citation; yield its label with the precision of both."""
    plans = {}
    for i in range(n // 2):
        label, outputs = _probed(board, i)
        plans[f"{prefix}-{i}-with"] = label, outputs
        plans[f"{prefix}-{i}-without"] = label, outputs | {label[0]: "So."}
    submit(board, {name: outputs for name, (_, outputs) in plans.items()})
    values = [figure["CiteP"] for figure in figures(board, [*plans])]
    labels = [label for label, _ in plans.values()]
    yield from zip(labels[::2], values[::2], values[1::2], strict=True)


def difference(board: Board, n: int) -> Learnt:
    """Two submissions that differ in one query, as two slices would: the difference is its own."""
    half = 50 / len(board.queries)
    claims = {q: a - b > half for q, a, b in _pairs(board, n, "difference")}
    return learnt(board, claims, n)


def tie(board: Board, n: int) -> Learnt:
    """Which of two systems that differ in one query ranks first; nothing is said of ties."""
    claims = {label: a > b for label, a, b in _pairs(board, n, "tie") if a != b}
    return learnt(board, claims, n)


def spell(board: Board, n: int) -> Learnt:
    """Labels as digits of a score: each has half the weight of the one before.

    A citation of a passage that was not shown counts as a wrong one: so many make a label small.
    The labels that explain precision and recall best are claimed.
    """
    plans = {f"spell-{i}": _spelling(board, i) for i in range(n)}
    submit(board, {name: outputs for name, (outputs, _) in plans.items()})
    claims: dict[Label, bool] = {}
    for (_, labels), figure in zip(plans.values(), figures(board, [*plans]), strict=True):
        claims |= _decoded(board, labels, figure)
    return learnt(board, claims, n)


def _spelling(board: Board, number: int) -> tuple[dict[str, str], list[tuple[Label, int]]]:
    """Plan a submission that spells labels: outputs, and labels with their wrong citations.

    The last label is hardly seen in the precision, and is read from the recall.
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


def _decoded(
    board: Board, labels: Sequence[tuple[Label, int]], figure: Mapping[str, float]
) -> dict[Label, bool]:
    """Find the labels that explain the figures of a spelling best."""
    n = len(board.queries)

    def misfit(bits: Sequence[bool]) -> float:
        """Sum the squared distances of precision and recall."""
        precision = sum(b / (w + 1) for b, (_, w) in zip(bits, labels, strict=True)) * 100 / n
        recall = sum(bits) * 100 / n / RELEVANT
        return (precision - figure["CiteP"]) ** 2 + (recall - figure["CiteR"]) ** 2

    best = min(itertools.product((False, True), repeat=len(labels)), key=misfit)
    return {label: bit for (label, _), bit in zip(labels, best, strict=True)}


def vote(board: Board, n: int) -> Learnt:
    """Votes (Blum & Hardt 2015): drawn answers tell all labels, weighed by what they score."""
    rng = random.Random(0)
    draws = [{q: rng.randrange(SHOWN) for q in board.queries} for _ in range(n)]
    plans = {
        f"vote-{k}": {q: f"So [{i + 1}]." for q, i in draw.items()} for k, draw in enumerate(draws)
    }
    submit(board, plans)
    values = [figure["CiteP"] for figure in figures(board, [*plans])]
    middle, totals = sum(values) / len(values), defaultdict[Label, float](float)
    for draw, value in zip(draws, values, strict=True):
        for label in draw.items():
            totals[label] += value - middle
    return learnt(board, {label: total > 0 for label, total in totals.items()}, n)


def bring(board: Board, n: int) -> Learnt:
    """Passages of its own: two probed queries bring one passage each.

    A probe without a relevant passage leaves the queries that define the recall. Queries that
    bring all of their passages, and cite them, have the recall 1, and all others bring nothing.
    """
    claims: dict[Label, bool] = {}
    for number in range(n):
        first, second, *rest = board.queries[2 * number :] + board.queries[: 2 * number]
        brought = {q: (board.shown[q], CITE_ALL) for q in rest[:_ANCHORS]}
        brought[first] = board.shown[first][:1], "So [1]."
        brought[second] = board.shown[second][:1], "So."
        lines = [
            {"query_id": query, "output": output, "passages": [{"docid": i} for i in ids]}
            for query, (ids, output) in ((q, brought.get(q, ([], "So."))) for q in board.queries)
        ]
        path = write_lines(own_folder(board) / f"bring-{number}.jsonl", f"bring-{number}", lines)
        with suppress(InputError):
            add_submissions([path], board.folder)
        for entry in (e["CiteR"] for e in published(board, [path.stem])):
            cited = round(entry["value"] / 100 * entry["n"]) - _ANCHORS
            claims[first, 0] = cited == 1
            claims[second, 0] = entry["n"] - _ANCHORS - cited == 1
    return learnt(board, claims, n) if claims else Learnt(0, 0, 0, 0.0)


def withdraw(board: Board, n: int) -> Learnt:
    """One system that takes back each submission before the next, until the board refuses."""
    claims: dict[Label, bool] = {}
    taken = 0
    for i in range(n):
        label, outputs = _probed(board, i)
        try:
            submit(board, {"withdraw": outputs})
        except InputError:
            break
        taken += 1
        claims[label] = _evidence(board, figures(board, ["withdraw"])[0], outputs) > 0
        (board.folder / "submissions" / "public" / "withdraw.jsonl").unlink()
    return learnt(board, claims, taken)


def repeat(board: Board, n: int) -> Learnt:
    """The same answers in n files that differ in name, header, order, blanks and metadata.

    What the board publishes of them is one set of figures: only that counts as a submission.
    """
    label, outputs = _probed(board, 0)
    rng, paths = random.Random(0), []
    for i in range(n):
        lines = [
            {"query_id": q, "output": text + " " * (i % 3), "meta": {"i": i}}
            for q, text in rng.sample([*outputs.items()], len(outputs))
        ]
        header = {"submission": {"system": f"repeat {i}", "date": f"2026-01-{i % 28 + 1:02}"}}
        path = own_folder(board) / f"repeat-{i}.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in (header, *lines)))
        paths.append(path)
    add_submissions(paths, board.folder)
    shown = figures(board, [path.stem for path in paths])
    distinct = {tuple(figure.items()) for figure in shown}
    total = sum(_evidence(board, dict(figure), outputs) for figure in distinct)
    return learnt(board, {label: total > 0}, len(distinct))


def intake(board: Board, n: int) -> Learnt:
    """Refusals: files with faults about single queries, sent to two boards of reversed labels.

    Each answer that differs between the boards would tell a label.
    """
    claims: dict[Label, bool] = {}
    with tempfile.TemporaryDirectory() as work:
        size = len(board.queries)
        other = make_board(Path(work), size, passages=_PASSAGES, swapped=range(size))
        for i in range(n):
            label, outputs = _probed(board, i)
            text = outputs[label[0]]
            faults = [
                {"query_id": label[0], "output": text, "passages": [{"docid": "p1"}]},
                {"query_id": label[0], "output": f"{text}[99] [{label[1] + 1}"},
                {"query_id": f"{label[0]}x", "output": text},
                {"query_id": label[0], "output": text, "run": 9},
            ]
            replies = [
                _refusal(one, [*outputs.items()], faults[i % len(faults)]) for one in (board, other)
            ]
            if replies[0] != replies[1]:
                claims[label] = True
    return learnt(board, claims, n) if claims else Learnt(n, 0, 0, 0.0)


def _refusal(board: Board, outputs: Sequence[tuple[str, str]], last: dict[str, object]) -> str:
    """Check a submission with ``add --check``: the reply, without the board's folder and hash.

    The hash of the whole package covers the secret, so that no guess can be tried out on it.
    """
    lines = [{"query_id": q, "output": text} for q, text in outputs if q != last["query_id"]]
    path = write_lines(own_folder(board) / "refused.jsonl", "refused", [*lines, last])
    try:
        text = "\n".join(add_submissions([path], board.folder, only_check=True).to_text_lines())
    except InputError as error:
        text = f"{error.code}\n{error}"
    manifest = json.loads((board.folder.parent / "public" / "manifest.json").read_text())
    for word in (str(board.folder.parent), manifest["config"]["joined_hash"]):
        text = text.replace(word, "…")
    return text


_PASSAGES = 10_000
MANY: dict[str, Attack] = {
    "edge of rounding": probe, "single queries": single, "several accounts": average,
    "differences": difference, "ties of ranks": tie, "spelling": spell, "voting": vote,
}  # fmt: skip
"""Attacks by many submissions."""
FEW: dict[str, Attack] = {
    "own passages": bring, "withdrawn": withdraw, "repeated": repeat, "refusals": intake,
}  # fmt: skip
"""Attacks that the board refuses, or takes as one submission."""


def main() -> None:
    """Print what attacks learn, by size of the benchmark."""
    print("queries  attack            submissions  claims  right    bits  bits each")
    for n_queries, n_many in ((30, 60), (716, 40)):
        for n, attacks in ((n_many, MANY), (8, FEW)):
            for name, attack in attacks.items():
                with tempfile.TemporaryDirectory() as work:
                    found = attack(make_board(Path(work), n_queries, passages=_PASSAGES), n)
                print(
                    f"{n_queries:7}  {name:16}  {found.submissions:11}  {found.claims:6}  "
                    f"{found.right:5}  {found.bits:6.2f}  {found.bits_each:9.4f}",
                    flush=True,
                )
