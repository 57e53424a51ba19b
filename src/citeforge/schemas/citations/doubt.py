"""Text that looks like a citation mark, but may be a subscript, pinpoint, power or enumerator."""

import re
from collections.abc import Iterable
from functools import lru_cache

from citeforge.schemas.citations.words import alternatives, words_of

_SPACED = frozenset((*words_of("paragraphs"), *words_of("intervals")))
"""Words before a bracket that is a paragraph number of a judgment, or an interval."""
_GLUED = words_of("intervals", unspaced=True)
VARIABLES = tuple("list lst arr array argv args matrix nums vec values".split())
"""Usual names of variables that have an index."""
_SECTION = re.compile(r"§\s?\d+\w?\s\Z")
_SCALE = re.compile(
    rf"\b(?:(?:{alternatives(words_of('scales'))})\s(?:(?:that|which|going)\s)?"
    rf"(?:{alternatives(words_of('scale_prepositions'))})|(?:likert|rating)\s(?:scales?|items?)"
    rf"|(?:{alternatives(words_of('on_scales'))}))\s\Z",
    re.IGNORECASE,
)
"""The name of a scale, before the bracket with its ends."""
_GLUED_SCALE = re.compile(rf"(?:{alternatives(words_of('scales', unspaced=True))})[:：]?\s?\Z")
_A_SCALE = re.compile(
    r"[\s-](?:(?:point|likert|rating|quality|ordinal)[\s-])*"
    rf"(?:{alternatives(words_of('scales_behind'))})\b"
    rf"|\s?(?:{alternatives(words_of('scales_behind', unspaced=True))})",
    re.IGNORECASE,
)
_ARTICLE = re.compile(rf"\b(?:{alternatives(words_of('articles'))})\s\Z", re.IGNORECASE)
_FROM_ONE = re.compile(r"\[\s*[01]\s*\D")
_IDENTIFIER = re.compile(r"(?:(?<![A-Za-z0-9_])[a-z]"
                         rf"|\b(?:{alternatives(VARIABLES)})"
                         r"|[A-Za-z]\w*_\w+)(?:\[\w{1,10}\])*\Z")  # fmt: skip
_UNITS = frozenset(words_of("units"))
_NAME = re.compile(r"[A-Za-z_]\w*\Z", re.ASCII)
_IN_CODE = re.compile(r"\b([A-Za-z_]\w*+)\[0\]|`[^`\n]*?\b([A-Za-z_]\w*+)\[\d+\]", re.ASCII)
_PROGRAMMING = re.compile(
    rf"[=`]|\[0\]|\b(?:{alternatives(words_of('programming'))})\b"
    rf"|(?:{alternatives(words_of('programming', unspaced=True))})",
    re.IGNORECASE,
)
_QUOTES = frozenset('"“”„«»「」『』‘’')
_RING = re.compile(
    r"[a-z]{3,}(?:(?:thieno|benzo|furo|pyrido|pyrano|pyrrolo|imidazo|indolo|naphtho)\[|"
    r"(?:ene|phene|ole|ine|furan|pyran|amide)s?\b)"
    r"|[A-Z](?:elicene|nnulene|umulene|adialene|otaxane|atenane|aracyclophane|errocenophane|rown-\d)"
)
"""The rest of a ring's name: `[1]benzothiophene`."""
_COMBINED = re.compile(r"[\w\u0900-\u0dff\u0e00-\u0e7f]+\Z")
_YEAR = re.compile(r"(?<!\d)(?:1\d|20)\d\d\Z")
_ENDS = frozenset(".,;:!?。！？、，；：।۔؟،»”’」』\"'%*_")
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_BEHIND = frozenset('.,;:!?)]}。！？、，；：）」』】।۔،"”’»*|')
_WINDOW = 40
_LETTERS = 3


def _not_after(words: Iterable[str], separator: str) -> str:
    """Make a regular expression (look-behinds) that refuses ``[`` right after one of the words.

    Their last letters are compared, since a look-behind needs a fixed length.

    Args:
        words: words after which a bracket is no citation.
        separator: text between a word and the bracket, such as a space.
    """
    ends = {word if len(word) < _LETTERS else word[-_LETTERS:] for word in words}
    # Behind a blank, and of names of variables, a short word is a whole one: `that [1]` cites.
    whole = {
        word: r"\b"
        for word in words
        if len(word) <= _LETTERS and word[0].isalpha() and (separator or word.isascii())
    }
    return "".join(
        rf"(?<!{whole.get(end, '')}{re.escape(end)}{separator}\[)" for end in sorted(ends)
    )


