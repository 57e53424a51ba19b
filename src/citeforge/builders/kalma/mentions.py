"""Mentions of entities and values in texts, and citations of triples."""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from citeforge.builders.kalma.words import OPENERS, STOP
from citeforge.engines.text.names import blank_names
from citeforge.schemas.citations.triples import render
from citeforge.schemas.kg import Triple
from citeforge.schemas.matching.answers import AnswerText
from citeforge.schemas.text import MONTHS

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

# Where another statement begins: sentences, and clauses that have a subject of their own.
_CLAUSE = re.compile(
    r"[.!?;]\s+|,?\s(?:but|while|whereas|whose|who|which|where|when|after|before)\s"
    r"|,?\sand\s(?=(?:his|her|their|he|she|it|they|the|[A-Z]\w*)\b)"
)
DENIAL = re.compile(
    r"\b(?:never|not(?! only)|no|nor|neither|without|\w+n['’]t|(?:failed|refused|declined) to"
    r"|(?:denied|refused|declined|rejected|lost)|hardly|instead of)\b",
    re.IGNORECASE,
)


def words_in(
    text: str, words: Sequence[str], text_slice: slice = slice(None)
) -> Iterator[re.Match[str]]:
    """Yield matches of given words or names, as whole words, in a part of a text."""
    pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, words))})(?!\w)")
    begin, end, _ = text_slice.indices(len(text))
    return pattern.finditer(text, begin, end) if words else iter(())


def find_name_words(name: str) -> list[str]:
    """List the words of a name that may stand for it: capitalised, no "The" and no "Where"."""
    return [
        word
        for word in name.split()
        if word[:1].isupper() and len(word) > 2
        and re.split("['’]", word)[0].lower() not in OPENERS | STOP
    ]  # fmt: skip


def _name_before(text: str, start: int) -> bool:
    """Whether the word before a position is part of the same name: ``Hans`` before ``Albert``."""
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
    """Whether the word after a position is part of the same name: ``Einstein`` after ``Albert``."""
    match = _WORD_AFTER.match(text, end)
    return match is not None and match[1][0].isupper()


class Mentions:
    """Mentions of entities and values in a text, by whole names or words unique to an entity.

    Attributes:
        text: the text.
        spans: (start, end, QID) of each mention of an entity, in order.
    """

    def __init__(self, text: str, names: Mapping[str, str], values: Iterable[str] = ()) -> None:
        """Find where a text mentions entities, by whole names or words unique to one of them.

        Args:
            text: a paragraph.
            names: QID to name.
            values: of their sub-graphs; a longer name or value that holds a place is what stands
                there.
        """
        parts = Counter(w for name in names.values() for w in dict.fromkeys(name.split()))
        spoken = {name: qid for qid, name in names.items()}
        for qid, name in names.items():
            for word in find_name_words(name):
                if parts[word] == 1:
                    spoken.setdefault(word, qid)
        longest = sorted(spoken, key=lambda name: (-len(name), name))
        self.spans = [(m.start(), m.end(), spoken[m[0]]) for m in words_in(text, longest)]
        self.text = text
        self._words = {*names.values(), *values}
        self._blanked = blank_names(text, self._words)
        self._starts = [start for start, _, _ in self.spans]
        self._qids = [qid for _, _, qid in self.spans]

    @classmethod
    def from_triples(cls, text: str, pool: Iterable[Triple]) -> "Mentions":
        """Find where a text mentions the entities that triples are about."""
        triples = list(pool)
        return cls(text, {t.qid: t.name for t in triples}, (t.value for t in triples))

    def find_spans(
        self, spellings: Sequence[str], text_slice: slice = slice(None)
    ) -> list[tuple[int, int]]:
        """List (start, end) of each mention of a value, in any spelling, outside longer names."""
        spans = (m.span() for shape in spellings for m in words_in(self.text, [shape], text_slice))
        return [span for span in spans if self.stands_alone(*span)]

    def stands_alone(self, start: int, end: int) -> bool:
        """Whether the words from start to end are not a part of a longer name."""
        if self._is_inside_value(start, end):
            return False
        if not self.text[start:end][:1].isupper():
            return True
        return not _name_before(self.text, start) and not _name_after(self.text, end)

    def _is_inside_value(self, start: int, end: int) -> bool:
        """Whether the words from start to end are a part of a longer known name or value."""
        text, value = self.text, self.text[start:end]
        for other in self._words:
            offset = other.find(value) if len(other) > len(value) else -1
            if 0 <= offset <= start and text.startswith(other, start - offset):
                return True
        return False

    def is_denied(self, start: int, end: int) -> bool:
        """Whether a negation precedes a mention in its clause: ``never won the Booker Prize``.

        Words of names are no negations: ``Tomorrow Never Dies was released in 1997``.
        """
        text = self._blanked
        begin = max((m.end() for m in _CLAUSE.finditer(text) if m.end() <= start), default=0)
        return DENIAL.search(text, begin, start) is not None

    def subject(self, position: int) -> str | None:
        """Get the QID of the entity that text at a position is about: the last one named before it.

        Before all names it is the first one; after ``…, and loved …`` it is still the subject
        of the sentence. None if the text names none.
        """
        if not self._qids:
            return None
        last = max(0, bisect_left(self._starts, position) - 1)
        if _GOES_ON.search(self._blanked, self._starts[last], max(position, self._starts[last])):
            last = min(last, self._first_in_sentence(position))
        return self._qids[last]

    def is_preceded_by_name(self, position: int) -> bool:
        """Whether a sentence names an entity before a given position in it."""
        return self._first_in_sentence(position) < bisect_left(self._starts, position)

    def _first_in_sentence(self, position: int) -> int:
        """Get the index of the first entity mention in the sentence that contains a position."""
        begin = max(
            (m.end() for m in _SENTENCE_END.finditer(self._blanked, 0, position)), default=0
        )
        return bisect_left(self._starts, begin)


def marker(triple: Triple) -> str:
    """Write the citation mark of a triple: ``[QID, relation: value]``."""
    return render(triple.qid, [(triple.relation, triple.value)])


def contains_value(text: str, value: str) -> bool:
    """Whether a text contains a value, as whole words and in any spelling."""
    return AnswerText(text).contains(value)


def renderings(triple: Triple) -> list[str]:
    """List the spellings of a triple's value: several for a date, itself for any other."""
    if not triple.precision:
        return [triple.value]
    bare = triple.value.removesuffix(" BCE")
    parts = bare.split("-")
    forms = [triple.value, bare]
    if len(parts) > 1 and not 1 <= int(parts[1]) <= len(MONTHS):
        return forms  # the date has another layout
    if triple.precision in ("day", "unknown") and len(parts) == 3:
        year, month, day = str(int(parts[0])), MONTHS[int(parts[1]) - 1], str(int(parts[2]))
        forms += [f"{day} {month} {year}", f"{month} {day} {year}", f"{day} {month[:3]} {year}"]
    elif triple.precision == "month" and len(parts) == 2:
        forms.append(f"{MONTHS[int(parts[1]) - 1]} {int(parts[0])}")
    elif triple.precision == "year":
        forms.append(str(int(bare)))
    return forms


def annotate(text: str, pool: Sequence[Triple], triple: Triple) -> str:
    """Insert a triple's citation after the first mention of its value in a text."""
    for _, end in Mentions.from_triples(text, pool).find_spans(renderings(triple)):
        return f"{text[:end]} {marker(triple)}{text[end:]}"
    return text
