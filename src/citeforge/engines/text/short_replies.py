"""Reading of short LLM replies: a member of a JSON object, one of some words, a rating.

Models put them into fences, after a sentence, or in bold. A reply that says two different things
says nothing.
"""

import json
import re
import unicodedata
from collections.abc import Collection, Iterator
from typing import Any

Value = bool | int | str
_LONGEST_OBJECT = 20_000
"""Characters of a JSON object; a short reply has no longer one."""
_DEEPEST_OBJECT = 20
"""Objects inside each other; a short reply has fewer."""
_FIRST_WORD = re.compile(r"\w+")
_LABELLED = re.compile(
    r"\b(?:answer|verdict|decision|conclusion|judge?ment|label|reply|result)\b"
    r"[\s\"'*_`]*(?:is|:|=)[\s\"'*_`:]*(\w+)",
    re.IGNORECASE,
)
_SCALE = re.compile(
    r"(?<=\d)\s*(?:/|out of|of)\s*5\b|"
    r"\b(?:on|from|in)\b[^.\d]{0,12}scale[^.\d]{0,10}1\s*(?:to|-|–)\s*5|"
    r"\b(?:from\s+)?1\s*(?:to|-|–)\s*5\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_FIRST_NUMBER = re.compile(r"#?\s*([1-5])(?:\.0+)?(?![.,]?\d|\w)")
_MARKED = re.compile(
    r"\b(?:score|mark|rating|rate|grade|give)\b(?:\s+(?:this|it|the|answer|that|would|be|is|a|an|as|"
    r"of|at|with))*\s*(?::|=|-)?\s*([1-5])(?:\.0+)?(?![.\d]*\d|\w)",
    re.IGNORECASE,
)
_MARKUP = re.compile(r"```\w*|[*_`\"“”]")
_PLAIN = str.maketrans(dict.fromkeys("“”„‟«»＂", '"') | dict.fromkeys("‘’‚‛", "'") | {"：": ":"})
"""Typographic quotes and colons, as some models write them, to those of JSON; one for one."""
_FLAGS = {"1": "true", "1.0": "true", "yes": "true", "0": "false", "0.0": "false", "no": "false"}
"""Other words for the value of a boolean."""


def read_field(text: str, field: str, values: Collection[Value]) -> set[Value]:
    """Find the legal values that an LLM's reply gives to a field of a JSON object.

    Args:
        text: reply without thoughts; the object may stand anywhere in it.
        field: name of the member, in any case.
        values: legal values; ``"true"`` counts as ``true``, and so do 1 and ``"yes"`` where all are
            booleans. A value without an object counts, too.

    Returns:
        The values that were found; empty where there is none.
    """
    text = text.translate(_PLAIN)
    by_word = {_lower(value): value for value in values}
    if all(isinstance(value, bool) for value in values):
        by_word |= {word: by_word[flag] for word, flag in _FLAGS.items() if flag in by_word}
    found = {_lower(v) for row in json_objects(text) for k, v in row.items() if k.lower() == field}
    if not found:  # no JSON: {entailed: True}, or the value alone
        legal = "|".join(map(re.escape, sorted(by_word, key=len, reverse=True)))
        pattern = rf"\b{re.escape(field)}\b[\s\"'*]*[:=][\s\"'*]*({legal})\b"
        found = {match[1].lower() for match in re.finditer(pattern, text, re.IGNORECASE)}
    if not found:
        found = {_MARKUP.sub("", text).strip().rstrip(".").lower()}
    return {by_word[word] for word in found if word in by_word}


def _lower(value: object) -> str:
    """Write a value in lower case, so that ``True`` and ``"true"`` are equal."""
    return str(value).strip().lower()


def json_objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield the outermost JSON objects in a text, in order; typographic quotes count as quotes."""
    spellings = list(dict.fromkeys([text, text.translate(_PLAIN)]))
    at, wrong, depth = text.find("{"), 0, 0
    while at >= 0:
        for spelling in spellings:
            value, end = _decode_object(spelling, at)
            if value is not None:
                yield value
                break
        else:  # each object inside a wrong one is read up to the same character again
            depth = depth + 1 if at < wrong else 1
            wrong = end
            end = wrong if depth > _DEEPEST_OBJECT else at + 1
        at = text.find("{", end)


def _decode_object(text: str, at: int) -> tuple[dict[str, Any] | None, int]:
    """Decode the JSON object at a position: (object, its end), or (None, the error's position)."""
    piece = text[at : at + _LONGEST_OBJECT]  # an error would count the lines of all before it
    try:
        value, end = json.JSONDecoder(object_pairs_hook=_make_object).raw_decode(piece)
    except json.JSONDecodeError as error:
        return None, at + max(1, error.pos)
    except RecursionError:
        return None, at + len(piece)
    return value, at + end


def _make_object(members: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make a JSON object of its members; a name with two different values gets None."""
    row = dict(members)
    for name, value in members:
        if row[name] != value:
            row[name] = None
    return row


def read_words(text: str, words: Collection[str]) -> str | None:
    """Find which of the words, such as yes and no, a reply gives; None if it gives none or two.

    It is the first word, or follows a label such as ``Answer:``.
    """
    first = _FIRST_WORD.search(text)
    said = [match[1] for match in _LABELLED.finditer(text)]
    said += [first[0]] if first is not None else []
    found = {word.lower() for word in said} & set(words)
    return found.pop() if len(found) == 1 else None


def read_mark(text: str) -> float | None:
    """Read an integer rating from 1 to 5 in a reply; None if there is none, or two differ.

    Forms: ``4``, ``4/5``, ``4.0``, ``Score: 4``, ``I would rate this 4 on a scale of 1 to 5``.
    """
    plain = _MARKUP.sub("", unicodedata.normalize("NFKC", text)).strip()
    bare = _SCALE.sub("", plain).strip(" \t\n:.,;-")
    marks = {match[1] for match in _MARKED.finditer(bare)}
    if len(set(_NUMBER.findall(bare))) == 1 and (first := _FIRST_NUMBER.match(bare)):
        marks.add(first[1])
    return float(marks.pop()) if len(marks) == 1 else None
