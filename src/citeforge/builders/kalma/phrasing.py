"""Composed questions: a clause per theme (general) or per relation (specific)."""

import random
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from citeforge.builders.kalma.mentions import contains_value, renderings
from citeforge.builders.kalma.selection import EntityPair
from citeforge.kg.classes import select_domain
from citeforge.kg.domain import Domain, Phrase, Phrasing, plain_phrase
from citeforge.kg.values import find_days
from citeforge.schemas.kg import Graph, Triple, relation_key

T = TypeVar("T")

_VERB = re.compile(r"(.+?) ((?:\{(?:did|past|was)\}|did) .+)")
_OWNER = re.compile(r"(who|what) \{(was|were)\} \{whose\} (.+)")


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


@dataclass(frozen=True)
class Composed:
    """A composed question.

    Attributes:
        text: the question.
        asks: templates of its clauses, before those that share a verb are joined.
    """

    text: str
    asks: tuple[str, ...]


class _Chooser:
    """Chooses the wordings of one question: the first of each list, or by drawing."""

    def __init__(self, rng: random.Random | None, avoided_templates: Collection[str]) -> None:
        """Set the random generator (None: first options) and clause templates to avoid."""
        self._rng, self._barred = rng, {*avoided_templates}
        self.asks: list[str] = []

    def choose(self, templates: Sequence[str]) -> str:
        """Choose a clause template that the question does not have yet, if there is one."""
        free = [t for t in templates if t not in self._barred] or templates
        ask = self.pick(free)
        self._barred.add(ask)
        self.asks.append(ask)
        return ask

    def pick(self, options: Sequence[T]) -> T:
        """Draw one of several options; the first one without a random generator."""
        return options[0] if self._rng is None else self._rng.choice(options)

    def shuffle(self, items: Iterable[T]) -> list[T]:
        """Shuffle items; keep their order without a random generator."""
        listed = list(items)
        if self._rng is not None:
            self._rng.shuffle(listed)
        return listed


class Speaker:
    """Names the two entities of one question: by name first, then by pronoun."""

    def __init__(self, pair: EntityPair, domain: Domain, asks_link: bool) -> None:
        """Start wording a question on two entities; if it asks for their link, both are named."""
        self._pair = pair
        domains = {g.qid: select_domain(domain, g) for g in pair.graphs}
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

    def link(self, template: str) -> str:
        """Write the clause that asks how two entities are related: ``who was B to A``.

        Later clauses may call both by a pronoun.
        """
        pair = self._pair
        first = pair.other if template.index("{other}") < template.index("{owner}") else pair.owner
        is_present = self._is_living(first.qid)
        are_present = all(map(self._is_living, self._graphs))
        self._last = (pair.owner.qid, pair.other.qid)
        return template.format(
            opener=self._phrasing[pair.other.qid].opener,
            other=self._names[pair.other.qid], owner=self._names[pair.owner.qid],
            was="is" if is_present else "was", did="does" if is_present else "did",
            were="are" if are_present else "were",
        )  # fmt: skip

    def _is_living(self, qid: str) -> bool:
        """Whether the question speaks of an entity in the present tense."""
        return _is_living(self._graphs[qid], self._phrasing[qid])

    def _mention(self, qid: str) -> str:
        """Get an entity's name; on first mention with its role, if worded: ``her husband B``."""
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
        whose = pronouns[1] if pronouns else possessive(self._names[owner.qid])
        return f"{whose} {noun} {name}"


def _values(graph: Graph, relation: str) -> list[str]:
    """List the values that a sub-graph has for a relation."""
    return [t.value for t in graph.triples if t.relation == relation]


def possessive(name: str) -> str:
    """Put a name in the possessive: ``Byron's``, ``Curies'``."""
    return f"{name}'" if name.endswith("s") else f"{name}'s"


def _pronouns(graph: Graph, phrasing: Phrasing) -> tuple[str, str, str] | None:
    """Get an entity's pronouns (subject, possessive, object) in a domain; None if unknown."""
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
    starts = [find_days(text) for text in _values(graph, living.relation)]
    return bool(starts) and all(days and days[0].year > living.after for days in starts)


def find_phrase(domain: Domain, relation: str) -> Phrase:
    """Get the clauses that ask for a relation, and its topic (theme): the domain's, or generic."""
    phrase = domain.phrasing.phrase(relation)
    if phrase is None:
        phrase = plain_phrase(relation, domain.label_form(relation))
    return phrase if phrase.theme else phrase.model_copy(update={"theme": relation_key(relation)})


def compose(
    domain: Domain,
    pair: EntityPair,
    facts: Sequence[Triple],
    asks_link: bool,
    is_general: bool,
    rng: random.Random | None = None,
    avoided_templates: Collection[str] = (),
) -> Composed:
    """Compose a question for facts: one clause per topic (if general) or relation (if specific).

    Args:
        domain: has the clauses.
        pair: entities that the question names, or one.
        facts: what it asks for.
        asks_link: whether it begins with "who was B to A"; else it states the link if it can.
        is_general: whether to write the general question.
        rng: draws wordings and the order of clauses; None for the domain's first ones.
        avoided_templates: templates of clauses that it shall not have, where the domain has others.
    """
    chooser = _Chooser(rng, avoided_templates)
    domains = {g.qid: select_domain(domain, g) for g in (pair.owner, pair.other)}
    speaker = Speaker(pair, domain, asks_link)
    link_asks = domains[pair.other.qid].phrasing.link_asks
    texts = [speaker.link(chooser.choose(link_asks))] if asks_link else []
    if len({d.entity_class for d in domains.values()}) == 1:
        clauses = _clauses(domains[pair.owner.qid], pair, facts, is_general, chooser)
    else:  # no clause is about both: each has the words of its own class
        clauses = [
            clause
            for qid, own in chooser.shuffle(domains.items())
            for clause in _clauses(
                own, pair, [t for t in facts if t.qid == qid], is_general, chooser
            )
        ]
    texts += [speaker.say(clause) for clause in clauses]
    text = f"{', '.join(texts[:-1])}, and {texts[-1]}" if len(texts) > 1 else texts[0]
    return Composed(f"{text[0].upper()}{text[1:]}?", tuple(chooser.asks))


