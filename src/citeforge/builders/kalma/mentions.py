"""Which names a text holds, and whether a value stands there for itself."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping

_WORD_BEFORE = re.compile(r"(\w[\w.’']*)[ \u00a0-]$")
_WORD_AFTER = re.compile(r"[ \u00a0-](\w+)")
_PARTICLES = frozenset(
    "of de da di do du del della der den des la le los las von van zu zur the and y e".split()
)
# Capitalised words that begin a sentence and are no part of a name.
_OPENERS = frozenset(
    "a an the in at on from to by with for of as since during after before when while and but his "
    "her their its he she it they born".split()
)
_SENTENCE_END = re.compile(r"[.!?]\s+")
_GOES_ON = re.compile(
    r",\s(?:and|but)\s(?!(?:his|her|their|its|he|she|it|they|the|a|an|who|whose)\b)(?=[a-z])"
)


def stands_alone(text: str, start: int, end: int, words: Iterable[str]) -> bool:
    """Whether ``text[start:end]`` is a mention of its own and no part of a longer name.

    Args:
        text: a paragraph.
        start: where a value begins.
        end: where it ends.
        words: names and values of the sub-graphs; a longer one that holds the place is what stands
            there.
    """
    value = text[start:end]
    for other in words:
        offset = other.find(value) if len(other) > len(value) else -1
        if 0 <= offset <= start and text.startswith(other, start - offset):
            return False
    if not value[:1].isupper():
        return True
    return not _name_before(text, start) and not _name_after(text, end)


def _name_before(text: str, start: int) -> bool:
    """Whether the word in front belongs to the same name: ``Hans`` in ``Hans Albert``,
    ``University of`` in ``University of Paris``."""
    match = _WORD_BEFORE.search(text, max(0, start - 60), start)
    if match is None:
        return False
    word = match[1]
    if word[0].isupper():
        opens = not text[: match.start(1)].strip() or text[: match.start(1)].rstrip()[-1] in ".!?"
        return not (opens and word.lower() in _OPENERS)
    if word in _PARTICLES - {"the", "and"}:
        return _name_before(text, match.start(1))
    return False


def _name_after(text: str, end: int) -> bool:
    """Whether the word behind belongs to the same name."""
    match = _WORD_AFTER.match(text, end)
    return match is not None and match[1][0].isupper()


class Names:
    """Mentions of the entities of a text, by whole names and by words that only one of them has."""

    def __init__(self, text: str, names: Mapping[str, str]) -> None:
        """Find them.

        Args:
            text: a paragraph.
            names: QID to name.
        """
        parts = Counter(w for name in names.values() for w in dict.fromkeys(name.split()))
        spoken = {name: qid for qid, name in names.items()}
        for qid, name in names.items():
            for word in name.split():
                if parts[word] == 1 and word[:1].isupper() and len(word) > 2:
                    spoken.setdefault(word, qid)
        longest = sorted(spoken, key=lambda name: (-len(name), name))
        pattern = "|".join(map(re.escape, longest))
        matches = re.finditer(rf"(?<!\w)(?:{pattern})(?!\w)", text) if pattern else ()
        rows = [(m.start(), spoken[m[0]]) for m in matches]
        self._text = text
        self._starts = [start for start, _ in rows]
        self._qids = [qid for _, qid in rows]

    def subject(self, at: int) -> str | None:
        """Whom a place speaks of: the entity named last before it, else the first named.

        Behind ``…, and loved …`` the subject of the sentence goes on, whoever was named between.
        """
        if not self._qids:
            return None
        last = max(0, bisect_left(self._starts, at) - 1)
        if _GOES_ON.search(self._text, self._starts[last], max(at, self._starts[last])):
            begin = max((m.end() for m in _SENTENCE_END.finditer(self._text, 0, at)), default=0)
            last = min(last, bisect_left(self._starts, begin))
        return self._qids[last]

    def names_in_sentence(self, at: int) -> bool:
        """Whether the sentence of a place has named an entity before it."""
        begin = max((m.end() for m in _SENTENCE_END.finditer(self._text, 0, at)), default=0)
        return bisect_left(self._starts, begin) < bisect_left(self._starts, at)
