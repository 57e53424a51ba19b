"""Composed questions: a clause per theme (general) or per relation (specific)."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from citeforge.builders.kalma.mentions import contains_value, renderings
from citeforge.builders.kalma.selection import EntityPair
from citeforge.kg.classes import domain_of
from citeforge.kg.domain import Domain, Phrase, Phrasing, plain_phrase
from citeforge.schemas.kg import Graph, Triple, relation_key

_VERB = re.compile(r"(.+?) ((?:\{(?:did|past|was)\}|did) .+)")
_WHO = re.compile(r"who \{was\} \{whose\} (.+)")


@dataclass(frozen=True)
class Clause:
    """One clause of a question.

    Attributes:
        ask: template of the clause.
        qids: entities that it is about.
        theme: theme of its relations.
        besides: whether the other entity of the pair is one of the answers, and is excepted.
    """

    ask: str
    qids: tuple[str, ...]
    theme: str
    besides: bool


class Speaker:
    """Names the two entities of one question: by name first, then by pronoun."""

    def __init__(self, pair: EntityPair, domain: Domain, asks_link: bool) -> None:
        """Start a question about two entities; one that asks for their link has named both."""
        self._pair = pair
        domains = {g.qid: domain_of(domain, g) for g in pair.graphs}
        self._phrasing = {qid: own.phrasing for qid, own in domains.items()}
        self._names = {g.qid: domains[g.qid].name_in_text(g.name) for g in pair.graphs}
        self._graphs = {g.qid: g for g in pair.graphs}
        self._named = set(self._graphs) if asks_link else set[str]()
        self._last: tuple[str, ...] = ()

    def say(self, clause: Clause) -> str:
        """Write a clause of a question, with names or pronouns filled in."""
        qids = clause.qids
        pronouns = _pronouns(self._graphs[qids[0]], self._phrasing[qids[0]])
        is_present = all(self._is_living(q) for q in qids)
        verbs = ("is", "was", "does")
        if len(qids) > 1:
            pronouns, verbs = ("they", "their", "them"), ("are", "were", "do")
        if qids == self._last and pronouns:
            who, whose, whom = pronouns
        else:
            who = whom = " and ".join([self._mention(q) for q in qids])
            whose = possessive(who)
        present, past, does = verbs
        text = clause.ask.format(
            who=f"{who} each" if len(qids) > 1 else who, whose=whose, whom=whom, past=past,
            was=present if is_present else past, were="are" if is_present else "were",
            did=does if is_present else "did",
        )  # fmt: skip
        self._last = qids
        if clause.besides:
            other = next(q for q in self._graphs if q != qids[0])
            text += f" besides {'each other' if len(qids) > 1 else self._mention(other)}"
            self._last = ()  # a pronoun might mean either
        return text

    def link(self) -> str:
        """Write the clause that asks how the pair's two entities are related: ``who was B to A``.

        Later clauses may call both by a pronoun.
        """
        pair = self._pair
        verb = "is" if self._is_living(pair.other.qid) else "was"
        self._last = (pair.owner.qid, pair.other.qid)
        names = [self._names[g.qid] for g in (pair.other, pair.owner)]
        return f"{self._phrasing[pair.other.qid].opener} {verb} {names[0]} to {names[1]}"

    def _is_living(self, qid: str) -> bool:
        """Whether the question speaks of an entity in the present tense."""
        return _is_living(self._graphs[qid], self._phrasing[qid])

    def _mention(self, qid: str) -> str:
        """Get an entity's name; its first mention may tell how it is related: ``her husband B``."""
        name, owner = self._names[qid], self._pair.owner
        is_first = qid not in self._named
        self._named.add(qid)
        nouns = self._phrasing[owner.qid].links.get(self._pair.stated.relation, {})
        values = _values(self._graphs[qid], self._phrasing[qid].sex)
        noun = next((nouns[v] for v in values if v in nouns), nouns.get("any"))
        if not is_first or qid == owner.qid or noun is None:
            return name
        if owner.qid not in self._named:
            self._named.add(owner.qid)
            return f"{possessive(self._names[owner.qid])} {noun} {name}"
        pronouns = _pronouns(owner, self._phrasing[owner.qid])
        return f"{pronouns[1]} {noun} {name}" if pronouns else name


def _values(graph: Graph, relation: str) -> list[str]:
    """List the values that a sub-graph has for a relation."""
    return [t.value for t in graph.triples if t.relation == relation]


def possessive(name: str) -> str:
    """Put a name in the possessive: ``Byron's``, ``Curies'``."""
    return f"{name}'" if name.endswith("s") else f"{name}'s"


def _pronouns(graph: Graph, phrasing: Phrasing) -> tuple[str, str, str] | None:
    """Get the pronouns (subject, possessive, object) of an entity; None if unknown."""
    values = _values(graph, phrasing.sex)
    fitting = [p for value, p in phrasing.pronouns.items() if value in values]
    return fitting[0] if len(fitting) == 1 else phrasing.pronouns.get("any")


