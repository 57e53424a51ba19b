"""Reader of a response by its layout: its answers with thoughts, sources and citations."""

import re
from dataclasses import replace

from citeforge.plugins.responses.layout import Citations, Layout, declarations
from citeforge.plugins.responses.offsets import find_unit, locate
from citeforge.plugins.responses.parts import Part, read_parts
from citeforge.plugins.responses.records import Cited, CitedSource, Response, link_span
from citeforge.plugins.responses.sources import read_source
from citeforge.plugins.responses.values import Node, is_integer, parse_text
from citeforge.schemas.citations.urls import normalise_url
from citeforge.schemas.errors import InputError
from citeforge.schemas.finish_reasons import unless_whole


def read_responses(layout: Layout, body: Node) -> list[Response]:
    """Read the answers in a tool's response (usually one), in the order of their ``index``.

    Raises:
        InputError: what is missing or wrong, with the field.
    """
    answers = body.each(layout.answers or ".")
    if not answers:
        root = layout.answers.split(".")[0]
        reason = body.first(declarations().line.blocked)
        why = (
            "was the prompt refused?"
            if reason is None
            else f"the prompt was blocked: {reason.value}"
        )
        raise InputError(
            "is empty", field=f"{body.json_path}.{root}".lstrip("."), code="missing-field",
            allowed=f"one answer; {why}; without this line the answer counts as missing"
        )  # fmt: skip
    for answer in answers:
        if not isinstance(answer.value, dict) and layout.text != ".":
            answer.fail_type("an object with the answer")
    if len(answers) > 1:
        answers.sort(key=lambda answer: answer.number("index") or 0)
    return [_AnswerReader(layout, body, answer).read() for answer in answers]


class _AnswerReader:
    """Reads one answer of a response."""

    def __init__(self, layout: Layout, body: Node, answer: Node) -> None:
        """Prepare to read one answer of a tool's response by its layout."""
        self._layout, self._body, self._answer = layout, body, answer
        self._response = Response(base=layout.base)

    def read(self) -> Response:
        """Read the answer of a tool's response with its sources and citations.

        Raises:
            InputError: what is missing or wrong, with the field.
        """
        reason = next((n.value for n in self._find(self._layout.finish)), None)
        if isinstance(reason, str):
            self._response.finish_reason = unless_whole(reason)
        parts = self._read_text()
        self._read_sources()
        for citations in self._layout.citations:
            if citations.in_part:
                for part in parts:
                    if isinstance(part.node.value, dict):
                        self._read_citations(citations, part.node, [part])
            else:
                self._read_citations(citations, self._answer, parts)
        return self._response

    def _find(self, paths: str) -> list[Node]:
        """List the JSON values at paths in the answer, else in the response or the message."""
        message = self._answer.first(self._layout.text)
        roots = [self._answer, self._body, *([message] if message else [])]
        return next((nodes for root in roots if (nodes := root.each(paths))), [])

    def _read_text(self) -> list[Part]:
        """Read the answer's text and thoughts; return its parts (text, citation, tool call, …).

        Returns:
            Parts of the answer, each with its start in the text.
        """
        layout, response = self._layout, self._response
        nodes = self._answer.each(layout.text)
        if not layout.citations and nodes and isinstance(text := parse_text(nodes[0].value), str):
            nodes[0] = Node(text, nodes[0].json_path)  # a text that was saved as JSON
        parts = [part for node in nodes for part in read_parts(node)]
        if layout.needs_text and not any(part.is_text for part in parts):
            if nodes:
                nodes[0].fail_type("a text, a message with a text, or a list of parts")
            name = layout.text.split(" | ")[0]
            raise InputError(
                "is missing", field=f"{self._answer.json_path}.{name}".lstrip("."),
                allowed=f"{layout.hint or 'the answer'}: this looks like a file of {layout.tool}",
                code="missing-field"
            )  # fmt: skip
        is_apart = has_called = False
        for part in parts:
            if not part.is_text:
                is_apart |= not part.is_reference
                has_called |= bool(response.text) and part.is_call
            elif part.text:
                response.has_interim |= has_called
                ends = layout.between == "all" or (layout.between == "block" and is_apart)
                if ends and response.text and not response.text[-1].isspace():
                    response.text += "\n\n"
                is_apart = False
            part.start = len(response.text)
            response.text += part.text if part.is_text else ""
        beside = [p for node in self._find(layout.thoughts) for p in read_parts(node)]
        response.thoughts = [
            p.text for p in [*beside, *(p for p in parts if p.is_thought)] if p.text.strip()
        ]
        return parts

    def _read_sources(self) -> None:
        """Read the sources of a tool's response, with details stored elsewhere in it."""
        layout, response = self._layout, self._response
        try:
            nodes = self._find(layout.sources)
        except InputError as error:
            raise InputError(
                error.message, field=error.field, code=error.code,
                allowed="documents are needed as a list, each with its text, as "
                f"{layout.tool} returns them"
            ) from error  # fmt: skip
        lists = (path.strip().removesuffix(".*") for path in layout.sources.split("|"))
        response.has_list = bool(nodes) or any(self._find(path) for path in lists if path)
        for at, node in enumerate(nodes):
            source = read_source(node, layout.has_whole_sources)
            if layout.heading and (heading := re.match(layout.heading, source.text)):
                source = replace(source, text=source.text[heading.end() :].removesuffix("\n"))
            number = node.number(layout.number)
            if number is not None or layout.is_numbered:
                source = replace(source, index=at if number is None else number - 1)
            response.sources.append(source)
        more = {
            normalise_url(s.url): s for s in map(read_source, self._find(layout.details)) if s.url
        }
        response.sources = [s.merged_with(more.get(normalise_url(s.url))) for s in response.sources]
        self._n_listed = len(response.sources)

    def _read_citations(self, citations: Citations, parent: Node, parts: list[Part]) -> None:
        """Read citations that a tool lists below ``parent``, and add them to the response.

        A citation without a span cites for its whole part; one that is only an offset in the text
        becomes a mark there (``is_mark``); all others cite for the stretch from first to last.

        Args:
            citations: paths of their fields: offsets, sources, quotation.
            parent: value from which the path to them starts.
            parts: parts of the text; of citations within a part, that part alone.
        """
        response = self._response
        nodes = [n for n in parent.each(citations.at) if _is_counted(citations, n)]
        spans = [(n.number(citations.start), n.number(citations.end)) for n in nodes]
        units: dict[str, str] = {}
        for node, at in zip(nodes, spans, strict=True):
            quote, unit, quote_at = _read_quotation(citations, node)
            sources = self._find_sources(citations, node, quote)
            is_whole = citations.in_part and at[1] is None
            if citations.unit == "guessed" and not at[1] and not is_whole:
                continue  # servers that give no offset: the text has the number of the source
            nth = node.number(citations.part)
            if nth is not None and not 0 <= nth < len(parts):
                raise InputError(
                    f"refers to part {nth} of {len(parts)}", field=node.json_path,
                    allowed="a part of the answer, from 0", code="out-of-range"
                )  # fmt: skip
            part = parts[nth or 0] if citations.in_part or nth is not None else None
            text, before = (part.text, part.start) if part else (response.text, 0)
            is_mark = citations.is_place
            first, last = 0, 0 if is_mark else len(text)
            if citations.end and not is_whole:
                words = node.text(citations.words)
                if text not in units:
                    units[text] = find_unit(citations, text, spans)
                first, last = locate(units[text], text, at, words, node.json_path)
                first, last, is_mark = link_span(text, first, last)
            scores = [n.value for n in node.each(citations.confidence)]
            if len(scores) != len(sources):
                scores = [None] * len(sources)
            response.cited += [
                Cited(before + first, before + last, source, is_mark, quote, quote_at, unit, score)
                for source, score in zip(sources, scores, strict=True)
            ]

    def _find_sources(self, citations: Citations, node: Node, quote: str | None) -> list[int]:
        """Get the positions of a citation's sources in the response; add sources that are new.

        Args:
            citations: how citations of this kind are declared.
            node: the citation.
            quote: text that it quotes, which stands for a source without a text.
        """
        response = self._response
        positions = []
        for name in node.each(citations.names):
            number = name.value
            if isinstance(number, str):
                known = response.find_id(number)
                if known is not None or not is_integer(number) or int(number) >= self._n_listed:
                    source = CitedSource((number,))
                    positions.append(response.add_source(source) if known is None else known)
                    continue
                number = int(number)
            if type(number) is not int:
                name.fail_type("the number or the id of a document")
            elif 0 <= number < self._n_listed:
                positions.append(number)
            elif citations.is_written:
                positions.append(response.add_source(CitedSource(index=number, is_absent=True)))
            else:
                raise InputError(
                    f"names source {number} of {self._n_listed}", field=name.json_path,
                    allowed="numbers of the sources, from 0", code="out-of-range"
                )  # fmt: skip
        for described in node.each(citations.sources):
            source = read_source(described)
            if link_span(source.text, 0, len(source.text))[2]:  # none, or the mark of Assistants
                source = replace(source, text=quote or "")
            positions.append(response.add_source(source))
        return positions


