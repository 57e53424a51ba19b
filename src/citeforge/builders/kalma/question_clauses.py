"""Clauses of a question: which entities each is about, and its words in any order.

``When was A born, and what did her father B die of?`` has two clauses, on A and on B.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from citeforge.builders.kalma.mentions import Mentions
from citeforge.builders.kalma.words import OPENERS, fold

PREPOSITIONS = frozenset(
    "in on of for to from by with at under into about through as during against among within over "
    "besides since until as".split()
)
AUXILIARIES = frozenset(
    "did does do was were is are has have had can could will would should may might".split()
)
_DROPPED = AUXILIARIES - {"can", "could", "will", "would", "should", "may", "might"} | frozenset(
    "the a an each both respectively also then been be being which what in on at and or other "
    "exactly originally eventually himself herself themselves if any all could can else actually "
    "own finally ever once".split()
)
"""Words that do not matter for what a clause asks."""
_ONE = frozenset("he she him his her hers it its himself herself".split())
_BOTH = frozenset("they them their theirs".split())
_OWNERS = frozenset("his her hers its their theirs".split())
_PEOPLE = frozenset("men women people persons thinkers scientists artists".split())
_LINKS = (",", "and", "or", ";")
_TOKEN = re.compile(r"[^\W_]+(?:['’][^\W_]+)*|[,;]")
SLOT = "@"
"""Mention of entities in a bag of words."""


@dataclass(frozen=True)
class Token:
    """A word of a question, or a mention of entities.

    Attributes:
        text: as it is in the question; lower case for words.
        qids: entities that it mentions; none for other words.
        is_owner: whether it is in the possessive.
        is_name: whether it is a name; else a mention is a pronoun.
    """

    text: str
    qids: tuple[str, ...] = ()
    is_owner: bool = False
    is_name: bool = False


@dataclass(frozen=True)
class AskedClause:
    """One clause of a question.

    Attributes:
        tokens: its words, without link words at its ends.
        qids: entities that it is about.
    """

    tokens: tuple[Token, ...]
    qids: tuple[str, ...]

    @property
    def text(self) -> str:
        """Text of the clause of a question, in lower case except for names."""
        return join_tokens(self.tokens, None)

    @property
    def is_choice(self) -> bool:
        """Whether the clause offers alternatives: ``was it a natural or a violent death``."""
        words = [t.text for t in self.tokens if not t.qids]
        return "or" in words and self.tokens[0].text in AUXILIARIES

    def masked(self, word: str) -> str:
        """Write the clause of a question with a word (such as X) in place of each entity."""
        return join_tokens(self.tokens, word)

    @property
    def bag(self) -> Counter[str]:
        """Counts of the clause's content words by stem; entities are ``@``, possessives ``@s``."""
        return count_words(self.tokens)

    def parts(self) -> Iterator["AskedClause"]:
        """Yield a clause per item of a list: ``what were her job and home`` asks for two things."""
        at = next((i for i, t in enumerate(self.tokens) if t.qids), None)
        if at is None:
            return
        head, tail = self.tokens[: at + 1], self.tokens[at + 1 :]
        verb = next((i for i, t in enumerate(head) if t.text in AUXILIARIES), None)
        if any(t.text in _LINKS for t in tail):
            for part in split_at_links(tail):
                yield replace(self, tokens=(*head, *part))
        elif verb is not None and any(t.text in _LINKS for t in head[verb + 1 : -1]):
            cut = at - 1 if head[at - 1].text == "of" else at
            for part in split_at_links(head[verb + 1 : cut]):
                ending = () if part[-1].qids else self.tokens[cut:]
                yield replace(self, tokens=(*head[: verb + 1], *part, *ending))
        elif verb is not None and any(t.text in _LINKS for t in head[:verb]):
            for part in split_at_links(head[:verb]):
                opener = () if part[0].text in OPENERS else head[:1]
                yield replace(self, tokens=(*opener, *part, *self.tokens[verb:]))


def join_tokens(tokens: Sequence[Token], word: str | None) -> str:
    """Write the tokens of a clause as text; ``word``, if given, replaces each entity."""
    texts = []
    for token in tokens:
        text = token.text if word is None or not token.qids else word
        owner = "'s" if token.is_owner and (token.is_name or word is not None) else ""
        texts.append(f"{text}{owner}")
    return " ".join(texts).replace(" ,", ",")


