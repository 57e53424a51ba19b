"""Robustness of the order of systems: how it changes with the definition of citation quality."""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from citeforge.engines.shown import show_percent
from citeforge.evaluator.measures.registry import declaration_order, find_measure, select
from citeforge.evaluator.ranks import better_for_certain, towards_better
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.scores import MeasureScore, ScoreFile
from citeforge.schemas.signature import parse_signature

ASPECTS = ("precision", "recall", "both", "")


@dataclass(frozen=True)
class Definition:
    """A definition of citation quality (measure, protocol and judge), and its order of the systems.

    Attributes:
        measure: name of the measure.
        family: family of the measure.
        aspect: aspect of citation quality, such as precision; empty if the measure declares none.
        protocol: ``strict`` or ``reference``.
        judge: name of the judge; empty without one.
        other: further parts of its signature that differ from definitions of the same name.
        why: how it differs from other definitions, in one sentence.
        signature: its signature.
        values: values of the systems, as displayed.
        ranks: ranks of the systems, from 1; equal values share the mean of their places.
        signs: for each pair of systems: 1 where the first is ahead, -1 behind, 0 level.
        certain: the same, but 0 where the difference is not significant.
    """

    measure: str
    family: str
    aspect: str
    protocol: str
    judge: str
    other: str
    why: str
    signature: str
    values: tuple[float, ...]
    ranks: tuple[float, ...]
    signs: tuple[int, ...]
    certain: tuple[int, ...]

    @property
    def name(self) -> str:
        """Name of this definition of quality: measure, protocol, judge, and options that differ."""
        return " · ".join(p for p in (self.measure, self.protocol, self.judge, self.other) if p)


@dataclass(frozen=True)
class SystemPair:
    """Two systems, and the numbers of definitions that order them one way or the other.

    Attributes:
        first: the system that most definitions put ahead.
        second: the other system.
        ahead: number of definitions that put the first ahead.
        behind: number of definitions that put it behind.
        level: number of definitions that give both the same value.
        is_certain: where the order flips: whether the first is significantly better by some
            definition and the second by another; else: whether the first is by all.
    """

    first: str
    second: str
    ahead: int
    behind: int
    level: int
    is_certain: bool

    @property
    def is_contradicted(self) -> bool:
        """Whether some definitions of quality rank the first system higher, others the second."""
        return bool(self.ahead and self.behind)


@dataclass(frozen=True)
class Robustness:
    """Comparison of how all definitions of citation quality order some systems.

    Attributes:
        benchmark: name of the benchmark.
        systems: names of the systems.
        definitions: its definitions, sorted by aspect, then in declared order.
        tau: Kendall's tau-b of each two definitions; NaN where one gives all the same value.
        pairs: pairs of systems, the most disputed first.
        against: per definition, number of pairs that it orders the other way round than most.
        left_out: systems and definitions that are left out, with the reason.
    """

    benchmark: str
    systems: tuple[str, ...]
    definitions: tuple[Definition, ...]
    tau: tuple[tuple[float, ...], ...]
    pairs: tuple[SystemPair, ...]
    against: tuple[int, ...]
    left_out: tuple[str, ...]

    @property
    def n_flips(self) -> int:
        """Number of pairs of systems that some definitions of quality order in opposite ways."""
        return sum(pair.is_contradicted for pair in self.pairs)

    def mean_tau(self, number: int) -> float:
        """Average Kendall's tau-b of a definition (by index) with the others; NaN if undefined."""
        others = [t for i, t in enumerate(self.tau[number]) if i != number and not math.isnan(t)]
        return sum(others) / len(others) if others else math.nan


