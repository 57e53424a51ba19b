"""Rows for annotators that come from a benchmark, not from score files."""

import math
from collections.abc import Iterator, Mapping
from pathlib import Path

from citeforge.builders.recipes.derive import Base, mapped_negatives
from citeforge.engines.draws import sample_ids
from citeforge.engines.io.files import read_json
from citeforge.engines.io.tables import rows_of
from citeforge.engines.io.textfiles import validated
from citeforge.package.items import by_query
from citeforge.package.manifest import AUDIT
from citeforge.package.package import Package
from citeforge.plugins.labels.annotation.tasks import AnnotationTask, SheetItem
from citeforge.schemas.benchmarks.audit import Audit
from citeforge.schemas.benchmarks.tables import RELEVANT, UNSURE
from citeforge.schemas.errors import InputError


def _kalma_items(
    task: AnnotationTask, package: Package, sample: int | None, seed: int
) -> Iterator[SheetItem]:
    """Rows of both forms of each sampled question; or of its facts, one a row.

    Raises:
        InputError: no facts.
    """
    gold = by_query(package.gold.to_pylist())
    if task.unit == "knowledge" and not gold:
        raise InputError("has no minimum knowledge sets", path=package.folder)
    for form, table in package.forms.items():
        texts = dict(rows_of(table, "_id", "text"))
        ids = list(texts)
        chosen = ids if sample is None else sample_ids(ids, sample, seed, "annotate kalma")
        for query in chosen:
            where: dict[str, object] = {"query_id": query, "form": form}
            if task.unit != "knowledge":
                yield where, {"question": texts[query]}
                continue
            for row in gold.get(query, []):
                fact = f"{row['name']}, {row['relation']}: {row['value']}"
                yield {**where, "fact": fact}, {"question": texts[query], "fact": fact}


DEFAULT = 200


def _negative_items(
    task: AnnotationTask, package: Package, sample: int | None, seed: int
) -> Iterator[SheetItem]:
    """Rows of a sample of (query, negative) pairs, or of those that nobody could decide.

    Where an audit of these tables had a strong judge, the sample is drawn within the strata that
    it left (suspects decided relevant, suspects cleared, the rest), else from all alike.

    Args:
        task: ``audit-negative``, or ``unsure-relevance``.
        package: benchmark.
        sample: pairs; None for 200, or for all that are unsure.
        seed: seed of sample and order.

    Raises:
        InputError: the benchmark has no such pairs.
    """
    base = Base(package.folder, package.manifest)
    strata = None
    if task.unit == UNSURE:
        pairs = list(rows_of(package.mapping(UNSURE), "query-id", "corpus-id"))
        drawn = pairs if sample is None else sample_ids(pairs, sample, seed, "annotate unsure")
    else:
        strata = _strata(base, package)
        drawn = sample_negatives(base, sample or DEFAULT, seed, strata)
    if not drawn:
        raise InputError(f"has nothing for {task.name}", path=package.folder)
    texts = base.texts({p for _, p in drawn})
    questions = dict(zip(base.query_ids, base.queries["text"].to_pylist(), strict=True))
    for query, passage in drawn:
        title, text = texts[passage]
        shown = {"question": questions[query], "passage": f"{title}: {text}" if title else text}
        where: dict[str, object] = {"query_id": query, "passage": passage}
        if task.unit == UNSURE:
            where["question"] = questions[query]
        if strata is not None:
            where["stratum"] = strata[query, passage]
        yield where, shown


