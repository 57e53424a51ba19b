"""Surface features of passages: what can be told of a text without understanding it."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from citeforge.engines.text.languages import detect_language

Floats = npt.NDArray[np.float64]
Columns = dict[str, list[float]]
"""Feature to its numbers."""

_MARKS = {
    "full stops": ".!?",
    "commas": ",;:",
    "quotation marks": "\"'“”‘’«»",
    "brackets": "()[]{}",
    "dashes and slashes": "-–—/\\",
}
"""Feature to the characters whose share it is."""
_MARKUP = re.compile(r"https?://|www\.|</?\w|&\w+;|[|*#=_]{2}")
_LEAST_SHARE = 0.02
"""Least share of the passages for a value to count as one of its own."""
_MOST_VALUES = 20
"""Most values of a field of the metadata that says where passages come from."""


@dataclass(frozen=True)
class SurfacePassage:
    """A passage as its form is looked at.

    Attributes:
        title: its title, or an empty string.
        text: its text.
        metadata: its metadata, a JSON object, or an empty string.
    """

    title: str
    text: str
    metadata: str = ""


def compute_columns(passage: SurfacePassage) -> Columns:
    """Compute the numbers that describe one passage's form, by feature such as "digits"."""
    title, text = passage.title, passage.text
    n, words = max(1, len(text)), text.split()
    marks = {name: _count_any(text, characters) for name, characters in _MARKS.items()}
    n_other = sum(not (c.isalnum() or c.isspace()) for c in text) - sum(marks.values())
    n_breaks = text.count("\n")
    first, last = text.lstrip()[:1], text.rstrip()[-1:]
    return {
        "title present": [bool(title)],
        "title length": [len(title)],
        "title in text": [bool(title) and title.casefold() in text.casefold()],
        "text length": [np.log1p(len(text))],
        "line breaks": [n_breaks > 0, np.log1p(n_breaks)],
        "sentence length": [len(words) / (1 + marks["full stops"])],
        "word length": [sum(map(len, words)) / max(1, len(words))],
        **{name: [number / n] for name, number in marks.items()},
        "other signs": [n_other / n],
        "digits": [sum(map(str.isdigit, text)) / n],
        "capital letters": [sum(map(str.isupper, text)) / n],
        "characters beyond ASCII": [sum(not c.isascii() for c in text) / n],
        "white space": [sum(map(str.isspace, text)) / n, "  " in text, text != text.strip()],
        "markup": [bool(_MARKUP.search(text))],
        "first character": [first.isupper(), first.isdigit(), first.islower()],
        "last character": [last in ".!?", last.isalnum()],
    }


def _count_any(text: str, characters: str) -> int:
    """Count the characters of a text that are in a given set of characters."""
    return sum(map(text.count, characters))


def find_languages(texts: Sequence[str]) -> list[str]:
    """Detect the language of each text; rare languages count as not clear (an empty string)."""
    return keep_frequent([detect_language(text) or "" for text in texts])


def keep_frequent(values: Sequence[str]) -> list[str]:
    """Replace values that fewer than 2 % of the texts have by an empty string.

    Args:
        values: one value of each text, such as its language.
    """
    counts = Counter(values)
    return [value if counts[value] >= _LEAST_SHARE * len(values) else "" for value in values]


def read_source_fields(metadata: Sequence[str]) -> dict[str, list[str]]:
    """Map metadata fields with few distinct values, such as "source", to passages' values.

    Args:
        metadata: JSON object of each passage, or an empty string.

    Returns:
        Field to the value of each passage; an empty string where it has none.
    """
    objects = [json.loads(text) if text else {} for text in metadata]
    rows: list[Mapping[str, object]] = [o if isinstance(o, dict) else {} for o in objects]
    fields = {}
    for name in sorted({name for row in rows for name in row}):
        values = [
            str(v) if isinstance(v := row.get(name), str | int | float) else "" for row in rows
        ]
        if 1 < len(set(values)) <= _MOST_VALUES:
            fields[name] = values
    return fields


def one_hot(values: Sequence[str]) -> Floats:
    """Encode values as indicator columns, one per distinct value but the first."""
    names = sorted(set(values))[1:]
    return np.array([[value == name for name in names] for value in values], np.float64)
