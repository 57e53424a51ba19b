"""Check that questions ask for their gold facts and nothing else, by rule or by an LLM."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec

from citeforge.builders.kalma.question_clauses import (
    AUXILIARIES,
    PREPOSITIONS,
    AskedClause,
    ClauseReader,
)
from citeforge.builders.kalma.question_form import find_form_fault
from citeforge.builders.kalma.question_nearest import LEAST_COSINE, NearestWordings
from citeforge.builders.kalma.question_words import QuestionWords
from citeforge.builders.kalma.words import OPENERS, fold
from citeforge.builders.writer_prompts import writer_prompt
from citeforge.engines.llm.records import Failure, Llm, Request, Result, json_format, signature_name
from citeforge.engines.llm.replay import ReplayStore
from citeforge.engines.models.embedder import Embedder
from citeforge.engines.running.names import CHECKERS, make_llm
from citeforge.engines.shown import show_share
from citeforge.engines.text.short_replies import json_objects
from citeforge.kg.classes import phrasings
from citeforge.kg.domain import Domain
from citeforge.schemas.counts import count_key
from citeforge.schemas.kg import Triple, relation_key
from citeforge.schemas.recipes.base import RunOptions
from citeforge.schemas.recipes.kalma import RULE

LEAST = {"specific": 1.0, "general": 0.5}
"""Share of its gold facts that a question of each form must ask for."""
TRIES = 2


@dataclass(frozen=True)
class QuestionToCheck:
    """A question that is to be checked.

    Attributes:
        question: its text.
        facts: gold facts that it is to ask for, the link included where it is gold.
        shown: triples of its sub-graphs.
        link: the fact that connects its two entities; None where there is none.
        form: ``specific`` or ``general``.
    """

    question: str
    facts: tuple[Triple, ...]
    shown: tuple[Triple, ...]
    link: Triple | None = None
    form: str = "specific"

    @property
    def names(self) -> dict[str, str]:
        """Names by QID of the entities in a question's facts; if linked, of both ends."""
        names = {t.qid: t.name for t in (*self.facts, *self.shown)}
        if self.link is not None:
            ends = {self.link.qid: self.link.name, self.other_end: self.link.value}
            return ends | {q: n for q, n in names.items() if q in ends}
        return names

    @property
    def other_end(self) -> str:
        """QID of the entity at the far end of a question's linking triple; empty if unknown."""
        if self.link is None or self.link.value_id:
            return self.link.value_id if self.link is not None else ""
        named = (t.qid for t in (*self.facts, *self.shown) if t.name == self.link.value)
        return next(named, "")

    @property
    def asked_names(self) -> list[str]:
        """Names of the entities that a question must name: those of its gold facts."""
        qids = [t.qid for t in self.facts]
        if self.link is not None and self.link in self.facts:
            qids.append(self.other_end)
        return [self.names[q] for q in dict.fromkeys(qids)]


@dataclass(frozen=True)
class AskedFacts:
    """Result of checking one question: facts it does not ask for, and what else it asks for.

    Attributes:
        missing: gold facts that it does not ask for.
        beyond: what it asks for that is no gold fact, in words.
        failure: why it could not be checked; empty where it was.
        undecided: clauses that no rule understands; of general questions, words of no gold fact.
        form_fault: what is wrong with its form; empty for nothing.
        unread: the undecided clauses, with their words.
        ungold: those of the undecided words that name a theme of other facts than gold ones.
    """

    missing: tuple[Triple, ...] = ()
    beyond: tuple[str, ...] = ()
    failure: str = ""
    undecided: tuple[str, ...] = ()
    form_fault: str = ""
    unread: tuple[AskedClause, ...] = ()
    ungold: tuple[str, ...] = ()

    @property
    def is_undecided(self) -> bool:
        """Whether a question is undecided only because no rule knows the words of some clauses."""
        return bool(self.undecided) and not self.form_fault and not self.beyond

    def find_fault(self, question: QuestionToCheck) -> str | None:
        """Say why a question is refused; None if it is accepted."""
        if self.form_fault:
            return self.form_fault
        if self.failure:
            return f"could not be checked: {self.failure}"
        if self.beyond:
            return f"asks for what is no gold: {'; '.join(self.beyond)}"
        if self.ungold:
            return f"asks about what no gold fact has: {'; '.join(self.ungold)}"
        if self.undecided:
            return f"asks in unknown words: {'; '.join(self.undecided)}"
        if len(question.facts) - len(self.missing) < LEAST[question.form] * len(question.facts):
            listed = "; ".join(f"{t.relation} of {t.name}" for t in self.missing)
            return f"does not ask for its facts: {listed}"
        return None


