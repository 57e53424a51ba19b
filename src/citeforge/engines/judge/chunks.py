"""Splitting of long premises into chunks, and of hypotheses into sentences."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

from citeforge.engines.judge.records import Decision, JudgeFailure, Pair, Verdict
from citeforge.schemas.judge_profile import Chunks, JudgeProfile

Count = Callable[[str], int]


def split_pair(profile: JudgeProfile, pair: Pair, count_tokens: Count) -> list[list[Pair]]:
    """Split a (premise, hypothesis) pair: a row per hypothesis sentence, a pair per premise chunk.

    Args:
        profile: how it is cut.
        pair: premise and hypothesis.
        count_tokens: tokens of a text, without special ones.

    Returns:
        A row for each sentence of the hypothesis, with one pair for each chunk of the premise;
        one row of one pair where nothing is cut.
    """
    claims = [pair.hypothesis]
    if profile.sentences != "whole":
        claims = sentences(pair.hypothesis) or claims
    pieces = [pair.premise]
    if profile.chunks is not None:
        pieces = sentence_chunks(pair.premise, profile.chunks, count_tokens) or pieces
    return [
        [replace(pair, premise=piece, hypothesis=claim) for piece in pieces] for claim in claims
    ]


class PairParts:
    """Decides pairs from decisions on their parts; a part shared by pairs is decided once.

    Attributes:
        parts: all of them, each once.
    """

    def __init__(self, split_pairs: Sequence[list[list[Pair]]], uses_mean: bool = False) -> None:
        """Collect the distinct (sentence, chunk) parts of pairs; combine by worst or mean sentence.

        Args:
            split_pairs: result of :func:`split_pair` of each pair: a row for each sentence of the
                hypothesis, with a part for each chunk of the premise.
            uses_mean: whether a pair's margin is the mean over its sentences, instead of the least.
        """
        self._wholes, self._mean = split_pairs, uses_mean
        self._decided: dict[Pair, Decision] = {}
        self._owners: dict[Pair, list[int]] = {}
        for i, whole in enumerate(split_pairs):
            for part in dict.fromkeys(part for row in whole for part in row):
                self._owners.setdefault(part, []).append(i)
        self._missing = Counter(i for owners in self._owners.values() for i in owners)
        self.parts = list(self._owners)

    def add(self, part: Pair, decision: Decision) -> list[tuple[int, Decision]]:
        """Record the decision on a part; return (index, decision) of the pairs it completes."""
        self._decided[part] = decision
        self._missing.subtract(self._owners[part])
        complete = [i for i in self._owners[part] if not self._missing[i]]
        rows = [[[self._decided[p] for p in row] for row in self._wholes[i]] for i in complete]
        return [(i, combine_decisions(r, self._mean)) for i, r in zip(complete, rows, strict=True)]


def combine_decisions(rows: Sequence[Sequence[Decision]], uses_mean: bool = False) -> Decision:
    """Combine decisions on a pair's parts: best chunk per sentence, then worst or mean sentence.

    The best chunk counts for each sentence; one that tells nothing leaves the decision to others.
    Of the sentences the least counts.

    Args:
        rows: a row for each sentence, with a decision for each chunk.
        uses_mean: whether the mean margin of the sentences counts, in place of the least.
    """
    decisions = [decision for row in rows for decision in row]
    failed = next((d for d in decisions if isinstance(d, JudgeFailure)), None)
    if failed is not None:
        return failed
    verdicts = [[d for d in row if isinstance(d, Verdict)] for row in rows]
    best = [max(v, key=lambda v: (v.level, v.margin or 0.0, not v.undecided)) for v in verdicts]
    least = min(best, key=lambda v: (v.level, v.margin or 0.0, v.undecided))
    if uses_mean:
        margin = sum(v.margin or 0.0 for v in best) / len(best)
        least = Verdict(margin > 0, margin)
    return replace(least, truncated=any(v.truncated for row in verdicts for v in row))


def sentence_chunks(premise: str, chunks: Chunks, count_tokens: Count) -> list[str]:
    """Split a premise into chunks of whole sentences, by the method and size in ``chunks``.

    ``even-words`` is AlignScore's method, ``nltk-words`` FactCG's, the others are MiniCheck's.
    FactCG's code puts an empty chunk before a first sentence that is too long; here there is none.

    Args:
        premise: text to split.
        chunks: method, and size of a chunk.
        count_tokens: counts the tokens of a text.
    """
    if chunks.of == "even-words":
        pieces = sentences(premise) or [""]
        n_chunks = len(premise.strip().split()) // chunks.size + 1
        each = max(len(pieces) // n_chunks, 1)
        joined = [" ".join(pieces[i : i + each]) for i in range(0, len(pieces), each)]
    elif chunks.of == "nltk-words":
        joined = _group_sentences(sentences(premise), chunks.size, count_nltk_tokens, "\n")
    else:
        unit: Count = (lambda text: len(text.split())) if chunks.of == "words" else count_tokens
        pieces = [s for block in premise.split("\n") for s in (*sentences(block), "\n")][:-1]
        joined = [c.replace(" \n ", "\n") for c in _group_sentences(pieces, chunks.size, unit, " ")]
    return [text for chunk in joined if (text := chunk.strip())]


def _group_sentences(
    pieces: Sequence[str], max_size: int, count_units: Count, separator: str
) -> list[str]:
    """Join successive sentences into groups of at most ``max_size``; a longer one is alone.

    Args:
        pieces: sentences.
        max_size: most units of a group.
        count_units: counts the units (words or tokens) of a sentence.
        separator: text between two sentences of a group.
    """
    groups: list[list[str]] = [[]]
    used_size = 0
    for sentence in pieces:
        n = count_units(sentence)
        if used_size + n > max_size:
            groups.append([])
            used_size = 0
        groups[-1].append(sentence)
        used_size += n
    return [separator.join(group) for group in groups]


@cache
def _punkt() -> Callable[[str], list[tuple[int, int]]]:
    """Load the function that splits a text into sentences (start, end) as NLTK's punkt does."""
    from citeforge.engines.text.segmenters import PunktSegmenter

    return PunktSegmenter().split


def sentences(text: str) -> list[str]:
    """Split a text into sentences as ``nltk.sent_tokenize`` does.

    Raises:
        InputError: NLTK or punkt's parameters are not installed.
    """
    return [text[start:end] for start, end in _punkt()(text)]


def count_nltk_tokens(text: str) -> int:
    """Count the tokens of ``nltk.word_tokenize``."""
    from nltk.tokenize import NLTKWordTokenizer

    words = NLTKWordTokenizer()
    return sum(len(words.tokenize(sentence)) for sentence in sentences(text))
