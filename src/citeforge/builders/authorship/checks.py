"""Acceptance checks of twins, and repeated requests for twins that fail one.

Does a rewrite say the same, and only the same? In the paper two experts looked at the twins
(appendix A); these checks replace them. A failed check gives its name and a reason of one line.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from rapidfuzz.distance import Levenshtein

from citeforge.builders.authorship.agreement import (
    find_disagreements,
    find_instruction,
    find_replaced_numbers,
)
from citeforge.builders.authorship.alignment import Alignment, split_sentences
from citeforge.builders.authorship.causes import find_turned_causes
from citeforge.builders.authorship.completeness import find_added, find_lost
from citeforge.builders.authorship.edits import find_replacements
from citeforge.builders.authorship.exchanges import find_name_faults
from citeforge.builders.authorship.facts import (
    Entities,
    bare_words,
    find_implied_numbers,
    find_rests,
    missing_quotations,
    months_in_text,
    numbers_in_text,
    words_and_signs,
)
from citeforge.builders.authorship.meaning import SentenceVectors
from citeforge.builders.authorship.opposites import find_unit_faults, find_wording_faults
from citeforge.builders.authorship.roles import Parser
from citeforge.builders.writer_prompts import writer_prompt
from citeforge.engines.judge.records import JudgeFailure, Pair
from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.llm.records import Failure, Llm, Request
from citeforge.engines.progress import progress
from citeforge.engines.shown import show_number
from citeforge.engines.text.languages import detect_language
from citeforge.engines.text.quoting import without_tags
from citeforge.schemas.matching.answers import AnswerText
from citeforge.schemas.recipes.twins import Attempts, Thresholds

_PREAMBLE = re.compile(
    r"\s*[\"'“*_]*(sure|certainly|of course|absolutely|okay|here(’|')?s|here (is|are)|below is|"
    r"(the )?(paraphrase|paraphrased|rewritten|revised|rephrased)\b[^.\n]{0,60}:|"
    r"as an ai|i (can|have|will)('t|not)?\b[^.\n]{0,60}(paraphras|rewrit|rephras))",
    re.IGNORECASE,
)
_MARKDOWN = re.compile(r"(?m)^\s{0,3}(#{1,6} |[-*+] |>\s|```|\d+[.)] )|\*\*[^*\n]+\*\*|`[^`\n]+`")

CHECKS = (
    "length", "copy", "preamble", "markdown", "numbers", "dates", "quotations", "entities",
    "answer", "language", "orders", "negation", "opposites", "units", "hedges", "connectives",
    "quantifiers", "names", "roles", "lost", "added",
)  # fmt: skip
"""Names of the checks that need no judge, in the order in which they run."""
WORDED = ("en", None)
"""Languages whose negations, opposites and units are checked; None for short texts."""
ENTAILMENT = "entailment"
"""Name of the judge's check, which is made of twins that pass the others."""
_NO_REPLY = "answer from the writer"
"""Name of the failed check if there is no twin to check."""


@dataclass(frozen=True)
class SourcePassage:
    """A passage to be rewritten.

    Attributes:
        id: its id.
        title: its title; not rewritten.
        text: its text.
        present: short answers of queries to which it is relevant, one list per query.
        absent: short answers of queries to which it is not relevant, one list per query.
    """

    id: str
    title: str
    text: str
    present: tuple[tuple[str, ...], ...] = ()
    absent: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class TwinFigures:
    """Lengths and similarities of a passage and its twin; NaN without a twin."""

    length_ratio: float = math.nan
    edit_similarity: float = math.nan
    ngram_overlap: float = math.nan


@dataclass
class TwinReport:
    """Outcome of the checks on a twin; by default that no twin was requested yet.

    Attributes:
        measured: lengths and similarities.
        failed: name of each failed check to the reason.
    """

    measured: TwinFigures = field(default_factory=TwinFigures)
    failed: dict[str, str] = field(default_factory=lambda: {_NO_REPLY: "not asked"})

    @property
    def accepted(self) -> bool:
        """Whether the twin (LLM-written rewrite of a passage) passed every check."""
        return not self.failed


