"""Pairs of score files that a gate compares, and rows that need no test (such as counts)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from citeforge.evaluator.gate_findings import (
    FAIL,
    NOT_RUN,
    OPEN,
    PASS,
    AboveBound,
    NoBaseline,
    NoCounterpart,
    RequiredValue,
    Row,
    Verdict,
    WithinBounds,
)
from citeforge.evaluator.gate_policy import PolicySource
from citeforge.evaluator.measures.registry import direction
from citeforge.schemas.errors import UsageError
from citeforge.schemas.recipes.gate import GatePolicy, RequiredQuery
from citeforge.schemas.scores import MeasureScore, ScoreFile

_TINY = 1e-9


@dataclass(frozen=True)
class Pair:
    """Scores of the new system beside those of the baseline.

    Attributes:
        new: of the new system.
        old: of the baseline; None where it has none.
        place: what distinguishes it from other pairs; empty for the only one.
        is_slice: whether these are scores of a slice of the queries.
    """

    new: ScoreFile
    old: ScoreFile | None
    place: str
    is_slice: bool = False


def pair_files(
    new: Sequence[ScoreFile], baseline: Sequence[ScoreFile]
) -> tuple[list[Pair], list[Row]]:
    """Pair new with baseline score files: (pairs, report rows of files without counterpart).

    Counterparts are of the same benchmark, context set and protocol. Of several, the one of the
    same system is taken, or the one with the same signatures.

    Raises:
        UsageError: two score files of the new system that cannot be told apart, or several
            possible counterparts.
    """
    keys = [(*_match_key(f), f.system, _signatures(f)) for f in new]
    if len(set(keys)) < len(keys):
        raise UsageError(
            "two of the new score files have the same system, context set and signatures",
            code="duplicate-name",
        )
    partners = [_find_baseline(file, baseline) for file in new]
    labels = _tell_apart(new)
    pairs = [Pair(f, old, label) for f, old, label in zip(new, partners, labels, strict=True)]
    rows = [_missing_baseline_row(p, baseline) for p in pairs if p.old is None]
    used = [old for old in partners if old is not None]
    systems = {old.system for old in used}
    for old in baseline:
        if old.system in systems and not any(old is one for one in used):
            finding = NoCounterpart(old, is_baseline=True)
            rows.append(Row("new scores", "files", OPEN, finding=finding))
    return pairs, rows


def _match_key(file: ScoreFile) -> tuple[str, str, str]:
    """Get what a score file and its baseline share: benchmark, context set and protocol."""
    return file.benchmark, file.context, file.protocol


def _signatures(file: ScoreFile) -> frozenset[str]:
    """Get the signatures of all measures of a score file."""
    return frozenset(m.signature for m in file.measures)


def _find_baseline(file: ScoreFile, baseline: Sequence[ScoreFile]) -> ScoreFile | None:
    """Find a score file's baseline: same benchmark, contexts, protocol; then most alike."""
    candidates = [old for old in baseline if _match_key(old) == _match_key(file)]
    for same in (
        lambda old: old.system == file.system,
        lambda old: bool(_signatures(old) & _signatures(file)),
        lambda old: _signatures(old) == _signatures(file),
    ):
        if len(candidates) > 1:
            candidates = [old for old in candidates if same(old)] or candidates
    if len(candidates) > 1:
        names = ", ".join(dict.fromkeys(old.system for old in candidates))
        raise UsageError(
            f"--baseline has several score files for {describe_file(file)} ({names}); give one",
            code="ambiguous-baseline",
        )
    return candidates[0] if candidates else None


def describe_file(file: ScoreFile) -> str:
    """Describe a score file by system, benchmark, context set and protocol."""
    return f"{file.system} on {file.benchmark}, context {file.context}, {file.protocol}"


