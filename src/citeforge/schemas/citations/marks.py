"""Citation marks by themselves, whatever was shown: what ``logprobs`` are counted over."""

import re
import sys
from bisect import bisect_right
from collections.abc import Sequence

from citeforge.schemas.citations.grammar import Grammar, Marker

_PLAIN = re.compile(r"\[(\d+)\]")
JOINER = "\u2060"
"""Word joiner: put behind a bracket of an answer that would be read as a mark and is none."""
_BEYOND = 10**30
_ANY_SIZE = 1 << 30


def read_number(digits: str) -> int:
    """The number that digits write, for readers that take any number of them.

    Python refuses to convert thousands of digits; no context has a passage of such a number, and
    one that lies beyond all contexts stands for it.
    """
    if len(digits) > sys.int_info.str_digits_check_threshold:
        return _BEYOND
    return int(digits)


def citation_marks(output: str) -> tuple[Marker, ...]:
    """The marks that ``index`` of ``logprobs`` counts, from 0, in order of appearance.

    Every ``[n]``, and every other bracket that the grammar reads in some context; ``[NA]`` is left
    out. Who writes log probabilities and who scores them both ask here. Which of the marks are
    citations is decided by the scorer, with protocol and context at hand: ``[2019]`` where so many
    passages are shown, ``[1](url)`` for AttriEval's code alone.
    """
    plain = [
        Marker(*m.span(), (read_number(m[1]),)) for m in _PLAIN.finditer(output)
    ]  # fmt: skip
    ends = [m.end for m in plain]
    others = [
        marker
        for marker in Grammar(base=0).parse(output, _ANY_SIZE).markers
        if not marker.is_na and not _holds(marker, ends)
    ]
    return tuple(sorted([*plain, *others], key=lambda m: m.start))


def is_plain(output: str, mark: Marker) -> bool:
    """Whether a mark is written ``[n]``."""
    return _PLAIN.fullmatch(output, mark.start, mark.end) is not None


def _holds(marker: Marker, ends: Sequence[int]) -> bool:
    """Whether a plain mark ends inside a marker."""
    at = bisect_right(ends, marker.start)
    return at < len(ends) and ends[at] <= marker.end
