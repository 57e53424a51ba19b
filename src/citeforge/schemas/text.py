"""Text normalisations, and decimals of values. Each has one definition, used everywhere."""

import re
import string
from collections.abc import Iterable
from datetime import date

import pyarrow as pa
import pyarrow.compute as pc

MONTHS = tuple(
    "January February March April May June July August September October November December".split()
)
"""English names; those of the calendar module follow the locale."""

_LONGEST_QUOTATION = 200
"""Characters of a text that a message quotes."""
_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_NO_WORD = re.compile(r"[^\w\s]")
_NO_LETTER = re.compile(r"[^\w\s]|_")
_DATE = re.compile(r"[0-9]{4}(-[0-9]{2}(-[0-9]{2})?)?")


def normalise_passages(texts: pa.Array) -> pa.Array:
    """Normalise passages (NFKC, lower case, single spaces) to compare them for equality.

    NFKC, lower case, white space squeezed to single spaces and trimmed. Runs on a whole Arrow
    array so that a corpus is compared without a Python object per passage.

    Args:
        texts: string array of any length, nulls allowed.

    Returns:
        String array of the same length.
    """
    folded = pc.utf8_lower(pc.utf8_normalize(texts, form="NFKC"))
    return pc.utf8_trim_whitespace(pc.replace_substring_regex(folded, r"\s+", " "))


def normalise_answer(text: str) -> str:
    """Normalise an answer as ALCE and SQuAD do: lower case, no punctuation, no articles.

    Lower case, ASCII punctuation dropped, articles a/an/the dropped, white space squeezed.
    """
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def is_date(text: str) -> bool:
    """Whether a text is a year, month or day of the calendar: 2026, 2026-11, 2026-11-23."""
    if _DATE.fullmatch(text) is None:
        return False
    try:
        date.fromisoformat(f"{text}-01-01"[:10])
    except ValueError:
        return False
    return True


def premise_of(title: str, text: str) -> str:
    """Write a passage as judges read it: a title, where it has one, on a line before its text."""
    return f"Title: {title}\n{text}" if title else text


def answers_question(question: str) -> str:
    """Write the hypothesis that a passage is relevant to a question, for judges of entailment."""
    return f"This text answers the question: {question}"


def match_form(text: str, *, keep_underscores: bool = False) -> str:
    """Normalise a text for exact match: lower case, no punctuation, single spaces.

    Lower case; what is neither a word character nor white space is dropped, in every script; white
    space squeezed; articles stay.

    Args:
        text: an output or an answer.
        keep_underscores: keep ``_``, which regular expressions count among word characters.
    """
    return " ".join((_NO_WORD if keep_underscores else _NO_LETTER).sub("", text.lower()).split())


def normalise_em(text: str) -> str:
    """Normalise a text to find names in it: lower case, no ASCII punctuation, single spaces.

    Lower case, ASCII punctuation dropped, white space squeezed; articles stay.
    """
    return " ".join(text.lower().translate(_PUNCTUATION).split())


def splice(text: str, replacements: Iterable[tuple[int, int, str]]) -> str:
    """Replace spans of a text; ``replacements`` are (start, end, new text), in order.

    Args:
        text: any text.
        replacements: (start, end, new text), in order; spans do not overlap.
    """
    pieces, at = [], 0
    for start, end, new in replacements:
        pieces += [text[at:start], new]
        at = end
    return "".join([*pieces, text[at:]])


def printable(text: str) -> str:
    """Quote a text, cut to 200 characters; control, bidi and zero-width ones become escapes."""
    return repr(text if len(text) <= _LONGEST_QUOTATION else f"{text[:_LONGEST_QUOTATION]}…")


def choose_digits(noise: float | None, scale: int) -> int:
    """Choose a score's number of decimals: 2; for hidden gold (``noise``) 1 at scale 1, else 0."""
    return 2 if noise is None else 1 if scale == 1 else 0