_UNREAD = AskedFacts(failure="not asked yet")


class QuestionCheck:
    """Checks whether questions ask for their facts.

    Attributes:
        domain: words of relations.
        llm: the model that is asked what the rules leave open; None for the rules alone.
        nearest: wordings that clauses in unknown words are compared with; None for no comparison.
        failed: questions of which no reply could be read.
    """

    def __init__(self, domain: Domain, llm: Llm | None = None) -> None:
        """Set the domain whose words the rules use, and the LLM for what they cannot decide."""
        self.domain, self.llm = domain, llm
        self.nearest: NearestWordings | None = None
        self.failed = 0
        self._known: dict[QuestionToCheck, AskedFacts] = {}
        self._words = QuestionWords(domain)
        links = [link for words in phrasings(domain) for link in words.links.items()]
        nouns = (n for _, nouns in links for n in nouns.values())
        kin = " ".join((*(label for label, _ in links), *nouns, *domain.relation_words)).lower()
        self._nouns = frozenset(kin.split()) - PREPOSITIONS

    def compare_with(self, embedder: Embedder, folder: Path) -> None:
        """Compare clauses that no rule can read with known wordings by embeddings from now on.

        Args:
            embedder: makes vectors.
            folder: folder for those of the wordings.
        """
        self.nearest = NearestWordings(self._words, embedder, folder)

    @property
    def checked_by(self) -> str:
        """Name of the rule or LLM that checks questions, for manifests."""
        rule = "rule: form and words of the relations"
        if self.nearest is not None:
            name = self.nearest.embedder.fingerprint()["name"]
            rule += f"; else nearest wording by {name}, cosine {LEAST_COSINE} or more"
        if self.llm is None:
            return rule
        prompt = writer_prompt("kalma/asks").sha256[:8]
        return f"{rule}; else {signature_name(self.llm)}, prompt {prompt}"

    def check(
        self, questions: Sequence[QuestionToCheck], asks_model: bool = False
    ) -> list[AskedFacts]:
        """Find which facts each question asks for: by rules; by the LLM if undecided or required.

        Args:
            questions: the questions.
            asks_model: whether the LLM, if there is one, is asked where the rules are enough, too.
        """
        ruled = [self._check_by_rule(a) for a in questions]
        if self.nearest is not None:
            self.nearest.find_nearest(
                chain(*(r.unread for r in ruled if r.is_undecided)), self._nouns
            )
            ruled = [
                self._check_by_rule(a) if r.is_undecided else r
                for a, r in zip(questions, ruled, strict=True)
            ]
        if self.llm is None:
            return ruled
        open_ = [a for a, r in zip(questions, ruled, strict=True) if asks_model or r.is_undecided]
        for attempt in range(TRIES):
            waiting = [a for a in dict.fromkeys(open_) if self._known.get(a, _UNREAD).failure]
            requests = [_make_request(a, attempt) for a in waiting]
            results = self.llm.complete(requests) if requests else []
            self._known |= {a: _read_reply(r, a) for a, r in zip(waiting, results, strict=True)}
        self.failed += sum(bool(self._known[a].failure) for a in open_)
        asked = set(open_)
        return [self._known[a] if a in asked else r for a, r in zip(questions, ruled, strict=True)]

    def _check_by_rule(self, question: QuestionToCheck) -> AskedFacts:
        """Check a question by rules: its syntax, gold facts that it misses, others it asks for.

        Where pronouns may mean either entity, the reading counts that fits the facts best.
        """
        readings = [self._check_reading(question, p) for p in self._read_pronouns(question)]
        return min(
            readings,
            key=lambda r: (bool(r.form_fault), len(r.beyond), len(r.undecided), len(r.missing)),
        )

    def _check_reading(self, question: QuestionToCheck, pronouns: Mapping[str, str]) -> AskedFacts:
        """List what a question asks, and its fault, if pronouns mean these entities (to QID)."""
        clauses = ClauseReader(question.names, self._nouns, pronouns).read(question.question)
        own = self._words.own_words(t.relation for t in question.facts)
        if question.link is not None:  # said by the question: "its director"
            links = [w.links.get(question.link.relation, {}) for w in phrasings(self.domain)]
            nouns = (noun for of_sex in links for noun in of_sex.values())
            own |= {word.lower() for noun in nouns for word in noun.split()}
        if question.form == "general":
            own |= self._words.general
            own |= self._words.clause_words(t.relation for t in question.facts)
        choices = [c for c in clauses if c.is_choice and self._words.exact(c, ())]
        fault = find_form_fault(
            question.question, question.form, question.asked_names, clauses, own, choices,
            question.shown, [t for t in question.facts if t != question.link], question.link,
        )  # fmt: skip
        read = self._read_themes if question.form == "general" else self._read_relations
        found = read(question, clauses)
        return replace(
            found, form_fault=fault or self._find_unfitting_pronoun(question) or found.form_fault
        )

    def _read_pronouns(self, question: QuestionToCheck) -> list[dict[str, str]]:
        """List the readings of "he" and "she" (pronoun to QID) by sex; both if no sex is known."""
        words, sexes = self._pronouns, self._find_sexes(question)
        people = list(question.names)
        if len(people) == 2 and len(words) == 2 and not any(sexes.get(q) in words for q in people):
            orders = (people, people[::-1])
            turns = [dict(zip(words, order, strict=True)) for order in orders]
            return [{}, *({w: q for sex, q in t.items() for w in words[sex]} for t in turns)]
        if len(people) == 2 and len(words) == 2:
            # One sex is known: a pronoun of the other sex can only mean the other one, one of this
            # sex may mean either.
            for one, other in (people, people[::-1]):
                if sexes.get(one) in words and other not in sexes:
                    mine = sexes[one]
                    (rest,) = words.keys() - {mine}
                    others = dict.fromkeys(words[rest], other)
                    return [others | dict.fromkeys(words[mine], q) for q in (one, other)] + [others]
        meant: dict[str, list[str]] = {}
        for qid in people:
            for word in words.get(sexes.get(qid, ""), ()):
                meant.setdefault(word, []).append(qid)
        return [{word: qids[0] for word, qids in meant.items() if len(qids) == 1}]

    @cached_property
    def _pronouns(self) -> dict[str, set[str]]:
        """Pronouns (he, his, him) of each sex, by its value in the graph."""
        three_of = self.domain.phrasing.pronouns
        return {sex: {*three, f"{three[2]}s"} for sex, three in three_of.items()}

    def _find_sexes(self, question: QuestionToCheck) -> dict[str, str]:
        """Map QIDs to the entities' sex, by the graph or by kinship: a father is male."""
        phrasing = self.domain.phrasing
        nouns = (pair for by_sex in phrasing.links.values() for pair in by_sex.items())
        kin = {noun: sex for sex, noun in nouns if sex != "any"}
        found = {
            q: kin[t.relation]
            for t in (*question.facts, *question.shown)
            for q, name in question.names.items()
            if kin.get(t.relation) in self._pronouns and t.value in (name, q)
        }
        return found | {t.qid: t.value for t in question.shown if t.relation == phrasing.sex}

    def _find_unfitting_pronoun(self, question: QuestionToCheck) -> str | None:
        """Say which pronoun of a question fits the sex of none of its entities; None if all fit."""
        sexes = self._find_sexes(question)
        known = {sexes.get(q) for q in question.names}
        if not known <= self._pronouns.keys():
            return None
        said = set(re.findall(r"[a-z]+", question.question))
        for sex in self._pronouns.keys() - known:
            if wrong := said & self._pronouns[sex]:
                return f"says {min(wrong)!r}, which is none of its people"
        return None

    def _read_relations(
        self, question: QuestionToCheck, clauses: Sequence[AskedClause]
    ) -> AskedFacts:
        """Find which gold facts, and what else, the clauses of a specific question ask for."""
        gold: dict[tuple[str, str], list[Triple]] = {}
        for fact in question.facts:
            gold.setdefault((fact.qid, relation_key(fact.relation)), []).append(fact)
        twice = ""
        asked, unread = set[Triple](), list[AskedClause]()
        beyond, undecided = dict[str, None](), dict[str, None]()
        ambiguous: list[tuple[AskedClause, list[list[Triple]]]] = []
        for clause in clauses:
            if question.link is not None and self._words.is_link(clause):
                if question.link in question.facts:
                    asked.add(question.link)
                else:
                    beyond[f"what connects {' and '.join(question.names.values())}"] = None
                continue
            found = self._relations_of(clause, question)
            if not found:
                undecided[clause.text] = None
                unread.append(clause)
            for group in found:
                for qid in clause.qids:
                    meant = [key for key in sorted(group) if (qid, key) in gold]
                    if len(meant) > 1:
                        ambiguous.append((clause, [gold[qid, key] for key in meant]))
                        continue
                    hits = [t for key in meant for t in gold[qid, key]]
                    if hits and asked.issuperset(hits):
                        twice = twice or f"asks twice: {clause.text!r}"
                    asked.update(hits)
                    if not hits and not self._asks_link_backwards(qid, group, question, asked):
                        beyond[f"{min(group)} of {question.names.get(qid, qid)}"] = None
        for clause, meanings in ambiguous:  # of two facts the one that no other clause asks for
            waiting = [facts for facts in meanings if not asked.issuperset(facts)]
            asked.update(*(waiting if len(waiting) == 1 else ()))
            undecided |= {} if len(waiting) == 1 else {clause.text: None}
        missing = tuple(t for t in question.facts if t not in asked)
        if undecided and not missing:
            beyond |= undecided  # all is asked for: what these clauses ask is more, or the same
        return AskedFacts(
            missing, tuple(beyond), undecided=tuple(undecided), form_fault=twice,
            unread=tuple(unread),
        )  # fmt: skip

    def _asks_link_backwards(
        self, qid: str, group: frozenset[str], question: QuestionToCheck, asked: set[Triple]
    ) -> bool:
        """Whether a clause about ``qid`` asks for the gold link from that end; if so, add it."""
        link = question.link
        if link is None or link not in question.facts or qid != question.other_end:
            return False
        if group & {relation_key(r) for r in self.domain.inverses(link.relation)}:
            asked.add(link)
            return True
        return False

    def _relations_of(self, clause: AskedClause, question: QuestionToCheck) -> list[frozenset[str]]:
        """List the relations that a clause asks for, each as the set of keys it may mean."""
        gold = dict.fromkeys(t.relation for t in question.facts if t.qid in clause.qids)
        others = dict.fromkeys((*(t.relation for t in (*question.facts, *question.shown)),))
        if found := self._in_known_words(clause, gold, others):
            return found
        parts = list(clause.parts())
        exact = [self._in_known_words(part, gold, others) for part in parts]
        if exact and all(exact):
            return list(chain(*exact))
        for relations in (gold, others):
            if by_words := self._words.by_words(clause, relations):
                return [frozenset([key]) for key in sorted(by_words)]
        words = [self._words.by_words(part, gold) for part in parts]
        if words and all(w or e for w, e in zip(words, exact, strict=True)):
            return list(chain(*(e or [w] for w, e in zip(words, exact, strict=True))))
        if self.nearest is None:
            return []
        near = self.nearest.relations(clause) & set(map(relation_key, gold))
        return [near] if near else []

    def _in_known_words(
        self, clause: AskedClause, gold: Iterable[str], others: Iterable[str]
    ) -> list[frozenset[str]]:
        """List the relations that a clause asks for in a known wording; empty if it has none."""
        several = self._words.several(clause)
        if set(several) & set(map(relation_key, gold)):
            return [frozenset([key]) for key in several]
        found = self._words.exact(clause, others)
        meant = found & set(map(relation_key, gold))
        if len(meant) > 1:  # "what followed X" by its words, and for "follows" by their stems
            found = meant & self._words.verbatim(clause) or found
        return [found] if found else []

    def _read_themes(self, question: QuestionToCheck, clauses: Sequence[AskedClause]) -> AskedFacts:
        """Find the gold facts whose topics a general question names, and its other words."""
        words = {fact: self._words.themes_of(fact.relation) for fact in question.facts}
        said: dict[str, str] = {}
        asked = set[Triple]()
        twice, known_clauses = "", list[tuple[object, object]]()
        themes = self._words.everything.union(*words.values())
        for clause in clauses:
            if question.link is not None and self._words.is_link(clause):
                asked |= {question.link} & {*question.facts}
                continue
            tokens = (t.text for t in clause.tokens if not t.qids)
            mine = {fold(w): w for w in tokens if w.isalpha()}
            if {*mine.values()} <= OPENERS | AUXILIARIES:
                continue  # who are A and B
            said |= mine
            key = (frozenset(clause.qids), themes & mine.keys())
            if key[1] and key in known_clauses:
                twice = f"asks twice: {clause.text!r}"
            known_clauses.append(key)
        names_all = bool(self._words.everything & said.keys())
        asked |= {t for t, own in words.items() if names_all or own & said.keys()}
        plain = frozenset(map(fold, self._words.general))
        unknown = {s: w for s, w in said.items() if s not in themes and s not in plain}
        missing = tuple(t for t in question.facts if t not in asked)
        return AskedFacts(
            missing, undecided=tuple(unknown.values()) if asked else (question.question,),
            form_fault=twice,
            ungold=tuple(w for s, w in unknown.items() if s in self._words.theme_stems),
        )  # fmt: skip


