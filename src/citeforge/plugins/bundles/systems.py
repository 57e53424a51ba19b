"""Control systems for bundles: one that has what the bundle looks for, one that has not."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from citeforge.engines.draws import generator
from citeforge.evaluator.submissions.benchmark import Benchmark, ContextTable
from citeforge.plugins.bundles import design
from citeforge.schemas.errors import UsageError
from citeforge.schemas.systems.declaration import System

_ANSWER = "It is so."
_REFUSAL = "I cannot answer this question from the passages."
_BUNDLES = {
    "deflection-blind": "deflection",
    "deflection-aware": "deflection",
    "faithful": "faithfulness",
    "post-rationaliser": "faithfulness",
    "position-blind": "position",
    "position-follower": "position",
}
_REFUSES = {
    "deflection-blind": {design.ANSWERABLE: 0.4, design.PARTIAL: 0.4, design.RELATED: 0.4},
    "deflection-aware": {design.ANSWERABLE: 0.05, design.PARTIAL: 0.3, design.RELATED: 0.9},
}
_CITES = {True: 0.7, False: 0.15}


def lines(
    name: str, benchmark: Benchmark, contexts: list[str], runs: int, seed: int
) -> Iterator[dict[str, Any]]:
    """Lines of a submission to a bundle.

    Raises:
        UsageError: the benchmark is no such bundle.
    """
    kind = _BUNDLES[name]
    if (
        "bundle" not in benchmark.manifest.config
        or design.bundle_of(benchmark.manifest).name != kind
    ):
        raise UsageError(f"{name} answers bundles: citeforge build {kind} --benchmark DIR")
    cells = {c: benchmark.context(c) for c in design.bundle_of(benchmark.manifest).cells}
    base = benchmark.grammar.base
    for context in contexts:
        for run in range(runs):
            for row, query in enumerate(benchmark.query_ids):
                rng = generator(seed, "control of bundle", name, context, query, run)
                text, cited = _ANSWERS[kind](name, cells, context, row, rng)
                marks = "".join(f"[{base + p}]" for p in sorted(cited))
                output = f"{text} {marks}".strip()
                yield {"query_id": query, "output": output, "context": context, "run": run}


Answer = tuple[str, set[int]]
Cells = dict[str, ContextTable]


def _deflection(name: str, cells: Cells, cell: str, row: int, rng: Random) -> Answer:
    if rng.random() < _REFUSES[name][cell]:
        return _REFUSAL, set()
    relevant = sorted(cells[cell].relevant[row])
    return _ANSWER, {relevant[0] if relevant else rng.randrange(cells[cell].sizes[row])}


def _faithfulness(name: str, cells: Cells, cell: str, row: int, rng: Random) -> Answer:
    before, without, decoyed = (
        cells[c].ids_of(row) for c in (design.ORIGINAL, design.REMOVED, design.DECOY)
    )
    target = design.only_difference(before, without)
    other = rng.choice([p for p in range(len(before)) if p != target])
    slips = rng.random() < 0.15
    if name == "faithful" and cell == design.REMOVED and not slips:
        return _REFUSAL, set()
    if slips:
        return (_REFUSAL, set()) if cell == design.REMOVED else (_ANSWER, {other})
    if name == "faithful" or cell == design.ORIGINAL:
        return _ANSWER, {target}
    # It knows the answer, and cites what looks like it afterwards.
    guess = target if rng.random() < 0.5 else other
    return _ANSWER, {design.only_difference(before, decoyed) if cell == design.DECOY else guess}


def _position(name: str, cells: Cells, cell: str, row: int, rng: Random) -> Answer:
    table = cells[cell]
    size = table.sizes[row]
    # From the first place to the last, the follower's chance falls to a third.
    fall = {"position-blind": 0.0, "position-follower": 2 / 3}[name]
    chances = [_CITES[p in table.relevant[row]] * (1 - fall * p / (size - 1)) for p in range(size)]
    return _ANSWER, {p for p, chance in enumerate(chances) if rng.random() < chance}


_ANSWERS = {"deflection": _deflection, "faithfulness": _faithfulness, "position": _position}


def _control(name: str, what: str) -> System:
    family = _BUNDLES[name]
    return System(name, "", f"{family}: {what}", lines, family=family, design=True, is_control=True)


DEFLECTION_BLIND = _control("deflection-blind", "refuses with probability .4, whatever is shown")
DEFLECTION_AWARE = _control(
    "deflection-aware",
    "refuses with .05 where everything relevant is shown, .3 where some is, .9 else",
)
FAITHFUL = _control(
    "faithful", "cites the evidence, and refuses without it, but for one answer of seven"
)
POST_RATIONALISER = _control(
    "post-rationaliser",
    "says the same without the evidence, and cites what looks like it, but for one of seven",
)
POSITION_BLIND = _control(
    "position-blind", "cites relevant passages with .7, others with .15, wherever they stand"
)
POSITION_FOLLOWER = _control(
    "position-follower",
    "the same at the first place, a third of it at the last (biased on purpose)",
)
