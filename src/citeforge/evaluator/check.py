"""``check``: lists errors and warnings about a submission; never changes a file."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from urllib.parse import urlsplit

from citeforge.engines.report_table import Displayed, Table
from citeforge.engines.textfiles import count_text
from citeforge.evaluator.statements.triples import (
    describe_malformed_brackets,
    read_answer,
    read_shown,
)
from citeforge.evaluator.submissions.benchmark import CLOSED_BOOK, OWN, Benchmark, LineIndex
from citeforge.evaluator.submissions.citation_range import CitationRange
from citeforge.evaluator.submissions.finding import Finding
from citeforge.evaluator.submissions.formats import OURS, read_format_start
from citeforge.evaluator.submissions.kept_prompts import KeptPrompts
from citeforge.evaluator.submissions.provided_passages import ProvidedPassages
from citeforge.evaluator.submissions.submission import Submission
from citeforge.evaluator.submissions.url_marks import Markup, has_text, read_markup
from citeforge.package.items import Passage
from citeforge.schemas.citations.grammar import Marker
from citeforge.schemas.citations.residue import find_unknown_residue
from citeforge.schemas.citations.urls import normalise_url
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.scores import About
from citeforge.schemas.submission import CONTROL, CitedSpan, OwnPassage, SubmissionLine
from citeforge.schemas.text import is_date, printable


@dataclass(repr=False)
class Findings(Displayed):
    """Result of a check.

    Attributes:
        errors: wrong types, unknown or duplicate keys, unreadable lines.
        warnings: missing answers, citations that are not read or name nothing shown.
        n_lines: answers that could be read.
        n_empty: answers without any text.
        n_truncated: answers that were cut, as their lines report.
        form: format of the file.
        other_forms: how many answers cite in other forms than the prompt's, with an example.
    """

    errors: list[Finding] = field(default_factory=list)
    warnings: list[Finding] = field(default_factory=list)
    n_lines: int = 0
    n_empty: int = 0
    n_truncated: int = 0
    form: str = OURS
    other_forms: str = ""

    def summary(self) -> str:
        """Summarise in one line how many answers were read, and how many findings there are."""
        answers, errors = count_text(self.n_lines, "answer"), count_text(len(self.errors), "error")
        form = "" if self.form == OURS else f" as {self.form}"
        others = f" ({self.other_forms})" if self.other_forms else ""
        warnings = count_text(len(self.warnings), "warning")
        return f"{answers} read{form}{others}, {errors}, {warnings}"

    def _headline(self) -> str:
        """Return the one-line summary of the check (:meth:`summary`)."""
        return self.summary()

    def _tables(self) -> Iterator[Table]:
        """Yield one table of all errors and warnings, with their line numbers."""
        by_kind = {"error": self.errors, "warning": self.warnings}
        rows = [
            (kind, found.line or "", str(found))
            for kind, findings in by_kind.items()
            for found in findings
        ]
        yield Table(["", "line", "finding"], rows, left=3)


def check(
    path: str | Path, benchmark: Benchmark, context: str | None = None, file_format: str = "auto"
) -> Findings:
    """Check a submission file against its benchmark; list errors and warnings.

    Args:
        path: submission.
        benchmark: what it answers.
        context: context set whose missing answers are listed; None for those that lines name.
        file_format: format of the file; see :mod:`citeforge.evaluator.submissions.formats`.

    Raises:
        InputError: the file cannot be read at all.
    """
    return _Checker(benchmark, context).run(Path(path), file_format)


class _Checker:
    """A check of one submission."""

    def __init__(self, benchmark: Benchmark, context: str | None) -> None:
        """Prepare to check answers to the named context set, or to all sets if it is None."""
        self.benchmark = benchmark
        self.asked = context
        self.sets = [context] if context else list(benchmark.manifest.contexts)
        self.only = self.sets[0] if len(self.sets) == 1 else None
        self.findings = Findings()
        self.provided = ProvidedPassages(benchmark)
        self.prompts = KeptPrompts(benchmark)

    def run(self, path: Path, file_format: str) -> Findings:
        """Check a submission file line by line; return all errors and warnings."""
        self.places = LineIndex(path, self.benchmark)
        submission = Submission(path, self.benchmark, file_format, on_error=self._record_error)
        self.submission, self.findings.form = submission, submission.form
        self.answers: Marks | Triples = (
            Triples(self.benchmark) if self.benchmark.has_graphs else Marks(submission)
        )
        self.only = self.only or self._default_context()
        try:
            for line, answer in submission.answers():
                self.findings.n_lines += 1
                self._check_answer(line, answer)
        except InputError as error:
            # Our own format goes on behind a bad line; other formats end there.
            if error.line is None and error.field is None:
                raise
            self._record_error(error)
        self._report_missing()
        for fault in submission.faults():
            findings = self.findings.errors if fault.is_error else self.findings.warnings
            findings.append(fault)
        if file_format == "auto":
            self.findings.warnings += self._ambiguous_format_warnings()
        self.findings.warnings = [*self._mismatch_warnings(), *self.findings.warnings]
        self.findings.other_forms = self.answers.other_forms
        # Several readers meet a wrong header; it is listed once.
        errors = dict.fromkeys(self.findings.errors)
        self.findings.errors = sorted(errors, key=lambda e: e.line or 0)
        return self.findings

    def _default_context(self) -> str | None:
        """Get the context set that ``score`` assumes for lines without one; None if unclear."""
        try:
            return self.submission.choose_context(None)
        except (InputError, UsageError):
            return None

    def _mismatch_warnings(self) -> Iterator[Finding]:
        """Yield warnings on the whole file: another benchmark's answers, cut or empty answers."""
        if self.findings.n_lines:  # else there is nothing of any build
            yield from self.submission.warnings()
        if self.submission.header.get(CONTROL) is True:
            text = (
                "is a reference line, as its header says: tables show it below the systems, and "
                "never rank it. On a leaderboard only the owner adds reference lines; leave the "
                "field out if it is a system"
            )
            yield Finding("reference-line", text, line=1, field=CONTROL)
        yield from self._system_warnings()
        if self.submission.is_anonymous:
            yield from self.answers.reach.warnings(self.benchmark.kind.facts.shows)
            yield from self.prompts.warnings()
        yield from self.provided.warnings()
        yield from self.submission.text_warnings()
        # The warning of thoughts counts answers that are cut or empty for one without an end.
        n_endless = self.submission.unwrapper.n_endless
        if n_cut := self.findings.n_truncated - n_endless:
            were = "answer was cut, as its" if n_cut == 1 else "answers were cut, as their"
            text = f"{n_cut:,} {were} finish_reason reports; what is there is scored"
            yield Finding("truncated-answer", text)
        n_empty = self.findings.n_empty - self.submission.unwrapper.n_unbegun
        if n_empty and self.submission.unwrapper.same.text != "":
            are = "answer is empty" if n_empty == 1 else "answers are empty"
            yield Finding("empty-text", f"{n_empty:,} {are}; scored as answers")

    def _system_warnings(self) -> Iterator[Finding]:
        """Yield warnings of an invalid date or web address in the submission's header."""
        try:
            about = self.submission.about or About()
        except InputError as error:
            self._record_error(error)
            return
        if about.date is not None and not is_date(about.date):
            text = f"{about.date!r} is not a date; write it as 2026-11-23, 2026-11 or 2026"
            yield Finding("wrong-value", text, line=1, field="date")
        if about.url is not None and urlsplit(about.url).scheme not in ("http", "https"):
            text = f"{about.url!r} is not a web address, and no page links it; begin with https://"
            yield Finding("wrong-value", text, line=1, field="url")

    def _ambiguous_format_warnings(self) -> list[Finding]:
        """List a warning if the guessed file format is one of several that fit; empty otherwise."""
        form, path = self.submission.format, self.submission.path
        start = read_format_start(path)
        others = [name for name in form.list_alike(start) if name != form.name] if start else []
        if not others:
            return []
        text = f"read as {form.name}; a file of {' or '.join(others)} can look the same"
        return [Finding("ambiguous-format", text, option="--format names it")]

    def _record_error(self, error: InputError) -> None:
        """Add an error met while reading the file to the findings."""
        self.findings.errors.append(Finding.from_error(error))

    def _check_answer(self, line: int, answer: SubmissionLine) -> None:
        """Check one answer; add errors and warnings with its line number to the findings."""
        try:
            name = self._find_context(answer)
            row = self.places.row(line, answer, name)
        except InputError as error:
            found = Finding(error.code, error.message, line, error.field, answer.query_id)
            self.findings.errors.append(found)
            return
        self.provided.add(answer)
        self.prompts.add(answer, name, row)
        self.findings.n_empty += not answer.output.strip()
        self.findings.n_truncated += answer.is_truncated
        warnings = self.answers.warnings(answer, name, row)
        self.findings.warnings += [
            replace(warning, line=line, query_id=answer.query_id) for warning in warnings
        ]

    def _find_context(self, answer: SubmissionLine) -> str:
        """Get the name of the context set that an answer is about.

        Raises:
            InputError: it names none that the benchmark has.
        """
        name = self.only if answer.context is None else answer.context
        if answer.passages is not None and self.only != CLOSED_BOOK:
            name = OWN
        if name is None:
            one_of = f"is missing; one of {', '.join(self.sets)}"
            raise InputError(one_of, field="context", code="missing-field")
        sets = self.benchmark.manifest.contexts
        is_own = answer.passages is not None and name == OWN
        is_closed_book = name == CLOSED_BOOK and not self.benchmark.has_graphs
        if name not in sets and not is_own and not is_closed_book:
            one_of = f"{printable(name)} is unknown; one of {', '.join(sets)}"
            raise InputError(one_of, field="context", code="unknown-context")
        return name

    def _report_missing(self) -> None:
        """Warn of unanswered queries and experimental conditions; an error without any answer."""
        missing, warnings = self.places.missing, self.findings.warnings
        names = {name for name, _ in missing}
        is_design = self.benchmark.kind.facts.is_design
        if is_design and names:
            warnings += [
                Finding(
                    "missing-cell", f"no answer to the cell {name}: what needs it is not computed"
                )
                for name in self.sets
                if name not in names
            ]
        # Queries that were not asked (--limit) have one warning together.
        limit = self.submission.asked or len(self.benchmark.query_ids)
        warnings += [
            Finding(
                "missing-answer",
                f"no answer to {query!r} (context {name}, run {run}): scored as worst",
                query_id=query,
            )
            for (name, run), rows in missing.items()
            for query in (self.benchmark.query_ids[row] for row in rows if row < limit)
        ]
        if names and self.asked not in (None, *names) and not is_design:
            self.findings.errors.append(
                Finding("no-answers", f"the file contains no answer to context {self.asked!r}")
            )
        if not names and not self.findings.errors:
            self.findings.errors.append(Finding("no-answers", "the file contains no answers"))


