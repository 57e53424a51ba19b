"""Files of tools' responses, with one JSON object per line, read as answers.

A line says which query it answers: ``query_id``, the ``custom_id`` or ``key`` of a batch, or the
question itself. The response is in ``response``, where batches have it, or is the line.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

from citeforge.engines.jsonlines import read_rows
from citeforge.engines.textfiles import count_text
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.evaluator.submissions.formats import Fault, OnError
from citeforge.evaluator.submissions.query_finder import QueryFinder
from citeforge.plugins.responses.detect import (
    find_body,
    find_layout,
    read_row,
    require_whole,
)
from citeforge.plugins.responses.layout import Layout, declarations, layouts
from citeforge.plugins.responses.marks import find_other_marks
from citeforge.plugins.responses.placer import CitationPlacer, LineFields
from citeforge.plugins.responses.reader import read_responses
from citeforge.plugins.responses.records import Response, errors_at
from citeforge.plugins.responses.sources import find_documents, read_source
from citeforge.plugins.responses.values import Node, parse_text
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.submission import HEADER, Lines, SubmissionLine

Rows = Iterator[tuple[int, dict[str, Any]]]
_ROW: Any = dict[str, Any]
_PROMPTS = """
prompt | messages.-1.content | request.messages.-1.content | request_body.messages.-1.content"""
"""Paths of what a model was asked, beside its response."""


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of a file, with its responses.

    Attributes:
        number: its number in the file.
        fields: what it says besides the response.
        responses: its answers, in order.
        unread: path of a list of documents in it that is not read; None without one.
    """

    number: int
    fields: LineFields
    responses: list[Response]
    unread: str | None


def _read_rows(path: Path, on_error: OnError) -> Rows:
    """Yield (line number, fields) of a JSON Lines file, without its header."""
    return read_rows(path, _ROW, HEADER, on_error)