class Checker:
    """Checks twins by rules, and by a judge if there is one."""

    def __init__(
        self,
        thresholds: Thresholds,
        entities: Entities,
        judge: JudgeSession | None = None,
        parser: Parser | None = None,
        vectors: SentenceVectors | None = None,
    ) -> None:
        """Set thresholds, finder of names, and optional judge, parser and sentence embedder."""
        self.thresholds = thresholds
        self.entities = entities
        self.judge = judge
        self.parser = parser or Parser(None)
        self.vectors = vectors

    def check(self, pairs: Sequence[tuple[SourcePassage, str]]) -> list[TwinReport]:
        """Check (passage, rewrite) pairs by rules; a judge checks those that pass, in one call."""
        if self.vectors is not None:
            texts = (text for passage, twin in pairs for text in (passage.text, twin))
            self.vectors.add(s.text for text in texts for s in split_sentences(text))
        reports = [self._check_by_rules(passage, twin) for passage, twin in pairs]
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

    def _check_by_rules(self, passage: SourcePassage, twin: str) -> TwinReport:
        """Check an LLM's rewrite of a passage by rules, without the judge."""
        figures = compare_texts(passage.text, twin)
        return TwinReport(figures, dict(self._find_faults(passage, twin, figures)))

    def _find_faults(
        self, passage: SourcePassage, twin: str, figures: TwinFigures
    ) -> Iterator[tuple[str, str]]:
        """Yield (check name, reason) of each rule-based check that a passage's rewrite fails."""
        human, (low, high) = passage.text, self.thresholds.length_ratio
        # A ratio on the very edge passes whatever the last bit of the division says.
        if not low - 1e-9 <= figures.length_ratio <= high + 1e-9:
            yield (
                "length",
                f"{show_number(figures.length_ratio)} times as long; {low} to {high} is allowed",
            )
        if figures.edit_similarity >= self.thresholds.copy_similarity:
            yield "copy", f"edit similarity {show_number(figures.edit_similarity, 3)}: a copy"
        if _PREAMBLE.match(twin) and not _PREAMBLE.match(human):
            yield "preamble", f"begins with {twin.strip()[:40]!r}"
        if (mark := _MARKDOWN.search(twin)) and not _MARKDOWN.search(human):
            yield "markdown", f"holds {mark.group().strip()!r}"
        before, after = numbers_in_text(human), numbers_in_text(twin)
        lost = before.required - after.allowed - find_implied_numbers(twin)
        added = after.required - before.allowed - find_implied_numbers(human)
        added -= find_rests(twin, before.allowed)
        yield from _find_changes("numbers", sorted(lost), sorted(added))
        months, new_months = months_in_text(human), months_in_text(twin)
        yield from _find_changes("dates", sorted(months - new_months), sorted(new_months - months))
        yield from _find_changes("quotations", missing_quotations(human, twin))
        yield from _find_changes("entities", *self.entities.find_changes(human, twin))
        yield from _find_answer_change(passage, twin)
        language, new_language = detect_language(human), detect_language(twin)
        if language is not None and new_language not in (None, language):
            yield "language", f"{new_language} instead of {language}"
        if order := find_instruction(human, twin):
            yield "orders", f"tells its reader what to do: {order!r}"
        if language in WORDED:
            yield from find_wording_faults(human, twin)
            alignment = Alignment(human, twin)
            if causes := list(dict.fromkeys(find_turned_causes(alignment, language or "en"))):
                yield "connectives", "; ".join(causes[:3])
            yield from find_replacements(alignment, language or "en")
            yield from find_disagreements(alignment, language or "en")
            if names := list(find_name_faults(alignment, human, twin)):
                yield "names", "; ".join(names[:3])
            if roles := list(dict.fromkeys(self.parser.find_exchanges(human, twin))):
                yield "roles", "; ".join(roles[:3])
            yield from _find_changes("lost", find_lost(alignment, language or "en", self.vectors))
            yield from _find_changes(
                "added", (), find_added(alignment, language or "en", self.vectors)
            )
            if not (lost or added) and (replaced := next(find_replaced_numbers(alignment), None)):
                yield "numbers", replaced
            if units := list(find_unit_faults(human, twin)):
                yield "units", "; ".join(units)


