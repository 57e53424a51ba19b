"""Which relations a clause of a question asks for, by the wordings of the domain and of people."""

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache, cached_property

from citeforge.builders.kalma.question_clauses import (
    AskedClause,
    Token,
    count_words,
)
from citeforge.builders.kalma.words import GENERIC, PLAIN, RelationWords, fold, meaning_words
from citeforge.kg.domain import Domain, read_wordings
from citeforge.schemas.kg import relation_key

_SLOTS = {
    "who": "X", "whom": "X", "whose": "X's", "was": "was", "were": "were", "past": "was",
    "did": "did",
}  # fmt: skip


class QuestionWords:
    """Wordings by which questions ask for relations, themes and links of a domain."""

    def __init__(self, domain: Domain) -> None:
        """Set the domain; its wordings are read at their first use."""
        self.domain = domain
        self._ways = RelationWords(domain)
        self._data = read_wordings()

    @cached_property
    def wordings(self) -> Mapping[str, tuple[str, ...]]:
        """Wordings of each relation, by its key: those of people, and the domain's own clauses."""
        known: dict[str, list[str]] = {}
        for relation, texts in self._data.relations.items():
            known.setdefault(relation_key(relation), []).extend(texts)
        for key, phrase in self.domain.phrasing.phrases_by_key.items():
            clauses = filter(None, (phrase.ask, phrase.many))
            known.setdefault(key, []).extend(clause.format(**_SLOTS) for clause in clauses)
        return {key: tuple(dict.fromkeys(texts)) for key, texts in known.items()}

    @cached_property
    def _by_bag(self) -> Mapping[frozenset[tuple[str, int]], frozenset[str]]:
        """Relations by the words of each wording."""
        found: dict[frozenset[tuple[str, int]], set[str]] = {}
        for key, texts in self.wordings.items():
            for text in texts:
                found.setdefault(_freeze(_bag_of(text)), set()).add(key)
        return {bag: frozenset(keys) for bag, keys in found.items()}

    @cached_property
    def _link_bags(self) -> frozenset[frozenset[tuple[str, int]]]:
        """Words of the wordings that ask for a link."""
        return frozenset(_freeze(_bag_of(text)) for text in self._data.link)

    def is_link(self, clause: AskedClause) -> bool:
        """Whether a clause asks what connects two entities."""
        mentioned = [q for t in clause.tokens for q in t.qids]
        has_both = len(clause.qids) == 2 or len({*mentioned}) == 2
        return has_both and _freeze(clause.bag) in self._link_bags

    def exact(self, clause: AskedClause, relations: Iterable[str]) -> frozenset[str]:
        """Find the relations that a clause asks for in a known wording, or by its label."""
        bag = clause.bag
        found = self._by_bag.get(_freeze(bag), frozenset())
        asked = (r for r in relations if self._is_wording(bag, r))
        return found | {relation_key(r) for r in asked}

    def _is_wording(self, bag: Counter[str], relation: str) -> bool:
        """Whether words ask for a relation by its label, or by a wording with words of its label.

        ``which political party did X join`` is ``which party did X join`` with one word more.
        """
        if _freeze(bag) in self._label_bags(relation):
            return True
        own = meaning_words(relation).keys()
        texts = self.wordings.get(relation_key(relation), ())
        rests = (bag - known for known in map(_bag_of, texts) if not known - bag)
        return any(rest.keys() <= own for rest in rests)

    def _label_bags(self, relation: str) -> list[frozenset[tuple[str, int]]]:
        """Words of questions that ask for a relation by its label: ``what was X's LABEL``."""
        if relation not in self._labels:
            label = relation.replace(",", " ").replace("(", " ").replace(")", " ")
            texts = (
                f"what was X's {label}",
                f"who was X's {label}",
                f"what is known of X's {label}",
                f"what was X {label}",
                f"who or what was X {label}",
                f"who or what was X a {label}",
                f"who was X {label}",
            )
            self._labels[relation] = [_freeze(_bag_of(text)) for text in texts]
        return self._labels[relation]

    @cached_property
    def _labels(self) -> dict[str, list[frozenset[tuple[str, int]]]]:
        """Words by label, as far as they were needed."""
        return {}

    def by_words(self, clause: AskedClause, relations: Iterable[str]) -> frozenset[str]:
        """Find the relations whose words explain all that a clause says; empty if none do."""
        text = " ".join(t.text for t in clause.tokens if not t.qids)
        said = meaning_words(text)
        found = {}
        for relation in relations:
            ways = [way for way in self._ways.ways(relation) if way <= said.keys()]
            if ways:
                found[relation_key(relation)] = frozenset[str]().union(*ways)
        rest = {
            stem for stem, word in said.items() if word not in PLAIN and stem not in GENERIC
        } - frozenset[str]().union(*found.values())
        return frozenset() if rest else frozenset(found)

    def own_words(self, relations: Iterable[str]) -> frozenset[str]:
        """List the words, in lower case, of all wordings and labels of relations."""
        texts = [t for r in relations for t in (r, *self.wordings.get(relation_key(r), ()))]
        return frozenset(w.strip("',()").lower() for t in texts for w in t.split())

    def themes_of(self, relation: str) -> frozenset[str]:
        """List the words, as stems, by which general questions may ask for a relation."""
        phrase = self.domain.phrasing.phrase(relation)
        theme = phrase.theme if phrase is not None else ""
        words = {*self._data.themes.get(theme, ()), *meaning_words(relation)}
        words |= meaning_words(self.domain.phrasing.themes.get(theme, "")).keys()
        for way in self._ways.ways(relation):
            words |= way
        return frozenset(map(fold, words))

    @cached_property
    def general(self) -> frozenset[str]:
        """Words of general questions that name no theme."""
        return PLAIN.union(self._data.themes["plain"])

    @cached_property
    def everything(self) -> frozenset[str]:
        """Stems of words that ask for all that is known."""
        return frozenset(map(fold, self._data.themes["all"]))


@cache
def _bag_of(wording: str) -> Counter[str]:
    """Count the words of a wording, in which X is the entity."""
    tokens = []
    for word in wording.lower().replace(",", " ").split():
        if word in ("x", "x's"):
            tokens.append(Token("x", ("?",), word == "x's", True))
        else:
            tokens.append(Token(word))
    return count_words(tokens)


def _freeze(bag: Mapping[str, int]) -> frozenset[tuple[str, int]]:
    """Make a key of counted words."""
    return frozenset(bag.items())
