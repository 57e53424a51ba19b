"""How well a judge agrees with people (METRICS section 6)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from citeforge.engines.jsonlines import read_rows
from citeforge.engines.judge.records import JudgeFailure, Pair
from citeforge.engines.judge.session import JudgeSession
from citeforge.evaluator.annotation.agreement import cohen_kappa
from citeforge.evaluator.benchmark import Benchmark
from citeforge.evaluator.compare import load_scores
from citeforge.evaluator.measures.judging import render
from citeforge.package.items import Passage
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.grammar import without_markers


@dataclass(frozen=True)
class Labelled:
    """A pair with what people say: whether the premise supports the hypothesis."""

    pair: Pair
    supported: bool


@dataclass(frozen=True)
class JudgeQuality:
    """Agreement of a judge with people.

    Attributes:
        n: pairs with a verdict.
        n_failed: pairs on which the judge failed.
        n_supported: pairs that people call supported.
        accuracy: share of equal decisions.
        pearson: correlation of the decisions; NaN when either side is constant.
        kappa: Cohen's kappa.
        precision: of "not supported": share that people confirm; NaN when the judge never says so.
        recall: of "not supported": share that the judge finds; NaN when people never say so.
    """

    n: int
    n_failed: int
    n_supported: int
    accuracy: float
    pearson: float
    kappa: float
    precision: float
    recall: float


def hagrid_pairs(benchmark: Benchmark) -> Iterator[Labelled]:
    """Sentences of HAGRID's gold answers that cite something and have an attributable label;
    the premise is all that the sentence cites."""
    labelled = [
        sentence
        for sentences in benchmark.gold["sentences"].to_pylist()
        for sentence in sentences or []
        if sentence["attributable"] is not None and sentence["citations"]
    ]
    passages = benchmark.texts(i for sentence in labelled for i in sentence["citations"])
    for sentence in labelled:
        markers = benchmark.grammar.parse(sentence["text"], 1 << 30).markers
        text = without_markers(sentence["text"], markers)
        shown = [Passage(i, *passages[i]) for i in sentence["citations"]]
        premise = "\n".join(render(s, strict=True) for s in shown)
        yield Labelled(Pair(premise, text), bool(sentence["attributable"]))


class _Row(msgspec.Struct):
    """A line of ``annotate import``; items of other units have no statement."""

    system: str = ""
    query_id: str = ""
    label: str | None = None
    statement: int | None = None
    citation: int | None = None


def annotated_pairs(labels: Path, scores: Sequence[Path]) -> Iterator[Labelled]:
    """Statements that people labelled (``annotate import``), with what they cite.

    ``statement-support`` and ``citation-support`` labels are used; only ``full`` is supported.
    Items without a majority are passed over.

    Raises:
        InputError: a label's statement is not in the score files.
    """
    answers = {
        (file.system, a.query_id): a for path in scores for file in [load_scores(path)]
        for a in file.answers
    }  # fmt: skip
    for number, row in read_rows(labels, _Row):
        if row.label is None or row.statement is None:
            continue
        answer = answers.get((row.system, row.query_id))
        if answer is None or row.statement >= len(answer.statements):
            raise InputError(
                "labels a statement that no score file holds", path=labels, line=number
            )
        statement = answer.statements[row.statement]
        cited = statement.cited if row.citation is None else [row.citation]
        if any(not 0 <= c < len(answer.passages) for c in cited):
            raise InputError("labels a citation that no score file holds", path=labels, line=number)
        shown = [answer.passages[c] for c in cited]
        premise = "\n".join(render(Passage(p.id, p.title, p.text), strict=True) for p in shown)
        yield Labelled(Pair(premise, statement.text), row.label == "full")


def labelled_pairs(
    benchmark: Benchmark | None = None, labels: Path | None = None, scores: Sequence[Path] = ()
) -> list[Labelled]:
    """Pairs with labels of people: HAGRID's, or those of annotators.

    Args:
        benchmark: with gold sentences that are labelled attributable or not.
        labels: what ``annotate import`` wrote, instead.
        scores: score files (``--details``) that ``labels`` are about.

    Raises:
        InputError: there is none, or a label's statement is not in the score files.
        UsageError: neither or both are given, or ``labels`` without ``scores``.
    """
    if (benchmark is None) == (labels is None):
        raise UsageError("give --benchmark, or --labels with --scores")
    if labels is not None and not scores:
        raise UsageError("--labels needs the score files that they are about: --scores FILE")
    if benchmark is not None:
        rows, where = list(hagrid_pairs(benchmark)), benchmark.folder
    elif labels is not None:
        rows, where = list(annotated_pairs(labels, scores)), labels
    if not rows:
        raise InputError("has no labelled statements", path=where)
    return rows


def quality(labelled: Sequence[Labelled], judge: JudgeSession) -> JudgeQuality:
    """Ask the judge and compare."""
    decisions = judge.ask(row.pair for row in labelled)
    pairs: list[tuple[bool, bool]] = []
    failed = 0
    for row in labelled:
        decision = decisions[row.pair]
        if isinstance(decision, JudgeFailure):
            failed += 1
        else:
            pairs.append((row.supported, decision.entailed))
    n = len(pairs)
    said_no = [human for human, machine in pairs if not machine]
    are_no = [machine for human, machine in pairs if not human]
    return JudgeQuality(
        n,
        failed,
        sum(human for human, _ in pairs),
        sum(a == b for a, b in pairs) / n if n else math.nan,
        pearson(pairs),
        cohen_kappa([(str(a), str(b)) for a, b in pairs]),
        sum(not human for human in said_no) / len(said_no) if said_no else math.nan,
        sum(not machine for machine in are_no) / len(are_no) if are_no else math.nan,
    )


def pearson(pairs: Sequence[tuple[bool, bool]]) -> float:
    """Correlation of two columns of decisions (the phi coefficient)."""
    n = len(pairs)
    if n == 0:
        return math.nan
    a = sum(x for x, _ in pairs) / n
    b = sum(y for _, y in pairs) / n
    both = sum(x and y for x, y in pairs) / n
    spread = math.sqrt(a * (1 - a) * b * (1 - b))
    return (both - a * b) / spread if spread else math.nan
