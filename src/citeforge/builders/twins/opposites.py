"""Rules of wording: did a rewrite lose or gain a negation, or take an opposite?

They compare English words of a passage and its twin, and need no model. They do not see who did
what to whom ("Rome beat Carthage"), and they know only the words of their lists.
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise

from citeforge.builders.twins.wording import (
    DIRECTION,
    NEAR,
    PREFIX,
    WINDOW,
    Cue,
    Wording,
    is_denial,
    stem,
    word_lists,
)  # fmt: skip

_UNTIL = frozenset({"until", "till", "before"})
_OTHERS = frozenset({"other", "else", "except", "but", "until", "before", "another"})
_OF_NOBODY = frozenset({"no", "none", "nobody", "nothing", "no_one"})
_RELATIVE = frozenset({"which", "that", "who", "whom"})
_OF_NOUNS = frozenset({"no", "without", "neither"})
_PLAINEST = frozenset({"not", "never"})
_COMPARATIVES = frozenset({"more", "less", "worse"})


class _Negations:
    """Negations of a text, held against another text."""

    def __init__(self, own: Wording, other: Wording) -> None:
        lists, tokens = word_lists(), own.tokens
        must, may = list[int](), list[int]()
        for place, word in enumerate(tokens):
            if word in lists.plain:
                if not (word == "no" and tokens[place + 1 : place + 2] and
                        tokens[place + 1] == "."):  # fmt: skip
                    must.append(place)
            elif word in other.words or (is_denial(word) and other.has(word[:4])):
                continue
            elif word in lists.strong:
                must.append(place)
            elif (base := _denied(word, other.words)) is not None:
                (must if base in other.words and base not in own.words else may).append(place)
            elif is_denial(word):
                may.append(place)
        soft = {p for p in (*must, *may) if tokens[p] not in lists.plain}
        for place in [p for p in must if tokens[p] in lists.plain]:
            double = next((p for p in soft if 0 < p - place <= 2), None)
            if double is not None:  # "not uncommon"
                must = [p for p in must if p not in (place, double)]
                may = [p for p in may if p != double]
        for first, second in pairwise(list(must)):
            between = tokens[first:second]
            if tokens[first] in _OF_NOBODY and _RELATIVE & {*between} and "." not in between:
                must = [p for p in must if p not in (first, second)]  # "no one who did not"
        kept = list[int]()
        for place in must:
            between = tokens[kept[-1] : place] if kept else []
            is_listed = tokens[place] == "nor" or (
                {"and", "or"} & {*between} and {tokens[place], *between[:1]} <= _OF_NOUNS
            )
            if not (is_listed and len(between) <= 2 * NEAR and "." not in between):
                kept.append(place)  # "no roads and no railways" deny once
        for place in list(kept):
            if self._is_turned(own, other, place):
                kept.remove(place)
                may.append(place)
        self.must, self.may = [own.cue(p) for p in kept], [own.cue(p) for p in may]

    @staticmethod
    def _is_turned(own: Wording, other: Wording, place: int) -> bool:
        """Whether a negation belongs to a turn of phrase that another text puts without one.

        "No bridge was longer" for "the longest", "not until 1990" for "only in 1990".
        """
        _, end = own.sentence(place)
        following = own.tokens[place + 1 : min(end, place + 9)]

        is_only = {"only", "just", "sole", "solely", "alone"} & other.words - own.words
        if is_only and _OTHERS.intersection(following):
            return True
        if any(map(is_comparative, following)):
            return other.count_superlatives() > own.count_superlatives()
        return any(w in _UNTIL for w in following) and not _UNTIL & other.words


def is_comparative(word: str) -> bool:
    return (
        word.endswith("_than")
        or word in _COMPARATIVES
        or (word.endswith("er") and len(word) > 4 and word not in _OTHERS)
    )


def _denied(word: str, others: frozenset[str]) -> str | None:
    """What a word in un-, in-, dis- … denies; None for other words."""
    match = PREFIX.match(word)
    if match is None or word in word_lists().no_prefix:
        return None
    base = word[match.end() :]
    is_plain = match[0] == "un" or base in others or base in word_lists().prefixed
    return base if is_plain else None


def find_wording_faults(human: str, twin: str) -> Iterator[tuple[str, str]]:
    """Find (check, reason) of negations and opposites by which a twin differs from a passage.

    Args:
        human: English passage.
        twin: rewrite.
    """
    before, after = Wording(human), Wording(twin)
    ours, theirs = _Negations(before, after), _Negations(after, before)
    lost, added = list(ours.must), list(theirs.must)
    swaps = []
    for pairs in _swaps(before, after):
        for old, new in pairs:
            texts = ((before, lost, old), (after, added, new))
            denied = [c for text, cues, place in texts for c in cues
                      if _denies(text, c.place, place)]  # fmt: skip
            if len(denied) == 1:  # "did not open" for "stayed closed"
                lost, added = ([c for c in cues if c.place != place and c is not denied[0]]
                               for _, cues, place in texts)  # fmt: skip
                break
        else:
            old, new = pairs[0]
            was, became = before.tokens[old], after.tokens[new]
            is_same = was == became
            swaps.append(f"sides of {was!r} exchanged" if is_same else f"{was!r} became {became!r}")
    turned = list[str]()
    for cues, text, other in ((lost, before, after), (added, after, before)):
        for cue in cues:
            turned += [cue.word] if _is_flipped(text, other, cue) else []
    _pair(lost, added, lambda a, b: len(a.about & b.about) + WINDOW * (
        before.head(a.place) == after.head(b.place)))  # fmt: skip
    for rest, may, text, other in (
        (lost, theirs.may, before, after), (added, ours.may, after, before),
    ):  # fmt: skip
        _pair(rest, list(may), partial(_explains, text, other))
    _pair(lost, added, lambda a, b: 1 + len(a.about & b.about))
    parts = [f"{verb} {', '.join(repr(_shown(text, c.place)) for c in cues)}"
             for verb, text, cues in (("lacks", before, lost), ("adds", after, added)) if cues
             ] or [f"{word!r} of what the other text affirms" for word in turned[:1]]  # fmt: skip
    if parts:
        yield "negation", "; ".join(parts)
    if swaps:
        yield "opposites", "; ".join(dict.fromkeys(swaps))


def _shown(text: Wording, place: int) -> str:
    return " ".join(text.tokens[max(0, place - 1) : place + 3])


def _denies(text: Wording, negation: int, place: int) -> bool:
    """Whether a negation is of a word, or is that word: no other word that matters is between."""
    is_of_noun = text.tokens[negation] in _OF_NOUNS
    if place > negation and is_of_noun and text.tokens[negation + 1] != "longer":
        return False
    return 0 < place - negation <= NEAR and not any(
        text.is_content(i) and text.tokens[i] != "longer" for i in range(negation + 1, place)
    )


def _is_flipped(text: Wording, other: Wording, cue: Cue) -> bool:
    """Whether what a negation denies is said in another text without any."""
    head = text.head(cue.place)
    start, end = text.sentence(cue.place)
    n_negations = sum(t in word_lists().plain for t in text.tokens[start:end])
    if cue.word not in _PLAINEST or not head or n_negations != 1:
        return False
    places = [i for i, word in enumerate(other.tokens) if stem(word) == head]
    return bool(places) and not any(other.denies(i) or other.softens(i) for i in places)


def _explains(text: Wording, other: Wording, denial: Cue, weak: Cue) -> int:
    """How well a word of another text stands for a negation; 0 for not at all.

    What is denied must be near that word, or gone: "did not survive", "died".
    """
    head = text.head(denial.place)
    is_near = weak.word not in word_lists().whole and other.is_near(head, weak.place)
    if head and other.has(head[:4]) and not is_near:
        return 0
    return len(denial.about & weak.about)


def _pair(first: list[Cue], second: list[Cue], fits: Callable[[Cue, Cue], int]) -> None:
    """Take out of both lists cues that stand for each other, best fit first; 0 is no fit."""
    fitting = [(fits(a, b), a, b) for a in first for b in second]
    for n, a, b in sorted(fitting, key=lambda t: -t[0]):
        if n and a in first and b in second:
            first.remove(a)
            second.remove(b)


def _swaps(before: Wording, after: Wording) -> list[list[tuple[int, int]]]:
    """Places in both texts of each word and of the opposites that came in its place.

    Also of one comparison whose two sides changed places: "A is older than B", "B is older than A".
    """
    old, new = before.sides(), after.sides()
    seen: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for lost, places in old.items():
        if len(places) == len(new.get(lost, ())) == 1:
            pair = places[0], new[lost][0]
            if (is_comparative(before.tokens[pair[0]])
                    and _is_compared(before, pair[0])
                    and _is_turned_round(before, after, *pair, is_loose=False)
                    and not before.denies(pair[0]) and not after.denies(pair[1])):  # fmt: skip
                seen[pair] = [pair]
            continue
        gained = [s for s in new if s.group == lost.group and s.side != lost.side
                  and len(new[s]) > len(old.get(s, ()))]  # fmt: skip
        if len(places) <= len(new.get(lost, ())) or not gained:
            continue
        pairs = [(a, b) for side in gained for a in places for b in new[side]]
        is_mutual = lost.group in word_lists().mutual
        if any((is_mutual or (_is_compared(before, a) and _is_compared(after, b)))
               and _is_turned_round(before, after, a, b) for a, b in pairs):  # fmt: skip
            continue
        shared = {pair: len(before.about(pair[0]) & after.about(pair[1])) for pair in pairs}
        if any(shared.values()):
            seen[max(pairs, key=lambda p: shared[p])] = pairs
    return [seen[pair] for pair in sorted(seen)]


def _is_compared(text: Wording, place: int) -> bool:
    """Whether "than", or "of" behind a direction, follows a word."""
    following = text.tokens[place + 1 : place + 6]
    is_direction = DIRECTION.match(text.tokens[place]) is not None
    is_told = "than" in following or text.tokens[place].endswith("_than")
    return is_told or (is_direction and following[:1] == ["of"])


def _is_turned_round(
    before: Wording, after: Wording, old: int, new: int, is_loose: bool = True
) -> bool:
    """Whether a relation is told from its other end: what was left of a word is right of it."""
    (left, right), (new_left, new_right) = _halves(before, old), _halves(after, new)
    if right[:2] and right[:2] == new_right[:2]:
        return False
    if is_loose and (right[:1] == new_left[-1:] != [] or left[-1:] == new_right[:1] != []):
        return True
    sides = ({*left} - {*right}, {*right} - {*left}), ({*new_left} - {*new_right},
                                                       {*new_right} - {*new_left})  # fmt: skip
    (here, there), (new_here, new_there) = sides
    crossed, is_apart = (here & new_there, there & new_here), not here & new_here
    return (any if is_loose and is_apart else all)(crossed) and not there & new_there


def _halves(text: Wording, place: int) -> tuple[list[str], list[str]]:
    """Stems of the content words left of a word, and of the few right of it, or of "than"."""
    start, end = text.sentence(place)
    middle = place
    for i in range(place + 1, min(end, place + 8)):
        if text.tokens[i] in ("than", "as"):
            middle = i
    left = [stem(text.tokens[i]) for i in range(start, place) if text.is_content(i)]
    right = [stem(text.tokens[i]) for i in range(middle + 1, end) if text.is_content(i)]
    return left, right[:4]