def span_warnings(
    answer: SubmissionLine, passage_texts: Sequence[str], first_number: int
) -> Iterator[Finding]:
    """Warn of citation spans with impossible offsets, or quotations absent from their passages.

    Args:
        answer: answer with ``spans``.
        passage_texts: texts of the passages that it was shown, in order.
        first_number: number of the first passage.
    """
    size = len(answer.output)
    for number, span in enumerate(answer.spans or ()):
        field = f"spans[{number}]"
        if not 0 <= span.start <= span.end <= size:
            text = f"{span.start} to {span.end}, and the output has {size} characters"
            yield Finding("out-of-range", text, field=field)
        if span.passage is None:
            text = (
                f"cites {span.source!r}, which is none of the passages shown; counted as a "
                "citation beyond them. Other ways to find sources: --format NAME:own, :id, "
                ":index, :title, :url=FIELD"
            )
            yield Finding("not-shown", text, field=field)
        elif not 0 <= span.passage < len(passage_texts):
            text = f"passage {span.passage} of {len(passage_texts)}, from 0"
            yield Finding("not-shown", text, field=field)
        elif span.quote and not _contains_quotation(passage_texts[span.passage], span):
            yield Finding(
                "wrong-quote",
                f"quotes {span.quote[:60]!r}, which passage [{first_number + span.passage}] "
                "does not contain: are sources found in the right way?",
                field=field,
            )


