"""The default segmenter: nupunkt's sentences, corrected by rules.

nupunkt decides where a full stop ends a sentence. What it leaves to others is done here: sentence
ends of other scripts, quotations that go on, enumerators, abbreviations before words that start
sentences. Measured beside its peers by `benchmarks/segment.py`.
"""

import re
from collections.abc import Iterator
from functools import cached_property
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any

from citeforge.engines.text.segment import Span, lines_of, trim_span

RULES_VERSION = 3
"""Part of signatures, so that scores by other rules are told apart."""

_CLOSERS = "\"'”’»)\\]}”’」』】》〉）］"
_OPENERS = "\"'“‘«(\\[{「『【《〈（［¿¡*_"
# Sentence ends that need no space behind them. The Devanagari stop is no end between digits.
_OTHER_SCRIPTS = re.compile(
    rf"(?:[。！？｡]+|[।॥۔؟։።፧။។᙮᠃‽](?!\d)|(?:[།༎]\s?)+|(?<=[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])[!?]+)"
    rf"[{_CLOSERS}]*"
)
# What goes on behind a quotation in Chinese and Japanese.
_GOES_ON = re.compile(
    r"[」』”’][\s,，、]*(?:[\u3041-\u309f]|[他她它我你您]?们?(?:说|問|问|道|答|写|寫|喊|回答))"
)


def _word_lists() -> Iterator[frozenset[str]]:
    """Read the word lists of ``data/sentence_words.txt``, in the order of the file."""
    path = Path(__file__).parent / "data" / "sentence_words.txt"
    for line in path.read_text(encoding="utf-8").splitlines()[1:]:
        yield frozenset(line.partition(":")[2].split())


# ``_MAYBE_LAST``: the end of a sentence where a word follows that starts sentences.
_NEVER_LAST, _MAYBE_LAST, _BEFORE_NUMBER, _SHORTENED, _STARTERS = _word_lists()
_MONTHS = re.compile(
    r"\s*(?:januar|jänner|februar|märz|april|mai|juni|juli|august|september|oktober|november|"
    r"dezember|januari|februari|mars|juli|augusti|jaanuar|leden|ledna|stycznia)\b",
    re.IGNORECASE,
)
_WITH_MARK = re.compile(r"(?:yahoo|jeopardy|oops|yum|pokémon go|democracy now|mamma mia)!$", re.I)
_HALF_DAY = re.compile(r"\b[ap]\.?m\.\s*\Z", re.I)
_LETTER = re.compile(
    r"(?:[\d°′″'\"]\s?|\b[A-Z]{1,2},?\s(?:and|or)\s|\b(?:is|are|was|were|be|vitamins?|options?|grades?|plan|hepatitis|types?|groups?|"
    r"class|points?|team|section|part|answer)\s(?:[A-Z],?\s)?(?:(?:and|or)\s)?)[A-Z]\.\s*\Z"
)
_UNIT = re.compile(
    r"\d\s?(?:[kcmµn]?m|[km]?g|m?l|ft|mi|lb|oz|mph|ha|[kMGT]?B|[kMG]?Hz|[kM]?W|km/h)\.\s*\Z"
)
_TITLES = frozenset("mr mrs ms dr prof".split())
_LAST_WORD = re.compile(rf"([\w.&'’°-]{{1,40}}?)\.[{_CLOSERS}]*\s*\Z")
_NEXT_WORD = re.compile(rf"[\s{_OPENERS}•–—-]*([^\W_][\w'’]*)")
_QUOTED_END = re.compile(r"[.!?…,][\"'”’»)\]]+\s*\Z")
_ENUMERATOR = re.compile(
    r"\s*(?:[•⁃*–-]\s*)?(?:[(\[]?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{1,5})[.)]{1,2}|[-*•⁃–])\s*"
)
_REFERENCE = re.compile(r"\s*(?:\[\d{1,3}(?:\s*[-–,]\s*\d{1,3})*\]\s*)+")
_GLUED = re.compile(r"(?<=[a-z\])%][a-z\])%])[.!?](?=[A-Z][a-z]*\s)")
_ITEM = re.compile(
    r"(?:(?<=\s)|^)(?P<bullet>[•⁃]\s?)?(?:(?P<value>\d{1,2}|[a-z])(?P<style>\.\)|\)|\.)\s)?"
)
_FULL_STOP = re.compile(rf"(?<=\w)\.[{_CLOSERS}]*(?=\s+[{_OPENERS}]*[A-Z])")
_ACRONYM = re.compile(r"(?:[a-z]\.)+[a-z]")
_WINDOW = 80
_BRACKETS = 200
# nupunkt looks at all of a run without spaces again for each of its stops, and at all of `. . .`.
_PIECE = 500
"""Characters of a line that nupunkt gets at once, and up to as many again to a cut."""
_BETWEEN_WORDS = re.compile(r"(?<=[^\W_])[ ](?=[^\W\d_]{2,}[ ,])")
"""Where a line may be cut: no sentence ends there, and no item of a list begins."""