def _is_living(graph: Graph, phrasing: Phrasing) -> bool:
    """Whether questions speak of an entity in the present tense, as of a living person."""
    living = phrasing.living
    if living is None:
        return True
    if any(t.relation in living.ended_by for t in graph.triples):
        return False
    starts = _values(graph, living.relation)
    return bool(starts) and all(s[:4].isdigit() and int(s[:4]) > living.after for s in starts)


def find_phrase(domain: Domain, relation: str) -> Phrase:
    """Get the question clause and theme of a relation from the domain, or plain ones."""
    phrase = domain.phrasing.phrase(relation)
    if phrase is None:
        phrase = plain_phrase(relation, domain.form_of(relation))
    return phrase if phrase.theme else phrase.model_copy(update={"theme": relation_key(relation)})


def compose(
    domain: Domain, pair: EntityPair, facts: Sequence[Triple], asks_link: bool, is_general: bool
) -> str:
    """Compose the question for facts: a clause per theme (general) or per relation (specific).

    Args:
        domain: has the clauses.
        pair: entities that the question names, or one.
        facts: what it asks for.
        asks_link: whether it begins with "who was B to A"; else it states the link if it can.
        is_general: whether to write the general question.
    """
    domains = {g.qid: domain_of(domain, g) for g in (pair.owner, pair.other)}
    if len({d.entity_class for d in domains.values()}) == 1:
        clauses = _clauses(next(iter(domains.values())), pair, facts, is_general)
    else:  # no clause is about both: each has the words of its own class
        clauses = [
            clause
            for qid, own in domains.items()
            for clause in _clauses(own, pair, [t for t in facts if t.qid == qid], is_general)
        ]
    speaker = Speaker(pair, domain, asks_link)
    texts = [speaker.link()] if asks_link else []
    texts += [speaker.say(clause) for clause in clauses]
    text = f"{', '.join(texts[:-1])}, and {texts[-1]}" if len(texts) > 1 else texts[0]
    return f"{text[0].upper()}{text[1:]}?"


def _clauses(
    domain: Domain, pair: EntityPair, facts: Sequence[Triple], is_general: bool
) -> list[Clause]:
    """List a question's clauses: those on both entities, then the link's owner, then the other."""
    groups: dict[str, dict[str, list[Triple]]] = {}
    phrases = {t.relation: find_phrase(domain, t.relation) for t in pair.pool}

    def key(triple: Triple) -> str:
        """Get the group key of a fact: its theme (general questions) or its clause."""
        return phrases[triple.relation].theme if is_general else phrases[triple.relation].ask

    first, second = pair.owner.qid, pair.other.qid
    for triple in facts:
        groups.setdefault(key(triple), {}).setdefault(triple.qid, []).append(triple)
    excepted = {(key(t), t.qid) for t in pair.pool if t.value_id in (first, second)}
    # The link holds the other way round, too, where the graph does not say so.
    for relation in domain.inverses(pair.link.relation) if pair.link else ():
        phrase = find_phrase(domain, relation)
        if is_general:
            excepted.add((phrase.theme, second))
        elif relation not in domain.single_valued:
            excepted.add((phrase.ask, second))
    clauses = []
    for name, mine in groups.items():
        phrase = phrases[next(iter(mine.values()))[0].relation]
        one = domain.phrasing.themes.get(name, phrase.ask) if is_general else phrase.ask
        many = one if is_general or phrase.many is None else phrase.many
        besides = {q: (name, q) in excepted for q in mine}
        is_shared = len(mine) == 2 and len({*besides.values()}) == 1
        asks = {q: many if len(values) > 1 else one for q, values in mine.items()}
        if is_shared and "{whose}" not in one and "{whom}" not in one:
            ask = many if many in asks.values() else one
            clauses.append(Clause(ask, (first, second), phrase.theme, besides[first]))
        else:
            clauses += [Clause(a, (q,), phrase.theme, besides[q]) for q, a in asks.items()]
    order = [(first, second), (first,), (second,)]
    return sorted(_join_clauses(clauses), key=lambda clause: order.index(clause.qids))


def _join_clauses(clauses: Iterable[Clause]) -> list[Clause]:
    """Join clauses that share a verb or an owner: ``when and where was she born``."""
    groups: dict[tuple[str, Clause], list[str]] = {}
    for clause in clauses:
        owner, verb = _WHO.fullmatch(clause.ask), _VERB.fullmatch(clause.ask)
        bare = replace(clause, ask="")
        if clause.besides or not (owner or verb):
            groups["@", clause] = [clause.ask]
        elif owner:
            groups.setdefault(("who {were} {whose} @", bare), []).append(owner[1])
        elif verb:
            groups.setdefault((f"@ {verb[2]}", bare), []).append(verb[1])
    joined = []
    for (frame, clause), parts in groups.items():
        text = parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
        one = frame.replace("{were}", "{was}") if len(parts) == 1 else frame
        joined.append(replace(clause, ask=one.replace("@", text)))
    return joined


def find_given_away(question: str, facts: Sequence[Triple]) -> Triple | None:
    """Find the first fact whose value is already in the question; None if there is none."""
    return next((t for t in facts if any(contains_value(question, s) for s in renderings(t))), None)
