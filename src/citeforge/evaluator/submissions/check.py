"""``check``: what is wrong with a submission. It never changes a file."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path

from citeforge.engines.io.report_table import Displayed, Table
from citeforge.engines.io.textfiles import count_text
from citeforge.evaluator.measures.kalma.graphs import read_answer, read_shown
from citeforge.evaluator.statements.url_marks import Markup, has_text, read_markup
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.evaluator.submissions.formats import find_format
from citeforge.evaluator.submissions.index import Submission
from citeforge.evaluator.submissions.origin import CitationRange
from citeforge.evaluator.submissions.provided_passages import ProvidedPassages
from citeforge.evaluator.submissions.reader import Places
from citeforge.schemas.citations.urls import same_url
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.submission import CitedSpan, SubmissionLine
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


def span_warnings(answer: SubmissionLine, texts: Sequence[str], base: int) -> Iterator[str]:
    """Warnings of one answer.

    Args:
        answer: its ``spans`` are looked at.
        texts: texts of the passages that it was shown, in order.
        base: number of the first passage.
    """
    size = len(answer.output)
    for number, span in enumerate(answer.spans or ()):
        if not 0 <= span.start <= span.end <= size:
            yield (
                f"spans[{number}]: {span.start} to {span.end}, and the output has {size} characters"
            )
        if span.passage is None:
            yield (
                f"spans[{number}]: cites {span.source!r}, which is none of the passages shown; "
                "counted as a citation beyond them. Other ways to find sources: --format "
                "NAME:own, :id, :index, :title, :url=FIELD"
            )
        elif not 0 <= span.passage < len(texts):
            yield f"spans[{number}]: passage {span.passage} of {len(texts)}, from 0"
        elif span.quote and not _holds(texts[span.passage], span):
            yield (
                f"spans[{number}]: quotes {span.quote[:60]!r}, which passage "
                f"[{base + span.passage}] does not hold: are sources found in the right way?"
            )


def _holds(text: str, span: CitedSpan) -> bool:
    """Whether a text holds a quotation, white space aside; where it says, if it says so."""
    quote = span.quote or ""
    if span.quote_unit == "char" and span.quote_start is not None and span.quote_end is not None:
        there = text[span.quote_start : span.quote_end]
        return " ".join(there.split()) == " ".join(quote.split())
    words = " ".join(quote.split())
    parts = [p for p in words.replace("…", "...").split("...") if p.strip()]
    squeezed = " ".join(text.split())
    return not squeezed or all(p.strip() in squeezed for p in parts)


_MOST_NUMBERS_LISTED = 5


def report_markup(answer: SubmissionLine) -> Markup | None:
    """The citations of an answer that cites by URL; None for any other."""
    if answer.spans is not None or not any(p.url for p in answer.passages or ()):
        return None
    markup = read_markup(answer.output)
    by_url = any(not k.startswith("[") for m in markup.mentions for k in m.keys)
    return markup if by_url or markup.references else None


def report_warnings(answer: SubmissionLine, markup: Markup) -> Iterator[str]:
    """Numbers without an entry, entries that come twice, pages without a text."""
    if markup.unlisted:
        numbers = ", ".join(f"[{n}]" for n in markup.unlisted[:_MOST_NUMBERS_LISTED])
        yield f"output: cites {numbers}; the list of references has no URL for it"
    if markup.twice:
        numbers = ", ".join(map(str, dict.fromkeys(markup.twice)))
        yield f"output: the list of references has {numbers} several times; the first one counts"
    pages = {same_url(p.url) for p in answer.passages or () if p.url and has_text(p.text)}
    cited = dict.fromkeys(k for m in markup.mentions for k in m.keys if not k.startswith("["))
    absent = [url for url in cited if same_url(url) not in pages]
    if absent:
        yield (
            f"passages: no text of {len(absent)} of {len(cited)} cited pages (first: {absent[0]}); "
            "they support nothing. Give their texts as passages with url and text"
        )


class Marks:
    """Looks at answers that cite passages by number, one after the other.

    Attributes:
        reach: how far the citations seen so far go.
    """

    def __init__(self, benchmark: Benchmark) -> None:
        self.reach = CitationRange()
        self._grammar = benchmark.grammar
        self._table = cache(benchmark.context)
        self._items = cache(lambda context: list(benchmark.items(context)))

    def warnings(self, answer: SubmissionLine, context: str, row: int) -> Iterator[str]:
        """Marks that are not read as citations, and numbers beyond the context."""
        report = report_markup(answer)
        if report is not None:
            yield from report_warnings(answer, report)
            return
        own, output, grammar = answer.passages, answer.output, self._grammar
        n_shown = self._table(context).sizes[row] if own is None else len(own)
        parsed = grammar.parse(output, n_shown)
        for start, end in parsed.unparsed:
            yield f"output: {output[start:end]!r} is not read as a citation"
        first, last = grammar.base, grammar.base + n_shown - 1
        cited = {n for m in parsed.markers for n in m.numbers}
        beyond = sorted(n for n in cited if not first <= n <= last)
        if own is None:
            inside = {n - grammar.base + 1 for n in cited.difference(beyond)}
            self.reach.add(inside, len(beyond), n_shown)
        if beyond:
            numbers = ", ".join(map(str, beyond[:5]))
            yield f"output: cites {numbers}; the context has {first} to {last}"
        if answer.spans:
            passages = self._items(context)[row].passages if own is None else own
            yield from span_warnings(answer, [p.text for p in passages], grammar.base)


class Triples:
    """The same for answers that cite triples."""

    def __init__(self, benchmark: Benchmark) -> None:
        self.reach = CitationRange()
        self._shown = cache(partial(read_shown, benchmark))

    def warnings(self, answer: SubmissionLine, context: str, row: int) -> Iterator[str]:
        """Brackets that never close, citations that lack a part, triples that were not shown."""
        graphs, relations = self._shown(context)
        graphs_shown = graphs[row]
        reading = read_answer(row, graphs_shown, answer.output, relations)
        if reading.n_unparsed:
            yield f"output: {reading.n_unparsed} brackets never close"
        complete = [c for c in reading.citations if c.complete]
        incomplete = len(reading.citations) - len(complete)
        if incomplete:
            yield f"output: {incomplete} citations lack a relation or a value"
        self.reach.add((), len({c.compared for c in complete} - graphs_shown.citable), 0)
        strange = [c for c in complete if not graphs_shown.shows(c)]
        if strange:
            c = strange[0]
            yield (
                f"output: cites {len(strange)} triples that were not shown "
                f"(first: {c.qid}, {c.relation}: {c.value})"
            )