def _contains_quotation(text: str, span: CitedSpan) -> bool:
    """Whether a passage contains a citation span's quotation, ignoring white space."""
    quote = span.quote or ""
    if span.quote_unit == "char" and span.quote_start is not None and span.quote_end is not None:
        there = text[span.quote_start : span.quote_end]
        return " ".join(there.split()) == " ".join(quote.split())
    words = " ".join(quote.split())
    parts = [p for p in words.replace("…", "...").split("...") if p.strip()]
    squeezed = " ".join(text.split())
    return not squeezed or all(p.strip() in squeezed for p in parts)


_MOST_NUMBERS_LISTED = 5
_MOST_NAMED = 3
_USUAL = re.compile(r"[\[(][\d\s,;–-]+[\])]")
_DIGITS = re.compile(r"\d+")
_IN_BRACKETS = re.compile(r"\[([^\[\]\n]{2,120})\]")


def report_markup(answer: SubmissionLine) -> Markup | None:
    """Read the URL citations of a report (an answer with its own web pages); None for others."""
    if answer.spans is not None or not any(p.url for p in answer.passages or ()):
        return None
    markup = read_markup(answer.output)
    by_url = any(not k.startswith("[") for m in markup.mentions for k in m.keys)
    return markup if by_url or markup.references else None


