"""Which words of an answer its system cites for, and what it quotes: places for pages to mark."""

import re
from collections.abc import Iterator, Sequence

from citeforge.evaluator.statements.split import Statement
from citeforge.schemas.scores import CitedWords
from citeforge.schemas.submission import CitedSpan

_CUT = re.compile(r"…|\.\.\.")


def cited_words(
    output: str, statements: Sequence[Statement], spans: Sequence[CitedSpan], texts: Sequence[str]
) -> list[CitedWords]:
    """Spans of an answer, by statements and passages.

    Args:
        output: what the system wrote; spans count its characters.
        statements: read from it.
        spans: as the submission has them.
        texts: passages that were shown.

    Returns:
        One for each span and statement of which it covers a letter or digit; a span that covers
        none (a place, a mark) and quotes something stands without a statement.
    """
    places = [_places(output, s) for s in statements]
    words: list[CitedWords] = []
    for span in spans:
        inside = span.passage is not None and 0 <= span.passage < len(texts)
        passage = span.passage if inside else None
        quoted = [] if passage is None else list(quotations(texts[passage], span))
        covered = (
            []
            if span.written is not None
            else [
                (number, within[0], within[-1] + 1)
                for number, at in enumerate(places)
                if (within := [n for n, i in enumerate(at) if span.start <= i < span.end])
                and any(output[at[n]].isalnum() for n in within)
            ]
        )
        for number, start, end in covered:
            words.append(
                CitedWords(statement=number, start=start, end=end, passage=passage, quoted=quoted)
            )
        if quoted and not covered:
            words.append(CitedWords(passage=passage, quoted=quoted))
    return words


def quotations(text: str, span: CitedSpan) -> Iterator[tuple[int, int]]:
    """Where a passage holds the words that a span quotes, white space aside; what stands between
    two ellipses is looked for alone."""
    quote = (span.quote or "").split()
    start, end = span.quote_start, span.quote_end
    if span.quote_unit == "char" and start is not None and end is not None:
        if quote and text[start:end].split() == quote:
            yield start, end
        return
    for part in _CUT.split(" ".join(quote)):
        words = r"\s+".join(re.escape(w) for w in part.split())
        match = re.search(words, text) if words else None
        if match is not None:
            yield match.span()


def _places(output: str, statement: Statement) -> list[int]:
    """Where in the output each character of a statement stands; none where that cannot be told."""
    places: list[int] = []
    text = statement.text
    for i in (i for start, end in statement.spans for i in range(start, end)):
        if len(places) == len(text):
            break
        char = text[len(places)]
        if output[i] == char or (output[i].isspace() and char.isspace()):
            places.append(i)
        elif not output[i].isspace():  # only white space is left out of a statement
            return []
    return places if len(places) == len(text) else []
