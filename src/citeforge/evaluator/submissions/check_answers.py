"""What ``check`` finds in one answer: marks of passages, or citations of triples."""

from collections.abc import Iterator, Sequence
from functools import cache, partial

from citeforge.evaluator.measures.kalma.inputs import read_answer, read_shown
from citeforge.evaluator.statements.url_marks import Markup, has_text, read_markup
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.evaluator.submissions.origin import CitationRange
from citeforge.schemas.citations.urls import same_url
from citeforge.schemas.submission import CitedSpan, SubmissionLine


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
