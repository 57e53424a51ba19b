"""Judge a file of (premise, hypothesis) pairs, and write the verdicts as JSON Lines."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from citeforge.engines.files import atomic_file, require_writable
from citeforge.engines.jsonlines import read_rows
from citeforge.engines.judge.records import Decision, Pair, Verdict
from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.running.names import JUDGES
from citeforge.engines.running.setup import judge_session
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.judge_profile import level_name
from citeforge.schemas.recipes.base import Judging, RunOptions


class PairRow(msgspec.Struct, forbid_unknown_fields=True):
    """A line of a file of pairs."""

    premise: str
    hypothesis: str


def read_pairs(path: Path) -> list[Pair]:
    """Read (premise, hypothesis) pairs to judge from a JSON Lines file.

    Raises:
        InputError: a line is wrong, or there are none.
    """
    pairs = [Pair(row.premise, row.hypothesis) for _, row in read_rows(path, PairRow)]
    if not pairs:
        raise InputError(
            "contains no pairs",
            path=path,
            allowed="lines of premise and hypothesis",
            code="no-pairs",
        )
    return pairs


@dataclass(frozen=True)
class JudgedFile:
    """Counts of a judged file of pairs, and the session that judged it.

    Attributes:
        pairs: number of pairs in the file, repetitions included.
        entailed: number of them that are entailed.
        session: session of the judge, with its counts.
    """

    pairs: int
    entailed: int
    session: JudgeSession


def judge_pairs(path: Path, judging: Judging, run: RunOptions, out: Path) -> JudgedFile:
    """Judge the pairs of a file, as ``citeforge labels judge`` does.

    Args:
        path: JSON Lines of ``premise`` and ``hypothesis``.
        judging: the judge.
        run: where it runs, what it may cost, where verdicts are kept.
        out: file for the verdicts, which ``table:FILE`` reads.

    Raises:
        InputError: a line is wrong, or the judge cannot be loaded.
        UsageError: there is no such judge, or none is named.
    """
    rows = read_pairs(path)
    session = require_judge(judging, run)
    require_writable(out)
    entailed = write_verdicts(out, rows, session.ask(rows))
    return JudgedFile(len(rows), entailed, session)


def write_verdicts(path: Path, pairs: Sequence[Pair], decisions: Mapping[Pair, Decision]) -> int:
    """Write a line per distinct pair for a judge ``table:FILE``; return the number entailed.

    Returns:
        Number of entailed pairs, repetitions included.
    """
    with atomic_file(path) as file:
        for pair in dict.fromkeys(pairs):
            verdict = decisions[pair]
            if isinstance(verdict, Verdict):
                row: dict[str, object] = {
                    "premise": pair.premise,
                    "hypothesis": pair.hypothesis,
                    "verdict": "undecided" if verdict.undecided else verdict.entailed,
                    "margin": verdict.margin,
                }
                if verdict.support is not None:
                    row["support"] = level_name(verdict.support)
                file.write(msgspec.json.encode(row) + b"\n")
    return sum(isinstance(v := decisions[p], Verdict) and v.entailed for p in pairs)


def require_judge(judging: Judging, run: RunOptions) -> JudgeSession:
    """Open the judge that options name; raise an error if they name none.

    Raises:
        UsageError: none is named.
    """
    session = judge_session(judging, run)
    if session is None:
        raise UsageError(f"give a judge: {JUDGES.list_forms()}", code="missing-judge")
    return session
