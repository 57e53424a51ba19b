"""Questions as people ask them: one clause a fact, in a frame that their topic chooses."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from citeforge.builders.kalma.mentions import holds, renderings
from citeforge.builders.kalma.selection import EntityPair
from citeforge.kg.domain import Domain, Frame, Phrase, Phrasing, plain_phrase, with_article
from citeforge.schemas.benchmarks.kg import Graph, Triple, relation_key

_QUESTIONS_PER_WORDING = 5
"""No wording of general questions has more than one in so many, where others are to be had."""


class Clause(NamedTuple):
    """What one clause asks for.

    Attributes:
        relation: label of the relation.
        qids: the entity, or both where the clause is about both.
        is_plural: whether there are several values.
        phrase: its words.
    """

    relation: str
    qids: tuple[str, ...]
    is_plural: bool
    phrase: Phrase


class Voice:
    """Names the two entities of a question as it goes on: by name, then by pronoun."""

    def __init__(self, pair: EntityPair, phrasing: Phrasing) -> None:
        self._names = {g.qid: with_article(g.name) for g in pair.graphs}
        self._pronouns = {g.qid: _pronouns(g, phrasing) for g in pair.graphs}
        self._lives = {g.qid: _lives(g, phrasing) for g in pair.graphs}
        related = relation_key(pair.link.relation) in map(relation_key, phrasing.related)
        self._word, self._of = ("related", "to") if related else ("connected", "with")
        self._last: tuple[str, ...] = ()

    def slots(self, qids: tuple[str, ...]) -> dict[str, str]:
        """What stands in the slots of the next clause, which is about these."""
        is_last, self._last = self._last == qids, qids
        name = " and ".join(self._names[q] for q in qids)
        pronouns, verbs = self._pronouns[qids[0]], ("is", "was", "does")
        if len(qids) > 1:
            pronouns, verbs = ("they", "their", "them"), ("are", "were", "do")
        who, whose, whom = pronouns if is_last and pronouns else (name, possessive(name), name)
        own = pronouns[1] if pronouns else whose
        present, past, does = verbs
        lives = all(self._lives[q] for q in qids)
        return {"who": who, "whose": whose, "whom": whom, "own": own, "past": past,
                "was": present if lives else past, "were": "are" if lives else "were",
                "did": does if lives else "did"}  # fmt: skip

    def link(self, is_first: bool, qids: set[str]) -> str:
        """The clause that asks what connects the two, once the question has named some."""
        was, were = ("is", "are") if all(self._lives.values()) else ("was", "were")
        if is_first or not qids:
            self._last = ()
            return f"how {were} {' and '.join(self._names.values())} {self._word}"
        if len(qids) == 2:
            return f"how {were} the two {self._word}"
        (qid,) = qids
        other = next(name for q, name in self._names.items() if q != qid)
        return f"how {was} {self.slots((qid,))['who']} {self._word} {self._of} {other}"


def possessive(name: str) -> str:
    """A name with what makes it possessive."""
    return f"{name}'" if name.endswith("s") else f"{name}'s"


def _pronouns(graph: Graph, phrasing: Phrasing) -> tuple[str, str, str] | None:
    """(subject, possessive, object) of an entity; None where they are not known."""
    values = {t.value for t in graph.triples if t.relation == phrasing.sex}
    fitting = [p for value, p in phrasing.pronouns.items() if value in values]
    return fitting[0] if len(fitting) == 1 else None


def _lives(graph: Graph, phrasing: Phrasing) -> bool:
    """Whether the present is right for an entity."""
    living = phrasing.living
    if living is None:
        return True
    if any(t.relation in living.ended_by for t in graph.triples):
        return False
    starts = [t.value for t in graph.triples if t.relation == living.relation]
    return bool(starts) and all(s[:4].isdigit() and int(s[:4]) > living.after for s in starts)


class Wording(NamedTuple):
    """One way to put a general question.

    Attributes:
        frame: asks for the facts of its topic; None where ``rest`` asks for all.
        framed: what the frame asks for.
        link_first: whether the question begins with what connects the two.
        rest: clause for all other facts.
    """

    frame: Frame | None
    framed: tuple[Clause, ...]
    link_first: bool
    rest: str

    @property
    def words(self) -> tuple[str, bool, str]:
        """What two questions of one wording have in common."""
        return (self.frame.ask if self.frame else "", self.link_first, self.rest)


@dataclass
class Composer:
    """Composes the questions of a benchmark.

    Attributes:
        domain: relations and their kinds.
        n_questions: general questions that it will compose.
        wordless: relation to how often it was asked for without a clause of the domain.
    """

    domain: Domain
    n_questions: int = 1
    wordless: Counter[str] = field(default_factory=Counter)
    _used: Counter[tuple[str, bool, str]] = field(default_factory=Counter)

    @property
    def phrasing(self) -> Phrasing:
        """The domain's words; plain ones where it has none."""
        return self.domain.questions or Phrasing()

    def general(self, pair: EntityPair, facts: Sequence[Triple]) -> str:
        """The general question: facts by topic, and what connects the two.

        Of the wordings that fit, the best one that no fifth of the questions has."""
        clauses = self._clauses(pair, facts)
        texts = {w: self._worded(pair, clauses, w) for w in self._wordings(clauses)}
        silent = [w for w, text in texts.items() if gives_away(text, facts) is None]
        fitting = silent or list(texts)
        most = max(1, self.n_questions // _QUESTIONS_PER_WORDING)
        rare = (w for w in fitting if self._used[w.words] < most)
        wording = next(rare, None) or min(fitting, key=lambda w: self._used[w.words])
        self._used[wording.words] += 1
        return texts[wording]

    def specific(self, pair: EntityPair, facts: Sequence[Triple]) -> str:
        """The specific question: a clause for every relation, and one for what connects the two."""
        clauses = self._clauses(pair, facts)
        for item in clauses:
            if self.phrasing.phrase(item.relation) is None:
                self.wordless[item.relation] += 1
        topic = _topic(clauses)
        frame = self.phrasing.frames.get(topic)
        owners = list(dict.fromkeys(a.qids for a in clauses))
        clauses.sort(
            key=lambda a: (len(a.qids) == 1, owners.index(a.qids), a.phrase.about != topic)
        )
        voice = Voice(pair, self.phrasing)
        is_first = frame is not None and frame.link_first
        link = [voice.link(True, set())] if is_first else []
        texts = [self._clause(voice, item) for item in clauses]
        if frame is not None and frame.lead and not is_first:
            on_topic = sum(a.phrase.about == topic for a in clauses)
            if 2 * on_topic > len(texts):
                texts[0] = f"{frame.lead} {texts[0]}"
        if not is_first:
            texts.append(voice.link(False, {q for a in clauses for q in a.qids}))
        return _question([*link, *texts])

    def clause(self, triple: Triple) -> str:
        """The words that ask for a fact, without a name in them."""
        phrase = self._phrase(triple)
        slots = defaultdict(str, was="was", were="were", past="was", did="did")
        return f"{phrase.ask.format_map(slots)} {phrase.noun_for(False)}"

    def _phrase(self, triple: Triple) -> Phrase:
        form = self.domain.form_of(triple.relation)
        phrase = self.phrasing.phrase(triple.relation)
        return phrase or plain_phrase(triple.relation, form, bool(triple.value_id))

    def _clauses(self, pair: EntityPair, facts: Sequence[Triple]) -> list[Clause]:
        """What facts ask for, in their order; of both entities where one clause can do so."""
        both = (pair.first.qid, pair.second.qid)
        clauses: dict[tuple[str, tuple[str, ...]], Clause] = {}
        for triple in facts:
            same = [t for t in facts if relation_key(t.relation) == relation_key(triple.relation)]
            phrase = self._phrase(triple)
            is_shared = len({t.qid for t in same}) == 2 and _has_only_who(phrase)
            qids = both if is_shared else (triple.qid,)
            mine = [t for t in same if t.qid in qids]
            plural = any(sum(t.qid == q for t in mine) > 1 for q in qids)
            key = (relation_key(triple.relation), qids)
            clauses.setdefault(key, Clause(triple.relation, qids, plural, phrase))
        return list(clauses.values())

    def _clause(self, voice: Voice, item: Clause) -> str:
        slots = voice.slots(item.qids)
        if len(item.qids) > 1:
            slots["who"] += " each"
        text = item.phrase.many if item.is_plural and item.phrase.many else item.phrase.ask
        return text.format(**slots)

    def _wordings(self, clauses: Sequence[Clause]) -> Iterator[Wording]:
        """Ways to put a general question, the best first."""
        topic = _topic(clauses)
        frame = self.phrasing.frames.get(topic)
        first = frame is not None and frame.link_first
        groups: dict[tuple[str, ...], list[Clause]] = {}
        for item in clauses:
            if item.phrase.about == topic and item.phrase.noun is not None:
                groups.setdefault(item.qids, []).append(item)
        largest: list[Clause] = max(groups.values(), key=len, default=[])
        framed = tuple(largest) if frame is not None else ()
        has_rest = any(a.phrase.noun is not None for a in clauses if a not in framed)
        rests = self.phrasing.rest if has_rest else ("",)
        if framed and 2 * len(framed) >= len(clauses):
            yield from (Wording(frame, framed, f, r) for f in (first, not first) for r in rests)
        yield from (Wording(None, (), f, r) for r in self.phrasing.rest for f in (first, not first))

    def _worded(self, pair: EntityPair, clauses: Sequence[Clause], wording: Wording) -> str:
        voice = Voice(pair, self.phrasing)
        texts = [voice.link(True, set())] if wording.link_first else []
        if wording.frame is not None:
            slots = voice.slots(wording.framed[0].qids)
            one, many = ("is", "are") if slots["was"] in ("is", "are") else ("was", "were")
            are = many if len(wording.framed) > 1 or wording.framed[0].is_plural else one
            nouns = _list([a.phrase.noun_for(a.is_plural) for a in wording.framed])
            own = f"{slots.pop('own')} {nouns}"
            texts.append(wording.frame.ask.format(**slots, are=are, nouns=nouns, own=own))
        rest = [a for a in clauses if a not in wording.framed]
        things = self._things(voice, [a for a in rest if a.phrase.noun is not None])
        if things:
            start, _, end = wording.rest.partition("{things}")
            # What is known of hers, and of his?
            more = [f"{start.split()[-1]} {thing}" for thing in things[1:]]
            texts.append(f"{start}{_list([things[0], *more], ',')}{end}")
        texts += [self._clause(voice, a) for a in rest if a.phrase.noun is None]
        if not wording.link_first:
            texts.append(voice.link(False, {q for a in clauses for q in a.qids}))
        return _question(texts)

    def _things(self, voice: Voice, clauses: Sequence[Clause]) -> list[str]:
        """``Marie Curie's employer and languages`` and the like, of each entity."""
        things = []
        for qids in dict.fromkeys(a.qids for a in clauses):
            nouns = _list([a.phrase.noun_for(a.is_plural) for a in clauses if a.qids == qids])
            slots = voice.slots(qids)
            is_long = len(qids) > 1 and slots["who"] != "they"
            things.append(
                f"the {nouns} of {slots['who']}" if is_long else f"{slots['whose']} {nouns}"
            )
        return things


def _question(clauses: Sequence[str]) -> str:
    text = _list(clauses, ",")
    return f"{text[0].upper()}{text[1:]}?"


def _list(words: Sequence[str], comma: str = "") -> str:
    """``a, b and c``; with a comma ``a, b, and c``."""
    if len(words) == 1:
        return words[0]
    return f"{', '.join(words[:-1])}{comma} and {words[-1]}"


def _topic(clauses: Sequence[Clause]) -> str:
    """What at least half of the clauses are about, the earliest of several; else a life."""
    counts = Counter(a.phrase.about for a in clauses)
    topic = max(counts, key=lambda name: counts[name], default="life")
    return topic if 2 * counts[topic] >= len(clauses) else "life"


def _has_only_who(phrase: Phrase) -> bool:
    return "{who}" in phrase.ask and "{whose}" not in phrase.ask and "{whom}" not in phrase.ask


def gives_away(question: str, facts: Sequence[Triple]) -> Triple | None:
    """The first fact whose value stands in the question that asks for it; None for none."""
    return next((t for t in facts if any(holds(question, s) for s in renderings(t))), None)


def cannot_be_asked(triple: Triple, pair: EntityPair, clause: str) -> bool:
    """Whether a question for a fact would say its answer: the other entity, whom every question
    names; a part of a name; what has a whole name in it; or a word of the question itself."""
    names = (pair.first.name, pair.second.name)
    if triple.value_id in (pair.first.qid, pair.second.qid):
        return True
    is_told = any(holds(text, triple.value) for text in (*names, clause))
    return is_told or any(holds(triple.value, name) for name in names)