def compare_definitions(files: Sequence[ScoreFile], measures: Sequence[str] = ()) -> Robustness:
    """Compare how definitions of citation quality order the same systems.

    Args:
        files: score files of two systems or more on one benchmark, by several protocols or judges.
            Definitions that some system has no value of are left out.
        measures: names or families; empty for all measures of citation quality.

    Raises:
        InputError: the files are of several benchmarks, contexts or submissions of one system, or
            contradict each other.
        UsageError: there are fewer than two systems, or fewer than two definitions of all systems.
    """
    names = {m.name for m in select(measures)}
    by_system, left_out = _group_by_system(files)
    systems = tuple(by_system)
    if len(systems) < 2:
        there = f"these are of {systems[0]}" if systems else "these are of reference lines alone"
        raise UsageError(f"--robustness compares two systems or more; {there}", code="too-few")
    scores: dict[str, dict[str, tuple[ScoreFile, MeasureScore]]] = defaultdict(dict)
    for system, several in by_system.items():
        for file in several:
            for entry in file.measures:
                if _is_wanted(entry.name, names):
                    _add_score(scores[entry.signature], system, file, entry)
    common = []
    for signature, of_systems in scores.items():
        missing = [s for s in systems if s not in of_systems or of_systems[s][1].value is None]
        if missing:
            left_out.append(f"{_to_definition(signature).name}: no value of {', '.join(missing)}")
        elif len({tuple(file.query_ids) for file, _ in of_systems.values()}) > 1:
            left_out.append(f"{_to_definition(signature).name}: scored on other queries")
        else:
            common.append(_rank_systems(signature, [of_systems[s] for s in systems]))
    if len(common) < 2:
        raise UsageError(
            "--robustness compares two definitions or more that all systems have, and there "
            f"{'is 1' if common else 'are 0'}; score the same submissions with more --measures, "
            "the other --protocol, or another --judge, and give all score files",
            code="too-few",
        )
    common.sort(key=lambda d: (ASPECTS.index(d.aspect), declaration_order(d.measure), d.protocol))
    definitions = _make_names_unique(common)
    majority = np.sign(np.sum([d.signs for d in definitions], axis=0))
    return Robustness(
        next(iter(by_system.values()))[0].benchmark, systems, definitions,
        tuple(tuple(_kendall_tau(a, b) for b in definitions) for a in definitions),
        _compare_pairs(systems, definitions),
        tuple(int((np.array(d.signs) * majority < 0).sum()) for d in definitions),
        tuple(left_out),
    )  # fmt: skip


def _is_wanted(measure_name: str, requested: set[str]) -> bool:
    """Whether to compare a measure; never if neither higher nor lower is better."""
    measure = find_measure(measure_name)
    if measure is None or measure.higher_is_better is None:
        return False
    return measure_name in requested if requested else measure.citation_quality is not None


def _group_by_system(files: Sequence[ScoreFile]) -> tuple[dict[str, list[ScoreFile]], list[str]]:
    """Group score files by system: (files by system, notes on controls, which are left out).

    Raises:
        InputError: files of several benchmarks, contexts, or submissions of one system.
        UsageError: files of authorship benchmarks.
    """
    for what, values in (
        ("benchmarks", {f"{f.benchmark}@{f.benchmark_hash[:8]}" for f in files}),
        ("context sets (--across contexts compares them)", set(map(_signature_context, files))),
    ):
        if len(values) > 1:
            raise InputError(
                f"--robustness: the score files are of several {what}: {', '.join(sorted(values))}",
                allowed="files of one",
                code="not-comparable",
            )
    if any(f.design is not None for f in files):
        raise UsageError(
            "--robustness: authorship benchmarks do not rank systems by citations",
            code="wrong-kind",
        )
    by_system: dict[str, list[ScoreFile]] = {}
    left_out = dict.fromkeys(f"{f.system}: a reference, no system" for f in files if f.is_control)
    for file in files:
        if file.is_control:
            continue
        several = by_system.setdefault(file.system, [])
        if several and several[0].submission_sha256 != file.submission_sha256:
            raise InputError(
                f"--robustness: {several[0].submission} and {file.submission} are two submissions "
                f"of {file.system}",
                allowed="score files of one submission per system (score --name renames a system)",
                code="not-comparable",
            )
        several.append(file)
    return by_system, list(left_out)


def _signature_context(file: ScoreFile) -> str:
    """Get the context set of a file's scores; empty for scores over several context sets."""
    parts = (parse_signature(m.signature).get("ctx", "") for m in file.measures)
    return next(parts, file.context)


def _add_score(
    entries: dict[str, tuple[ScoreFile, MeasureScore]],
    system: str, file: ScoreFile, entry: MeasureScore,
) -> None:  # fmt: skip
    """Add a system's score under one signature; raise an error if a different score is there.

    Score files by several judges repeat the scores that need no judge.

    Args:
        entries: scores under the signature, by system, to which the score is added.
        system: name of the system.
        file: its score file.
        entry: its score.
    """
    if system in entries and entries[system][1].per_query != entry.per_query:
        raise InputError(
            f"--robustness: two score files of {system} have different values of {entry.name} "
            f"for one signature: {entry.signature}",
            allowed="one of them",
            code="contradiction",
        )
    entries[system] = (file, entry)


