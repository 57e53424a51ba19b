"""``audit``: all checks over one package, the estimate from labels, and the ratchet."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pyarrow as pa

from citeforge.builders.audit import flaws
from citeforge.builders.audit.cascade import decide, summed_up
from citeforge.builders.audit.records import NOT_MADE, Audit, Cascade, Decided, EstimatedShare, Flaw
from citeforge.builders.audit.survey import LONG, Survey, survey
from citeforge.builders.rage.exclusions import short_answers
from citeforge.builders.recipes.derive import Base, Docs
from citeforge.engines.draws import generator, sample_ids
from citeforge.engines.io.files import read_json, write_text
from citeforge.engines.io.jsonlines import read_rows
from citeforge.engines.io.tables import rows_of
from citeforge.engines.io.textfiles import validated
from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.setup import judge_session
from citeforge.package.package import Package, texts_of
from citeforge.schemas.benchmarks.tables import RELEVANT
from citeforge.schemas.commands.command_options import AuditOptions
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
    pairs = [] if base is None else list(flaws.mapped_negatives(base))
    wanted = {p for _, p in pairs}
    if base is not None:
        wanted |= {i for ids in base.relevant.values() for i in ids}
    seen = survey(package, wanted)
    found = [*seen.flaws, *flaws.odd_queries(package)]
    checks = {"texts": f"empty, over {LONG} words, repeated queries"}
    if base is not None:
        found += _relevance(base, seen.texts, options, judge, run.device, checks)
    by_kind: dict[str, list[Flaw]] = {}
    for flaw in sorted(found):
        by_kind.setdefault(flaw.kind, []).append(flaw)
    cascade: Cascade | None = None
    decisions: list[Decided] = []
    if strong is not None and base is None:
        checks["strong judge"] = f"{NOT_MADE}no passages"
    elif strong is not None and base is not None:
        cheap = _cheap(judge, options)
        rows = decide(base, seen.texts, found, cheap, strong)
        stages = [cheap, strong.judge.signature]
        cascade, decisions = summed_up(base, rows, stages, options.labels)
        checks["strong judge"] = strong.judge.signature
    share = None
    if options.labels is not None:
        share = estimate(options.labels) if cascade is None else cascade.before
    kept = Audit(
        benchmark_hash=package.hash,
        checks=checks,
        flaws=by_kind,
        negatives=len(pairs),
        personal_data=seen.personal_data,
        languages=seen.languages,
        false_negatives=share,
        cascade=cascade,
        decisions=decisions,
    )
    return kept, seen


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
    found = flaws.near_duplicates(base, texts)
    checks["near-duplicates"] = (
        f"MinHash of word trigrams, {flaws.NEAR} and more, relevant against negative passages"
    )
    found += flaws.overlapping(base, texts, options.contained)
    checks["shared text"] = (
        f"runs of five words, {options.contained} and more of the shorter text, "
        "relevant against negative passages"
    )
    found += flaws.answer_carriers(base, texts)
    has_answers = any(base.answers.values())
    checks["answers in negatives"] = (
        "gold short answers, normalised" if has_answers else f"{NOT_MADE}no gold short answers"
    )
    if judge is not None:
        found += flaws.judged_relevant(base, texts, judge)
        checks["judge"] = judge.judge.signature
    if options.cross_encoder is not None:
        found += flaws.cross_encoded(
            base, texts, options.cross_encoder, options.least_score, device, options.runtime
        )
        name = Path(options.cross_encoder).name
        checks["cross-encoder"] = f"{name}, score of {options.least_score} and more"
    for other in options.against:
        found += flaws.leaks(base, texts, Base(other))
    others = ", ".join(p.name for p in options.against)
    checks["leaks"] = others or f"{NOT_MADE}no other split given"
    return found


@dataclass(frozen=True)
class _Mapped:
    """Mappings of a benchmark that is being built."""

    relevant: dict[str, list[str]]
    negatives: dict[str, Docs]
    answers: dict[str, list[str]]


def suspects(
    queries: pa.Table,
    tables: dict[str, pa.Table],
    gold: pa.Table,
    corpus: list[Path],
    contained: float,
) -> list[Flaw]:
    """Negatives that are probably relevant, by the checks that need no model.

    Args:
        queries: schema QUERIES.
        tables: label to mapping (schema MAPPING).
        gold: schema GOLD.
        corpus: shards of the corpus.
        contained: share of text in common from which a negative is suspect.
    """
    ids: list[str] = queries["_id"].to_pylist()
    relevant: dict[str, list[str]] = {q: [] for q in ids}
    negative: dict[str, Docs] = {q: [] for q in ids}
    for label, table in tables.items():
        pairs = rows_of(table, "query-id", "corpus-id")
        for query, passage in pairs:
            if label == RELEVANT:
                relevant[query].append(passage)
            else:
                negative[query].append({"corpus-id": passage, "label": label})
    answers = dict(zip(ids, short_answers(queries, tables[RELEVANT], gold), strict=True))
    wanted = {i for t in tables.values() for i in t["corpus-id"].to_pylist()}
    texts = {i: text for i, (_, text) in texts_of(corpus, wanted).items()}
    mapped = _Mapped(relevant, negative, answers)
    return [
        *flaws.near_duplicates(mapped, texts),
        *flaws.answer_carriers(mapped, texts),
        *flaws.overlapping(mapped, texts, contained),
    ]


class _Label(msgspec.Struct):
    label: str | None = None


def estimate(labels: Path) -> EstimatedShare:
    """Share of sampled negatives that annotators call relevant.

    Raises:
        InputError: no usable labels.
    """
    from scipy.stats import binomtest

    rows = [r.label for _, r in read_rows(labels, _Label)]
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


def sample_negatives(
    base: Base, size: int, seed: int, strata: Mapping[tuple[str, str], str] | None = None
) -> list[tuple[str, str]]:
    """A sample of (query, negative) pairs, shuffled.

    Args:
        base: the benchmark.
        size: how many, at most.
        seed: seed of the draws.
        strata: stratum of each negative: as many are drawn of each as there are, to an equal
            share; None draws uniformly from all.
    """
    pairs = list(flaws.mapped_negatives(base))
    if strata is None:
        chosen = sample_ids(pairs, size, seed, "audit sample")
    else:
        by_name: dict[str, list[tuple[str, str]]] = {}
        for pair in pairs:
            by_name.setdefault(strata[pair], []).append(pair)
        chosen, left = [], size
        # The smallest first: what they cannot fill goes to the others.
        ordered = sorted(by_name.items(), key=lambda s: (len(s[1]), s[0]))
        for i, (name, mine) in enumerate(ordered):
            n = min(len(mine), left // (len(ordered) - i))
            chosen += sample_ids(mine, n, seed, f"audit sample {name}")
            left -= n
    generator(seed, "audit order").shuffle(chosen)
    return chosen


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


def write_known(path: Path, found: Audit) -> int:
    """Accept every flaw of an audit; those who read the file add why."""
    rows = all_flaws(found)
    write_text(
        path,
        "".join(
            json.dumps({"kind": f.kind, "query": f.query, "passage": f.passage, "why": ""},
                       ensure_ascii=False) + "\n"
            for f in rows
        ),
    )  # fmt: skip
    return len(rows)


def all_flaws(found: Audit) -> list[Flaw]:
    """Flaws of all kinds."""
    return [f for rows in found.flaws.values() for f in rows]


def ratchet(
    found: Audit, known: Iterable[tuple[str, str, str]]
) -> tuple[list[Flaw], list[tuple[str, str, str]]]:
    """(new flaws, accepted ones that are gone): either makes ``--strict`` fail."""
    accepted = set(known)
    rows = all_flaws(found)
    there = {f.key for f in rows}
    return [f for f in rows if f.key not in accepted], sorted(accepted - there)


def drop_suspects(
    queries: pa.Table,
    tables: dict[str, pa.Table],
    gold: pa.Table,
    corpus: list[Path],
    counts: dict[str, int],
    contained: float,
) -> dict[str, pa.Table]:
    """Mappings without suspect negatives; what went is counted."""
    gone = suspects(queries, tables, gold, corpus, contained)
    for kind, n in Counter(f.kind for f in gone).items():
        counts[f"suspect negatives dropped: {kind}"] = n
    return _without(tables, {(f.query, f.passage) for f in gone})


def drop_decided(
    tables: dict[str, pa.Table], path: Path, counts: dict[str, int]
) -> dict[str, pa.Table]:
    """Mappings without negatives that were decided to be relevant; what went is counted.

    Args:
        tables: label to mapping (schema MAPPING).
        path: ``audit.json`` of a build with the same ids.
        counts: told how many went, by who decided.

    Raises:
        InputError: the file is no audit, or holds no decisions.
    """
    found = validated(Audit, read_json(path), path)
    if found.cascade is None:
        raise InputError(
            "holds no decisions", path=path, field="cascade",
            allowed="audit.json of `citeforge audit DIR --strong-judge JUDGE`",
        )  # fmt: skip
    by = {(d.query, d.passage): d.by for d in found.decisions if d.verdict == "relevant"}
    there = {
        pair
        for label, table in tables.items() if label != RELEVANT
        for pair in rows_of(table, "query-id", "corpus-id")
    }  # fmt: skip
    for who, n in sorted(Counter(by[pair] for pair in there & set(by)).items()):
        counts[f"negatives dropped: decided to be relevant by {who}"] = n
    counts["decided to be relevant, but no negatives here"] = len(set(by) - there)
    return _without(tables, set(by))


def _without(tables: dict[str, pa.Table], pairs: set[tuple[str, str]]) -> dict[str, pa.Table]:
    """Mappings without some negatives."""
    kept: dict[str, pa.Table] = {}
    for label, table in tables.items():
        ids = rows_of(table, "query-id", "corpus-id")
        stays = [label == RELEVANT or pair not in pairs for pair in ids]
        kept[label] = table.filter(pa.array(stays, pa.bool_()))
    return kept