def count_words(tokens: Sequence[Token]) -> Counter[str]:
    """Count the content words of a clause by stem; synonyms are one, entities ``@``."""
    found = Counter[str]()
    before = ""
    for token in tokens:
        if token.qids:
            if before == "of" and found["of"]:  # the faith of A: A's faith
                found["of"] -= 1
                found[f"{SLOT}s"] += 1
            else:
                found[f"{SLOT}s" if token.is_owner else SLOT] += 1
        elif token.text not in _DROPPED and token.text not in _LINKS:
            word = token.text
            found[word if word in PREPOSITIONS or word in ("who", "whose") else fold(word)] += 1
        before = token.text
    if found[fold("who")] and any(t.text in ("did", "does", "do") for t in tokens):
        found["did"] += 1  # whom did A teach? is not: who taught A?
    return +found


def split_at_links(tokens: Sequence[Token]) -> list[tuple[Token, ...]]:
    """Split the tokens of a clause at commas, semicolons, "and" and "or"."""
    parts: list[list[Token]] = [[]]
    for token in tokens:
        if token.text in _LINKS and not token.qids:
            parts.append([])
        else:
            parts[-1].append(token)
    return [tuple(p) for p in parts if p]


class ClauseReader:
    """Reads the clauses of questions on given entities."""

    def __init__(
        self, names: Mapping[str, str], nouns: Collection[str], pronouns: Mapping[str, str]
    ) -> None:
        """Set the entities' names by QID, nouns of kinship, and the QID that each pronoun means."""
        self._names, self._nouns, self._pronouns = names, nouns, pronouns

    def read(self, question: str) -> list[AskedClause]:
        """List the clauses of a question; ``when and where was A born`` has two."""
        clauses: list[AskedClause] = []
        waiting: list[tuple[Token, ...]] = []
        last: tuple[str, ...] = ()
        for segment, is_added in _split_at_openers(self._tokens(question)):
            if not any(t.qids for t in segment) and not _has_verb(segment):
                if is_added and clauses and not waiting:
                    clauses.append(_share_rest(segment, clauses[-1]))
                else:
                    waiting.append(segment)
                continue
            for tokens in _split_at_entities(segment):
                qids = self._entities(tokens, last)
                last = qids or last
                rest = _strip_opener(tokens)
                clauses += [AskedClause((*opener, *rest), qids) for opener in waiting]
                waiting = []
                clauses.append(AskedClause(tokens, qids))
        if clauses:
            rest = _strip_opener(clauses[-1].tokens)
            clauses += [AskedClause((*opener, *rest), clauses[-1].qids) for opener in waiting]
        elif waiting:
            clauses = [AskedClause(waiting[0], ())]
        return clauses

    def _entities(self, tokens: Sequence[Token], last: tuple[str, ...]) -> tuple[str, ...]:
        """List the QIDs that a clause is about; pronouns mean the entities named ``last``."""
        found: dict[str, None] = {}
        for token in tokens:
            for qid in token.qids if token.is_name else ():
                is_pronoun = qid.startswith("?")
                found |= dict.fromkeys(
                    self._resolve_pronoun(qid[1:], last) if is_pronoun else (qid,)
                )
        if found:
            return tuple(found)
        for token in tokens:
            if token.text in _BOTH:
                return tuple(last) if len(last) > 1 else tuple(self._names)
            if token.text in _ONE:
                return self._resolve_pronoun(token.text, last)
        return last

    def _resolve_pronoun(self, pronoun: str, last: tuple[str, ...]) -> tuple[str, ...]:
        """Find the QIDs that a pronoun means: by sex where it is known, else the one named last."""
        meant = self._pronouns.get(pronoun)
        return (meant,) if meant is not None else last[-1:]

    def _tokens(self, question: str) -> list[Token]:
        """Split a question into words and mentions of entities; ``A and B`` is one token."""
        mentions = Mentions(question, self._names)
        tokens: list[Token] = []
        at = 0
        for start, end, qid in [*mentions.spans, (len(question), len(question), "")]:
            tokens += [_word(w) for w in _TOKEN.findall(question[at:start])]
            at = end
            if not qid:
                continue
            owner = re.match(r"['’]s?\b|['’](?= )", question[end:])
            at = end + (owner.end() if owner else 0)
            tokens.append(Token(question[start:end], (qid,), owner is not None, True))
        return _join_entities(self._without_kinship(_read_groups(_read_objects(tokens))))

    def _without_kinship(self, tokens: Sequence[Token]) -> list[Token]:
        """Remove tokens that only say who an entity is: ``her father B``, ``B, the son of A``."""
        kept = list(tokens)
        i = 0
        while i < len(kept):
            owner = kept[i]
            # A's (her) NOUN B
            j = i + 1
            while j < len(kept) and kept[j].text in self._nouns:
                j += 1
            named = j < len(kept) and kept[j].is_name
            if owner.is_owner and j > i + 1 and named:
                del kept[i:j]
                continue
            # B, (the) NOUN of A, | B, her NOUN,
            if owner.text == "," and i and kept[i - 1].is_name:
                j = i + 1
                if j < len(kept) and kept[j].text in ("the", "a"):
                    j += 1
                has_owner = j < len(kept) and kept[j].is_owner
                j += has_owner
                k = j
                while k < len(kept) and kept[k].text in self._nouns:
                    k += 1
                end = k
                if k > j and k + 1 < len(kept) and kept[k].text == "of" and kept[k + 1].qids:
                    end = k + 2
                elif not has_owner:
                    end = j
                if k > j and end > j:
                    end += end < len(kept) and kept[end].text == ","
                    del kept[i:end]
                    continue
            i += 1
        # besides each other, besides A
        for i in range(len(kept) - 1, -1, -1):
            if kept[i].text in ("besides", "except") and i + 1 < len(kept):
                both = [t.text for t in kept[i + 1 : i + 3]] == ["each", "other"]
                if both or kept[i + 1].is_name:
                    del kept[i : i + (3 if both else 2)]
        return kept


