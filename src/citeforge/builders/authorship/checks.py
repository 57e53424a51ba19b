"""Acceptance checks of twins, and asking a writer again for those that fail one.

Does a rewrite say the same, and only the same? The paper had two experts look at its twins
(appendix A); these checks are ours. Each gives a name and, when it fails, one line that says why.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from rapidfuzz.distance import Levenshtein

from citeforge.builders.authorship.facts import (
    Entities,
    bare_words,
    dates_of,
    derived_numbers,
    language_of,
    missing_quotations,
    numbers_in_text,
)
from citeforge.builders.authorship.opposites import find_wording_faults
from citeforge.builders.authorship.units import find_unit_faults
from citeforge.builders.packaging.writer_prompts import writer_prompt
from citeforge.engines.io.progress import progress
from citeforge.engines.judge.records import JudgeFailure, Pair
from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.llm.records import Failure, Llm, Request
from citeforge.engines.text.quoting import without_tags
from citeforge.schemas.recipes.twins import Attempts, Thresholds
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
    "answer", "language", "negation", "opposites", "units",
)  # fmt: skip
"""Names of the checks that need no judge, in the order in which they are made."""
WORDED = ("en", None)
"""Languages whose negations, opposites and units are checked; None for short texts."""
ENTAILMENT = "entailment"
"""Name of the judge's, which is asked about twins that pass the others."""
_NGRAM = 3
"""Length in words of the n-grams whose overlap is reported."""
_NO_REPLY = "answer from the writer"
"""What fails where there is no twin to check."""


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
    """Lengths and similarities of a passage and its twin; NaN without a twin."""

    length_ratio: float = math.nan
    edit_similarity: float = math.nan
    ngram_overlap: float = math.nan


@dataclass
class TwinReport:
    """Outcome of the checks on a twin; by default, that no reply was asked for.

    Attributes:
        measured: figures, whether they pass or not.
        failed: name of each failed check to the reason.
    """

    measured: TwinFigures = field(default_factory=TwinFigures)
    failed: dict[str, str] = field(default_factory=lambda: {_NO_REPLY: "not asked"})

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
        """Check (passage, twin) pairs; the judge is asked once, about those that pass the rest."""
        reports = [self._report(passage, twin) for passage, twin in pairs]
        if self.judge is None:
            return reports
        questions = [
            (report, what, Pair(*texts))
            for report, (passage, twin) in zip(reports, pairs, strict=True)
            if report.accepted
            for what, texts in (
                ("passage to twin", (passage.text, twin)),
                ("twin to passage", (twin, passage.text)),
            )
        ]
        verdicts = self.judge.ask(pair for _, _, pair in questions)
        for report, what, pair in questions:
            verdict = verdicts[pair]
            if isinstance(verdict, JudgeFailure):
                report.failed[ENTAILMENT] = f"{what}: the judge failed ({verdict.message})"
            elif not verdict.entailed:
                report.failed[ENTAILMENT] = f"{what}: not entailed"
        return reports

    def _report(self, passage: SourcePassage, twin: str) -> TwinReport:
        figures = compare_texts(passage.text, twin, _NGRAM)
        return TwinReport(figures, dict(self._faults(passage, twin, figures)))

    def _faults(
        self, passage: SourcePassage, twin: str, figures: TwinFigures
    ) -> Iterator[tuple[str, str]]:
        """Yield (name of a failed check, why), in the order of CHECKS."""
        human, (low, high) = passage.text, self.thresholds.length_ratio
        # A ratio on the very edge passes whatever the last bit of the division says.
        if not low - 1e-9 <= figures.length_ratio <= high + 1e-9:
            yield "length", f"{figures.length_ratio:.2f} times as long; {low} to {high} is allowed"
        if figures.edit_similarity >= self.thresholds.copy_similarity:
            yield "copy", f"edit similarity {figures.edit_similarity:.3f}: a copy"
        if _PREAMBLE.match(twin) and not _PREAMBLE.match(human):
            yield "preamble", f"begins with {twin.strip()[:40]!r}"
        if (mark := _MARKDOWN.search(twin)) and not _MARKDOWN.search(human):
            yield "markdown", f"holds {mark.group().strip()!r}"
        before, after = numbers_in_text(human), numbers_in_text(twin)
        lost = before.required - after.allowed - derived_numbers(twin)
        added = after.required - before.allowed - derived_numbers(human)
        yield from _find_changes("numbers", sorted(lost), sorted(added))
        months, new_months = dates_of(human), dates_of(twin)
        yield from _find_changes("dates", sorted(months - new_months), sorted(new_months - months))
        yield from _find_changes("quotations", missing_quotations(human, twin))
        yield from _find_changes("entities", *self.entities.changes(human, twin))
        yield from _answer(passage, twin)
        language, new_language = language_of(human), language_of(twin)
        if language is not None and new_language not in (None, language):
            yield "language", f"{new_language} instead of {language}"
        if language in WORDED:
            yield from find_wording_faults(human, twin)
            if units := list(find_unit_faults(human, twin)):
                yield "units", "; ".join(units)


