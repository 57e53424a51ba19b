"""Comparison of the prompts that a file keeps with the passages that its benchmark shows."""

from collections.abc import Iterator
from functools import cache

from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.evaluator.submissions.finding import Finding
from citeforge.schemas.submission import SubmissionLine


class KeptPrompts:
    """Counts passages shown that are not in the prompts of a submission's lines.

    Builds may have the same queries and ids, and other texts. A prompt without any of the passages
    is no evidence: its template may show summaries, or nothing.
    """

    def __init__(self, benchmark: Benchmark) -> None:
        """Prepare to look for a benchmark's passages in the prompts stored with answers."""
        self._benchmark = benchmark
        self._items = cache(lambda context: list(benchmark.items(context)))
        self._n_shown = self._n_absent = 0
        self._first = ""

    def add(self, answer: SubmissionLine, context: str, row: int) -> None:
        """Count the query's passages that the prompt stored with an answer does not contain."""
        benchmark = self._benchmark
        is_frozen = context in benchmark.manifest.contexts and answer.passages is None
        if not answer.prompt or not is_frozen or benchmark.has_graphs:
            return
        prompt = " ".join(answer.prompt.split())
        shown = [p for p in self._items(context)[row].passages if p.text.strip()]
        absent = [p.id for p in shown if " ".join(p.text.split()) not in prompt]
        if len(absent) < len(shown):
            self._n_shown += len(shown)
            self._n_absent += len(absent)
            if absent and not self._first:
                self._first = f"query {answer.query_id}, passage {absent[0]}"

    def warnings(self) -> Iterator[Finding]:
        """Warn of shown passages whose texts are missing from the stored prompts."""
        if self._n_absent:
            yield Finding(
                "text-mismatch",
                f"{self._n_absent:,} of {self._n_shown:,} passages shown are not in the prompts "
                f"that the file keeps (first: {self._first}): was another build answered?",
            )
