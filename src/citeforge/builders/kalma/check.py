"""Checks of texts that the writing LLM returned; a failed one gives a reason of one line."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from citeforge.builders.kalma.mentions import (
    Mentions,
    contains_value,
    renderings,
    words_in,
)
from citeforge.builders.kalma.words import PLAIN, RelationWords, meaning_words
from citeforge.engines.judge.records import JudgeFailure, Pair
from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.text.names import blank_names
from citeforge.engines.text.segment import Segmenter
from citeforge.kg.domain import Domain
from citeforge.schemas.citations.grammar import without_markers
from citeforge.schemas.citations.triples import TripleGrammar
from citeforge.schemas.kg import Key, Triple
from citeforge.schemas.text import normalise_em

_YEAR = re.compile(r"(?<!\d)\d{3,4}(?!\d)")
_TOKEN = re.compile(r"\w+")
_FOLLOWING = re.compile(r"(?<=[A-Za-z])[ -]+([a-z]+)")
_MARK = re.compile(r"[.!?]")
_CLAIM = re.compile(r"\d[\w.,]*|\b[A-Z][\w’']+\b")
"""Numbers and names."""


def without_citations(paragraph: str, pool: Sequence[Triple]) -> str:
    """Remove the citations of known triples (``pool``) from a paragraph."""
    return without_markers(paragraph, TripleGrammar(pool).parse(paragraph).markers)


def cited_triples(paragraph: str, pool: Sequence[Triple]) -> list[Key]:
    """List the keys of the known triples (``pool``) that a paragraph cites, in order."""
    grammar = TripleGrammar(pool)
    grammar.parse(paragraph)
    return [c for bracket in grammar.brackets for c in bracket if c.complete]


def _contains_any(text: str, words: Iterable[str]) -> bool:
    """Whether a text contains any of the given words or names, as whole words."""
    return any(any(words_in(text, [word])) for word in words)


def find_misstated_triple(
    reply: str, pool: Sequence[Triple], skipped_link: Triple, relation_words: RelationWords
) -> str | None:
    """Say how a sentence differs from a triple that it cites; None if it differs from none.

    Values in other words, and sentences with a pronoun for a subject, are not looked at.
    """
    mentions = Mentions.from_triples(without_citations(reply, pool), pool)
    by_key = {t.key: t for t in reversed(pool)}
    for triple in (
        by_key[k] for k in cited_triples(reply, pool) if k in by_key and k != skipped_link.key
    ):
        spellings = renderings(triple)
        if _contains_any(mentions.text, spellings) and (
            reason := _explain_wrong_places(mentions, triple, spellings, relation_words)
        ):
            return reason
    return None


def _explain_wrong_places(
    mentions: Mentions,
    triple: Triple,
    spellings: Sequence[str],
    relation_words: RelationWords,
    text_slice: slice = slice(None),
) -> str | None:
    """Say why a text does not ascribe a triple's value to the triple's entity; None if it does.

    Args:
        mentions: mentions of entities in a text.
        triple: the fact.
        spellings: spellings of its value.
        relation_words: words for its relation.
        text_slice: part of the text to look at.
    """
    spans = mentions.find_spans(spellings, text_slice)
    if not spans:
        return f"names {triple.value!r} only inside another name"
    if all(mentions.is_denied(*span) for span in spans):
        return f"denies {triple.value!r}"
    # An English physicist need not speak English: that takes a word of the relation.
    spoken = meaning_words(mentions.text[text_slice]).keys()
    if all(_is_adjective(mentions.text, *span) for span in spans) and not any(
        way <= spoken for way in relation_words.word_sets(triple.relation)
    ):
        return f"has {triple.value!r} only before a noun"
    for at, _ in spans:
        if not mentions.is_preceded_by_name(at) or mentions.subject(at) == triple.qid:
            return None
    return f"says {triple.value!r} of somebody else"


def _is_adjective(text: str, start: int, end: int) -> bool:
    """Whether a capitalised word is an adjective before a noun: ``English physicist``."""
    following = _FOLLOWING.match(text, end) if text[start].isupper() else None
    return following is not None and following[1] not in PLAIN


def find_annotation_fault(reply: str, seed_sentence: str, pool: Sequence[Triple]) -> str | None:
    """Say why an LLM's sentence with added citations is refused; None if it is accepted."""
    by_key = {t.key: t for t in pool}
    citations = cited_triples(reply, pool)
    if not citations:
        return "cites no fact"
    for key in (k for k in citations if k not in by_key):
        return f"cites what is not given: {key.relation}: {key.value} of {key.qid}"
    for key in (k for k in citations if not by_key[k].has_label):
        return f"cites {key.value}, which has no label"
    if normalise_em(without_citations(reply, pool)) != normalise_em(seed_sentence):
        return "changed the text"
    return None


