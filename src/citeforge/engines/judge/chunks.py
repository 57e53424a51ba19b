"""Long premises in chunks, and hypotheses in sentences, as the models' own code cuts them."""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from typing import Generic, TypeVar

from citeforge.engines.judge.records import Pair
from citeforge.schemas.models.judge_profile import Chunks, JudgeProfile

Count = Callable[[str], int]
T = TypeVar("T")


def parts(profile: JudgeProfile, pair: Pair, count: Count) -> list[list[Pair]]:
    """What is asked of a model about one pair.

    Args:
        profile: how it is cut.
        pair: premise and hypothesis.
        count: tokens of a text, without special ones.

    Returns:
        A row for each sentence of the hypothesis, with one pair for each chunk of the premise;
        one row of one pair where nothing is cut.
    """
    claims = [pair.hypothesis]
    if profile.sentences != "whole":
        claims = sentences(pair.hypothesis) or claims
    pieces = [pair.premise]
    if profile.chunks is not None:
        pieces = sentence_chunks(pair.premise, profile.chunks, count) or pieces
    return [[Pair(piece, claim) for piece in pieces] for claim in claims]


class PairParts(Generic[T]):
    """Pairs of which parts are decided one by one; a part of several pairs is decided once.

    Attributes:
        parts: all of them, each once.
    """

    def __init__(self, wholes: Sequence[list[list[Pair]]]) -> None:
        """Take the parts of every pair, as :func:`parts` gives them."""
        self._wholes = wholes
        self._decided: dict[Pair, T] = {}
        self._owners: dict[Pair, list[int]] = {}
        for i, whole in enumerate(wholes):
            for part in dict.fromkeys(part for row in whole for part in row):
                self._owners.setdefault(part, []).append(i)
        self._missing = Counter(i for owners in self._owners.values() for i in owners)
        self.parts = list(self._owners)

    def add(self, part: Pair, value: T) -> list[tuple[int, list[list[T]]]]:
        """Take what was decided of a part.

        Returns:
            (index, values of the parts in their rows) of the pairs that are complete by it.
        """
        self._decided[part] = value
        self._missing.subtract(self._owners[part])
        return [
            (i, [[self._decided[part] for part in row] for row in self._wholes[i]])
            for i in self._owners[part]
            if not self._missing[i]
        ]


def sentence_chunks(premise: str, chunks: Chunks, count: Count) -> list[str]:
    """Chunks of whole sentences, none of them empty; a longer sentence is a chunk by itself.

    ``even-words`` is AlignScore's way, ``nltk-words`` FactCG's (whose empty chunk before a first
    sentence that is too long is not kept), the others are MiniCheck's.
    """
    if chunks.of == "even-words":
        pieces = sentences(premise) or [""]
        n_chunks = len(premise.strip().split()) // chunks.size + 1
        each = max(len(pieces) // n_chunks, 1)
        joined = [" ".join(pieces[i : i + each]) for i in range(0, len(pieces), each)]
    elif chunks.of == "nltk-words":
        joined = _gathered(sentences(premise), chunks.size, nltk_words, "\n")
    else:
        unit: Count = (lambda text: len(text.split())) if chunks.of == "words" else count
        pieces = [s for block in premise.split("\n") for s in (*sentences(block), "\n")][:-1]
        joined = [c.replace(" \n ", "\n") for c in _gathered(pieces, chunks.size, unit, " ")]
    return [text for chunk in joined if (text := chunk.strip())]


def _gathered(pieces: Sequence[str], size: int, unit: Count, join: str) -> list[str]:
    """Sentences in a row as long as they have no more than ``size`` units together."""
    groups: list[list[str]] = [[]]
    used_size = 0
    for sentence in pieces:
        n = unit(sentence)
        if used_size + n > size:
            groups.append([])
            used_size = 0
        groups[-1].append(sentence)
        used_size += n
    return [join.join(group) for group in groups]


@cache
def _punkt() -> Callable[[str], list[tuple[int, int]]]:
    from citeforge.engines.text.segmenters import PunktSegmenter

    return PunktSegmenter().split


def sentences(text: str) -> list[str]:
    """Sentences as ``nltk.sent_tokenize`` gives them.

    Raises:
        InputError: NLTK or punkt's parameters are not installed.
    """
    return [text[start:end] for start, end in _punkt()(text)]


def nltk_words(text: str) -> int:
    """Number of tokens of ``nltk.word_tokenize``."""
    from nltk.tokenize import NLTKWordTokenizer

    words = NLTKWordTokenizer()
    return sum(len(words.tokenize(sentence)) for sentence in sentences(text))
