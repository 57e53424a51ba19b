"""What is odd about the spans of an answer: sources and quotations that are not what was shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

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