class SentenceSegmenter:
    """Splits text into sentences at line ends and, within lines, as nupunkt and rules decide.

    Reads every script that ends sentences with a mark of its own; the full stop is read as
    nupunkt's English model reads it. Linear in the length of the text.
    """

    @cached_property
    def _tokenizer(self) -> Any:
        """Load nupunkt's tokenizer."""
        import nupunkt

        return nupunkt.load("default")

    @property
    def signature(self) -> str:
        """Versions of nupunkt and of the rules that correct it, such as ``nupunkt-0.8r3``."""
        return f"nupunkt-{'.'.join(version('nupunkt').split('.')[:2])}r{RULES_VERSION}"

    def split(self, text: str) -> list[Span]:
        """List (start, end) of each sentence, in order, without surrounding white space."""
        lines = ((start, text[start:end]) for start, end in lines_of(text))
        return [s for start, line in lines if line.strip() for s in self._split_line(line, start)]

    def _split_line(self, line: str, offset: int) -> list[Span]:
        """Split one line that begins at an offset of the text into sentences."""
        last = len(line.rstrip())
        cuts: list[int] = []
        start = 0
        forced, refused = _find_enumeration(line)
        for cut in sorted(forced | self._possible_ends(line)):
            if start < cut < last and (
                cut in forced or (cut not in refused and _is_end(line, start, cut))
            ):
                cuts.append(cut)
                start = cut
        spans = (trim_span(line, a, b) for a, b in pairwise([0, *cuts, len(line)]))
        return [(offset + s[0], offset + s[1]) for s in spans if s is not None]

    def _possible_ends(self, line: str) -> set[int]:
        """Find the positions in a line where a sentence may end."""
        cuts: set[int] = set()
        for start, end in _cut_long_line(line):
            piece = line[start:end]
            ends = (start + int(e) for _, e in self._tokenizer.span_tokenize(piece))
            cuts.update(e for e in ends if e < end - 1 or end == len(line))
        moved = set()
        for cut in cuts:
            reference = _REFERENCE.match(line, cut)
            moved.add(reference.end() if reference else cut)
        moved.update(m.end() for m in _OTHER_SCRIPTS.finditer(line))
        moved.update(m.end() for m in _GLUED.finditer(line) if _starter_follows(line, m.end()))
        moved.update(
            m.end() for m in _FULL_STOP.finditer(line) if _may_end_at_abbreviation(line, m.end())
        )
        return moved


def _may_end_at_abbreviation(line: str, cut: int) -> bool:
    """Whether a sentence may end behind a word that nupunkt takes for an abbreviation.

    It may if the word is a whole one, a unit, a letter such as in ``vitamin C``, or an abbreviation
    that often ends sentences.

    Args:
        line: the line.
        cut: offset behind the word's full stop.
    """
    last = _LAST_WORD.search(line, max(0, cut - _WINDOW), cut)
    if last is None:
        return False
    word = last.group(1)
    if _UNIT.search(line, max(0, cut - _WINDOW), cut):
        return True
    # A whole word is no abbreviation; the model has learnt many that are none (`Sun`, `Poland`).
    long = len(word) > (1 if word.isupper() else 2)
    whole = word.isalpha() and long and word.lower() not in _SHORTENED
    return (
        whole
        or _may_be_last(word.lower())
        or _LETTER.search(line[max(0, cut - _WINDOW) : cut]) is not None
    )


def _may_be_last(name: str) -> bool:
    """Whether a word in lower case is an abbreviation that may end a sentence."""
    return name in _MAYBE_LAST or _ACRONYM.fullmatch(name) is not None


def _cut_long_line(line: str) -> Iterator[Span]:
    """Yield (start, end) of pieces of a long line, cut between words, short enough for nupunkt."""
    start = 0
    while len(line) - start > 2 * _PIECE:
        gap = _BETWEEN_WORDS.search(line, start + _PIECE, start + 2 * _PIECE)
        end = start + 2 * _PIECE if gap is None else gap.end()
        yield start, end
        start = end
    yield start, len(line)


def _starter_follows(line: str, at: int) -> bool:
    """Whether the word after position ``at`` is one that often starts sentences."""
    following = _NEXT_WORD.match(line, at)
    return following is not None and following.group(1).lower() in _STARTERS