class ResponseFile:
    """A file of a tool's responses, read as answers."""

    def __init__(
        self, form: str, path: Path, benchmark: Benchmark, options: str,
        rows: Callable[[Path, OnError], Rows] = _read_rows,
    ) -> None:  # fmt: skip
        """Prepare to read a file of a tool's responses with a format's options.

        Args:
            form: name of the format, such as ``openai``.
            path: JSON Lines, plain or .gz.
            benchmark: what is answered.
            options: what is behind the colon of ``--format``, separated by commas: ``marks``,
                ``runs``, and how sources are found among the passages shown
                (:data:`citeforge.plugins.responses.ways.WAYS`).
            rows: reads the lines.

        Raises:
            UsageError: sources cannot be found in this way.
        """
        self._form, self._rows, self._path = form, rows, path
        self._layouts = tuple(lay for lay in layouts() if lay.form == form)
        words = [word for word in options.split(",") if word]
        self._only_marks, self._with_runs = "marks" in words, "runs" in words
        way = ",".join(word for word in words if word not in ("marks", "runs"))
        if way == "index" and not any(lay.is_numbered for lay in self._layouts):
            raise UsageError(
                f"--format {form}:{way}: {form}'s sources have no number among the passages "
                f"shown; find them by {form}:id, :title or :url=FIELD",
                code="unsupported",
            )
        self._placer = CitationPlacer(form, benchmark, way or self._layouts[0].by, self._only_marks)
        self._grammar = benchmark.grammar
        self._queries = QueryFinder(benchmark)

    def lines(self, on_error: OnError) -> Lines:
        """Yield (line number, answer with citation marks in its text) of a response file.

        Raises:
            InputError: file, line, field, and what would be right.
        """
        for read in self._read_lines(on_error):
            responses = read.responses if self._with_runs else read.responses[:1]
            for run, response in enumerate(responses, read.fields.run):
                with errors_at(self._path, read.number, on_error):
                    yield read.number, self._to_answer(replace(read.fields, run=run), response)

    def warnings(self) -> Iterator[Fault]:
        """Yield warnings about ignored or ambiguous content of a response file, one per reason."""
        thoughts = choices = both = shown = interim = 0
        unread, differing = [], []
        for read in self._read_lines(lambda error: None):
            first = read.responses[0]
            thoughts += bool(first.thoughts)
            interim += first.has_interim
            choices += len(read.responses) - 1
            both += self._has_ignored_marks(first)
            is_plain = not self._placer.has_sources(read.fields, first)
            with errors_at(self._path, read.number, lambda error: None):
                differing += self._placer.differing_passages(read.fields, first)
            shown += is_plain and self._has_sources and self._cites_benchmark(first)
            unread += [read.unread] if is_plain and read.unread is not None else []
        form, marks = self._form, f"--format {self._form}:marks"
        for n, code, noun, text in (
            (
                both, "unread-citation", "answer",
                f"with citations of {form} beside the text and marks in it: the marks cite "
                f"nothing; {marks} reads the marks alone, as citations of the passages shown",
            ),
            (
                shown, "unread-citation", "answer",
                f"without citations of {form}, of which others have some: the marks cite the "
                "passages shown, so the file is about two contexts; score one with --context, or "
                f"read the marks of all with {marks}",
            ),
            (
                0 if self._with_runs else choices, "unread-answer", "further answer",
                "to the same prompts not read: the first by index counts; "
                f"--format {form}:runs reads the others as runs",
            ),
            (
                thoughts, "thoughts", "answer",
                "with thoughts of the model, which are no part of the answer; they are kept in "
                "meta",
            ),
            (
                interim, "interim-text", "answer",
                "with a text before a call of a tool, which is read as a part of the answer",
            ),
            (
                len(differing), "text-mismatch", "source",
                f"whose text is not in the passage of the benchmark that it is taken for (first: "
                f"{next(iter(differing), '')}): was another build answered?",
            ),
            (
                0 if self._only_marks else len(unread), "unread-documents", "answer",
                f"with documents that are not read ({next(iter(unread), '')}): the marks cite the "
                'passages of the benchmark; if they cite these documents, call the list '
                '"documents"',
            ),
        ):  # fmt: skip
            if n:
                yield Fault(code, f"{count_text(n, noun)} {text}", is_error=False)

    def _read_lines(self, on_error: OnError) -> Iterator[_Line]:
        """Yield a response file's lines, parsed, with citations as the tool returned them.

        Raises:
            InputError: file, line, field, and what would be right.
        """
        for number, row in self._rows(self._path, on_error):
            with errors_at(self._path, number, on_error):
                yield self._read_row(number, read_row(row))

    def _to_answer(self, fields: LineFields, response: Response) -> SubmissionLine:
        """Convert one tool response of a line into an answer of a submission."""
        answer = self._placer.answer(fields, response)
        is_own = self._placer.matching.way == "own" and not self._only_marks
        if answer.passages is None and is_own and not self._cites_benchmark(response):
            # Where the others found sources of their own, it found none.
            answer.passages = [] if self._has_sources else None
        return answer

    def _cites_benchmark(self, response: Response) -> bool:
        """Whether ``[1]`` in a response without sources cites a passage of the benchmark.

        In files of frameworks they cite documents, of which the line has none.
        """
        is_framework = self._layouts[0].needs_text and self._has_sources
        return not is_framework and bool(find_other_marks(response.text, [], self._grammar, 99))

    def _has_ignored_marks(self, response: Response) -> bool:
        """Whether a response has citation marks that are ignored, as the tool lists citations."""
        spans = sorted((c.start, c.end) for c in response.cited if c.is_mark)
        beside = find_other_marks(response.text, spans, self._grammar, 99) if response.cited else []
        return bool(beside) and not self._only_marks

    @cached_property
    def _has_sources(self) -> bool:
        """Whether any line's first answer in the response file comes with sources."""
        return any(
            self._placer.has_sources(read.fields, response)
            for read in self._read_lines(lambda error: None)
            for response in read.responses[:1]
        )

    def _read_row(self, number: int, row: Node) -> _Line:
        """Read a line of a response file: query, fields, responses; fail for a failed request."""
        _require_answer(row)
        require_whole(row)
        found = find_layout(row, self._layouts)
        if found is None and len(self._layouts) > 1:
            tools = "; ".join(lay.tool for lay in self._layouts)
            raise InputError(
                f"is no response of {self._form}", code="wrong-value",
                allowed=f"a line of {tools}; --format names another format"
            )  # fmt: skip
        layout, body = found or (self._layouts[0], find_body(row))
        responses, query = read_responses(layout, body), self._find_query(row, layout, body)
        unread = None if responses[0].has_list else _find_unread_documents(row, responses[0])
        return _Line(number, _read_fields(query, row, layout, body), responses, unread)

    def _find_query(self, line: Node, layout: Layout, body: Node) -> str:
        """Find the id of the query that a line answers: from its fields or its question's text.

        Args:
            line: the line.
            layout: how the tool lays its responses out.
            body: the response in the line.
        """
        paths = declarations().line
        names = (n.value for n in line.each(paths.names) if type(n.value) in (str, int))
        ids = (n.value for path in paths.ids for n in line.each(path))
        name = next(chain(names, filter(self._queries.knows, ids)), None)
        asked = [*body.each(layout.question), *line.each(paths.questions)]
        answers = body.each(layout.answers) if layout.answers else []
        asked += [n for answer in answers for n in answer.each(layout.question)]
        question = next((parse_text(n.value) for n in asked if isinstance(n.value, str)), None)
        if name is None and question is None:
            raise InputError(
                "names no query",
                allowed='"query_id" beside the response, the custom_id or key of a batch, or the '
                'text of the question as "question"',
                code="missing-field",
            )
        # A wrong id is reported, also where the question is known.
        return self._queries.find_id(name, str(question or "") if name is None else "")


