"""Matching of short answers: whether one is in a text, or is the text."""

from collections.abc import Iterable
from functools import lru_cache

from citeforge.schemas.matching.folding import fold
from citeforge.schemas.matching.merging import Tokens
from citeforge.schemas.matching.numbers import Key, Token
from citeforge.schemas.matching.tokens import ARTICLES, tokenize

_AnswerTokens = tuple[str | Token, ...]
"""Words, and tokens that are more than a word, of a short answer."""


class AnswerText:
    """A text in which short answers are looked for; its tokens are read once."""

    __slots__ = ("_index", "_tokens", "bare")

    def __init__(self, text: str) -> None:
        """Tokenise a text in which short answers are searched."""
        folded = fold(text)
        self._tokens = tokenize(folded)
        self._index: dict[Key, list[int]] | None = None
        self.bare = "".join(folded.split())

    @property
    def main(self) -> list[str | Token]:
        """Tokens (words, numbers, dates, …) of the text, in order."""
        return self._tokens.main

    @property
    def index(self) -> dict[Key, list[int]]:
        """Index of the text: each word or value to the positions of tokens that contain it."""
        if self._index is None:
            index: dict[Key, list[int]] = {}
            for at, token in enumerate(self._tokens.main):
                for key in (token,) if isinstance(token, str) else token.held:
                    index.setdefault(key, []).append(at)
            for at, (word, _) in self._tokens.joined.items():
                index.setdefault(word, []).append(at)
            self._index = index
        return self._index

    def has(self, token: str | Token) -> bool:
        """Whether a token of another text also occurs in this text."""
        if isinstance(token, str):
            return token in self.index
        return not token.keys.isdisjoint(self.index.keys())

    def contains(self, answer: str) -> bool:
        """Whether an answer is in the text, as consecutive whole tokens.

        An answer without words (``A``, ``!!!``) has to be the whole text.
        """
        readings = answer_tokens(answer)
        if not readings:
            return self._is_same(answer)
        return any(self._contains_tokens(tokens) for tokens in readings)

    def contains_any(self, answers: Iterable[str]) -> bool:
        """Whether any of the answers is in the text."""
        return any(map(self.contains, answers))

    def equals(self, answer: str) -> bool:
        """Whether the text is an answer, and nothing else."""
        readings = answer_tokens(answer)
        if not readings:
            return self._is_same(answer)
        n = len(self._tokens.main)
        return any(n in self._match_ends(tokens, {0}, exact=True) for tokens in readings)

    def equals_any(self, answers: Iterable[str]) -> bool:
        """Whether the text is one of the answers."""
        return any(map(self.equals, answers))

    def _is_same(self, answer: str) -> bool:
        """Whether the text equals an answer that has only articles (``A``) or signs (``!!!``)."""
        other = AnswerText(answer)
        if not other.bare:
            return False
        return self.main == other.main if other.main else self.bare == other.bare

    def _contains_tokens(self, tokens: _AnswerTokens) -> bool:
        """Whether the tokens of an answer are in the text, consecutively."""
        first = tokens[0]
        if isinstance(first, str):
            starts = set(self.index.get(first, ()))
        else:
            starts = {at for key in first.keys for at in self.index.get(key, ())}
        starts -= self._tokens.no_start
        return bool(starts) and bool(self._match_ends(tokens, starts) - self._tokens.no_end)

    def _match_ends(self, tokens: _AnswerTokens, starts: set[int], exact: bool = False) -> set[int]:
        """Match an answer's tokens with the text's, and find where the matches end.

        Args:
            tokens: tokens of the answer.
            starts: positions in the text where a match may start.
            exact: whether tokens must be equal; else the text's may contain the answer's, as a
                date contains its year.

        Returns:
            Positions in the text just behind each match; empty without a match.
        """
        main, joined = self._tokens.main, self._tokens.joined
        for token in tokens:
            ends: set[int] = set()
            for start in starts:
                at = start
                while at < len(main):
                    if _matches(token, main[at], exact):
                        ends.add(at + 1)
                    if at in joined and joined[at][0] == token:
                        ends.add(joined[at][1])
                    if main[at] not in ARTICLES:
                        break
                    at += 1
            starts = ends
            if not starts:
                break
        return starts


def _matches(token: str | Token, in_text: str | Token, exact: bool) -> bool:
    """Whether a text's token (``in_text``) equals an answer's or, unless ``exact``, contains it."""
    if isinstance(in_text, str):
        return in_text == token if isinstance(token, str) else in_text in token.keys
    theirs = in_text.keys if exact else in_text.held
    return token in theirs if isinstance(token, str) else not token.keys.isdisjoint(theirs)


@lru_cache(maxsize=1 << 16)
def answer_tokens(answer: str) -> tuple[_AnswerTokens, ...]:
    """Tokenise an answer, also with joined words (co-operate) as one; drop articles.

    There is one reading; two where words are joined (``co-operate``), the second with one word.
    An article at the end stays: it is a name (``Vitamin A``).
    """
    tokens = tokenize(fold(answer))
    if all(token in ARTICLES for token in tokens.main):
        return ()
    readings = [_without_articles(tokens.main)]
    if tokens.joined:
        readings.append(_without_articles(_glued(tokens)))
    return tuple(readings)


def _without_articles(tokens: list[str | Token]) -> _AnswerTokens:
    """Remove articles from an answer's tokens, except one at the end."""
    last = len(tokens) - 1
    return tuple(t for at, t in enumerate(tokens) if at == last or t not in ARTICLES)


def _glued(tokens: Tokens) -> list[str | Token]:
    """List a text's tokens with each compound (``co-operate``) as one word."""
    glued: list[str | Token] = []
    at = 0
    while at < len(tokens.main):
        word, at_next = tokens.joined.get(at, (tokens.main[at], at + 1))
        glued.append(word)
        at = at_next
    return glued


def contains_answer(text: str, answers: Iterable[str]) -> bool:
    """Whether any of the answers is in a text."""
    return AnswerText(text).contains_any(answers)


def is_answer(text: str, answers: Iterable[str]) -> bool:
    """Whether a text is one of the answers."""
    return AnswerText(text).equals_any(answers)


def has_digits(token: str | Token) -> bool:
    """Whether a token is a number, a date, or a word with a digit such as ``Q42``."""
    words = (token,) if isinstance(token, str) else token.keys
    return any(not isinstance(w, str) or any(c.isdigit() for c in w) for w in words)