def compare_texts(human: str, twin: str) -> TwinFigures:
    """Compute length ratio, edit similarity (1: copy), trigram overlap of passage and rewrite."""
    similarity = Levenshtein.normalized_similarity(
        *(" ".join(bare_words(t)) for t in (human, twin))
    )
    a, b = words_and_signs(human), words_and_signs(twin)
    grams, own = (Counter(zip(w, w[1:], w[2:], strict=False)) for w in (a, b))
    return TwinFigures(
        length_ratio=round(len(b) / max(len(a), 1), 6),
        edit_similarity=round(similarity, 6),
        ngram_overlap=round((grams & own).total() / max(own.total(), 1), 6),
    )


def _find_changes(
    name: str, lost: Sequence[str], added: Sequence[str] = ()
) -> Iterator[tuple[str, str]]:
    """Yield (``name`` of the check, reason) if a rewrite lost or added items, such as numbers."""
    parts = []
    for verb, items in (("lacks", lost), ("adds", added)):
        if items:
            more = f" and {len(items) - 5} more" if len(items) > 5 else ""
            parts.append(f"{verb} {', '.join(repr(i[:60]) for i in items[:5])}{more}")
    if parts:
        yield name, "; ".join(parts)


def _find_answer_change(passage: SourcePassage, twin: str) -> Iterator[tuple[str, str]]:
    """Yield ("answer", reason) if a rewrite lost or gained a gold answer."""
    human, rewrite = AnswerText(passage.text), AnswerText(twin)
    for verb, groups, where, elsewhere in (
        ("lost", passage.present, human, rewrite),
        ("gained", passage.absent, rewrite, human),
    ):
        for answers in map(list, groups):
            if where.contains_any(answers) and not elsewhere.contains_any(answers):
                yield "answer", f"{verb} the gold answer {answers[0]!r}"
                return


@dataclass
class Twin:
    """The best rewrite of a passage so far.

    Attributes:
        passage: the passage that was rewritten.
        text: the rewrite; empty if the writer never gave one.
        report: outcome of the checks.
        attempts: number of requests to the writer.
        temperature: temperature of the kept attempt.
    """

    passage: SourcePassage
    text: str = ""
    report: TwinReport = field(default_factory=TwinReport)
    attempts: int = 0
    temperature: float = 0.0


class TwinWriter:
    """Has passages rewritten by an LLM; failed ones again, at higher temperatures."""

    def __init__(self, llm: Llm, checker: Checker, attempts: Attempts) -> None:
        """Set the LLM that rewrites passages, the checks, number and temperature of attempts."""
        self.llm = llm
        self.checker = checker
        self.attempts = attempts

    def write(self, passages: Iterable[SourcePassage]) -> list[Twin]:
        """Let the LLM rewrite each passage; return the best attempt if none passes the checks."""
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
        """Request and check another rewrite of each passage; update ``twins`` if it is better."""
        temperature = self.attempts.get_temperature(attempt)
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
            # Of several failing attempts the one with the fewest faults is kept.
            if _NO_REPLY in twin.report.failed or len(report.failed) < len(twin.report.failed):
                twin.text, twin.report, twin.temperature = text, report, temperature


def twin_request(title: str, text: str, temperature: float, attempt: int) -> Request:
    """Make the LLM request to rewrite a passage; ``attempt`` counts from 0."""
    n_bytes = len(text.encode("utf-8", "surrogatepass"))
    params = {"temperature": temperature, "max_tokens": 64 + n_bytes // 2}
    request = writer_prompt("twin").request({"title": title, "text": text}, params, attempt)
    return replace(request, usual_reply=text)
