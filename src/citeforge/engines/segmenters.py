"""Segmenters by name."""

from __future__ import annotations

from citeforge.engines.punkt import PunktSegmenter
from citeforge.engines.registry import Registry
from citeforge.engines.segment import Segmenter, SpacySegmenter
from citeforge.engines.sentences import SentenceSegmenter
from citeforge.schemas.choices import SEGMENTERS as CHOICES
from citeforge.schemas.choices import Choice
from citeforge.schemas.errors import UnknownValueError

SEGMENTERS: Registry[Choice, Segmenter] = Registry(
    "segmenter",
    "segmenters",
    CHOICES,
    {"nupunkt": SentenceSegmenter, "spacy": SpacySegmenter, "punkt": PunktSegmenter},
    "rules_version signature split",
    lambda name: UnknownValueError("segmenter", name, [c.name for c in CHOICES]),
)


def make_segmenter(name: str) -> Segmenter:
    """One of SEGMENTERS, or a plugin's.

    Raises:
        UnknownValueError: another name.
        InputError: punkt's parameters are missing, or a broken plugin.
    """
    return SEGMENTERS.make(name)