@dataclass(frozen=True)
class Extension:
    """A paragraph that was made one sentence longer.

    Attributes:
        before: paragraph with its citations.
        after: what the writer made of it.
        triple: what the new sentence is to say.
        pool: facts of both entities.
        aliases: other names of the triple's value.
    """

    before: str
    after: str
    triple: Triple
    pool: Sequence[Triple]
    aliases: Sequence[str] = ()


class ExtensionCheck:
    """Checks paragraphs that were made one sentence longer."""

    def __init__(
        self, domain: Domain, segmenter: Segmenter, judge: JudgeSession | None = None
    ) -> None:
        """Set the domain, sentence splitter and optional judge that check a new sentence.

        Args:
            domain: cues and forms of relations.
            segmenter: splits sentences.
            judge: entailment of the fact; None for rules alone.
        """
        self.domain, self.segmenter, self.judge = domain, segmenter, judge
        self.words = RelationWords(domain)

    @property
    def checked_by(self) -> str:
        """Description of the checks for contradictions and entailment, for the manifest."""
        clash = "contradictions: value clash on single-valued relations"
        if self.judge is None:
            return f"{clash}; fact: its value or an alias is in the text; claims: by their words"
        return f"{clash}; fact and claims: judge {self.judge.judge.signature}"

    def find_faults(self, extensions: Sequence[Extension]) -> list[str | None]:
        """Say why each paragraph with a new sentence is refused; None for those accepted."""
        checked = [self._check_by_rules(e) for e in extensions]
        reasons = [reason for reason, _ in checked]
        if self.judge is None:
            return reasons
        open_ = {i: sentence for i, (reason, sentence) in enumerate(checked) if reason is None}
        says = {i: Pair(s, self.domain.verbalise(extensions[i].triple)) for i, s in open_.items()}
        rests = {i: Pair(self._claim_sources(extensions[i]), s) for i, s in open_.items()}
        decisions = self.judge.ask([*says.values(), *rests.values()])
        claims, silent = "claims what no triple says", "does not say the new fact"
        for pairs, reason in ((rests, f"{claims} (judge)"), (says, f"{silent} (judge)")):
            for i, pair in pairs.items():
                decision = decisions[pair]
                if isinstance(decision, JudgeFailure):
                    reasons[i] = f"the judge failed ({decision.message})"
                elif not decision.entailed:
                    reasons[i] = reason
        return reasons

    def _claim_sources(self, extension: Extension) -> str:
        """Join the texts that may support a new sentence: old paragraph, new fact, aliases."""
        before = without_citations(extension.before, extension.pool)
        names = f" Also called: {', '.join(extension.aliases)}." if extension.aliases else ""
        return f"{before} {self.domain.verbalise(extension.triple)}{names}"

    def _check_by_rules(self, extension: Extension) -> tuple[str | None, str]:
        """Check an extended paragraph by rules: (reason to refuse it or None, the new sentence)."""
        triple, pool = extension.triple, extension.pool
        old, new = cited_triples(extension.before, pool), cited_triples(extension.after, pool)
        if any(new.count(k) < old.count(k) for k in old):
            return "lost a citation", ""
        if sorted(new) != sorted([*old, triple.key]):
            return "does not add just the citation of the new fact", ""
        text = without_citations(extension.after, pool)
        names = [*extension.aliases, *(part for t in pool for part in (t.name, t.value))]
        before = self._sentences(without_citations(extension.before, pool), names)
        after = self._sentences(text, names)
        grown = len(after) - len(before)
        if not 0 <= grown <= 1:
            return f"is {grown} sentences longer", ""
        spellings = (*renderings(triple), *extension.aliases)
        if not any(contains_value(text, s) for s in spellings):
            return f"does not name {triple.value!r}", ""
        sentences = {normalise_em(s) for s in before}
        added = " ".join(s for s in after if normalise_em(s) not in sentences)
        if not any(contains_value(added, s) for s in spellings):
            return f"does not name {triple.value!r} in the new sentence", added
        begin, reason = text.find(added), None
        # Not looked at: a value in another spelling, and new sentences in several places.
        if begin >= 0 and _contains_any(added, spellings):
            sentence = slice(begin, begin + len(added))
            reason = _explain_wrong_places(
                Mentions.from_triples(text, pool), triple, spellings, self.words, sentence
            )
        reason = reason or self._find_contradiction(added, pool)
        return reason or self._find_unsupported_claim(added, extension), added

    def _find_unsupported_claim(self, sentence: str, extension: Extension) -> str | None:
        """Say which name, number or (without a judge) word of a sentence no triple supports."""
        words = [
            self._claim_sources(extension),
            *(w for t in extension.pool for w in (t.name, t.relation, *renderings(t))),
        ]
        text = " ".join(words)
        known = {word.lower() for word in _TOKEN.findall(text)}
        for match in _CLAIM.finditer(sentence):
            is_opener = not sentence[: match.start()].strip()  # it has a capital, whatever it is
            if not is_opener and not {w.lower() for w in _TOKEN.findall(match[0])} <= known:
                return f"claims what no triple says: {match[0]!r}"
        if self.judge is None:
            ways = self.words.word_sets(extension.triple.relation)
            fitting = meaning_words(text).keys() | frozenset[str]().union(*ways)
            for stem, word in meaning_words(sentence, PLAIN).items():
                if stem not in fitting:
                    return f"claims what no triple says: {word!r}"
        return None

    def _sentences(self, text: str, names: Iterable[str]) -> list[str]:
        """Split a text into sentences; none ends inside a name or value of a triple ("Dr. No")."""
        blanked = blank_names(text, (name for name in names if _MARK.search(name)))
        return [text[s:e] for s, e in self.segmenter.split(blanked)]

    def _find_contradiction(self, sentence: str, pool: Sequence[Triple]) -> str | None:
        """Say how a sentence contradicts a single-valued fact; None if it contradicts none."""
        for fact in pool:
            cues = self.domain.single_valued.get(fact.relation)
            if cues is None or fact.name.split()[-1] not in sentence:
                continue
            if _contains_any(sentence, cues) and (reason := _find_clash(sentence, fact, pool)):
                return reason
        return None