def _is_end(line: str, start: int, cut: int) -> bool:
    """Whether the sentence that begins at ``start`` ends at the candidate position ``cut``.

    Args:
        line: the line.
        start: start of the sentence.
        cut: offset at which it may end.
    """
    left = line[max(start, cut - _WINDOW) : cut]
    if not any(c.isalnum() for c in left):
        return False
    if cut - start <= _WINDOW and _ENUMERATOR.fullmatch(left):
        return False
    if _OTHER_SCRIPTS.search(left.rstrip()[-3:]):
        is_quoted = line[cut - 1] in "」』”’"
        return _GOES_ON.match(line, cut - is_quoted) is None
    following = _NEXT_WORD.match(line, cut)
    if following is None:
        return False  # a smiley, a quote, stars
    word = following.group(1)
    if word[0].islower() and _QUOTED_END.search(left):
        return False  # `"Really?" she asked`
    if (
        _inside_quotes(line, start, cut)
        or _inside_brackets(line, start, cut)
        or left.rstrip().endswith(("[...]", "[…]", "(...)"))
    ):
        return False
    if _WITH_MARK.search(left.rstrip()):
        return word.lower() in _STARTERS and word[0].isupper()
    last = _LAST_WORD.search(left)
    if last is None:
        return True
    if word[0].isupper() and _UNIT.search(left):
        return True
    if word.lower() in _TITLES and _HALF_DAY.search(left):
        return len(left.split()) > 3  # not `At 5 a.m. Mr. Smith went`
    letter = _LETTER.search(left) is not None and not word.islower()
    return _stop_ends(last.group(1), word, letter, line, cut)


def _stop_ends(last: str, word: str, names_thing: bool, line: str, cut: int) -> bool:
    """Whether a full stop between two words ends a sentence (``names_thing``: as in vitamin C).

    Args:
        last: the word before the full stop.
        word: the word after it.
        names_thing: whether a capital is the name of a thing (vitamin C.), not a person's initial.
        line: the line.
        cut: offset behind the full stop.
    """
    name = last.lower().lstrip(".'’-")
    starts = word.lower() in _STARTERS and not word[0].islower()
    if name in _BEFORE_NUMBER and word[0].isdigit():
        return False
    if name in _NEVER_LAST:
        return False
    if _may_be_last(name):
        return starts
    if re.fullmatch(r"[A-Z]", last):
        return (starts and len(word) > 1) or names_thing
    # `3. Oktober`
    return not (name.isdigit() and len(name) < 3 and _MONTHS.match(line, cut))


def _inside_brackets(line: str, start: int, cut: int) -> bool:
    """Whether ``cut`` is inside round brackets that opened in the sentence and close soon."""
    opened = line.rfind("(", max(start, cut - _BRACKETS), cut)
    if opened < 0 or not line[start:opened].strip() or line.find(")", opened, cut) >= 0:
        return False
    closed = line.find(")", cut, cut + _BRACKETS)
    return closed >= 0 and line.find("(", cut, closed) < 0


def _inside_quotes(line: str, start: int, cut: int) -> bool:
    """Whether ``cut`` is inside a quotation after which the sentence continues.

    Args:
        line: the line.
        start: start of the sentence.
        cut: offset at which it may end.
    """
    if line.count('"', max(start, cut - _BRACKETS), cut) % 2 == 0:
        return False
    closed = line.find('"', cut, cut + _BRACKETS)
    following = _NEXT_WORD.match(line, closed + 1) if closed >= 0 else None
    return (
        following is not None
        and following.group(1)[0].islower()
        and line[closed + 1 : closed + 2].isspace()
    )


def _find_enumeration(line: str) -> tuple[set[int], set[int]]:
    """Find enumerations in a line: (starts of later items, positions inside item marks).

    A sentence ends before each later item, and never inside a mark such as ``2.``.
    """
    chain: list[re.Match[str]] = []
    for match in _ITEM.finditer(line):
        if not match.group():
            continue
        if not chain:
            if line[: match.start()].strip():
                break
            if match["value"] in (None, "1", "a", "i") or match["bullet"]:
                chain.append(match)
        elif _continues_enumeration(chain[-1], match):
            chain.append(match)
    if len(chain) < 2:
        return set(), set()
    behind = {e for m in chain for e in range(m.start() + 1, m.end() + 1)}
    return {m.start() for m in chain[1:]}, behind


def _continues_enumeration(before: re.Match[str], item: re.Match[str]) -> bool:
    """Whether an item mark continues the enumeration of the mark before (``2.`` after ``1.``)."""
    if (before["bullet"] is None) != (item["bullet"] is None):
        return False
    if before["value"] is None or item["value"] is None:
        return before["value"] is item["value"] is None
    if before["style"] != item["style"]:
        return False
    if before["value"].isdigit() != item["value"].isdigit():
        return False
    if item["value"].isdigit():
        return int(item["value"]) == int(before["value"]) + 1
    return ord(item["value"]) == ord(before["value"]) + 1
