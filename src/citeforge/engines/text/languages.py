"""Languages of texts, by py3langid's model: the same on every processor.

Its weights are multiplied as whole numbers. In floating point the order of a sum, which processors
choose, decides texts that are near the limit.
"""

import math
import re
import unicodedata
from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

_LEAST_CHARACTERS = 40
_LEAST_PROBABILITY = 0.95
_MOST_CHARACTERS = 5000
_WORD = re.compile(r"[^\W_]+")
_COUNT_UNIT, _WEIGHT_UNIT = 1 << 12, 1 << 20
"""Steps per 1 of the logarithm of a count, and of a weight."""


@cache
def _load_identifier() -> Any:
    """Load py3langid's language identifier, once."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE)


@cache
def _load_weights() -> tuple[list[int], npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """Load py3langid's automaton states, its weights (features by languages) and start values."""
    model = _load_identifier()
    weights = np.rint(np.multiply(model.nb_ptc, _WEIGHT_UNIT, dtype=np.float32))
    start = np.asarray(model.nb_pc, np.float64) * _WEIGHT_UNIT * _COUNT_UNIT
    states = [row << 8 for row in model.tk_row]
    return states, weights.astype(np.int32), np.rint(start).astype(np.int64)


def language_probabilities(text: str) -> dict[str, float]:
    """Compute for each language (ISO 639 code) the probability that a text is in it."""
    from py3langid.langid import visit_counts

    model = _load_identifier()
    states, weights, start = _load_weights()
    text = text[:_MOST_CHARACTERS]
    lower = text.lower() if text.isupper() else text
    letters = unicodedata.normalize("NFC", lower).encode("utf-8", errors="surrogatepass")
    visits = visit_counts(model.tk_nextmove, states, model.tk_output, letters)
    if not visits:
        return dict.fromkeys(model.labels, 1 / len(model.labels))
    counts = [round(math.log1p(number) * _COUNT_UNIT) for number in visits.values()]
    scores = np.array(counts, np.int64) @ weights[list(visits)].astype(np.int64) + start
    # py3langid divides by the root of the length, so that long texts are not surer than they are.
    scale = _WEIGHT_UNIT * _COUNT_UNIT * math.sqrt(len(letters))
    shares = [math.exp(score / scale) for score in (scores - scores.max()).tolist()]
    total = math.fsum(shares)
    found = dict.fromkeys(model.labels, 0.0)
    for label, share in zip(model.nb_classes, shares, strict=True):
        found[label] += share / total  # some languages have a class per script
    return found


def detect_language(text: str) -> str | None:
    """Detect a text's language (ISO 639-1 code); None if the text is too short or mixed."""
    if len(text) < _LEAST_CHARACTERS:
        return None
    shares = language_probabilities(text)
    name = max(shares, key=lambda label: shares[label])
    return name if shares[name] >= _LEAST_PROBABILITY else None


def language_codes() -> tuple[str, ...]:
    """List the languages (ISO 639 codes) that are detected."""
    return tuple(sorted(set(_load_identifier().labels)))


@cache
def stop_words(language: str) -> frozenset[str]:
    """Get spaCy's stop words of a language; empty if spaCy does not have it."""
    from spacy.util import get_lang_class

    try:
        return frozenset(get_lang_class(language).Defaults.stop_words)
    except ImportError:
        return frozenset()


def choose_language(text: str, wanted: str, others: Iterable[str]) -> str | None:
    """Choose between a short text's wanted language and others; None if it is not clear.

    Names and numbers are left out. Stop words and py3langid's model, of the two languages alone,
    have to agree: few words are enough where only two languages are in question.
    """
    chosen = {_choose_of_two(text, wanted, other) for other in {*others} - {wanted}}
    if found := sorted(name for name in chosen if name not in (None, wanted)):
        shares = language_probabilities(text)
        return max(found, key=lambda name: shares[name])
    return None if None in chosen else wanted


def _choose_of_two(text: str, first: str, second: str) -> str | None:
    """Choose which of two languages a short text is in; None if it is not clear."""
    common = [stop_words(first), stop_words(second)]
    words = _find_plain_words(text, common[0] | common[1])
    if not words:
        return None
    shares = language_probabilities(" ".join(words))
    total = shares[first] + shares[second]
    share = shares[first] / total if total else 0.5
    likelier, likelihood = max((share, first), (1 - share, second))[::-1]
    n_first, n_second = (len({*words} & (own - other)) for own, other in (common, common[::-1]))
    if not all(common) or n_first == n_second:
        # Where both languages have stop words in the text, it is mixed.
        is_clear = likelihood >= _LEAST_PROBABILITY and not (n_first and n_second)
        return likelier if is_clear else None
    return likelier if likelier == (first if n_first > n_second else second) else None


def _find_plain_words(text: str, common_words: frozenset[str]) -> list[str]:
    """Find a text's words, in lower case, that are no names or numbers; first word if common.

    Names have a capital; of the first word, which has one anyway, only stop words are kept.
    """
    return [
        word.lower()
        for number, word in enumerate(_WORD.findall(text))
        if not any(map(str.isdigit, word))
        and (
            word.islower()
            or not word[0].isupper()
            or (number == 0 and word.lower() in common_words)
        )
    ]
