"""Acceptance checks of twins: does a rewrite say the same, and only the same?

The paper had two experts look at its twins (appendix A); these checks are ours. Each gives a
name and, when it fails, one line that says why.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from rapidfuzz.distance import Levenshtein

from citeforge.builders.twins.facts import (
    Entities,
    bare_words,
    dates_of,
    language_of,
    missing_quotations,
    numbers_in_text,
)
from citeforge.engines.judge.records import JudgeFailure, Pair
from citeforge.engines.judge.session import JudgeSession
from citeforge.schemas.recipes.twins import Thresholds
from citeforge.schemas.text import contains_answer, normalise_answer

_PREAMBLE = re.compile(
    r"\s*[\"'“*_]*(sure|certainly|of course|absolutely|okay|here(’|')?s|here (is|are)|below is|"
    r"(the )?(paraphrase|paraphrased|rewritten|revised|rephrased)\b[^.\n]{0,60}:|"
    r"as an ai|i (can|have|will)('t|not)?\b[^.\n]{0,60}(paraphras|rewrit|rephras))",
    re.IGNORECASE,
)
_MARKDOWN = re.compile(r"(?m)^\s{0,3}(#{1,6} |[-*+] |>\s|```|\d+[.)] )|\*\*[^*\n]+\*\*|`[^`\n]+`")

CHECKS = (
    "length", "copy", "preamble", "markdown", "numbers", "dates", "quotations", "entities",
    "answer", "language",
)  # fmt: skip
"""Names of the checks that need no judge, in the order in which they are made."""
ENTAILMENT = "entailment"
"""Name of the judge's, which is asked about twins that pass the others."""


@dataclass(frozen=True)
class SourcePassage:
    """A passage to be rewritten.

    Attributes:
        id: its id.
        title: its title; not rewritten.
        text: its text.
        present: short answers of queries to which it is relevant, one list a query.
        absent: short answers of queries to which it is not relevant, one list a query.
    """

    id: str
    title: str
    text: str
    present: tuple[tuple[str, ...], ...] = ()
    absent: tuple[tuple[str, ...], ...] = ()


class TwinFigures(NamedTuple):
    """Figures of a twin."""

    length_ratio: float
    edit_similarity: float
    ngram_overlap: float


@dataclass
class TwinReport:
    """What the checks found.

    Attributes:
        failed: name of each failed check to the reason.
        measured: figures, whether they pass or not.
    """

    measured: TwinFigures
    failed: dict[str, str] = field(default_factory=dict)

    @property
    def accepted(self) -> bool:
        """Whether every check passed."""
        return not self.failed


class Checker:
    """Runs the checks on one twin after another."""

    def __init__(
        self, thresholds: Thresholds, entities: Entities, judge: JudgeSession | None = None
    ) -> None:
        self.thresholds = thresholds
        self.entities = entities
        self.judge = judge

    def check(self, pairs: Sequence[tuple[SourcePassage, str]]) -> list[TwinReport]:
        """Reports of (passage, twin) pairs, in order. The judge is asked once for all of them,
        and only about twins that pass everything else."""
        reports = [self._report(passage, twin) for passage, twin in pairs]
        if self.judge is None:
            return reports
        questions = [
            (report, passage.text, twin)
            for report, (passage, twin) in zip(reports, pairs, strict=True)
            if report.accepted
        ]
        ways = [(Pair(human, twin), Pair(twin, human)) for _, human, twin in questions]
        verdicts = self.judge.ask(pair for both in ways for pair in both)
        for (report, _, _), (forth, back) in zip(questions, ways, strict=True):
            for pair, what in ((forth, "passage to twin"), (back, "twin to passage")):
                verdict = verdicts[pair]
                if isinstance(verdict, JudgeFailure):
                    report.failed[ENTAILMENT] = f"{what}: the judge failed ({verdict.message})"
                elif not verdict.entailed:
                    report.failed[ENTAILMENT] = f"{what}: not entailed"
        return reports

    def _report(self, passage: SourcePassage, twin: str) -> TwinReport:
        report = TwinReport(measure(passage.text, twin, self.thresholds.ngram))
        checks: tuple[Callable[[SourcePassage, str, TwinFigures], str | None], ...] = (
            self._length, self._copy, _preamble, _markdown, _numbers, _dates, _quotations,
            self._entities, _answer, _language,
        )  # fmt: skip
        for name, run in zip(CHECKS, checks, strict=True):
            reason = run(passage, twin, report.measured)
            if reason is not None:
                report.failed[name] = reason
        return report

    def _length(self, passage: SourcePassage, twin: str, measured: TwinFigures) -> str | None:
        low, high = self.thresholds.shortest, self.thresholds.longest
        # A ratio on the very edge passes whatever the last bit of the division says.
        if low - 1e-9 <= measured.length_ratio <= high + 1e-9:
            return None
        return f"{measured.length_ratio:.2f} times as long; {low} to {high} is allowed"

    def _copy(self, passage: SourcePassage, twin: str, measured: TwinFigures) -> str | None:
        if measured.edit_similarity < self.thresholds.copy_similarity:
            return None
        return f"edit similarity {measured.edit_similarity:.3f}: a copy"

    def _entities(self, passage: SourcePassage, twin: str, measured: TwinFigures) -> str | None:
        missing = self.entities.missing(passage.text, twin)
        return f"lacks {_listed(missing)}" if missing else None


