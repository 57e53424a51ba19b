"""Check that questions ask for their gold facts and nothing else, by rule or by an LLM."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from citeforge.builders.kalma.words import GENERIC, RelationWords, meaning_words
from citeforge.builders.writer_prompts import writer_prompt
from citeforge.engines.llm.records import Failure, Llm, Request, Result, json_format, signature_name
from citeforge.engines.llm.replay import ReplayStore
from citeforge.engines.running.names import CHECKERS, make_llm
from citeforge.engines.text.short_replies import json_objects
from citeforge.kg.domain import Domain
from citeforge.schemas.counts import count_key
from citeforge.schemas.kg import Triple, relation_key
from citeforge.schemas.recipes.base import RunOptions
from citeforge.schemas.recipes.kalma import RULE

LEAST = {"specific": 1.0, "general": 0.5}
"""Share of its gold facts that a question of each form must ask for; a general question asks for
facts by their topic, and only a model can tell by which."""
TRIES = 2
_PRONOUN = re.compile(r"\b(?:he|his|him|she|her|hers|they|their|them|both|each|two|it|its)\b")


@dataclass(frozen=True)
class QuestionToCheck:
    """A question that is to be checked.

    Attributes:
        question: its text.
        facts: gold facts that it is to ask for.
        shown: triples of its sub-graphs.
        link: the fact that connects its two entities; None where there is none.
    """

    question: str
    facts: tuple[Triple, ...]
    shown: tuple[Triple, ...]
    link: Triple | None = None


@dataclass(frozen=True)
class AskedFacts:
    """Result of checking one question: facts it does not ask for, and what else it asks for.

    Attributes:
        missing: gold facts that it does not ask for.
        beyond: what it asks for that is no gold fact, in words.
        failure: why it could not be checked; empty where it was.
    """

    missing: tuple[Triple, ...] = ()
    beyond: tuple[str, ...] = ()
    failure: str = ""

    def find_fault(self, form: str, asking: QuestionToCheck, has_model: bool) -> str | None:
        """Say why a specific or general question is refused; None if it is accepted."""
        if form == "general" and not has_model:
            return None
        if self.failure:
            return f"could not be checked: {self.failure}"
        if len(asking.facts) - len(self.missing) < LEAST[form] * len(asking.facts):
            listed = "; ".join(f"{t.relation} of {t.name}" for t in self.missing)
            return f"does not ask for its facts: {listed}"
        if form == "specific" and self.beyond:
            return f"asks for what is no gold: {'; '.join(self.beyond)}"
        return None


_UNREAD = AskedFacts(failure="not asked yet")


class QuestionCheck:
    """Checks whether questions ask for their facts.

    Attributes:
        domain: words of relations.
        llm: the model that is asked; None for the rule by words of relations.
        failed: questions of which no reply could be read.
    """

    def __init__(self, domain: Domain, llm: Llm | None = None) -> None:
        """Set the domain whose words the rule uses, and the LLM that is asked instead, if any."""
        self.domain, self.llm = domain, llm
        self.failed = 0
        self._known: dict[QuestionToCheck, AskedFacts] = {}
        self._words = RelationWords(domain)

    @property
    def checked_by(self) -> str:
        """Name of the rule or LLM that checks questions, for manifests."""
        if self.llm is None:
            return "rule: words of the relations"
        return f"{signature_name(self.llm)}, prompt {writer_prompt('kalma/asks').sha256[:8]}"

    def check(self, askings: Sequence[QuestionToCheck]) -> list[AskedFacts]:
        """Find which facts each question asks for, by rule or with one LLM call per question."""
        if self.llm is None:
            return [self._check_by_rule(a) for a in askings]
        for attempt in range(TRIES):
            waiting = [a for a in dict.fromkeys(askings) if self._known.get(a, _UNREAD).failure]
            requests = [_make_request(a, attempt) for a in waiting]
            results = self.llm.complete(requests) if requests else []
            self._known |= {a: _read_reply(r, a) for a, r in zip(waiting, results, strict=True)}
        self.failed += sum(bool(self._known[a].failure) for a in askings)
        return [self._known[a] for a in askings]

    def _check_by_rule(self, asking: QuestionToCheck) -> AskedFacts:
        """Check a question by its words: which facts it does not ask for, what else it asks for.

        A fact is asked for if the question has its entity, or a pronoun, and all words of one way
        to ask for its relation.
        """
        names = {t.qid: t.name for t in asking.shown} | {t.qid: t.name for t in asking.facts}
        text = asking.question
        for name in sorted(names.values(), key=len, reverse=True):
            text = text.replace(name, " ")
        words = frozenset(meaning_words(text))
        speaks_on = bool(_PRONOUN.search(asking.question.lower()))
        missing = tuple(
            t
            for t in asking.facts
            if not self._matching_ways(t.relation, words)
            or not (speaks_on or _is_named(t.name, asking.question))
        )
        gold = {relation_key(t.relation) for t in asking.facts}
        ours = [*asking.facts, *([asking.link] if asking.link else [])]
        known = GENERIC.union(*(way for t in ours for way in self._words.ways(t.relation)))
        beyond = {
            relation_key(t.relation): t.relation
            for t in asking.shown
            if t.relation not in self.domain.uninformative
            and relation_key(t.relation) not in gold
            and any(way - known for way in self._matching_ways(t.relation, words))
        }
        return AskedFacts(missing, tuple(beyond.values()))

    def _matching_ways(self, relation: str, words: frozenset[str]) -> list[frozenset[str]]:
        """List the word sets that ask for a relation and are part of the given words."""
        return [way for way in self._words.ways(relation) if way <= words]


def _is_named(name: str, question: str) -> bool:
    """Whether a question contains a name, or a capitalised word of it."""
    return any(part in question for part in name.split() if part[:1].isupper()) or name in question


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


def _make_request(asking: QuestionToCheck, sample: int) -> Request:
    """Make the request that asks an LLM which of the numbered facts a question asks for."""
    facts = [*asking.facts, *([asking.link] if asking.link else [])]
    lines = "\n".join(
        f"{n}. {t.relation} of {t.name}: {t.value}" for n, t in enumerate(facts, start=1)
    )
    values: dict[str, Any] = {"question": asking.question, "facts": lines}
    params = {"temperature": 0.0, "max_tokens": 200, "response_format": _FORMAT}
    return writer_prompt("kalma/asks").request(values, params, sample)


def _read_reply(result: Result, asking: QuestionToCheck) -> AskedFacts:
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
    missing = tuple(t for n, t in enumerate(asking.facts, start=1) if n not in asked)
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


def share_text(hits: int, of: int) -> str:
    """Write a share with its counts: ``9 of 10 (90.0 %)``."""
    return f"{hits:,} of {of:,} ({100 * hits / of:.1f} %)" if of else "0 of 0"


def share_stats(
    check: QuestionCheck, askings_of: Mapping[str, Sequence[QuestionToCheck]]
) -> dict[str, str]:
    """Compute, per form, the shares of gold facts asked for and of questions asking for more."""
    stats = {}
    for form, askings in askings_of.items():
        read = [(a, r) for a, r in zip(askings, check.check(askings), strict=True) if not r.failure]
        n_facts = sum(len(a.facts) for a, _ in read)
        n_asked = n_facts - sum(len(r.missing) for _, r in read)
        n_beyond = sum(bool(r.beyond) for _, r in read)
        stats[count_key("gold_facts_asked_for", form)] = share_text(n_asked, n_facts)
        more = count_key("questions_that_ask_for_more", form)
        stats[more] = share_text(n_beyond, len(read))
    return stats


Controls = Iterable[tuple[QuestionToCheck, frozenset[Triple]]]
"""Composed questions, each with those of its facts that it does not ask for."""


def error_stats(check: QuestionCheck, controls: Controls) -> dict[str, str]:
    """Measure the question check's error rates on questions whose facts are known."""
    rows = list(controls)
    n_asked = n_overlooked = n_absent = n_imagined = 0
    for (asking, absent), found in zip(rows, check.check([a for a, _ in rows]), strict=True):
        if found.failure:
            continue  # counted by the check
        missing = set(found.missing)
        n_asked += len(set(asking.facts) - absent)
        n_overlooked += len(missing - absent)
        n_absent += len(absent)
        n_imagined += len(absent - missing)
    return {
        "question_check_overlooked": share_text(n_overlooked, n_asked),
        "question_check_imagined": share_text(n_imagined, n_absent),
    }
