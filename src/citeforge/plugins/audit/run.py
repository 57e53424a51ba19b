"""``audit``: all checks over one package, the estimate from labels, and the ratchet."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import msgspec

from citeforge.builders.recipes.derive import Base, mapped_negatives
from citeforge.engines.io.files import write_text
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
from citeforge.schemas.recipes.base import Judging
from citeforge.schemas.recipes.run import RunOptions

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
        every_flaw += _relevance(base, surveyed.texts, options, judge, run.device, checks)
    by_kind: dict[str, list[Flaw]] = {}
    for flaw in sorted(every_flaw):
        by_kind.setdefault(flaw.kind, []).append(flaw)
    cascade: Cascade | None = None
    decisions: list[Decided] = []
    if strong is not None and base is None:
        checks["strong judge"] = f"{NOT_MADE}no passages"
    elif strong is not None and base is not None:
        cheap = _cheap(judge, options)
        rows = decide(base, surveyed.texts, every_flaw, cheap, strong)
        stages = [cheap, strong.judge.signature]
        cascade, decisions = summed_up(base, rows, stages, options.labels)
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
    checks: dict[str, str],
) -> list[Flaw]:
    """Negatives that are probably relevant, and leaks; ``checks`` gets what was looked at."""
    every_flaw = flaws.near_duplicates(base, texts)
    checks["near-duplicates"] = (
        f"MinHash of word trigrams, {flaws.NEAR} and more, relevant against negative passages"
    )
    every_flaw += flaws.overlapping(base, texts, options.contained)
    checks["shared text"] = (
        f"runs of five words, {options.contained} and more of the shorter text, "
        "relevant against negative passages"
    )
    every_flaw += flaws.answer_carriers(base, texts)
    has_answers = any(base.answers.values())
    checks["answers in negatives"] = (
        "gold short answers, normalised" if has_answers else f"{NOT_MADE}no gold short answers"
    )
    if judge is not None:
        every_flaw += flaws.judged_relevant(base, texts, judge)
        checks["judge"] = judge.judge.signature
    if options.cross_encoder is not None:
        every_flaw += flaws.cross_encoded(
            base, texts, options.cross_encoder, options.least_score, device, options.runtime
        )
        name = Path(options.cross_encoder).name
        checks["cross-encoder"] = f"{name}, score of {options.least_score} and more"
    for other in options.against:
        every_flaw += flaws.leaks(base, texts, Base(other))
    others = ", ".join(p.name for p in options.against)
    checks["leaks"] = others or f"{NOT_MADE}no other split given"
    return every_flaw


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


def write_known(path: Path, result: Audit) -> int:
    """Accept every flaw of an audit; those who read the file add why."""
    rows = all_flaws(result)
    write_text(
        path,
        "".join(
            json.dumps({"kind": f.kind, "query": f.query, "passage": f.passage, "why": ""},
                       ensure_ascii=False) + "\n"
            for f in rows
        ),
    )  # fmt: skip
    return len(rows)


def all_flaws(result: Audit) -> list[Flaw]:
    """Flaws of all kinds."""
    return [f for rows in result.flaws.values() for f in rows]


def ratchet(
    result: Audit, known: Iterable[tuple[str, str, str]]
) -> tuple[list[Flaw], list[tuple[str, str, str]]]:
    """(new flaws, accepted ones that are gone): either makes ``--strict`` fail."""
    accepted = set(known)
    rows = all_flaws(result)
    there = {f.key for f in rows}
    return [f for f in rows if f.key not in accepted], sorted(accepted - there)
