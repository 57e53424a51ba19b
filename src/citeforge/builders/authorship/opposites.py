"""Rules that find negations, opposites and units by which a twin changes its passage."""

import re
from collections.abc import Iterator

from citeforge.builders.authorship.facts import number_words, with_digits
from citeforge.builders.authorship.wording import (
    DIRECTION,
    NEAR,
    PREFIX,
    Wording,
    affirmed_forms,
    join_compound_units,
    stem,
    word_lists,
)

_PLAINEST = frozenset({"not", "never", "no", "without"})
_SUPERLATIVE = re.compile(r"\w{2,}est|most|least|only|first|last|since|than|any")
"""What "no" may stand for: "no bridge is longer" of the longest one."""
_UNTIL = frozenset({"until", "till", "before"})
_POSSESSIVES = frozenset({"whose", "his", "her", "their", "its"})
_SHARED = 3
"""A sentence says the same as another one if it has a third of the other's content words."""
_AROUND = 8
"""Words around a word and its opposite, of which one is the same if they are about one thing."""
_COMPARATIVES = frozenset({"more", "less", "worse"})
_DEGREES = frozenset({"more", "less", "most", "least", "fewer", "fewest"})
_NO_COMPARATIVES = frozenset({"other", "another"})


def find_wording_faults(human: str, twin: str) -> Iterator[tuple[str, str]]:
    """Yield (check, reason) if a rewrite changes negations or replaces words by their opposites.

    Args:
        human: English passage.
        twin: rewrite.
    """
    before, after = Wording(human), Wording(twin)
    denials = [*_find_denials(before, after), *_find_denials(after, before)]
    if denials:
        yield "negation", f"{denials[0]!r} of what the other text affirms"
    swaps = [
        f"sides of {was!r} exchanged" if was == became else f"{was!r} became {became!r}"
        for was, became in _find_swapped_words(before, after)
    ]
    swaps += _find_prefixes(before, after)
    if swaps:
        yield "opposites", "; ".join(dict.fromkeys(swaps))


def _find_prefixes(before: Wording, after: Wording) -> list[str]:
    """Describe words that gained or lost a negative prefix: ``'common' became 'uncommon'``.

    Neither text has both, and neither sentence has a negation that makes up for the prefix.
    """
    found, texts = [], (before, after)
    for text, other in (texts, texts[::-1]):
        for index, word in enumerate(text.tokens):
            prefix = PREFIX.match(word)
            if prefix is None or word in word_lists().unprefixed or word in other.tokens:
                continue
            plain = word[prefix.end() :].lstrip("-")
            if plain not in other.tokens or plain in text.tokens or len(plain) < 4:
                continue
            there = other.tokens.index(plain)
            if not text.count_negations(index) and not other.count_negations(there):
                pair = (word, plain) if text is before else (plain, word)
                found.append(f"{pair[0]!r} became {pair[1]!r}")
    return found


def _find_denials(text: Wording, other: Wording) -> Iterator[str]:
    """Yield phrases in which a text negates what the matching sentence of another text affirms.

    A negation does not count if the other text lacks the denied word ("did not survive": "died"),
    or if "until" or "before" follows ("not before 1990": "only in 1990").
    """
    for index, word in enumerate(text.tokens):
        if word not in _PLAINEST or _until_follows(text, index):
            continue
        head = text.denied_stem(index)
        indexes = [i for i, w in enumerate(other.tokens) if head in affirmed_forms(w)]
        if not head or not indexes:
            continue
        about = text.sentence_stems(index)
        there = max(indexes, key=lambda i: len(about & other.sentence_stems(i)))
        if _SHARED * len(about & other.sentence_stems(there)) < len(about):
            continue
        words = other.tokens[slice(*other.sentence_bounds(there))]
        if word == "no" and any(map(_SUPERLATIVE.fullmatch, words)):
            continue
        n_there = other.count_negations(there) + other.count_softeners(there, text, index)
        own = text.tokens[slice(*text.sentence_bounds(index))]
        n_there += "free" in own and _free_follows(other, there)
        surplus = text.count_negations(index) - n_there
        if surplus > 0 and surplus % 2:  # two in one sentence affirm: "not without success"
            yield " ".join(text.tokens[max(0, index - 1) : index + 3])