def _tell_apart(files: Sequence[ScoreFile]) -> list[str]:
    """Describe each score file by the properties in which the files differ."""
    parts = [(f.system, f.benchmark, f.context, f.protocol) for f in files]
    several = [len(set(column)) > 1 for column in zip(*parts, strict=True)]
    return [", ".join(p for p, k in zip(row, several, strict=True) if k) for row in parts]


def _missing_baseline_row(pair: Pair, baseline: Sequence[ScoreFile]) -> Row:
    """Make the report row of a new score file without counterpart in the baseline."""
    if not baseline:
        return Row("baseline", "files", NOT_RUN, pair.place, finding=NoBaseline())
    finding = NoCounterpart(pair.new, False, tuple(baseline))
    return Row("baseline", "files", OPEN, pair.place, finding=finding)


def count_rows(pair: Pair, policy: GatePolicy) -> Iterator[Row]:
    """Make a report row per count (such as missing answers) above its bound, or one passing row.

    Too many failures of the judge, and a baseline that exceeds a bound, make the comparison
    worthless; what the new system's answers lack is its own fault.
    """
    is_kept = True
    for file, of_baseline in ((pair.new, False), (pair.old, True)):
        if file is None:
            continue
        for name, count, most in policy.counts.exceeded(file.counts):
            is_kept = False
            verdict = OPEN if of_baseline or name == "judge_failed" else FAIL
            finding = AboveBound(file, of_baseline, count, most)
            yield Row(name, "counts", verdict, pair.place, new=count, allowed=most, finding=finding)
    if is_kept:
        yield Row("counts", "counts", PASS, pair.place, finding=WithinBounds(pair.new))


def required_rows(pairs: Sequence[Pair], policy_source: PolicySource) -> Iterator[Row]:
    """Make a report row for each query on whose value the policy sets a bound.

    Raises:
        InputError: the score files have no such query or context; with the policy's line.
    """
    for n, required in enumerate(policy_source.policy.required):
        asked = [p for p in pairs if required.context in (None, p.new.context)]
        if not asked:
            raise policy_source.error(
                ("required", n, "context"), f"{required.context!r} is no context that was scored",
                f"one of {', '.join(sorted({p.new.context for p in pairs}))}", "unknown-name",
            )  # fmt: skip
        asked = [p for p in asked if required.query in p.new.query_ids]
        if not asked:
            raise policy_source.error(
                ("required", n, "query"), f"{required.query!r} is no query that was scored",
                "an id of a query of the benchmark", "unknown-name",
            )  # fmt: skip
        yield from (_required_row(pair, required) for pair in asked)


def _required_row(pair: Pair, required: RequiredQuery) -> Row:
    """Report whether a query's value meets its bound or, without bound, the baseline's value."""
    query, name = required.query, required.measure
    new, old = _find_score(pair.new, name), _find_score(pair.old, name)
    value, before = (_query_value(f, e, query) for f, e in ((pair.new, new), (pair.old, old)))
    if new is None or old is None or new.signature != old.signature:
        before = None
    least, most = required.at_least, required.at_most
    if least is None and most is None:
        least, most = (None, before) if direction(name) is False else (before, None)
    verdict: Verdict = OPEN
    if value is not None and (least is not None or most is not None):
        is_kept = value >= least - _TINY if least is not None else value <= (most or 0) + _TINY
        verdict = PASS if is_kept else FAIL
    return Row(
        f"{query}: {name}", "required", verdict, pair.place, before, value,
        finding=RequiredValue(query, name, value, least, most),
    )  # fmt: skip


def _find_score(file: ScoreFile | None, measure: str) -> MeasureScore | None:
    """Find a measure's score in a score file; None if there is no file or no such measure."""
    return None if file is None else next((m for m in file.measures if m.name == measure), None)


def _query_value(file: ScoreFile | None, entry: MeasureScore | None, query: str) -> float | None:
    """Get a measure's value on one query, scaled for display; None where it is undefined."""
    if file is None or entry is None or query not in file.query_ids:
        return None
    value = entry.per_query[file.query_ids.index(query)]
    return None if value is None else entry.scale * value
