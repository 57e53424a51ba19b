"""``audit``: all checks over one package, the estimate from labels, and the ratchet."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import msgspec

from citeforge.builders.recipes.derive import Base, mapped_negatives
from citeforge.engines.io.files import write_bytes
from citeforge.engines.io.jsonlines import read_rows
from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.setup import judge_session
from citeforge.package.package import Package
from citeforge.plugins.audit import flaws
from citeforge.plugins.audit.cascade import AuditLabel, decide, summed_up
from citeforge.plugins.audit.options import AuditOptions
from citeforge.plugins.audit.survey import LONG, Survey, survey
from citeforge.schemas.benchmarks.audit import (
    NOT_MADE,
    Audit,
    Cascade,
    Decided,
    EstimatedShare,
    Flaw,
)
from citeforge.schemas.errors import InputError
from citeforge.schemas.recipes.base import Judging, RunOptions

FILE = "audit.json"
TASK = "audit-negative"


def audit(
    package: Package, options: AuditOptions, run: RunOptions | None = None
) -> tuple[Audit, Survey]:
    """Look for flaws.

    Args:
        package: one that verifies.
        options: what is looked at besides.
        run: where models run.

    Returns:
        (what is kept, all that the corpus told).

    Raises:
        InputError: a file named in the options is at fault.
    """
    run = run or RunOptions()
    judge = judge_session(options, run)
    strong = judge_session(Judging(judge=options.strong_judge), run)
    base = Base(package.folder, package.manifest) if package.corpus else None
    pairs = [] if base is None else mapped_negatives(base.negatives)
    passages = {p for _, p in pairs}
    if base is not None:
        passages |= {i for ids in base.relevant.values() for i in ids}
    surveyed = survey(package, passages)
    every_flaw = [*surveyed.flaws, *flaws.odd_queries(package)]
    checks = {"texts": f"empty, over {LONG} words, repeated queries"}
    if base is not None:
        for name, how, rows in _relevance(base, surveyed.texts, options, judge, run.device):
            checks[name] = how
            every_flaw += rows
    by_kind: dict[str, list[Flaw]] = {}
    for flaw in sorted(every_flaw):
        by_kind.setdefault(flaw.kind, []).append(flaw)
    cascade: Cascade | None = None
    decisions: list[Decided] = []
    if strong is not None and base is None:
        checks["strong judge"] = f"{NOT_MADE}no passages"
    elif strong is not None and base is not None:
        cheap = _cheap(judge, options)
        decided = decide(base, surveyed.texts, every_flaw, cheap, strong)
        stages = [cheap, strong.judge.signature]
        cascade, decisions = summed_up(base, decided, stages, options.labels)
        checks["strong judge"] = strong.judge.signature
    share = None
    if options.labels is not None:
        share = estimate(options.labels) if cascade is None else cascade.before
    result = Audit(
        benchmark_hash=package.hash,
        checks=checks,
        flaws=by_kind,
        negatives=len(pairs),
        personal_data=surveyed.personal_data,
        languages=surveyed.languages,
        false_negatives=share,
        cascade=cascade,
        decisions=decisions,
    )
    return result, surveyed


def _cheap(judge: JudgeSession | None, options: AuditOptions) -> str:
    """Who suspects, in words."""
    names = ["rules"]
    if judge is not None:
        names.append(judge.judge.signature)
    if options.cross_encoder is not None:
        names.append(Path(options.cross_encoder).name)
    return " + ".join(names)


def _relevance(
    base: Base,
    texts: dict[str, str],
    options: AuditOptions,
    judge: JudgeSession | None,
    device: str,
) -> Iterator[tuple[str, str, list[Flaw]]]:
    """Negatives that are probably relevant, and leaks: what was looked at, how, and the flaws."""
    beside = "relevant against negative passages"
    how = f"MinHash of word trigrams, {flaws.NEAR} and more, {beside}"
    yield "near-duplicates", how, flaws.near_duplicates(base, texts)
    how = f"runs of five words, {options.contained} and more of the shorter text, {beside}"
    yield "shared text", how, flaws.overlapping(base, texts, options.contained)
    has_answers = any(base.answers.values())
    how = "gold short answers, normalised" if has_answers else f"{NOT_MADE}no gold short answers"
    yield "answers in negatives", how, flaws.answer_carriers(base, texts)
    if judge is not None:
        yield "judge", judge.judge.signature, flaws.judged_relevant(base, texts, judge)
    if options.cross_encoder is not None:
        how = f"{Path(options.cross_encoder).name}, score of {options.least_score} and more"
        yield (
            "cross-encoder",
            how,
            flaws.cross_encoded(
                base, texts, options.cross_encoder, options.least_score, device, options.runtime
            ),
        )
    others = ", ".join(p.name for p in options.against)
    leaks = [f for other in options.against for f in flaws.leaks(base, texts, Base(other))]
    yield "leaks", others or f"{NOT_MADE}no other split given", leaks


def estimate(labels: Path) -> EstimatedShare:
    """Share of sampled negatives that annotators call relevant.

    Raises:
        InputError: no usable labels.
    """
    from scipy.stats import binomtest

    rows = [r.label for _, r in read_rows(labels, AuditLabel)]
    decided = Counter(r for r in rows if r in ("relevant", "not relevant"))
    n = decided.total()
    if n == 0:
        wrote = f"what `citeforge labels import` of {TASK} wrote"
        raise InputError("holds no labels", path=labels, allowed=wrote)
    hits = decided["relevant"]
    interval = binomtest(hits, n).proportion_ci(0.95, method="exact")
    return EstimatedShare(
        share=hits / n, low=float(interval.low), high=float(interval.high), n=n, by=labels.name
    )


class KnownFlaw(msgspec.Struct, forbid_unknown_fields=True):
    """A line of a file of accepted flaws.

    Attributes:
        kind: name of the flaw.
        query: query id, or an empty string.
        passage: passage id, or an empty string.
        why: why it is accepted, in words.
    """

    kind: str
    query: str = ""
    passage: str = ""
    why: str = ""


def read_known(path: Path) -> set[tuple[str, str, str]]:
    """Accepted flaws, JSON Lines of kind, query, passage, and why.

    Raises:
        InputError: a line is wrong.
    """
    return {(r.kind, r.query, r.passage) for _, r in read_rows(path, KnownFlaw)}


def write_known(path: Path, rows: Sequence[Flaw]) -> None:
    """Accept flaws; those who read the file add why."""
    accepted = (KnownFlaw(f.kind, f.query, f.passage) for f in rows)
    write_bytes(path, b"".join(msgspec.json.encode(k) + b"\n" for k in accepted))


def ratchet(
    rows: Sequence[Flaw], accepted: Collection[tuple[str, str, str]]
) -> tuple[list[Flaw], list[tuple[str, str, str]]]:
    """(new flaws, accepted ones that are gone): either makes ``--strict`` fail."""
    stale = set(accepted) - {f.key for f in rows}
    return [f for f in rows if f.key not in accepted], sorted(stale)
