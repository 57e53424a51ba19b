"""``check``: what is wrong with a submission. It never changes a file."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from citeforge.engines.io.report_table import Displayed, Table
from citeforge.engines.io.textfiles import count_text
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.evaluator.submissions.formats import find_format
from citeforge.evaluator.submissions.index import Submission
from citeforge.evaluator.submissions.provided_passages import ProvidedPassages
from citeforge.evaluator.submissions.reader import Places
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.submission import SubmissionLine
from citeforge.schemas.text import printable


@dataclass(repr=False)
class Findings(Displayed):
    """Result of a check.

    Attributes:
        errors: (line, message): wrong types, unknown or duplicate keys, unreadable lines.
        warnings: (line or None, message): missing keys, unparsed or out-of-range marks.
        n_lines: answers that could be read.
        n_empty: of these, without any text.
        n_truncated: of these, cut at the token limit, as their lines say.
    """

    errors: list[tuple[int | None, str]] = field(default_factory=list)
    warnings: list[tuple[int | None, str]] = field(default_factory=list)
    n_lines: int = 0
    n_empty: int = 0
    n_truncated: int = 0

    def summary(self) -> str:
        """How much was read, and how much of it is wrong or doubtful."""
        answers, errors = count_text(self.n_lines, "answer"), count_text(len(self.errors), "error")
        return f"{answers} read, {errors}, {count_text(len(self.warnings), 'warning')}"

    def _headline(self) -> str:
        return self.summary()

    def _tables(self) -> Iterator[Table]:
        by_kind = {"error": self.errors, "warning": self.warnings}
        rows = [(kind, line or "", text) for kind, lines in by_kind.items() for line, text in lines]
        yield Table(["", "line", "finding"], rows, left=3)


def check(
    path: str | Path, benchmark: Benchmark, context: str | None = None, file_format: str = "auto"
) -> Findings:
    """Check a submission against a benchmark.

    Args:
        path: submission.
        benchmark: what it answers.
        context: only this context set is looked at for missing keys; None for those it names.
        file_format: format of the file; see :mod:`citeforge.evaluator.submissions.formats`.

    Raises:
        InputError: the file cannot be read at all.
    """
    return _Checker(benchmark, context).run(Path(path), file_format)


class _Checker:
    def __init__(self, benchmark: Benchmark, context: str | None) -> None:
        self.benchmark = benchmark
        self.asked = context
        self.sets = [context] if context else list(benchmark.manifest.contexts)
        self.only = self.sets[0] if len(self.sets) == 1 else None
        self.answers = benchmark.kind.checker(benchmark)
        self.findings = Findings()
        self.provided = ProvidedPassages(benchmark)

    def run(self, path: Path, file_format: str) -> Findings:
        self.places = Places(path, self.benchmark)
        submission = Submission(path, self.benchmark, file_format, on_error=self._unreadable)
        self.submission = submission
        try:
            submission.about  # noqa: B018 (whether it can be read)
        except InputError as error:
            self._unreadable(error)
        self.only = self.only or self._default_context()
        try:
            for line, answer in submission.answers():
                self.findings.n_lines += 1
                self._check_answer(line, answer)
        except InputError as error:
            # Our own format goes on behind a bad line; other formats end there.
            if error.line is None and error.field is None:
                raise
            self._unreadable(error)
        self._missing()
        faults = find_format(submission.form).faults
        for fault in faults(path, self.benchmark) if faults else ():
            findings = self.findings.errors if fault.is_error else self.findings.warnings
            findings.append((fault.line, fault.message))
        self._doubts()
        # A wrong header is met by whoever reads it, and said once.
        errors = dict.fromkeys(self.findings.errors)
        self.findings.errors = sorted(errors, key=lambda e: e[0] or 0)
        return self.findings

    def _default_context(self) -> str | None:
        """The set that ``score`` takes for lines that name none; None when it would ask."""
        try:
            return self.submission.choose_context(None)
        except (InputError, UsageError):
            return None

    def _doubts(self) -> None:
        """What makes it doubtful that the file answers this benchmark, and how answers end."""
        doubts = self.submission.warnings()
        if self.submission.is_anonymous:
            doubts += self.answers.reach.warnings(self.benchmark.kind.shows)
        doubts += self.provided.warnings()
        if self.findings.n_truncated:
            doubts.append(
                f"{self.findings.n_truncated:,} answers were cut at the token limit (finish_reason "
                "length); they are scored as they are"
            )
        if self.findings.n_empty:
            n_empty = self.findings.n_empty
            doubts.append(f"{n_empty:,} answers are empty; they are scored as answers")
        self.findings.warnings = [*((None, text) for text in doubts), *self.findings.warnings]

    def _unreadable(self, error: InputError) -> None:
        text = error.message if error.field is None else f"{error.field}: {error.message}"
        self.findings.errors.append(
            (error.line, text + (f"; {error.allowed}" if error.allowed else ""))
        )

    def _check_answer(self, line: int, answer: SubmissionLine) -> None:
        try:
            name = self._context_of(answer)
            row = self.places.row(line, answer, name)
        except InputError as error:
            self.findings.errors.append((line, error.message))
            return
        self.provided.add(answer)
        self.findings.n_empty += not answer.output.strip()
        self.findings.n_truncated += answer.is_truncated
        self.findings.warnings += [(line, w) for w in self.answers.warnings(answer, name, row)]

    def _context_of(self, answer: SubmissionLine) -> str:
        """The context set that an answer is about.

        Raises:
            InputError: it names none that the benchmark has.
        """
        name = self.only if answer.context is None else answer.context
        if answer.passages is not None:
            name = "own"
        if name is None:
            raise InputError(f"context: is missing; one of {', '.join(self.sets)}")
        sets = self.benchmark.manifest.contexts
        if answer.passages is None and name not in sets:
            raise InputError(f"context: {printable(name)} is unknown; one of {', '.join(sets)}")
        return name

    def _missing(self) -> None:
        places = self.places.missing
        names = {name for name, _ in places}
        is_design = self.benchmark.kind.is_design
        missing: list[str] = []
        if is_design and names:
            missing += [
                f"no answer to the cell {name}: what needs it is not computed"
                for name in self.sets
                if name not in names
            ]
        # Of those that were not asked (--limit) there is one warning, not one each.
        limit = self.submission.asked or len(self.benchmark.query_ids)
        missing += [
            f"no answer to {self.benchmark.query_ids[row]!r} (context {name}, run {run}): "
            "scored as worst"
            for (name, run), rows in places.items()
            for row in rows
            if row < limit
        ]
        self.findings.warnings += [(None, text) for text in missing]
        if names and self.asked not in (None, *names) and not is_design:
            self.findings.errors.append(
                (None, f"the file holds no answer to context {self.asked!r}")
            )
        if not names and not self.findings.errors:
            self.findings.errors.append((None, "the file holds no answers"))
