"""Exchanged names and roles: who does what to whom, by a parser of English.

"A defeated B", "B was defeated by A" and "A, who defeated B" give A and B the same features;
"B defeated A" exchanges them.
"""

from collections.abc import Iterator
from itertools import combinations
from typing import Any

from citeforge.builders.authorship.agreement import read_words
from citeforge.builders.authorship.wording import stem
from citeforge.engines.text.spacy_models import english_model, installed_pipeline, pipeline_name

NO_PARSER = "none"
"""After ``--parser``: nothing is parsed."""
_AGENT, _PATIENT = "agent", "patient"
_NOUNS = frozenset({"NOUN", "PROPN"})
_VERBS = frozenset({"VERB", "AUX"})
_SUBJECTS = frozenset({"nsubj", "nsubjpass"})
_PARTS_OF_NAMES = frozenset({"compound", "flat"})

Feature = tuple[str, str]
"""Word that a noun depends on, or that depends on it, and how: ``("defea", "agent")``."""
Features = dict[tuple[str, str], set[Feature]]


class Parser:
    """Finds what each noun of a text does, by an installed spaCy model.

    Attributes:
        model: name of the spaCy model; None if there is none, and nothing is parsed.
    """

    def __init__(self, model: str | None) -> None:
        """Set the spaCy model: a name, ``auto`` for an installed one, None or ``none`` for none."""
        self.model = None if model == NO_PARSER else english_model(model)
        self._pipeline = None if self.model is None else installed_pipeline(self.model)

    @property
    def name(self) -> str:
        """Name and version of the spaCy model, for manifests."""
        if self._pipeline is None:
            return NO_PARSER
        return pipeline_name(self._pipeline)

    def find_exchanges(self, human: str, twin: str) -> Iterator[str]:
        """Describe nouns that a rewrite exchanges, or turns from agent to patient or back."""
        if self._pipeline is None:
            return
        before, after = (_find_features(self._pipeline(text)) for text in (human, twin))
        yield from _find_swaps(before, after)
        yield from _find_turned_roles(before, after)
        yield from _find_replaced_names(before, after)


def _find_replaced_names(before: Features, after: Features) -> Iterator[str]:
    """Describe names that a rewrite replaces, in one role, by other names of the passage."""
    old, new = _names_by_feature(before, after), _names_by_feature(after, before)
    for feature in sorted(old.keys() & new.keys()):
        if old[feature].isdisjoint(new[feature]) and feature[1] in (_AGENT, _PATIENT):
            was, became = (", ".join(sorted(names[feature])) for names in (old, new))
            yield f"{was!r} became {became!r}, {feature[1]} of {feature[0]!r}"


def _names_by_feature(text: Features, other: Features) -> dict[Feature, set[str]]:
    """Map each (governing word, role) of a text to its names that also occur in the other text."""
    found: dict[Feature, set[str]] = {}
    for pos, word in text.keys() & other.keys():
        for feature in text[pos, word] if pos == "PROPN" else ():
            found.setdefault(feature, set()).add(word)
    return found


def _find_swaps(before: Features, after: Features) -> Iterator[str]:
    """Describe pairs of nouns that trade their roles: "A and B exchanged"."""
    both = sorted(w for w in before.keys() & after.keys() if before[w] and after[w])
    for a, b in combinations(both, 2):
        if a[0] != b[0]:  # "Simcoe" and "the village" may be one thing
            continue
        old, new = ({w: f[w] - f[o] for w, o in ((a, b), (b, a))} for f in (before, after))
        kept = len(old[a] & new[a]) + len(old[b] & new[b])
        swapped = len(old[a] & new[b]), len(old[b] & new[a])
        if all(swapped) and sum(swapped) > kept:
            yield f"{a[1]!r} and {b[1]!r} exchanged"


def _find_turned_roles(before: Features, after: Features) -> Iterator[str]:
    """Describe nouns that a rewrite turns from agent to patient of a verb, or back."""
    anyone = read_words("en", "anyone", "words").split()
    for word in sorted(before.keys() & after.keys()):
        old, new = before[word], after[word]
        if word[1] in anyone:
            continue
        for verb, role in sorted(old):
            other = {_AGENT: _PATIENT, _PATIENT: _AGENT}.get(role)
            if other and (verb, other) in new - old and (verb, role) not in new:
                yield f"{word[1]!r} turned from {role} to {other} of {verb!r}"


