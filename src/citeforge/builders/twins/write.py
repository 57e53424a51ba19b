"""Asking a writer for twins, and asking again for those that fail a check."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from citeforge.builders.stages.writing import writer_prompt
from citeforge.builders.twins.checks import Checker, SourcePassage, TwinReport
from citeforge.engines.io.progress import progress
from citeforge.engines.llm.records import Failure, Llm, Request
from citeforge.schemas.recipes.twins import Attempts


@dataclass
class Twin:
    """The best rewrite of a passage so far.

    Attributes:
        passage: what was rewritten.
        text: the rewrite; empty when the writer never gave one.
        report: what the checks found; None without a text.
        attempts: how often the writer was asked.
        temperature: of the attempt that stands here.
        failures: why the writer gave nothing, by attempt.
    """

    passage: SourcePassage
    text: str = ""
    report: TwinReport | None = None
    attempts: int = 0
    temperature: float = 0.0
    failures: list[str] = field(default_factory=list)

    @property
    def accepted(self) -> bool:
        """Whether every check passed."""
        return self.report is not None and self.report.accepted

    @property
    def failed(self) -> dict[str, str]:
        """Failed checks with their reasons."""
        if self.report is not None:
            return self.report.failed
        return {"answer from the writer": self.failures[-1] if self.failures else "not asked"}


class TwinWriter:
    """Rewrites passages, in rounds: all of them, then those that failed, with more freedom."""

    def __init__(self, llm: Llm, checker: Checker, attempts: Attempts) -> None:
        self.llm = llm
        self.checker = checker
        self.attempts = attempts

    def write(self, passages: Iterable[SourcePassage]) -> list[Twin]:
        """Twins of passages, in order; those that never passed keep their best attempt."""
        twins = [Twin(p) for p in passages]
        for attempt in range(self.attempts.limit):
            rest = [t for t in twins if not t.accepted]
            if not rest:
                break
            with progress(f"rewriting, attempt {attempt + 1}", len(rest), "passages") as advance:
                self._attempt(rest, attempt)
                advance(len(rest))
        return twins

    def request(self, passage: SourcePassage, attempt: int) -> Request:
        """The request for one attempt."""
        params = {
            "temperature": self.attempts.at(attempt),
            "max_tokens": 64 + len(passage.text.encode("utf-8", "surrogatepass")) // 2,
        }
        values = {"title": passage.title, "text": passage.text}
        return writer_prompt("twin").request(values, params, attempt)

    def _attempt(self, twins: Sequence[Twin], attempt: int) -> None:
        results = self.llm.complete([self.request(t.passage, attempt) for t in twins])
        attempts: list[tuple[Twin, str]] = []
        for twin, result in zip(twins, results, strict=True):
            twin.attempts += 1
            if isinstance(result, Failure):
                twin.failures.append(f"{result.reason}: {result.message}")
            else:
                attempts.append((twin, result.text.strip()))
        reports = self.checker.check([(t.passage, text) for t, text in attempts])
        for (twin, text), report in zip(attempts, reports, strict=True):
            # Of several failing attempts the one with the fewest faults stands.
            if twin.report is None or len(report.failed) < len(twin.report.failed):
                twin.text, twin.report = text, report
                twin.temperature = self.attempts.at(attempt)