def _word(text: str) -> Token:
    """Make the token of any word of a question; a pronoun mentions an unknown entity (``?``)."""
    low = text.lower().replace("’", "'")
    if low in _ONE or low in _BOTH:
        return Token(low, ("?",), low in _OWNERS)
    return Token(low)


def _read_groups(tokens: Sequence[Token]) -> list[Token]:
    """Replace phrases such as "each of them" or "the two" by one token "they"."""
    read: list[Token] = []
    for token in tokens:
        before = read[-1].text if read else ""
        if token.text in ("them", "two") and before in ("of", "the", "these"):
            dropped = [token]
            while read and read[-1].text in ("of", "the", "these", "each", "both", "either"):
                dropped.append(read.pop())
            if dropped[-1].text == "of":  # the lives of the two; no: each of the two
                read.append(_word("of"))
            read.append(_word("they"))
        elif token.text in ("each", "both") and before == "of":
            read.append(_word("they"))
        elif token.text in _PEOPLE and before == "they":
            continue  # the two men
        else:
            read.append(token)
    return read


def _read_objects(tokens: Sequence[Token]) -> list[Token]:
    """Mark "her" at the end of a clause as an object, not a possessive: ``who taught her``."""
    ends = [*(t.text in _LINKS and not t.qids for t in tokens[1:]), True]
    return [
        replace(token, is_owner=False) if is_end and token.text == "her" else token
        for token, is_end in zip(tokens, ends, strict=False)
    ]


def _join_entities(tokens: Sequence[Token]) -> list[Token]:
    """Join the tokens of ``A and B``, ``A, B`` and ``both A and B`` to one mention."""
    joined: list[Token] = []
    for token in tokens:
        if token.is_name and len(joined) > 1:
            links = []
            k = len(joined)
            while k and joined[k - 1].text in ("and", ",", "or", "&", "as", "well", "both", "of"):
                k -= 1
                links.append(joined[k].text)
            first = joined[k - 1] if k else token
            can_join = first.is_name or (first.text in _ONE and not first.is_owner)
            can_join = can_join and first.qids != token.qids
            if "of" in links:  # the works of A and of B
                can_join = can_join and k > 1 and joined[k - 2].text == "of"
            is_listed = k and bool({*links} - {",", "of"})
            if is_listed and can_join and (token.is_owner or not first.is_owner):
                text = f"{first.text} and {token.text}"
                own = first.qids if first.is_name else (f"?{first.text}",)
                qids = tuple(dict.fromkeys((*own, *token.qids)))
                joined[k - 1 :] = [Token(text, qids, token.is_owner, True)]
                continue
        joined.append(token)
    return joined


