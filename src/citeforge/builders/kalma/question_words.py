"""Which relations a clause of a question asks for, by the wordings of the domain and of people."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache, cached_property
from itertools import chain, combinations

from citeforge.builders.kalma.question_clauses import (
    AUXILIARIES,
    SLOT,
    AskedClause,
    Token,
    count_words,
)
from citeforge.builders.kalma.words import (
    GENERIC,
    OPENERS,
    PLAIN,
    RelationWords,
    fold,
    meaning_words,
)
from citeforge.kg.classes import phrasings
from citeforge.kg.domain import Domain
from citeforge.kg.wordings import expand, read_wordings
from citeforge.schemas.kg import relation_key

_SLOTS = {
    "who": "X", "whom": "X", "whose": "X's", "was": "was", "were": "were", "past": "was",
    "did": "did",
}  # fmt: skip
_FRAMES = (
    "(what|who) was X's {}", "what {} did X have", "(what|who) was the name of X's {}",
    "(what|who) was X's {} (called|named)",
)  # fmt: skip
"""Questions for what a noun stands for."""
_LABEL_FRAMES = (
    "what was X's {}", "who was X's {}", "what is known of X's {}", "what was X {}",
    "who or what was X {}", "who or what was X a {}", "who was X {}",
)  # fmt: skip
_WORDS = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_ANSWERED = frozenset("when where why how many much".split())
DECISIVE = frozenset(map(fold, OPENERS - {"what", "which"})) | {fold("many")}
"""Words that decide which kind of answer a clause asks for: when, where, who, how many."""
Bag = frozenset[tuple[str, int]]
"""Words with their numbers, in any order."""


class QuestionWords:
    """Wordings by which questions ask for relations, themes and links of a domain."""

    def __init__(self, domain: Domain) -> None:
        """Set the domain; its wordings are read at their first use."""
        self.domain = domain
        self._phrasings = phrasings(domain)
        self._ways = RelationWords(domain)
        self._data = read_wordings()

    @cached_property
    def _nouns(self) -> Mapping[str, tuple[str, ...]]:
        """Nouns for the values of each relation ("father"), by relation key."""
        return {relation_key(label): nouns for label, nouns in self._data.nouns.items()}

    @cached_property
    def wordings(self) -> Mapping[str, tuple[str, ...]]:
        """Question wordings by relation key: general ones and the domain's own clauses."""
        known: dict[str, list[str]] = {}
        for relation, texts in self._data.relations.items():
            known.setdefault(relation_key(relation), []).extend(texts)
        for key, nouns in self._nouns.items():
            known.setdefault(key, []).extend(frame.format(n) for n in nouns for frame in _FRAMES)
        for key, phrase in chain(*(words.phrases_by_key.items() for words in self._phrasings)):
            clauses = (clause.format(**_SLOTS) for clause in phrase.all_wordings)
            known.setdefault(key, []).extend(clauses)
        return {key: tuple(dict.fromkeys(texts)) for key, texts in known.items()}

    @cached_property
    def plain_wordings(self) -> Mapping[str, frozenset[str]]:
        """Relation keys by each question wording that has no alternatives ``(what|who)``."""
        found: dict[str, set[str]] = {}
        for key, texts in self.wordings.items():
            for text in texts:
                if text == next(expand(text)):
                    found.setdefault(text, set()).add(key)
        return {text: frozenset(keys) for text, keys in found.items()}

    @cached_property
    def _bags(self) -> Mapping[str, frozenset[Bag]]:
        """Bags of words of the question wordings of each relation, by relation key."""
        return {key: _bags_of(texts) for key, texts in self.wordings.items()}

    @cached_property
    def _by_bag(self) -> Mapping[Bag, frozenset[str]]:
        """Relation keys by the bag of words of each question wording."""
        found: dict[Bag, set[str]] = {}
        for key, bags in self._bags.items():
            for bag in bags:
                found.setdefault(bag, set()).add(key)
        return {bag: frozenset(keys) for bag, keys in found.items()}

    @cached_property
    def _link_bags(self) -> frozenset[Bag]:
        """Bags of words of the wordings that ask how two entities are connected."""
        return _bags_of(self._data.link)

    @cached_property
    def _several(self) -> Mapping[Bag, tuple[str, ...]]:
        """Relation keys that one wording asks for together, by its bag of words."""
        return {
            bag: tuple(map(relation_key, relations))
            for relations, texts in self._data.several.items()
            for bag in _bags_of(texts)
        }

    def is_link(self, clause: AskedClause) -> bool:
        """Whether a clause asks what connects two entities."""
        if any(t.text == "else" for t in clause.tokens):
            return False  # with what else were A and B connected
        mentioned = [q for t in clause.tokens for q in t.qids]
        has_both = len(clause.qids) == 2 or len({*mentioned}) == 2
        return has_both and _freeze(clause.bag) in self._link_bags

    def several(self, clause: AskedClause) -> tuple[str, ...]:
        """List the relation keys that a clause asks for together: ``who were X's parents``."""
        return self._several.get(_freeze(clause.bag), ())

    def exact(self, clause: AskedClause, relations: Iterable[str]) -> frozenset[str]:
        """Find the relation keys that a clause asks for in a known wording, or by their label."""
        bag = clause.bag
        found = self._by_bag.get(_freeze(bag), frozenset())
        asked = (r for r in relations if self._is_wording(bag, r))
        return found | {relation_key(r) for r in asked}

    def verbatim(self, clause: AskedClause) -> frozenset[str]:
        """Find the relation keys of the wordings that a clause has word for word, in any tense."""
        return self._by_spelling.get(_spelling(clause.masked("X")), frozenset())

    @cached_property
    def _by_spelling(self) -> Mapping[tuple[str, ...], frozenset[str]]:
        """Relation keys by the words of each question wording without auxiliary verbs."""
        found: dict[tuple[str, ...], set[str]] = {}
        for key, texts in self.wordings.items():
            for text in chain(*map(expand, texts)):
                found.setdefault(_spelling(text), set()).add(key)
        return {words: frozenset(keys) for words, keys in found.items()}

    def _is_wording(self, bag: Counter[str], relation: str) -> bool:
        """Whether a bag of words asks for a relation by its label, or by a wording and label words.

        ``which political party did X join`` is ``which party did X join`` with one word more.
        """
        if _freeze(bag) in self._label_bags(relation):
            return True
        known = self._bags.get(relation_key(relation), frozenset())
        own = [word for word in meaning_words(relation) if word in bag]
        more = (c for n in range(1, len(own) + 1) for c in combinations(own, n))
        return any(_freeze(bag - Counter(words)) in known for words in more)

    def _label_bags(self, relation: str) -> frozenset[Bag]:
        """Make bags of words of questions for a relation's label: ``what was X's LABEL``."""
        if relation not in self._labels:
            label = relation.replace(",", " ").replace("(", " ").replace(")", " ")
            self._labels[relation] = _bags_of(frame.format(label) for frame in _LABEL_FRAMES)
        return self._labels[relation]

    @cached_property
    def _labels(self) -> dict[str, frozenset[Bag]]:
        """Cache of bags of words by relation label."""
        return {}

    def by_words(self, clause: AskedClause, relations: Iterable[str]) -> frozenset[str]:
        """Find relations whose words cover all content words of a clause: their keys, or none."""
        text = " ".join(t.text for t in clause.tokens if not t.qids)
        said = meaning_words(text)
        found = {}
        for relation in relations:
            ways = [way for way in self._ways.word_sets(relation) if way <= said.keys()]
            if ways and self._answers(relation, clause):
                found[relation_key(relation)] = frozenset[str]().union(*ways)
        rest = {
            stem for stem, word in said.items() if word not in PLAIN and stem not in GENERIC
        } - frozenset[str]().union(*found.values())
        return frozenset() if rest else frozenset(found)

    def _answers(self, relation: str, clause: AskedClause) -> bool:
        """Whether a relation answers a clause's "when", "where", "why" or "how many", if any."""
        said = {fold(t.text) for t in clause.tokens if t.text in _ANSWERED}
        return said <= frozenset[str]().union(*self._ways.word_sets(relation))

    def own_words(self, relations: Iterable[str]) -> frozenset[str]:
        """Collect the lower-case words of the labels and question wordings of relations."""
        texts = [t for r in relations for t in (r, *self.wordings.get(relation_key(r), ()))]
        return frozenset(w.lower() for t in texts for w in _WORDS.findall(t))

    def themes_of(self, relation: str) -> frozenset[str]:
        """Collect the stems of words by which general questions may ask for a relation."""
        stems = {*meaning_words(relation)}
        plain = self.everything | {fold(w) for w in self.general}
        for words in self._phrasings:
            theme = words.theme_of(relation)
            stems |= {*map(fold, self._data.themes.get(theme, ()))}
            for ask in words.theme_asks(theme, [relation]):
                mine = meaning_words(ask).keys()
                # "Who made X" has none but plain words.
                stems |= mine - plain or (mine if mine.isdisjoint(self.everything) else set())
        return frozenset(stems.union(*self._ways.word_sets(relation)))

    @cached_property
    def theme_stems(self) -> frozenset[str]:
        """Stems of the words that name a theme of the domain, whichever facts are gold."""
        stems = set[str]()
        for words in self._phrasings:
            for theme, ask in words.themes.items():
                stems |= {*map(fold, self._data.themes.get(theme, ())), *meaning_words(ask)}
        return frozenset(stems)

    def clause_words(self, relations: Iterable[str]) -> frozenset[str]:
        """Collect the lower-case words of clauses on relations' topics in general questions."""
        asked = list(relations)
        clauses = (
            ask
            for words in self._phrasings
            for theme in dict.fromkeys(map(words.theme_of, asked))
            for ask in words.theme_asks(theme, asked)
        )
        return frozenset(w.lower() for c in clauses for w in c.format(**_SLOTS).split())

    @cached_property
    def general(self) -> frozenset[str]:
        """Words of general questions that name no topic; "work" and "profession" name one."""
        return PLAIN.union(self._data.themes["plain"]) - {"work", "profession"}

    @cached_property
    def everything(self) -> frozenset[str]:
        """Stems of words that ask for all that is known, such as "everything"."""
        return frozenset(map(fold, self._data.themes["all"]))


def _spelling(wording: str) -> tuple[str, ...]:
    """List the words of a question wording without auxiliary verbs, whose tense may differ."""
    return tuple(w for w in wording.split() if w not in AUXILIARIES)


def _bags_of(wordings: Iterable[str]) -> frozenset[Bag]:
    """Make the bags of words of question wordings, one per alternative.

    Those without content are left out: "what did X own" is no other than "what did X do".
    """
    bags = (_bag_of(text) for wording in wordings for text in expand(wording))
    return frozenset(bag for bag in bags if any(not word.startswith(SLOT) for word, _ in bag))


@cache
def _bag_of(wording: str) -> Bag:
    """Make the bag of words of a question wording, in which X is the entity."""
    tokens = []
    for word in wording.lower().replace(",", " ").split():
        if word in ("x", "x's"):
            tokens.append(Token("x", ("?",), word == "x's", True))
        else:
            tokens.append(Token(word))
    return _freeze(count_words(tokens))


def _freeze(bag: Mapping[str, int]) -> Bag:
    """Make a hashable bag of words from word counts."""
    return frozenset(bag.items())