def report_warnings(answer: SubmissionLine, markup: Markup) -> Iterator[Finding]:
    """Warn of a report's cited numbers with no or two references, and of pages without text."""
    if markup.unlisted:
        numbers = ", ".join(f"[{n}]" for n in markup.unlisted[:_MOST_NUMBERS_LISTED])
        text = f"cites {numbers}; the list of references has no URL for it"
        yield Finding("unknown-id", text, field="output")
    if markup.twice:
        numbers = ", ".join(map(str, dict.fromkeys(markup.twice)))
        text = f"the list of references has {numbers} several times; the first one counts"
        yield Finding("duplicate-id", text, field="output")
    pages = {normalise_url(p.url) for p in answer.passages or () if p.url and has_text(p.text)}
    cited = dict.fromkeys(k for m in markup.mentions for k in m.keys if not k.startswith("["))
    absent = [url for url in cited if normalise_url(url) not in pages]
    if absent:
        yield Finding(
            "empty-text",
            f"no text of {len(absent)} of {len(cited)} cited pages (first: {absent[0]}); they "
            "support nothing. Give their texts as passages with url and text",
            field="passages",
        )


class Marks:
    """Checks of answers that cite passages by number.

    Attributes:
        reach: range of the citations of all answers checked so far.
    """

    def __init__(self, submission: Submission) -> None:
        """Prepare to check a submission whose answers cite passages by number."""
        benchmark = submission.benchmark
        self.reach = CitationRange()
        self._n_other_forms, self._example = 0, ""
        self._grammar = submission.grammar
        self._table = cache(benchmark.context)
        self._items = cache(lambda context: list(benchmark.items(context)))

    def warnings(self, answer: SubmissionLine, context: str, query_row: int) -> Iterator[Finding]:
        """Warn of an answer's unread citation marks, passages not shown, and wrong quotations."""
        report = report_markup(answer)
        if report is not None:
            yield from report_warnings(answer, report)
            return
        own = [] if context == CLOSED_BOOK else answer.passages
        output, grammar = answer.output, self._grammar
        n_shown = self._table(context).sizes[query_row] if own is None else len(own)
        parsed = grammar.parse(output, n_shown)
        if unread := sorted([*parsed.unparsed, *find_unknown_residue(output, parsed)]):
            yield _unread_warning([output[start:end] for start, end in unread])
        self._note_unusual_marks(output, parsed.markers)
        first, last = grammar.base, grammar.base + n_shown - 1
        cited = {n for m in parsed.markers for n in m.numbers}
        beyond = sorted(n for n in cited if not first <= n <= last)
        if own is None:
            inside = {n - grammar.base + 1 for n in cited.difference(beyond)}
            self.reach.add(inside, len(beyond), n_shown)
        if beyond:
            numbers = ", ".join(map(str, beyond[:5]))
            there = f"the context has {first} to {last}" if n_shown else "no passage was shown"
            text = f"cites {numbers}; {there}"
            yield Finding("not-shown", text, field="output")
        names = [] if cited else _IN_BRACKETS.findall(output)
        if names or answer.spans:
            shown = self._items(context)[query_row].passages if own is None else own
            yield from _name_citation_warnings(names, shown)
            yield from span_warnings(answer, [p.text for p in shown], grammar.base)

    def _note_unusual_marks(self, output: str, markers: Sequence[Marker]) -> None:
        """Count an answer that has an unusual citation mark, such as ``(doc 3)``, for the warnings.

        Args:
            output: the answer.
            markers: citation marks that were read in it.
        """
        others = [
            m
            for m in markers
            if m.numbers
            and not _USUAL.fullmatch(mark := output[m.start : m.end])
            and _DIGITS.sub("n", mark) != self._grammar.form
        ]
        if others:
            self._n_other_forms += 1
            form = output[others[0].start : others[0].end]
            self._example = self._example or f"{form!r} as passage {others[0].numbers[0]}"

    @property
    def other_forms(self) -> str:
        """Warning about answers with citation marks unlike the prompt's; empty without any."""
        if not self._n_other_forms:
            return ""
        return f"{self._n_other_forms:,} in other forms than {self._grammar.form}: {self._example}"