PLAIN = re.compile(
    rf"\[{_not_after(_SPACED, ' ')}{_not_after((*VARIABLES, *_GLUED, *_QUOTES), '')}"
    r"(?<!\W[a-z]\[)(?<!^[a-z]\[)(\d{1,3})\](?![a-z(])",
    re.IGNORECASE,
)
"""``[1]`` that is certainly no subscript; of other brackets :func:`is_subscript` decides."""


@lru_cache(maxsize=1)  # an answer is asked about for each of its brackets
def find_variables(output: str) -> frozenset[str]:
    """Find variable names in an output: names before a bracket in code, or before ``[0]``."""
    if "`" not in output and "[0]" not in output:
        return frozenset()
    return frozenset(name for pair in _IN_CODE.findall(output) for name in pair if name)


def is_subscript(output: str, start: int, end: int, variables: frozenset[str]) -> bool:
    """Whether ``[n]`` is an index, paragraph number or part of a chemical name, not a citation.

    Args:
        output: what the system wrote.
        start: offset of the bracket.
        end: offset behind it.
        variables: names of variables in the output (:func:`find_variables`).
    """
    following = output[end : end + 1]
    before = output[start - 1 : start]
    is_ring = following.isascii() and _RING.match(output, end) is not None
    if is_ring or (following.isascii() and following.islower()):
        return is_ring and before in ("", " ", "]", "-", "(")
    if before == " ":
        words = output[max(0, start - _WINDOW) : start - 1].rsplit(None, 1)
        word = words[-1] if words else ""
        return word.lower().lstrip("(") in _SPACED or (
            "§" in output[max(0, start - 8) : start]
            and _SECTION.search(output, max(0, start - 8), start) is not None
        )
    if before in _QUOTES and before:
        return following in _QUOTES and following != ""  # the mark itself is quoted
    if before.isascii() and (before.isalnum() or before in "_]"):
        name = _NAME.search(output, max(0, start - _WINDOW), start)
        if name is not None and name[0] in variables:
            return True
        found = _IDENTIFIER.search(output, max(0, start - _WINDOW), start)
        if found is None:
            return False
        # `a[1]` is a variable where the answer is about such things.
        is_letter = len(found[0].partition("[")[0]) == 1
        return not is_letter or _is_about_programs(output)
    return output.endswith(_GLUED, 0, start)


def is_scale(output: str, start: int, end: int) -> bool:
    """Whether ``[1-5]`` is the range of a scale, not a citation: "on a scale of [1-5]".

    Args:
        output: what the system wrote.
        start: offset of the bracket.
        end: offset behind it.
    """
    if _FROM_ONE.match(output, start) is None:
        return False
    window = max(0, start - _WINDOW)
    if any(p.search(output, window, start) is not None for p in (_SCALE, _GLUED_SCALE)):
        return True
    is_wide = end < len(output) and _WIDE.match(output[end]) is not None
    is_named = _A_SCALE.match(output, end) is not None
    return is_named and (is_wide or _ARTICLE.search(output, window, start) is not None)


@lru_cache(maxsize=1)
def _is_about_programs(output: str) -> bool:
    """Whether an output mentions programming, so that `a[1]` is a variable."""
    return _PROGRAMMING.search(output) is not None


def is_raised_mark(output: str, start: int, end: int) -> bool:
    """Whether a superscript number is a citation mark rather than a power, a unit or an isotope.

    Args:
        output: what the system wrote.
        start: offset of the number.
        end: offset behind it.
    """
    before = output[start - 1 : start]
    if before in _ENDS and before:
        return True
    if before == " ":
        return output[end : end + 1] in ("", *_BEHIND) or output[end : end + 1].isspace()
    if before.isdigit():
        return _YEAR.search(output, max(0, start - 5), start) is not None
    if _WIDE.match(before):
        return True
    word = _COMBINED.search(output, max(0, start - _WINDOW), start)
    if word is None or word.group().lower() in _UNITS:
        return False
    return len(word.group()) > 2 and not output[end : end + 1].isalpha()


def is_circled_mark(output: str, start: int, run_end: int) -> bool:
    """Whether a circled number is a citation mark rather than the number of an item in a list.

    Args:
        output: what the system wrote.
        start: offset of the number.
        run_end: offset behind it and the circled numbers that follow it at once.
    """
    following = output[run_end : run_end + 1]
    if not following or following in _BEHIND:
        return start > 0
    before = output[start - 1 : start]
    return following.isspace() and before != "" and not before.isspace()
