"""Which facts a sentence names, by the words of their relations and the names of their entities."""

import re
from collections.abc import Iterable, Mapping

from citeforge.builders.kalma.mentions import Mentions
from citeforge.builders.kalma.question_clauses import AUXILIARIES, PREPOSITIONS
from citeforge.builders.kalma.question_words import QuestionWords
from citeforge.builders.kalma.words import GENERIC, OPENERS, PLAIN, STOP, fold
from citeforge.kg.domain import Domain
from citeforge.schemas.kg import Triple, relation_key

_WORD = re.compile(r"[^\W_]+")
_ENTITY = re.compile(r"\bX(?:'s)?(?!\w)")
_ASKED = re.compile(rf"(?:which|what) (.+?) (?:{'|'.join(sorted(AUXILIARIES))})\b")
_FORM = OPENERS - {"what", "which"} | PREPOSITIONS
"""Words that tell one question from another, and name nothing alone."""
_GENERIC = frozenset(map(fold, GENERIC))
_SAYING = frozenset({"state", "name", "record", "list", "mention"})
_PLAIN = frozenset(map(fold, PLAIN - {"profession"} | _SAYING))
"""Stems of words that name nothing alone; among them those that say that something is missing."""
_DROPPED = AUXILIARIES | (STOP - PREPOSITIONS) | {"what", "which", "he", "she", "they", "them"}


class FactNames:
    """Words by which sentences name the facts of a domain: of labels, clauses and wordings.

    ``when she was born`` and ``her date of birth`` both name a date of birth.
    """

    def __init__(self, domain: Domain) -> None:
        """Set the domain; the words of a relation are collected at its first use."""
        self._words = QuestionWords(domain)
        self._ways: dict[str, frozenset[tuple[str, ...]]] = {}

    def find_named(
        self, sentence: str, facts: Iterable[Triple], names: Mapping[str, str]
    ) -> list[Triple]:
        """List the facts whose relation a sentence names; if it names entities, of these alone.

        Args:
            sentence: without citations.
            facts: candidates.
            names: QID to name of the question's entities; "she" may be each of them.
        """
        about = {qid for _, _, qid in Mentions(sentence, names).spans}
        said = _stems(sentence)
        return [
            fact
            for fact in facts
            if (not about or fact.qid in about)
            and any(_contains_wording(said, way) for way in self._collect_wordings(fact.relation))
        ]

    def _collect_wordings(self, relation: str) -> frozenset[tuple[str, ...]]:
        """Collect the wordings that name a relation, each as its stems in order."""
        key = relation_key(relation)
        if key not in self._ways:
            texts = [relation]
            for wording in self._words.wordings.get(key, ()):
                plain = _ENTITY.sub(" ", wording)
                # "which award did X receive" asks for the award.
                texts += [plain, *(match[1] for match in _ASKED.finditer(plain))]
            self._ways[key] = frozenset(filter(_names_relation, map(_stems, texts)))
        return self._ways[key]


def _stems(text: str) -> tuple[str, ...]:
    """Stem a text's words, without stop words; question words and prepositions stay as they are."""
    words = (word.lower() for word in _WORD.findall(text))
    return tuple(w if w in _FORM else fold(w) for w in words if w not in _DROPPED)


def _names_relation(stems: tuple[str, ...]) -> bool:
    """Whether stems are enough to name a relation: "where … work" is, "work" is not."""
    content = {*stems} - _FORM
    return bool(content - _PLAIN) or len(content) > 1 or (content <= _GENERIC and len(stems) > 1)


def _contains_wording(sentence: tuple[str, ...], wording: tuple[str, ...]) -> bool:
    """Whether a sentence has all stems of a wording; in order if just one is a content word.

    "Place of death" is not what one dies of.
    """
    if len({*wording} - _FORM) > 1:
        return {*wording} <= {*sentence}
    rest = iter(sentence)
    return bool(wording) and all(stem in rest for stem in wording)