def compare_texts(human: str, twin: str, n: int) -> TwinFigures:
    """Compute length ratio, normalised edit similarity (1 for a copy) and shared n-grams."""
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


def _find_changes(
    name: str, lost: Sequence[str], added: Sequence[str] = ()
) -> Iterator[tuple[str, str]]:
    """Yield a failed check that lists what a rewritten text lost and gained, if it did."""
    parts = []
    for verb, items in (("lacks", lost), ("adds", added)):
        if items:
            more = f" and {len(items) - 5} more" if len(items) > 5 else ""
            parts.append(f"{verb} {', '.join(repr(i[:60]) for i in items[:5])}{more}")
    if parts:
        yield name, "; ".join(parts)


def _answer(passage: SourcePassage, twin: str) -> Iterator[tuple[str, str]]:
    """Report a gold answer that was lost, or came in."""
    human, twin = normalise_answer(passage.text), normalise_answer(twin)
    for verb, groups, where, elsewhere in (
        ("lost", passage.present, human, twin),
        ("gained", passage.absent, twin, human),
    ):
        for answers in map(list, groups):
            if contains_answer(where, answers) and not contains_answer(elsewhere, answers):
                yield "answer", f"{verb} the gold answer {answers[0]!r}"
                return


@dataclass
class Twin:
    """The best rewrite of a passage so far.

    Attributes:
        passage: what was rewritten.
        text: the rewrite; empty when the writer never gave one.
        report: what the checks found.
        attempts: how often the writer was asked.
        temperature: of the attempt that stands here.
    """

    passage: SourcePassage
    text: str = ""
    report: TwinReport = field(default_factory=TwinReport)
    attempts: int = 0
    temperature: float = 0.0


class TwinWriter:
    """Rewrites passages, in rounds: all of them, then those that failed, with more freedom."""

    def __init__(self, llm: Llm, checker: Checker, attempts: Attempts) -> None:
        self.llm = llm
        self.checker = checker
        self.attempts = attempts

    def write(self, passages: Iterable[SourcePassage]) -> list[Twin]:
        """Write twins of passages, in order; those that never passed keep their best attempt."""
        twins = [Twin(p) for p in passages]
        for attempt in range(self.attempts.limit):
            rest = [t for t in twins if not t.report.accepted]
            if not rest:
                break
            with progress(f"rewriting, attempt {attempt + 1}", len(rest), "passages") as advance:
                self._rewrite(rest, attempt)
                advance(len(rest))
        return twins

    def _rewrite(self, twins: Sequence[Twin], attempt: int) -> None:
        """Ask for a rewrite of each passage, check it, and keep the better one of two."""
        temperature = self.attempts.at(attempt)
        requests = [
            twin_request(t.passage.title, t.passage.text, temperature, attempt) for t in twins
        ]
        results = self.llm.complete(requests)
        attempts: list[tuple[Twin, str]] = []
        for twin, result in zip(twins, results, strict=True):
            twin.attempts += 1
            if not isinstance(result, Failure):
                attempts.append((twin, without_tags(result.text)))
            elif _NO_REPLY in twin.report.failed:
                twin.report.failed[_NO_REPLY] = f"{result.reason}: {result.message}"
        reports = self.checker.check([(t.passage, text) for t, text in attempts])
        for (twin, text), report in zip(attempts, reports, strict=True):
            # Of several failing attempts the one with the fewest faults stands.
            if _NO_REPLY in twin.report.failed or len(report.failed) < len(twin.report.failed):
                twin.text, twin.report, twin.temperature = text, report, temperature


def twin_request(title: str, text: str, temperature: float, attempt: int) -> Request:
    """Make the request of one attempt, counted from 0."""
    n_bytes = len(text.encode("utf-8", "surrogatepass"))
    params = {"temperature": temperature, "max_tokens": 64 + n_bytes // 2}
    return writer_prompt("twin").request({"title": title, "text": text}, params, attempt)