def _free_follows(text: Wording, index: int) -> bool:
    """Whether "free" denies the token at an index ("disease free")."""
    return text.tokens[index + 1 : index + 2] == ["free"]


def _until_follows(text: Wording, index: int) -> bool:
    """Whether "until" or "before" follows the token at an index in its sentence."""
    return not _UNTIL.isdisjoint(text.tokens[index : text.sentence_bounds(index)[1]])


def _find_swapped_words(before: Wording, after: Wording) -> Iterator[tuple[str, str]]:
    """Yield (word, its opposite in ``after``) for each reversal that no negation undoes."""
    for pairs in [*_find_swaps(before, after), *_find_substitutions(before, after)]:
        if all(_is_denied(before, old) == _is_denied(after, new) for old, new in pairs):
            old, new = pairs[0]
            yield before.tokens[old], after.tokens[new]


def _find_substitutions(before: Wording, after: Wording) -> Iterator[list[tuple[int, int]]]:
    """Yield [(index of a word, index of its opposite between the same words in ``after``)]."""
    old, new = before.index_by_neighbours(), after.index_by_neighbours()
    for context, words in new.items():
        for side, index in words.items():
            was = old.get(context, {})
            for s in was if side not in was else ():
                # "The beginning of B" is no "A ends and B".
                if s.group == side.group and _of_follows(before, was[s]) == _of_follows(
                    after, index
                ):
                    yield [(was[s], index)]


def _of_follows(text: Wording, index: int) -> bool:
    """Whether "of" follows the token at an index."""
    return text.tokens[index + 1 : index + 2] == ["of"]


def _is_inverted_relation(before: Wording, old: int, after: Wording, new: int) -> bool:
    """Whether words at ``old`` and ``new`` invert a relation: "the son of B", "whose father B"."""
    is_owned = [
        text.tokens[max(0, index - 1)] in _POSSESSIVES
        for text, index in ((before, old), (after, new))
    ]
    follows = _of_follows(before, old), _of_follows(after, new)
    return (is_owned[0] and follows[1]) or (is_owned[1] and follows[0])


def _is_denied(text: Wording, index: int) -> bool:
    """Whether a negation precedes the token at an index, with no content word between."""
    for i in range(index - 1, max(0, index - NEAR) - 1, -1):
        if text.tokens[i] in word_lists().plain:
            return True
        if text.is_content(i):
            return False
    return False


def _is_comparative(word: str) -> bool:
    """Whether a word compares two things: older, more, later_than."""
    return (
        word.endswith("_than")
        or word in _COMPARATIVES
        or (word.endswith("er") and len(word) > 4 and word not in _NO_COMPARATIVES)
    )


def _find_swaps(before: Wording, after: Wording) -> list[list[tuple[int, int]]]:
    """List, per word that ``after`` replaces by an opposite, candidates (its index, opposite's).

    Also lists a comparison whose two sides were exchanged: "A is older than B", "B is older
    than A".
    """
    old, new = before.index_by_side(), after.index_by_side()
    seen: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for lost, indexes in old.items():
        if len(indexes) == len(new.get(lost, ())) == 1:
            pair = indexes[0], new[lost][0]
            if (_is_comparative(before.tokens[pair[0]])
                    and _is_compared(before, pair[0])
                    and _are_sides_swapped(before, after, *pair, is_loose=False)
                    and not before.count_negations(pair[0])
                    and not after.count_negations(pair[1])):  # fmt: skip
                seen[pair] = [pair]
            continue
        gained = [s for s in new if s.group == lost.group and s.side != lost.side
                  and len(new[s]) > len(old.get(s, ()))]  # fmt: skip
        if len(indexes) <= len(new.get(lost, ())) or not gained:
            continue
        pairs = [(a, b) for side in gained for a in indexes for b in new[side]
                 if not _are_of_two_things(before, a, after, b)]  # fmt: skip
        is_mutual = lost.group in word_lists().mutual
        if any((is_mutual or (_is_compared(before, a) and _is_compared(after, b)))
               and _are_sides_swapped(before, after, a, b) for a, b in pairs):  # fmt: skip
            continue
        if is_mutual and any(_is_inverted_relation(before, a, after, b) for a, b in pairs):
            continue
        shared = {
            (a, b): len(before.sentence_stems(a) & after.sentence_stems(b))
            for a, b in pairs
            if before.sentence_stems(a, _AROUND) & after.sentence_stems(b, _AROUND)
        }
        if any(shared.values()):
            seen[max(shared, key=lambda p: shared[p])] = pairs
    return [seen[pair] for pair in sorted(seen)]


