"""Whether a submission answers this benchmark: its header, else what its citations give away."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.schemas.citations.grammar import Grammar
from citeforge.schemas.errors import InputError
from citeforge.schemas.submission import SubmissionLine

_SHARE_BEYOND = 0.2
"""Share of the answers that cite, from which on citations beyond the context are no slips."""
_MOST_LINES = 20_000
"""Lines of a submission that are looked at: more would tell no more, and cost time."""
_FEWEST = 3
"""Answers, or passages, of which fewer tell nothing."""
_LOG_CHANCE = math.log(1e-9)
"""Chance below which it is no accident that the last passages are never cited."""


@dataclass(frozen=True)
class Origin:
    """What a file of another tool says of itself.

    Attributes:
        header: as the header of a submission would say it; empty where nothing is said.
        warnings: what of it is missing.
    """

    header: Mapping[str, object] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


def require_same_benchmark(path: Path, benchmark: Benchmark, header: Mapping[str, object]) -> None:
    """Refuse a submission whose header names another build of the benchmark.

    Args:
        path: submission.
        benchmark: what it is scored against.
        header: its header, empty where it has none.

    Raises:
        InputError: the hashes differ: other contexts were shown.
    """
    theirs = header.get("benchmark_hash")
    # The half without labels shows what the whole does.
    whole = benchmark.manifest.config.get("joined_hash")
    hashes = [benchmark.manifest.benchmark_hash, whole, *benchmark.also_known]
    if theirs is not None and theirs not in hashes:
        raise InputError(
            f"was made on a benchmark with hash {str(theirs)[:16]}…, "
            f"this one has {benchmark.manifest.benchmark_hash[:16]}…",
            path=path,
            line=1,
            field="benchmark_hash",
            allowed="score it against the benchmark that it answers",
        )


def anonymous_warnings(benchmark: Benchmark, header: Mapping[str, object]) -> list[str]:
    """What to say of a submission of our own format without a hash; ``header`` as above."""
    name = header.get("benchmark")
    other = "" if name in (None, benchmark.manifest.name) else f", and its benchmark is {name!r}"
    return [
        f"the header has no benchmark_hash{other}: nothing tells that the answers were made on "
        f"{benchmark.label}; prompts of `citeforge export prompts` carry it"
    ]


def asked_of(header: Mapping[str, object], benchmark: Benchmark) -> int | None:
    """How many of the benchmark's queries, from the first on, a submission was asked.

    Args:
        header: of a submission; ``citeforge run --limit N`` writes N into it.
        benchmark: what it answers.

    Returns:
        None where the header does not say, or says all of them.
    """
    limit = header.get("limit")
    if not isinstance(limit, int) or isinstance(limit, bool):
        return None
    return limit if 0 < limit < len(benchmark) else None


def partly_asked(header: Mapping[str, object], benchmark: Benchmark) -> list[str]:
    """What to say of a submission to a part of the queries."""
    n_asked = asked_of(header, benchmark)
    if n_asked is None:
        return []
    return [
        f"{n_asked:,} of {len(benchmark):,} queries were asked (--limit), the others count as "
        "missing; score --only-asked scores these alone"
    ]


@dataclass
class CitationRange:
    """How far citations reach, held against what this benchmark shows.

    Context sets of two builds may have the same names and queries. Where the header does not tell
    the builds apart, answers that were made with more passages cite beyond these, and answers that
    were made with fewer never cite the last ones.
    """

    _n_citing: int = 0
    _n_beyond: int = 0
    _sizes: Counter[int] = field(default_factory=Counter)
    _farthest: int = 0

    def add(self, inside: Iterable[int], n_beyond: int, n_shown: int) -> None:
        """Count one answer.

        Args:
            inside: 1-based positions of the distinct passages cited.
            n_beyond: distinct citations of what was not shown.
            n_shown: number of passages shown; 0 where positions mean nothing.
        """
        cited = set(inside)
        if not cited and not n_beyond:
            return
        self._n_citing += 1
        self._n_beyond += n_beyond > 0
        if n_shown and cited:
            self._sizes[n_shown] += len(cited)
            self._farthest = max(self._farthest, *cited)

    def warnings(self, what: str = "passages") -> list[str]:
        """What gives another build away; empty when nothing does."""
        doubts = []
        if self._n_beyond >= max(_FEWEST, _SHARE_BEYOND * self._n_citing):
            doubts.append(
                f"{self._n_beyond:,} of {self._n_citing:,} answers with citations cite {what} that "
                "this benchmark does not show: were they made on another build of it?"
            )
        wider = {size: n for size, n in self._sizes.items() if size > self._farthest}
        # Chance that citations spread over all passages would miss the last ones altogether.
        missed = sum(n * math.log(self._farthest / size) for size, n in wider.items())
        if self._farthest >= _FEWEST and missed < _LOG_CHANCE:
            doubts.append(
                f"none of {sum(self._sizes.values()):,} citations goes beyond passage "
                f"{self._farthest}, though up to {max(wider)} are shown: were the answers made "
                f"with {self._farthest} passages?"
            )
        return doubts


class MismatchDetector(CitationRange):
    """Looks at the citations of a submission's first lines.

    Attributes:
        n_lines: lines that were read so far, of other context sets, too.
    """

    def __init__(self, grammar: Grammar, sizes: Sequence[int]) -> None:
        """Prepare.

        Args:
            grammar: citation grammar with the submission's index base.
            sizes: passages shown for each query; empty where answers bring their own or none.
        """
        super().__init__()
        self.n_lines = 0
        self._grammar, self._n_shown = grammar, sizes

    def look(self, row: int, answer: SubmissionLine) -> None:
        """Count one answer to the query of a row."""
        if self.n_lines > _MOST_LINES or answer.passages is not None or not self._n_shown:
            return
        n_shown = self._n_shown[row]
        inside, outside, _ = self._grammar.cited(answer.output, n_shown)
        self.add((position + 1 for position in inside), outside, n_shown)