def measure(human: str, twin: str, n: int) -> TwinFigures:
    """Length ratio, normalised edit similarity (1 for a copy) and share of shared n-grams."""
    a, b = bare_words(human), bare_words(twin)
    similarity = Levenshtein.normalized_similarity(" ".join(a), " ".join(b))
    shared = Counter(_grams(a, n)) & Counter(_grams(b, n))
    total = max(len(b) - n + 1, 0)
    return TwinFigures(
        length_ratio=round(len(b) / max(len(a), 1), 6),
        edit_similarity=round(similarity, 6),
        ngram_overlap=round(shared.total() / total, 6) if total else 0.0,
    )


def _grams(words: Sequence[str], n: int) -> Iterator[tuple[str, ...]]:
    return (tuple(words[i : i + n]) for i in range(len(words) - n + 1))


def _preamble(passage: SourcePassage, twin: str, measured: TwinFigures) -> str | None:
    match = _PREAMBLE.match(twin)
    if match is None or _PREAMBLE.match(passage.text):
        return None
    return f"begins with {twin.strip()[:40]!r}"


def _markdown(passage: SourcePassage, twin: str, measured: TwinFigures) -> str | None:
    match = _MARKDOWN.search(twin)
    if match is None or _MARKDOWN.search(passage.text):
        return None
    return f"holds {match.group().strip()!r}"


def _numbers(passage: SourcePassage, twin: str, measured: TwinFigures) -> str | None:
    before, after = numbers_in_text(passage.text), numbers_in_text(twin)
    lost = sorted(before.required - after.allowed)
    added = sorted(after.required - before.allowed)
    if not lost and not added:
        return None
    parts = [f"lacks {_listed(lost)}"] if lost else []
    return "; ".join(parts + ([f"adds {_listed(added)}"] if added else []))


def _dates(passage: SourcePassage, twin: str, measured: TwinFigures) -> str | None:
    before, after = dates_of(passage.text), dates_of(twin)
    lost, added = sorted(before - after), sorted(after - before)
    parts = [f"lacks {_listed(lost)}"] if lost else []
    return "; ".join(parts + ([f"adds {_listed(added)}"] if added else [])) or None


def _quotations(passage: SourcePassage, twin: str, measured: TwinFigures) -> str | None:
    lost = missing_quotations(passage.text, twin)
    return f"lacks {_listed(lost)}" if lost else None


def _answer(passage: SourcePassage, twin: str, measured: TwinFigures) -> str | None:
    before, after = normalise_answer(passage.text), normalise_answer(twin)
    for answers in passage.present:
        if contains_answer(before, list(answers)) and not contains_answer(after, list(answers)):
            return f"lost the gold answer {answers[0]!r}"
    for answers in passage.absent:
        if contains_answer(after, list(answers)) and not contains_answer(before, list(answers)):
            return f"gained the gold answer {answers[0]!r}"
    return None


def _language(passage: SourcePassage, twin: str, measured: TwinFigures) -> str | None:
    before, after = language_of(passage.text), language_of(twin)
    if before is None or after is None or before == after:
        return None
    return f"{after} instead of {before}"


def _listed(items: Sequence[str]) -> str:
    parts = ", ".join(repr(i[:60]) for i in items[:5])
    return parts + (f" and {len(items) - 5} more" if len(items) > 5 else "")
