"""Pairs and verdicts as JSON Lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from citeforge.engines.files import atomic_file
from citeforge.engines.jsonlines import read_rows
from citeforge.engines.judge.records import Decision, Pair, Verdict
from citeforge.schemas.errors import InputError


class PairRow(msgspec.Struct, forbid_unknown_fields=True):
    """A line of a pairs file."""

    premise: str
    hypothesis: str


def read_pairs(path: Path) -> list[Pair]:
    """All pairs of a file.

    Raises:
        InputError: a line is wrong, or there is none.
    """
    pairs = [Pair(row.premise, row.hypothesis) for _, row in read_rows(path, PairRow)]
    if not pairs:
        raise InputError("holds no pairs", path=path, allowed="lines of premise and hypothesis")
    return pairs


def write_verdicts(path: Path, pairs: Sequence[Pair], found: Mapping[Pair, Decision]) -> int:
    """Write one line for each distinct pair with a verdict, as ``table:FILE`` reads them.

    Returns:
        Number of pairs, repeats counted, that are entailed.
    """
    with atomic_file(path) as file:
        for pair in dict.fromkeys(pairs):
            verdict = found[pair]
            if isinstance(verdict, Verdict):
                row = {
                    "premise": pair.premise,
                    "hypothesis": pair.hypothesis,
                    "verdict": verdict.entailed,
                    "margin": verdict.margin,
                }
                file.write(msgspec.json.encode(row) + b"\n")
    return sum(isinstance(v := found[p], Verdict) and v.entailed for p in pairs)