def _are_of_two_things(before: Wording, old: int, after: Wording, new: int) -> bool:
    """Whether "less" and "more" are of two words, and either text has both of these."""
    words = before.tokens[old], after.tokens[new]
    if not _DEGREES.issuperset(words):
        return False
    heads = {text.denied_stem(index) for text, index in ((before, old), (after, new))}
    known = ({stem(word) for word in text.tokens} for text in (before, after))
    return len(heads) == 2 and "" not in heads and all(heads <= words for words in known)


def _is_compared(text: Wording, index: int) -> bool:
    """Whether a token compares: "than" follows, or it is a direction before "of" ("north of")."""
    following = text.tokens[index + 1 : index + 6]
    is_direction = DIRECTION.match(text.tokens[index]) is not None
    is_told = "than" in following or text.tokens[index].endswith("_than")
    return is_told or (is_direction and following[:1] == ["of"])


def _are_sides_swapped(
    before: Wording, after: Wording, old: int, new: int, is_loose: bool = True
) -> bool:
    """Whether ``after`` swaps the words before and after a token: "A over B", "B over A".

    They are swapped where a word of the left side is on the right side now and the other way round,
    and none that was on the right stayed there.

    Args:
        before: the human text.
        after: its rewrite.
        old: index of the token in the human text.
        new: index of the token that stands for it in the rewrite.
        is_loose: whether one swapped word is enough.
    """
    (left, right), (new_left, new_right) = _words_around(before, old), _words_around(after, new)
    if right[:2] and right[:2] == new_right[:2]:
        return False
    if is_loose and (right[:1] == new_left[-1:] != [] or left[-1:] == new_right[:1] != []):
        return True
    sides = ({*left} - {*right}, {*right} - {*left}), ({*new_left} - {*new_right},
                                                       {*new_right} - {*new_left})  # fmt: skip
    (here, there), (new_here, new_there) = sides
    crossed, is_apart = (here & new_there, there & new_here), not here & new_here
    return (any if is_loose and is_apart else all)(crossed) and not there & new_there


def _words_around(text: Wording, index: int) -> tuple[list[str], list[str]]:
    """Get the stems of content words before a token, and of up to four after it (or "than")."""
    start, end = text.sentence_bounds(index)
    middle = index
    for i in range(index + 1, min(end, index + 8)):
        if text.tokens[i] in ("than", "as"):
            middle = i
    left = [stem(text.tokens[i]) for i in range(start, index) if text.is_content(i)]
    right = [stem(text.tokens[i]) for i in range(middle + 1, end) if text.is_content(i)]
    return left, right[:4]


_WORDS = "|".join(sorted(number_words(), key=len, reverse=True))
_UNIT = re.compile(
    rf"(?P<before>[$€£¥] ?)?(?<![\w.,])"
    rf"(?P<number>\d+(?:[.,]\d+)*|{_WORDS}|an?(?= (?!\d|(?:{_WORDS})\b))|several|few|many)[- ]?"
    r"(?P<after>(?:°\s?[CF]\b|%|[ap]\.m\b|[^\W\d_]+[²2]?)?(?: [^\W\d_]+)?)",
    re.IGNORECASE,
)  # fmt: skip


