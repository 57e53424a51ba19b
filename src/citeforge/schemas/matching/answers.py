"""Matching of short answers: whether one is in a text, or is the text."""

from collections.abc import Iterable
from functools import lru_cache

from citeforge.schemas.matching.folding import fold
from citeforge.schemas.matching.merging import Tokens
from citeforge.schemas.matching.numbers import Key, Token
from citeforge.schemas.matching.tokens import ARTICLES, tokenize

_Path = tuple[str | Token, ...]


class AnswerText:
    """A text in which short answers are looked for; its tokens are read once."""

    __slots__ = ("_index", "_tokens", "bare")

    def __init__(self, text: str) -> None:
        """Read the tokens of a text."""
        folded = fold(text)
        self._tokens = tokenize(folded)
        self._index: dict[Key, list[int]] | None = None
        self.bare = "".join(folded.split())

    @property
    def main(self) -> list[str | Token]:
        """Tokens of the text, one after the other."""
        return self._tokens.main

    @property
    def index(self) -> dict[Key, list[int]]:
        """Keys of all that is in the text, with the positions of their tokens."""
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
        """Whether a token of another text is somewhere in this one."""
        if isinstance(token, str):
            return token in self.index
        return not token.keys.isdisjoint(self.index.keys())

    def contains(self, answer: str) -> bool:
        """Whether an answer is in the text, as whole tokens, one after the other.

        An answer without words (``A``, ``!!!``) has to be the whole text.
        """
        paths = answer_paths(answer)
        if not paths:
            return self._is_same(answer)
        return any(self._contains_path(path) for path in paths)

    def contains_any(self, answers: Iterable[str]) -> bool:
        """Whether some of the answers is in the text."""
        return any(map(self.contains, answers))

    def equals(self, answer: str) -> bool:
        """Whether the text is an answer, and nothing else."""
        paths = answer_paths(answer)
        if not paths:
            return self._is_same(answer)
        n = len(self._tokens.main)
        return any(n in self._ends(path, {0}, exact=True) for path in paths)

    def equals_any(self, answers: Iterable[str]) -> bool:
        """Whether the text is one of the answers."""
        return any(map(self.equals, answers))

    def _is_same(self, answer: str) -> bool:
        """Whether the text and an answer without words have the same articles, or signs."""
        other = AnswerText(answer)
        if not other.bare:
            return False
        return self.main == other.main if other.main else self.bare == other.bare

    def _contains_path(self, path: _Path) -> bool:
        """Whether tokens are in the text, one after the other."""
        first = path[0]
        if isinstance(first, str):
            starts = set(self.index.get(first, ()))
        else:
            starts = {at for key in first.keys for at in self.index.get(key, ())}
        starts -= self._tokens.no_start
        return bool(starts) and bool(self._ends(path, starts) - self._tokens.no_end)

    def _ends(self, path: _Path, starts: set[int], exact: bool = False) -> set[int]:
        """Find where a run of tokens ends that starts at one of some positions.

        Args:
            path: the tokens.
            starts: positions.
            exact: whether a token of the text has to be the token, where it is enough else that
                this is in it.
        """
        main, joined = self._tokens.main, self._tokens.joined
        for token in path:
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


def _matches(token: str | Token, other: str | Token, exact: bool) -> bool:
    """Whether a token of an answer is (``exact``), or is in, a token of a text."""
    if isinstance(other, str):
        return other == token if isinstance(token, str) else other in token.keys
    theirs = other.keys if exact else other.held
    return token in theirs if isinstance(token, str) else not token.keys.isdisjoint(theirs)


@lru_cache(maxsize=1 << 16)
def answer_paths(answer: str) -> tuple[_Path, ...]:
    """Get the tokens of an answer without articles, in one or two ways; none if nothing is left.

    The second way has each compound as one word.
    An article at the end stays: it is a name (``Vitamin A``).
    """
    tokens = tokenize(fold(answer))
    if all(token in ARTICLES for token in tokens.main):
        return ()
    paths = [_without_articles(tokens.main)]
    if tokens.joined:
        paths.append(_without_articles(_glued(tokens)))
    return tuple(paths)


def _without_articles(tokens: list[str | Token]) -> _Path:
    """Drop articles, but for one at the end."""
    last = len(tokens) - 1
    return tuple(t for at, t in enumerate(tokens) if at == last or t not in ARTICLES)


def _glued(tokens: Tokens) -> list[str | Token]:
    """Write each compound as one word."""
    glued: list[str | Token] = []
    at = 0
    while at < len(tokens.main):
        word, at_next = tokens.joined.get(at, (tokens.main[at], at + 1))
        glued.append(word)
        at = at_next
    return glued


def contains_answer(text: str, answers: Iterable[str]) -> bool:
    """Whether some of the answers is in a text."""
    return AnswerText(text).contains_any(answers)


def is_answer(text: str, answers: Iterable[str]) -> bool:
    """Whether a text is one of the answers."""
    return AnswerText(text).equals_any(answers)


def has_digits(token: str | Token) -> bool:
    """Whether a token is a number, a date, or a word with a digit such as ``Q42``."""
    words = (token,) if isinstance(token, str) else token.keys
    return any(not isinstance(w, str) or any(c.isdigit() for c in w) for w in words)
