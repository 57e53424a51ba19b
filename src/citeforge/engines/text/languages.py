"""Languages of texts, by py3langid's model: the same on every processor.

Its weights are multiplied as whole numbers. In floating point the order of a sum, which processors
choose, decides texts that are near the limit.
"""

import math
import unicodedata
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

_LEAST_CHARACTERS = 40
_LEAST_PROBABILITY = 0.95
_MOST_CHARACTERS = 5000
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