def _find_features(document: Any) -> Features:
    """Map each noun of a parsed text to its features: (governing or modifying word, role)."""
    found: Features = {}
    for token in document:
        if token.pos_ in _NOUNS and token.is_alpha:
            head = _name_head(token)
            found.setdefault((token.pos_, _key(token)), set()).update(_features_of(head))
    return found


def _key(token: Any) -> str:
    """Get the stem of a word: five letters of its lemma."""
    return stem(token.lemma_.lower())


def _name_head(token: Any) -> Any:
    """Get the last word of the name that a token is part of."""
    while token.dep_ in _PARTS_OF_NAMES and token.pos_ == "PROPN" and token.head.pos_ == "PROPN":
        token = token.head
    return token


def _features_of(noun: Any) -> Iterator[Feature]:
    """Yield a noun's features: (word that governs or modifies it, its role)."""
    first = noun
    while first.dep_ == "conj" and first.head.pos_ in _NOUNS:
        first = first.head
    yield from _governors(first)
    for child in noun.children:
        if child.dep_ in ("amod", "nummod", "appos") or (
            child.dep_ == "compound" and child.pos_ == "NOUN"
        ):
            yield _key(child), "of it"
        if child.dep_ in ("acl", "relcl"):
            yield from _clause_roles(child)


def _governors(noun: Any) -> Iterator[Feature]:
    """Yield (stem of a word that governs a noun, role of the noun)."""
    head = noun.head
    if noun.dep_ in _SUBJECTS:
        for verb in _verbs_of(head):
            yield from _subject_roles(verb)
    elif noun.dep_ in ("dobj", "obj"):
        yield _key(head), _PATIENT
    elif noun.dep_ == "pobj":
        above = head.head
        if head.dep_ == "agent":
            yield _key(above), _AGENT
        else:
            yield _key(above), head.lower_
    elif noun.dep_ in ("poss", "appos", "attr", "nmod", "compound"):
        yield _key(head), "of" if noun.dep_ == "poss" else noun.dep_


def _verbs_of(verb: Any) -> Iterator[Any]:
    """Yield a verb and those that share its subject: coordinated ones, participles."""
    yield verb
    for child in verb.children:
        own = any(c.dep_ in _SUBJECTS for c in child.children)
        if child.pos_ in _VERBS and not own and child.dep_ in ("conj", "advcl", "xcomp"):
            yield from _verbs_of(child)


def _subject_roles(verb: Any) -> Iterator[Feature]:
    """Yield (verb's stem, role of its subject): agent with an object, patient if passive."""
    deps = {c.dep_: c for c in verb.children}
    if verb.lemma_ == "be":
        if (attr := deps.get("attr") or deps.get("acomp")) is not None:
            yield _key(attr), "is"
    elif _is_passive(verb):
        yield _key(verb), _PATIENT
    elif not {"dobj", "obj"}.isdisjoint(deps):
        yield _key(verb), _AGENT
    else:
        yield _key(verb), "subject"


def _is_passive(verb: Any) -> bool:
    """Whether a verb is passive, or a participle of the past without a subject."""
    deps = {c.dep_ for c in verb.children}
    if not deps.isdisjoint({"auxpass", "agent", "nsubjpass"}):
        return True
    return verb.tag_ == "VBN" and deps.isdisjoint({"aux", "nsubj"})


def _clause_roles(verb: Any) -> Iterator[Feature]:
    """Yield (verb's stem, role) of a noun in a clause that modifies it, such as "who won"."""
    relative = next((c for c in verb.subtree if c.tag_ in ("WDT", "WP")), None)
    if relative is None:
        deps = {c.dep_ for c in verb.children}
        if deps.isdisjoint(_SUBJECTS):
            yield from _subject_roles(verb)
        elif deps.isdisjoint({"dobj", "nsubjpass", "advmod"}):
            yield _key(verb), _PATIENT
    elif relative.dep_ in _SUBJECTS:
        for each in _verbs_of(relative.head):
            yield from _subject_roles(each)
    else:
        yield from _governors(relative)