def _split_at_openers(tokens: Sequence[Token]) -> list[tuple[tuple[Token, ...], bool]]:
    """Split a question before who, what …: (clause, whether it has the verb of the one before).

    Returns:
        The tokens of each clause, and whether "and" joins it to the one before and a comma ends it:
        ``when was A born and where, …`` asks of A where, too.
    """
    starts = [0]
    for i, token in enumerate(tokens):
        follows = i > 1 and tokens[i - 1].text in (",", "and") and i + 1 < len(tokens)
        if follows and token.text in AUXILIARIES and tokens[i + 1].qids:
            is_clause = any(t.qids for t in tokens[starts[-1] : i - 1])
            starts += [i] if is_clause else []  # was it a natural or a violent death
        if token.text not in OPENERS or token.qids:
            continue
        k = i
        while k and tokens[k - 1].text in PREPOSITIONS and not tokens[k - 1].qids:
            k -= 1
        is_one = k > 1 and [t.text for t in tokens[k - 2 : i + 1]] == ["who", "or", "what"]
        if k and tokens[k - 1].text in _LINKS and k > starts[-1] and not is_one:
            starts.append(k)
    cuts = [*starts, len(tokens)]
    found = []
    for a, b in pairwise(cuts):
        is_joined = a > 1 and tokens[a - 1].text == "and" and tokens[a - 2].text != ","
        is_ended = b == len(tokens) or tokens[b - 1].text == "," or tokens[b - 2].text == ","
        if segment := _strip_links(tokens[a:b]):
            found.append((segment, is_joined and is_ended))
    return found


def _split_at_entities(tokens: tuple[Token, ...]) -> list[tuple[Token, ...]]:
    """Split a clause at "and" between separate entities: ``what is A's job and B's home``."""
    names = [i for i, t in enumerate(tokens) if t.is_name or t.is_owner]
    cuts = []
    for a, b in pairwise(names):
        links = [i for i in range(a + 1, b) if tokens[i].text in _LINKS]
        if links and links[-1] > a + 1 - tokens[a].is_owner:
            cuts.append(links[-1])
    if not cuts:
        return [tokens]
    verb = next((i for i, t in enumerate(tokens[: names[0]]) if t.text in AUXILIARIES), 0)
    head = tokens[: verb + 1]
    parts = [_strip_links(tokens[a:b]) for a, b in zip([0, *cuts], [*cuts, None], strict=False)]
    return [parts[0], *((*head, *part) for part in parts[1:])]


def _strip_links(tokens: Sequence[Token]) -> tuple[Token, ...]:
    """Remove commas and "and" at both ends of a clause's tokens."""
    kept = list(tokens)
    while kept and kept[-1].text in _LINKS:
        kept.pop()
    while kept and kept[0].text in _LINKS:
        kept.pop(0)
    return tuple(kept)


def _has_verb(tokens: Sequence[Token]) -> bool:
    """Whether tokens without an entity are a clause by themselves: ``what was the cause``."""
    return any(t.text in AUXILIARIES for t in tokens) or len(tokens) > 5


def _share_rest(opener: tuple[Token, ...], clause: AskedClause) -> AskedClause:
    """Complete bare question words (``and as what``) by the verb of the clause before them."""
    rest = _strip_opener(clause.tokens)
    if rest and opener[0].text in PREPOSITIONS and rest[-1].text in PREPOSITIONS:
        rest = rest[:-1]  # whom did A work for and as what
    return AskedClause((*opener, *rest), clause.qids)


def _strip_opener(tokens: tuple[Token, ...]) -> tuple[Token, ...]:
    """Get a clause's tokens from its first verb or entity on, without the question words."""
    at = next((i for i, t in enumerate(tokens) if t.text in AUXILIARIES or t.qids), len(tokens))
    return tokens[at:]