def _to_definition(signature: str) -> Definition:
    """Parse a score signature as a definition of citation quality, still without ranks."""
    parts = parse_signature(signature)
    measure = find_measure(parts["measure"])
    quality = None if measure is None else measure.citation_quality
    protocol = parts.get("p", "").partition("~")[0]  # after ~ is the segmenter
    return Definition(
        parts["measure"], measure.family if measure else "", quality.aspect if quality else "",
        protocol, parts.get("judge", ""), "",
        quality.why(protocol) if quality else f"{measure.definition if measure else ''}.",
        signature, (), (), (), (),
    )  # fmt: skip


def _rank_systems(signature: str, entries: Sequence[tuple[ScoreFile, MeasureScore]]) -> Definition:
    """Rank systems under one definition of a measure (signature), with significant differences.

    Args:
        signature: signature of the scores.
        entries: (score file, score) of each system.
    """
    from scipy.stats import rankdata

    measure = find_measure(parse_signature(signature)["measure"])
    towards = -1 if measure is not None and measure.higher_is_better is False else 1
    values = [round(entry.value or 0.0, 9) for _, entry in entries]
    clusters = entries[0][0].clusters
    better = better_for_certain(
        [towards_better(entry) for _, entry in entries], np.array(clusters) if clusters else None
    )
    pairs = list(combinations(range(len(values)), 2))
    return replace(
        _to_definition(signature),
        values=tuple(values),
        ranks=tuple(float(r) for r in rankdata([-towards * v for v in values])),
        signs=tuple(int(np.sign(towards * (values[a] - values[b]))) for a, b in pairs),
        certain=tuple(int(better[a, b]) - int(better[b, a]) for a, b in pairs),
    )


def _make_names_unique(definitions: Sequence[Definition]) -> tuple[Definition, ...]:
    """Make names of definitions of citation quality distinct by parts of their signatures."""
    groups: dict[str, list[Definition]] = defaultdict(list)
    for one in definitions:
        groups[one.name].append(one)
    other: dict[str, str] = {}
    for several in groups.values():
        parts = [parse_signature(d.signature) for d in several]
        keys = dict.fromkeys(k for p in parts for k in p)
        odd = [k for k in keys if len({p.get(k) for p in parts}) > 1]
        for one, own in zip(several, parts, strict=True):
            other[one.signature] = ", ".join(f"{k}:{own[k]}" for k in odd if k in own)
    return tuple(replace(one, other=other[one.signature]) for one in definitions)


def _kendall_tau(a: Definition, b: Definition) -> float:
    """Compute Kendall's tau-b of two definitions' rankings; NaN if one has all systems tied."""
    if not any(a.signs) or not any(b.signs):
        return math.nan
    from scipy.stats import kendalltau

    return float(kendalltau(a.ranks, b.ranks).statistic)


def _compare_pairs(
    systems: Sequence[str], definitions: Sequence[Definition]
) -> tuple[SystemPair, ...]:  # fmt: skip
    """Count how many definitions of citation quality prefer each of two systems, for all pairs."""
    pairs = []
    for at, (first, second) in enumerate(combinations(systems, 2)):
        signs = [d.signs[at] for d in definitions]
        certain = [d.certain[at] for d in definitions]
        ahead, behind = signs.count(1), signs.count(-1)
        is_certain = 1 in certain and -1 in certain
        if not (ahead and behind):
            is_certain = abs(sum(certain)) == len(certain)
        if behind > ahead:
            first, second, ahead, behind = second, first, behind, ahead
        pairs.append(SystemPair(first, second, ahead, behind, signs.count(0), is_certain))
    return tuple(sorted(pairs, key=lambda p: (-p.behind, -p.ahead)))


def headline(result: Robustness) -> str:
    """Write in a sentence how many pairs of systems definitions of quality order differently."""
    n = len(result.pairs)
    pairs = f"{n} pairs of systems change" if n > 1 else "1 pair of systems changes"
    return (
        f"{result.n_flips} of {pairs} {'their' if n > 1 else 'its'} order with the definition of "
        f"citation quality ({show_percent(result.n_flips / n)})"
    )
