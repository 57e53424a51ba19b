"""Layouts: the paths of question, answer, sources and citations in the files of each tool.

``data/layouts.toml`` has one for each shape of a tool's files.
"""

import tomllib
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

from citeforge.plugins.responses.values import Node


class Citations(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Declaration of citations beside a text. All paths but ``at`` start at one citation.

    Attributes:
        at: path of the citations.
        in_part: whether ``at`` starts at a part of the text, and offsets count in it; else it
            starts at the answer.
        start: first character cited for; without it and ``end`` the whole part is cited for.
        end: behind the last character.
        part: number of the part in which offsets count; empty for the whole answer.
        unit: what offsets count; bytes are those of UTF-8. ``guessed``: Unicode characters, or
            UTF-16 units where these enclose more links.
        words: the cited words, which the offsets must enclose; ``end`` may be the last character.
        is_place: whether a citation is only an offset in the text, behind the part before it.
        sources: documents that it cites; without it and ``names`` the citation describes its own.
        names: numbers (from 0) or ids of documents that it cites.
        is_written: whether the model wrote the numbers, so that one beyond the list is a citation
            of what was not shown; else the file is damaged.
        kind: path of the type of a citation.
        kinds: type of a citation to the unit of its quotation's offsets (empty for none); no
            entries for citations without a type.
        skipped: types that are no citations; ``*`` for all others.
        quote: words of the source.
        quote_start: where they start in the source.
        quote_end: where they end.
        confidence: how sure the vendor is, one number for each source.
    """

    at: str
    in_part: bool = False
    start: str = ""
    end: str = ""
    part: str = ""
    unit: Literal["characters", "bytes", "guessed"] = "characters"
    words: str = ""
    is_place: bool = False
    sources: str = ""
    names: str = ""
    is_written: bool = False
    kind: str = "type"
    kinds: dict[str, str] = {}
    skipped: tuple[str, ...] = ()
    quote: str = ""
    quote_start: str = ""
    quote_end: str = ""
    confidence: str = ""


class Layout(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A layout of a tool's files. Paths: see :mod:`citeforge.plugins.responses.values`.

    Attributes:
        form: name for ``--format``; several layouts may share it.
        tool: the tool, as messages call it.
        signs: paths that tell the layout, alternatives separated by ``|``; ``a & b`` wants both.
        text: path of the answer: a text, a message, or a list of parts.
        answers: path of several answers to one question (choices, candidates); empty where the
            response is the answer. Paths of an answer start there, else at the response.
        question: path of the question, where the tool repeats it.
        thoughts: path of thoughts beside the text.
        finish: path of the reason why the model stopped.
        sources: path of the documents that were shown or found, in the order of their numbers.
        details: path of objects that have more of the same sources, which are found by URL.
        heading: regular expression of what the tool writes before the text of each source.
        base: number by which marks cite the first source; None for that of the benchmark.
        number: path of a source's number from 1, where the list does not have all of them.
        citations: citations beside the text.
        between: where a paragraph ends: between ``all`` parts, where another ``block`` separates
            two, or ``never``.
        needs_text: whether an answer without a text is an error; else it is an empty answer.
        hint: where the answer is, for the message that it is missing; empty for ``text``.
        has_whole_sources: whether each source has a text or an id.
        by: how sources are found among the passages shown, unless ``--format`` says.
        is_numbered: whether sources have a number among the passages shown.
    """

    form: str
    tool: str
    signs: str
    text: str
    answers: str = ""
    question: str = ""
    thoughts: str = ""
    finish: str = ""
    sources: str = ""
    details: str = ""
    heading: str = ""
    base: int | None = None
    number: str = ""
    citations: tuple[Citations, ...] = ()
    between: Literal["all", "block", "never"] = "block"
    needs_text: bool = False
    hint: str = ""
    has_whole_sources: bool = False
    by: str = "own"
    is_numbered: bool = False

    def matches(self, body: Node) -> bool:
        """Whether a tool's response has the fields by which this layout is recognised."""
        return body.matches(self.signs)


class SpanPaths(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Paths of the values of spans, in the shapes of all tools that trace.

    Attributes:
        batch: spans of a line that has several.
        trace: id of the trace.
        span: id of the span.
        parent: id of the span around it.
        start: when it began.
        kind: what it is, such as LLM or RETRIEVER.
        input: what it was asked.
        output: what it returned.
        model_input: messages to a model.
        model_output: messages of a model.
        query_id: query of the benchmark.
        question: question in an input.
        answer: answer in an output.
        documents: documents that a retriever found.
        retrieved: documents in the output of a retriever.
        reranked: documents that a reranker left.
        shown: documents in any other output.
        finish: reason why the model stopped.
    """

    batch: str
    trace: str
    span: str
    parent: str
    start: str
    kind: str
    input: str
    output: str
    model_input: str
    model_output: str
    query_id: str
    question: str
    answer: str
    documents: str
    retrieved: str
    reranked: str
    shown: str
    finish: str


class LinePaths(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Paths of the values beside a response, in the lines of all tools.

    Attributes:
        bodies: responses; a line itself may be one.
        names: id of the query.
        ids: id of the query, or of the response.
        questions: question of the query.
        unread: text that the model was shown and that is not read.
        errors: error of a request.
        failed: sign of a request that failed.
        chunks: signs of a chunk of a stream.
        blocked: why a prompt was not answered.
    """

    bodies: tuple[str, ...]
    names: str
    ids: tuple[str, ...]
    questions: str
    unread: str
    errors: str
    failed: str
    chunks: str
    blocked: str


class DocumentPaths(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Paths of the values of documents, in the shapes of all tools.

    Attributes:
        wrappers: names under which tools put the document itself.
        metadata: names under which they put its metadata.
        text: its text.
        title: its title.
        urls: its address.
        ids: its ids.
        file: name of its file.
        index: its number among the documents shown.
        message: signs of messages and their parts, which are no documents.
    """

    wrappers: tuple[str, ...]
    metadata: tuple[str, ...]
    text: str
    title: str
    urls: tuple[str, ...]
    ids: tuple[str, ...]
    file: str
    index: str
    message: str


class PartPaths(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Paths of the values of messages and their parts, and names of their types.

    Attributes:
        kind: type of a part.
        texts: types of parts with a text; empty for parts without a type.
        thoughts: types of thoughts.
        interim: signs of a message that is no answer yet, by its vendor; it counts as a thought.
        calls: signs of a call of a tool in a part without a type.
        inner: text or parts of a part.
        thought: text of a thought.
    """

    kind: str
    texts: frozenset[str]
    thoughts: frozenset[str]
    interim: str
    calls: str
    inner: str
    thought: str


class Declarations(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Declarations of the files of all tools: their layouts, and paths that layouts share.

    Attributes:
        line: values beside a response.
        part: values of messages.
        document: values of documents.
        spans: values of spans.
        citations: citations that several layouts share, by name.
        layout: layouts, in the order in which lines are compared with them.
    """

    line: LinePaths
    part: PartPaths
    document: DocumentPaths
    spans: SpanPaths
    citations: dict[str, Citations]
    layout: tuple[Layout, ...]


@cache
def declarations() -> Declarations:
    """Read the declarations of all tools' response layouts (``layouts.toml``)."""
    path = Path(__file__).parent / "data" / "layouts.toml"
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    for layout in data["layout"]:
        shared = (data["citations"][name] for name in layout.pop("shared_citations", ()))
        layout["citations"] = [*layout.get("citations", ()), *shared]
    return msgspec.convert(data, Declarations)


def layouts() -> tuple[Layout, ...]:
    """List the response layouts of all tools, in the order of detection."""
    return declarations().layout