def sample_negatives(
    base: Base, size: int, seed: int, strata: Mapping[tuple[str, str], str] | None = None
) -> list[tuple[str, str]]:
    """A sample of (query, negative) pairs.

    Args:
        base: the benchmark.
        size: how many, at most.
        seed: seed of the draws.
        strata: stratum of each negative: as many are drawn of each as there are, to an equal
            share; None draws uniformly from all.
    """
    pairs = mapped_negatives(base.negatives)
    if strata is None:
        drawn = sample_ids(pairs, size, seed, "audit sample")
    else:
        by_name: dict[str, list[tuple[str, str]]] = {}
        for pair in pairs:
            by_name.setdefault(strata[pair], []).append(pair)
        drawn, rest = [], size
        # The smallest first: what they cannot fill goes to the others.
        ordered = sorted(by_name.items(), key=lambda s: (len(s[1]), s[0]))
        for i, (name, mine) in enumerate(ordered):
            n = min(len(mine), rest // (len(ordered) - i))
            drawn += sample_ids(mine, n, seed, f"audit sample {name}")
            rest -= n
    return drawn


def _strata(base: Base, package: Package) -> dict[tuple[str, str], str] | None:
    """Stratum of each negative, as the last audit left them; None where it left none."""
    path = package.folder / AUDIT
    if not path.is_file():
        return None
    audit = validated(Audit, read_json(path), path)
    if audit.cascade is None or audit.benchmark_hash != package.hash:
        return None
    decided = {(d.query, d.passage): d.stratum for d in audit.decisions}
    return {pair: decided.get(pair, "unsuspected") for pair in mapped_negatives(base.negatives)}


def _twin_items(
    task: AnnotationTask, package: Package, sample: int | None, seed: int
) -> Iterator[SheetItem]:
    """Rows of (question, answer, original, rewrite) for the passages that contexts show.

    Args:
        task: ``twin-relevant`` or ``twin-nonrelevant``.
        package: benchmark with twins.
        sample: number of queries; None for the task's own share.
        seed: seed of sample and order.

    Raises:
        InputError: the benchmark has no twins.
    """
    base = Base(package.folder, package.manifest)
    pairs = zip(base.twins["_id"].to_pylist(), base.twins["twin_id"].to_pylist(), strict=True)
    twin_of = {human: twin for human, twin in pairs if twin}
    if not twin_of:
        raise InputError(
            "has no twins", path=package.folder, allowed="what `citeforge build twins` made"
        )
    size = math.ceil(task.share * len(base.query_ids)) if sample is None else sample
    queries = sample_ids(base.query_ids, size, seed, f"annotate {task.name}")
    is_relevant = task.name == "twin-relevant"
    shown: dict[str, list[str]] = {q: [] for q in queries}
    for name in base.manifest.contexts:
        docs = base.context(name)
        for query in queries:
            shown[query] += [
                d["corpus-id"] for d in docs[query] if (d["label"] == RELEVANT) == is_relevant
            ]
    texts = base.texts({i for ids in shown.values() for i in ids} | set(twin_of.values()))
    questions = dict(zip(base.query_ids, base.queries["text"].to_pylist(), strict=True))
    for query in queries:
        for passage in dict.fromkeys(shown[query]):
            if passage not in twin_of:
                continue
            where: dict[str, object] = {
                "query_id": query, "passage": passage, "twin": twin_of[passage],
            }  # fmt: skip
            row = {
                "question": questions[query],
                "answer": "; ".join(base.answers[query]),
                "original": texts[passage][1],
                "rewritten": texts[twin_of[passage]][1],
            }
            yield where, row


_MAKERS = {
    "twin": _twin_items, "negative": _negative_items, UNSURE: _negative_items,
    "question": _kalma_items, "knowledge": _kalma_items,
}  # fmt: skip


def benchmark_items(
    task: AnnotationTask, folder: Path, sample: int | None, seed: int
) -> Iterator[SheetItem]:
    """Rows of a task that looks at a benchmark, each with where it comes from.

    Args:
        task: one with ``of_benchmark``.
        folder: benchmark.
        sample: how many; None for the task's own number.
        seed: seed of sample and order.

    Raises:
        InputError: not a package, a kind that the task is not about, or nothing to annotate.
    """
    package = Package(folder)
    if task.name not in package.kind.annotation:
        raise InputError(
            f"{task.name}: {package.kind.refusal('annotate')}",
            path=folder,
            allowed=f"its tasks: {', '.join(package.kind.annotation)}",
        )
    return _MAKERS[task.unit](task, package, sample, seed)