def _is_counted(citations: Citations, node: Node) -> bool:
    """Whether a tool's citation is of a type that is read; raises an error if unknown.

    Args:
        citations: how citations of this kind are declared.
        node: the citation.

    Raises:
        InputError: of an unknown kind.
    """
    named = node.text(citations.kind) if citations.kinds and isinstance(node.value, dict) else None
    if (named is None and "*" not in citations.skipped) or named in citations.kinds:
        return True
    if named in citations.skipped or "*" in citations.skipped:
        return False
    raise InputError(
        f"is of type {named!r}", field=node.json_path,
        allowed=f"one of {', '.join(citations.kinds)}", code="wrong-value"
    )  # fmt: skip


def _read_quotation(
    citations: Citations, node: Node
) -> tuple[str | None, str | None, tuple[int, int] | None]:
    """Read a citation's (quotation, unit of offsets, (start, end) in the source), each or None.

    Args:
        citations: how citations of this kind are declared.
        node: the citation.

    Raises:
        InputError: a kind of citation that has offsets lacks them.
    """
    found = node.first(citations.quote)
    # inspect_ai has the offsets of the cited words in place of a quotation.
    quote = None if found is None or isinstance(found.value, list) else node.text(citations.quote)
    unit = citations.kinds.get(node.text(citations.kind) or "") if citations.kinds else None
    if not unit:
        return quote, None, None
    first, last = node.number(citations.quote_start), node.number(citations.quote_end)
    if first is None or last is None or not 0 <= first <= last:
        raise InputError(
            f"quotes from {first} to {last}", field=node.json_path,
            allowed="both offsets of the quotation, the end not before the start",
            code="out-of-range"
        )  # fmt: skip
    return quote, unit, (first, last)