_RATE = re.compile(
    r"\b(?P<by>per|each|every|an?)\s+(?P<unit>\w+)"
    r"(?! (?:later|earlier|ago|before|after|old)\b)",
    re.IGNORECASE,
)
_ONLY_PER = frozenset({"second", "decade"})
"""Rates after "per" alone: "a second attempt" and "a decade in Paris" are none."""
_NUMBER = rf"(?<![\w.,])(?:\d+(?:[.,]\d+)*|(?:{_WORDS}|several|few|many)\b)"
_COUNTED = re.compile(
    rf"(?:\b(?:once|twice|thrice|times)|%|\bper ?cent|{_NUMBER}"
    rf"|{_NUMBER} (?:\w+ ){{0,2}}(?P<noun>\w+s|people|men|women|children)(?: in)?)\s+$",
    re.IGNORECASE,
)
"""An amount, right before "a day": "twice", "30", "2.5 million passengers", "600 flies in"."""
_MEASURED = re.compile(
    rf"(?P<one>(?:{_NUMBER}|\ban?) ?)?(?<!\w)(?P<unit>[^\W\d_]+[²2]?)(?: of \w+(?: \w+)?)?\s+$",
    re.IGNORECASE,
)
"""The same in units: "5 km", "hours", "a tonne of coal"."""


def find_unit_faults(human: str, twin: str) -> Iterator[str]:
    """Yield the first unit that a rewrite changes: ``"'310 metres' became '310 feet'"``.

    Args:
        human: English passage.
        twin: rewrite.
    """
    rates = [_find_rates(text) for text in (human, twin)]
    if all(rates) and (added := sorted(rates[1] - rates[0])):
        yield f"{sorted(rates[0])[0]!r} became {added[0]!r}"
        return
    old, new = (_units(with_digits(join_compound_units(text))) for text in (human, twin))
    for number, units in old.items():
        quantities = {unit.partition(":")[0] for unit in units}
        for unit, words in new.get(number, {}).items():
            if (
                units
                and unit not in units
                and (len(new[number]) == 1 or unit.partition(":")[0] in quantities)
            ):
                yield f"{next(iter(units.values()))!r} became {words!r}"
                return
    # A rewrite may have moved the unit to another number.
    for quantity in (name for name in word_lists().kinds if name != "time"):
        sides = [{u: words for units in found.values() for u, words in units.items()
                  if u.startswith(f"{quantity}:")} for found in (old, new)]  # fmt: skip
        if all(sides) and not sides[0].keys() & sides[1].keys():
            yield " became ".join(repr(next(iter(side.values()))) for side in sides)
            return


def _find_rates(text: str) -> set[str]:
    """Find the rates in a text, such as "per day" for "twice a day"."""
    rates = word_lists().rates
    found = {rates.get(m["unit"].lower(), "") for m in _RATE.finditer(text) if _is_rate(m)}
    found |= {rates[w] for w in re.findall(r"\w+", text.lower()) if w in rates and w != rates[w]}
    return {f"per {rate}" for rate in found if rate}


def _is_rate(match: re.Match[str]) -> bool:
    """Whether a match such as "a day" or "per day" is a rate ("twice a day"), not a date."""
    by, unit = match["by"].lower(), match["unit"].lower()
    if by == "per":
        return True
    if unit in _ONLY_PER:
        return False
    before, words = match.string[max(0, match.start() - 60) : match.start()].lower(), word_lists()
    counted, measured = _COUNTED.search(before), _MEASURED.search(before)
    if by in ("each", "every") or (counted and counted["noun"] not in words.stop):
        return True
    # "Hours a day" needs no number; "the next day a week began" is no rate.
    return measured is not None and any(
        word in words.units and (measured["one"] is not None or word.endswith("s"))
        for word in (measured["unit"], before.split()[-1])
    )


_NEVER_ONE = frozenset({"era", "clock"})
"""What no article precedes: "an ad hoc group" is of no era."""


def _units(text: str) -> dict[str, dict[str, str]]:
    """Map each number in a text to its units of measurement, and these to their wording there."""
    found: dict[str, dict[str, str]] = {}
    units = word_lists().units
    for match in _UNIT.finditer(text):
        number = match["number"].lower().replace(",", "")
        is_article = number in ("a", "an")
        number = "1" if is_article else number_words().get(number, number)
        number = "several" if number in ("few", "many") else number
        own = found.setdefault(number, {})
        words = [
            (match["before"] or "").strip(),
            *match["after"].lower().replace("° ", "°").split(),
        ]
        for word in words:
            for quantity, unit in units.get(word.strip(), ()):
                if is_article and quantity in _NEVER_ONE:
                    continue
                if quantity != "money" or len(units[word]) == 1 or not own:
                    own[f"{quantity}:{unit}"] = match.group().strip()
    return found