class _Reply(msgspec.Struct):
    """Reply of a model: numbers of the facts asked for, and what else is asked for."""

    asked: list[int]
    other: list[str] = []


_FORMAT = json_format(
    "asked",
    {
        "asked": {"type": "array", "items": {"type": "integer"}},
        "other": {"type": "array", "items": {"type": "string"}},
    },
)


def describe_fact(triple: Triple, link: Triple | None) -> str:
    """Describe a fact to ask for: ``father of Ada``; the linking triple by both its entities."""
    if triple == link:
        return f"relationship to {triple.value} of {triple.name}"
    return f"{triple.relation} of {triple.name}"


def _make_request(question: QuestionToCheck, sample: int) -> Request:
    """Make the LLM request to list which of the numbered facts a question asks for."""
    link = question.link
    facts = [*question.facts, *([link] if link and link not in question.facts else [])]
    lines = "\n".join(
        f"{n}. {describe_fact(t, link)}: {t.relation if t == link else t.value}"
        for n, t in enumerate(facts, start=1)
    )
    values: dict[str, Any] = {"question": question.question, "facts": lines}
    params = {"temperature": 0.0, "max_tokens": 200, "response_format": _FORMAT}
    return writer_prompt("kalma/asks").request(values, params, sample)


def _read_reply(result: Result, question: QuestionToCheck) -> AskedFacts:
    """Read in an LLM's reply which numbered facts a question asks for; ignore unknown numbers."""
    if isinstance(result, Failure):
        return AskedFacts(failure=f"{result.reason}: {result.message}")
    replies: list[_Reply] = []
    for row in json_objects(result.text):
        try:
            replies.append(msgspec.convert(row, _Reply))
        except msgspec.ValidationError:
            continue  # another object; without the one asked for the reply is counted as failed
    if len(replies) != 1:
        return AskedFacts(failure=f"the reply {result.text[:60]!r} is not the object asked for")
    asked = set(replies[0].asked)
    missing = tuple(t for n, t in enumerate(question.facts, start=1) if n not in asked)
    return AskedFacts(missing, tuple(" ".join(o.split()) for o in replies[0].other if o.strip()))


def make_question_check(
    domain: Domain, checker: str, store: ReplayStore | None, options: RunOptions
) -> QuestionCheck:
    """Make the check of questions that ``--checker`` names: ``rule``, or an LLM.

    Raises:
        UsageError: no such model.
        InputError: its replies cannot be read.
    """
    if checker == RULE:
        return QuestionCheck(domain)
    return QuestionCheck(domain, make_llm(checker, CHECKERS, store=store, options=options))


def share_stats(
    check: QuestionCheck, questions_by_form: Mapping[str, Sequence[QuestionToCheck]]
) -> dict[str, str]:
    """Compute, per type of question, shares of gold facts asked for, of questions asking more."""
    stats = {}
    for form, questions in questions_by_form.items():
        read = [
            (a, r) for a, r in zip(questions, check.check(questions), strict=True) if not r.failure
        ]
        n_facts = sum(len(a.facts) for a, _ in read)
        n_asked = n_facts - sum(len(r.missing) for _, r in read)
        n_beyond = sum(bool(r.beyond) for _, r in read)
        stats[count_key("gold_facts_asked_for", form)] = show_share(n_asked, n_facts)
        more = count_key("questions_that_ask_for_more", form)
        stats[more] = show_share(n_beyond, len(read))
    return stats