def _unread_warning(marks: Sequence[str]) -> Finding:
    """Make a warning that names marks in an answer that were not read as citations."""
    names = ", ".join(map(repr, list(dict.fromkeys(marks))[:_MOST_NAMED]))
    verb = "is not read as a citation" if len(marks) == 1 else "are not read as citations"
    more = f" and {len(marks) - _MOST_NAMED:,} more" if len(marks) > _MOST_NAMED else ""
    return Finding("unread-citation", f"{names}{more} {verb}", field="output")


def _name_citation_warnings(
    bracketed: Sequence[str], passages: Sequence[Passage] | Sequence[OwnPassage]
) -> Iterator[Finding]:
    """Warn of texts in an answer's brackets that are a passage's title or id, not its number.

    Args:
        bracketed: texts in the answer's brackets.
        passages: passages that it was shown.
    """
    ids = ((p.docid or "") if isinstance(p, OwnPassage) else p.id for p in passages)
    names = {name.casefold() for name in (*(p.title for p in passages), *ids) if name}
    named = [f"[{name}]" for name in bracketed if name.strip().casefold() in names]
    if named:
        text = f"{_unread_warning(named).message}: passages are cited by number, not by title or id"
        yield replace(_unread_warning(named), message=text)


class Triples:
    """Checks of answers that cite triples.

    Attributes:
        reach: range of the citations of all answers checked so far.
        other_forms: empty, as triples are cited in one form.
    """

    other_forms = ""

    def __init__(self, benchmark: Benchmark) -> None:
        """Prepare to check answers that cite a benchmark's knowledge-graph triples."""
        self.reach = CitationRange()
        self._shown = cache(partial(read_shown, benchmark))

    def warnings(self, answer: SubmissionLine, context: str, query_row: int) -> Iterator[Finding]:
        """Warn of an answer's unclosed brackets, incomplete citations and triples not shown."""
        graphs, relations = self._shown(context)
        graphs_shown = graphs[query_row]
        reading = read_answer(query_row, graphs_shown, answer.output, relations)
        if n_open := reading.n_unparsed - len(reading.malformed):
            text = f"{count_text(n_open, 'bracket')} without an end"
            yield Finding("unread-citation", text, field="output")
        if reading.malformed:
            text = describe_malformed_brackets(reading.malformed)
            yield Finding("unread-citation", text, field="output")
        complete = [c for c in reading.citations if c.complete]
        incomplete = len(reading.citations) - len(complete)
        if incomplete:
            text = f"{count_text(incomplete, 'citation')} without a relation or a value"
            yield Finding("incomplete-citation", text, field="output")
        self.reach.add((), len({c.compared for c in complete} - graphs_shown.citable), 0)
        strange = [c for c in complete if not graphs_shown.is_complete_and_shown(c)]
        if strange:
            c = strange[0]
            yield Finding(
                "not-shown",
                f"cites {len(strange)} triples that were not shown "
                f"(first: {c.qid}, {c.relation}: {c.value})",
                field="output",
            )