def _clauses(
    domain: Domain,
    pair: EntityPair,
    facts: Sequence[Triple],
    is_general: bool,
    chooser: _Chooser,
) -> list[Clause]:
    """List a question's clauses; those about the same entities follow each other."""
    groups: dict[str, dict[str, list[Triple]]] = {}
    phrases = {t.relation: find_phrase(domain, t.relation) for t in pair.pool}

    def key(triple: Triple) -> str:
        """Get the words that ask for a fact: its topic's (general question) or its own."""
        return phrases[triple.relation].theme if is_general else phrases[triple.relation].ask

    first, second = pair.owner.qid, pair.other.qid
    for triple in facts:
        groups.setdefault(key(triple), {}).setdefault(triple.qid, []).append(triple)
    ends = [t for t in pair.pool if t.value_id in (first, second)]
    # An entity may be its own value, as countries are: that excepts nothing.
    excepted = {(key(t), t.qid) for t in ends if t.value_id != t.qid}
    # The link holds the other way round, too, where the graph does not say so.
    for relation in domain.inverses(pair.link.relation) if pair.link else ():
        phrase = find_phrase(domain, relation)
        if is_general:
            excepted.add((phrase.theme, second))
        elif relation not in domain.single_valued:
            excepted.add((phrase.ask, second))

    def wordings(group_key: str, *values: Sequence[Triple]) -> Sequence[str]:
        """List the clause templates for a group of facts of one entity, or of both."""
        relations = dict.fromkeys(t.relation for some in values for t in some)
        asks = domain.phrasing.theme_asks(group_key, relations) if is_general else []
        return asks or phrases[next(iter(relations))].wordings(max(map(len, values)) > 1)

    clauses = []
    themes = chooser.shuffle(dict.fromkeys(phrases[t.relation].theme for t in facts))
    for name, mine in _in_order_of_themes(chooser.shuffle(groups.items()), themes, phrases):
        theme = phrases[next(iter(mine.values()))[0].relation].theme
        besides = {q: (name, q) in excepted for q in mine}
        is_shared = len(mine) == 2 and len({*besides.values()}) == 1
        asks = wordings(name, *mine.values())
        shared = [a for a in asks if "{who}" in a or (is_general and "{whom}" in a)]
        if is_shared and shared:
            ask = chooser.choose(shared)
            clauses.append(Clause(ask, (first, second), theme, besides[first]))
        else:
            clauses += [
                Clause(chooser.choose(wordings(name, own)), (q,), theme, besides[q])
                for q, own in mine.items()
            ]
    both = (first, second)
    orders = [[both, (first,), (second,)], [both, (second,), (first,)], [(first,), both, (second,)],
              [(second,), (first,), both]]  # fmt: skip
    order = chooser.pick(orders)
    return sorted(_join_clauses(clauses), key=lambda clause: order.index(clause.qids))


_Group = tuple[str, dict[str, list[Triple]]]
"""Key of some facts that one clause asks for, and the facts by entity."""


def _in_order_of_themes(
    groups: Iterable[_Group], themes: Sequence[str], phrases: Mapping[str, Phrase]
) -> list[_Group]:
    """Sort groups of facts by topic (theme), so that clauses on one topic stay together."""

    def rank(group: _Group) -> int:
        """Get the position of a group's topic in the order of topics (``themes``)."""
        return themes.index(phrases[next(iter(group[1].values()))[0].relation].theme)

    return sorted(groups, key=rank)


def _join_clauses(clauses: Iterable[Clause]) -> list[Clause]:
    """Join clauses that share a verb or a possessive: ``when and where was she born``."""
    groups: dict[tuple[str, Clause], list[tuple[str, str]]] = {}
    for clause in clauses:
        owner, verb = _OWNER.fullmatch(clause.ask), _VERB.fullmatch(clause.ask)
        bare = replace(clause, ask="")
        if clause.besides or not (owner or verb):
            groups["@", clause] = [(clause.ask, "")]
        elif owner:
            frame = f"{owner[1]} {{were}} {{whose}} @"
            groups.setdefault((frame, bare), []).append((owner[3], f"{{{owner[2]}}}"))
        elif verb:
            groups.setdefault((f"@ {verb[2]}", bare), []).append((verb[1], ""))
    joined = []
    for (frame, clause), parts in groups.items():
        texts = [text for text, _ in parts]
        text = texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"
        if len(parts) == 1 and parts[0][1]:
            frame = frame.replace("{were}", parts[0][1])
        joined.append(replace(clause, ask=frame.replace("@", text)))
    return joined


def find_given_away(question: str, facts: Sequence[Triple]) -> Triple | None:
    """Find the first fact whose value a question's text already contains; None if none is."""
    return next((t for t in facts if any(contains_value(question, s) for s in renderings(t))), None)