def _find_clash(sentence: str, fact: Triple, pool: Sequence[Triple]) -> str | None:
    """Say which wrong value a sentence gives for a single-valued fact; None if it gives none.

    Dates: another year, and not the right one. Entities: a value that the same relation has for
    the pool's other entity, and not the right one.
    """
    if fact.precision:
        years = {str(int(y)) for y in _YEAR.findall(sentence)}
        right = re.sub(r"\D", "", fact.value.split("-")[0])
        others = {t.value.split("-")[0].lstrip("0") for t in pool if t.precision and t is not fact}
        wrong = years - others - {right.lstrip("0")}
        if wrong and right.lstrip("0") not in years:
            return f"says {sorted(wrong)[0]}; {fact.relation} of {fact.name} is {fact.value}"
        return None
    rivals = {
        t.value for t in pool if t.relation == fact.relation and t.value != fact.value
        and t.qid != fact.qid
    }  # fmt: skip
    own = {t.value for t in pool if t.qid == fact.qid}
    for rival in sorted(rivals - own):
        if contains_value(sentence, rival) and not contains_value(sentence, fact.value):
            other = next(t.name for t in pool if t.value == rival and t.relation == fact.relation)
            if other.split()[-1] in sentence and other != fact.name:
                continue  # it speaks of the other one, too
            return f"says {rival}; {fact.relation} of {fact.name} is {fact.value}"
    return None
