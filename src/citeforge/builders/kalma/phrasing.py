"""Questions as people ask them: one clause a fact, in a frame that their topic chooses.

The template writer's second way; the first (recipe ``--questions 1``) lists relations by name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from citeforge.builders.kalma.annotate import renderings
from citeforge.builders.kalma.selection import EntityPair
from citeforge.kg.domain import Domain
from citeforge.kg.phrasing import Phrase, Phrasing
from citeforge.kg.verbalise import form_of
from citeforge.schemas.benchmarks.kg import Graph, Triple, relation_key
from citeforge.schemas.text import normalise_em


@dataclass
class Speaker:
    """An entity as a question speaks of it.

    Attributes:
        name: its name.
        pronouns: (subject, possessive, object); None where they are not known.
        lives: whether the present is right.
        is_named: whether the question has named it last.
    """

    name: str
    pronouns: tuple[str, str, str] | None
    lives: bool
    is_named: bool = False

    @classmethod
    def of(cls, graph: Graph, phrasing: Phrasing) -> Speaker:
        """As its facts tell."""
        values = {t.value for t in graph.triples if t.relation == phrasing.sex}
        known = [p for value, p in phrasing.pronouns.items() if value in values]
        return cls(graph.name, known[0] if len(known) == 1 else None, _lives(graph, phrasing))

    def slots(self) -> dict[str, str]:
        """What stands in the slots of its next clause."""
        if self.is_named and self.pronouns is not None:
            who, whose, whom = self.pronouns
        else:
            who = whom = self.name
            whose = possessive(self.name)
        self.is_named = True
        return {"who": who, "whose": whose, "whom": whom, "past": "was",
                "was": "is" if self.lives else "was",
                "did": "does" if self.lives else "did"}  # fmt: skip


def possessive(name: str) -> str:
    """A name with what makes it possessive."""
    return f"{name}'" if name.endswith("s") else f"{name}'s"


def _lives(graph: Graph, phrasing: Phrasing) -> bool:
    living = phrasing.living
    if living is None:
        return True
    if any(t.relation in living.ended_by for t in graph.triples):
        return False
    starts = [t.value for t in graph.triples if t.relation == living.relation]
    return bool(starts) and all(s[:4].isdigit() and int(s[:4]) > living.after for s in starts)


@dataclass
class Composer:
    """Composes questions, and counts what it has no words for.

    Attributes:
        domain: relations and their words.
        phrasing: the domain's words.
        wordless: relation to how often it was asked for without a clause of its own.
    """

    domain: Domain
    phrasing: Phrasing
    wordless: Counter[str] = field(default_factory=Counter)

    def general(self, pair: EntityPair, facts: Sequence[Triple]) -> str:
        """The general question: what the facts are about, and what connects the two."""
        topic = self._topic(facts)
        frame = self.phrasing.frame(topic)
        first, second = (Speaker.of(g, self.phrasing) for g in (pair.first, pair.second))
        spoken_of = {t.qid for t in facts if self._about(t.relation) == topic}
        if len(spoken_of) != 1:
            present = first.lives and second.lives
            return frame.both.format(
                first=first.name, second=second.name, were="are" if present else "were",
                do="do" if present else "did",
            )  # fmt: skip
        one, other = (first, second) if pair.first.qid in spoken_of else (second, first)
        he, his, _ = one.pronouns or (one.name, possessive(one.name), one.name)
        return frame.one.format(
            one=one.name, whose=possessive(one.name), he=he, his=his, other=other.name,
            was="is" if one.lives else "was", did="does" if one.lives else "did",
        )  # fmt: skip

    def specific(self, pair: EntityPair, facts: Sequence[Triple]) -> str:
        """The specific question: a clause for every fact, and one for what connects the two."""
        topic = self._topic(facts)
        frame = self.phrasing.frame(topic)
        speakers = {g.qid: Speaker.of(g, self.phrasing) for g in (pair.first, pair.second)}
        clauses = self._of_both(facts, pair, speakers)
        shared = {r for r, _ in clauses}
        texts = [text for _, text in clauses]
        for qid in dict.fromkeys(t.qid for t in facts):
            mine = [t for t in facts if t.qid == qid and t.relation not in shared]
            asked = sorted(dict.fromkeys(t.relation for t in mine),
                           key=lambda r: self._about(r) != topic)  # fmt: skip
            speaker = speakers[qid]
            if texts:
                speaker.is_named = False  # somebody else was named since
            for relation in asked:
                n = sum(t.relation == relation for t in mine)
                texts.append(self._clause(relation, n, speaker.slots()))
        link = self._link(pair, facts, speakers, frame.link_first, bool(shared))
        texts = [link, *texts] if frame.link_first else [*texts, link]
        on_topic = [r for r in dict.fromkeys(t.relation for t in facts) if self._about(r) == topic]
        if frame.lead and not frame.link_first and 2 * len(on_topic) >= len(texts):
            texts[0] = f"{frame.lead} {texts[0]}"
        question = ", ".join(texts[:-1]) + f", and {texts[-1]}" if len(texts) > 1 else texts[0]
        return f"{question[0].upper()}{question[1:]}?"

    def clause(self, triple: Triple) -> str:
        """The clause that asks for a fact, without a name in it."""
        slots = {"who": "", "whose": "", "whom": "", "was": "was", "past": "was", "did": "did"}
        phrase = self.phrasing.phrase(triple.relation)
        return triple.relation if phrase is None else phrase.ask.format(**slots)

    def _of_both(
        self, facts: Sequence[Triple], pair: EntityPair, speakers: dict[str, Speaker]
    ) -> list[tuple[str, str]]:
        """Clauses for relations that are asked of both at once."""
        present = all(s.lives for s in speakers.values())
        slots = {"past": "were", "was": "are" if present else "were", "whose": "", "whom": "",
                 "did": "do" if present else "did"}  # fmt: skip
        names = [speakers[g.qid].name for g in (pair.first, pair.second)]
        found: list[tuple[str, str]] = []
        for relation in dict.fromkeys(t.relation for t in facts):
            phrase = self.phrasing.phrase(relation)
            of = {t.qid for t in facts if t.relation == relation}
            if len(of) == 2 and phrase is not None and _has_only_who(phrase):
                who = "they each" if found else f"{' and '.join(names)} each"
                found.append((relation, phrase.ask.format(**slots, who=who)))
        return found

    def _link(
        self,
        pair: EntityPair,
        facts: Sequence[Triple],
        speakers: dict[str, Speaker],
        is_first: bool,
        shared: bool,
    ) -> str:
        related = relation_key(pair.link.relation) in map(relation_key, self.phrasing.related)
        word, of = ("related", "to") if related else ("connected", "with")
        present = all(s.lives for s in speakers.values())
        copula = "are" if present else "were"
        names = [speakers[g.qid].name for g in (pair.first, pair.second)]
        qids = {t.qid for t in facts}
        if is_first or not qids:  # a build of one round asks for nothing else
            return f"how {copula} {' and '.join(names)} {word}"
        if shared or len(qids) == 2:
            return f"how {copula} the two {word}"
        (qid,) = qids
        other = next(s for q, s in speakers.items() if q != qid)
        slots = speakers[qid].slots()
        was = "is" if present else "was"
        return f"how {was} {slots['who']} {word} {of} {other.name}"

    def _clause(self, relation: str, n: int, slots: dict[str, str]) -> str:
        phrase = self.phrasing.phrase(relation)
        if phrase is not None:
            text = phrase.many if n > 1 and phrase.many is not None else phrase.ask
            return text.format(**slots)
        self.wordless[relation] += 1
        if form_of(relation, self.domain) == "noun":
            return f"what {slots['was']} {slots['whose']} {relation}"
        return f"what is known of {slots['whom']} ({relation})"

    def _about(self, relation: str) -> str:
        phrase = self.phrasing.phrase(relation)
        return "life" if phrase is None else phrase.about

    def _topic(self, facts: Sequence[Triple]) -> str:
        """What at least half of the facts are about, the earliest of several; else a life."""
        counts = Counter(self._about(t.relation) for t in facts)
        topic = max(counts, key=lambda name: counts[name], default="life")
        return topic if 2 * counts[topic] >= len(facts) else "life"


def _has_only_who(phrase: Phrase) -> bool:
    return "{who}" in phrase.ask and not {"{whose}", "{whom}"} & {
        slot for slot in ("{whose}", "{whom}") if slot in phrase.ask
    }


def holds(text: str, value: str) -> bool:
    """Whether a text has a value in it, as whole words."""
    words = normalise_em(value)
    return bool(words) and f" {words} " in f" {normalise_em(text)} "


def gives_away(question: str, facts: Sequence[Triple]) -> Triple | None:
    """The first fact whose value stands in the question that asks for it; None for none."""
    return next((t for t in facts if any(holds(question, s) for s in renderings(t))), None)


def cannot_be_asked(triple: Triple, pair: EntityPair, clause: str) -> bool:
    """Whether a question for a fact would say its answer: the other entity, whom every question
    names; a part of a name; what has a whole name in it; or a word of the question itself."""
    names = (pair.first.name, pair.second.name)
    if triple.value_id in (pair.first.qid, pair.second.qid):
        return True
    said = any(holds(text, triple.value) for text in (*names, clause))
    return said or any(holds(triple.value, name) for name in names)