def _read_fields(query: str, line: Node, layout: Layout, body: Node) -> LineFields:
    """Read a line's fields other than the response: context set, run, documents, web pages.

    Names that the response itself uses belong to the response.

    Args:
        query: id of the query.
        line: the line.
        layout: how the tool lays its responses out.
        body: the response in the line.
    """
    of_response = {
        path.strip().split(".")[0] for path in f"{layout.sources} | {layout.text}".split("|")
    }
    values = {
        k: v for k, v in line.value.items() if line.value is not body.value or k not in of_response
    }
    outside = Node(values)
    documents = outside.first("documents")
    context = outside.first("context")
    return LineFields(
        query,
        context.value if context is not None and isinstance(context.value, str) else None,
        outside.number("run") or 0,
        None if documents is None else [read_source(d, True) for d in documents.items()],
        [read_source(page) for page in outside.each("pages.*")],
        next((n.value for n in line.each(_PROMPTS) if isinstance(n.value, str)), None),
    )


def _find_unread_documents(line: Node, response: Response) -> str | None:
    """Find the path of documents in a line that the reader ignores; None if there are none."""
    texts, said = declarations().line.unread, "\n".join([response.text, *response.thoughts])
    found = line.first(texts) if line.has(texts) else find_documents(line, said, search_items=True)
    return None if found is None else found.json_path


def _require_answer(line: Node) -> None:
    """Raise an error if a line records that the request to the tool failed.

    Raises:
        InputError: says why it failed.
    """
    paths = declarations().line
    error, failed = line.first(paths.errors), line.first(paths.failed)
    status = line.first("response.status_code")
    is_graded = line.has("response.output") and line.has("grading_result")  # an answer all the same
    reason = None if error is None or is_graded else error.value
    if failed is not None:
        reason = reason or failed.value["type"]
    if not reason and status is not None and type(status.value) is int and status.value >= 400:
        reason = f"status {status.value}"
    if reason:
        raise InputError(
            f"is a request that failed ({str(reason)[:120]})",
            allowed="send it again, or leave the line out: the answer then counts as missing",
            code="endpoint-failed",
        )
