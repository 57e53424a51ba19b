"""Segmenters by name."""

from citeforge.engines.registry import Registry
from citeforge.engines.text.punkt import PunktSegmenter
from citeforge.engines.text.segment import Segmenter
from citeforge.engines.text.sentences import SentenceSegmenter
from citeforge.schemas.errors import UnknownValueError
from citeforge.schemas.models.choices import SEGMENTERS as CHOICES
from citeforge.schemas.models.choices import Choice

SEGMENTERS: Registry[Choice, Segmenter] = Registry(
    "segmenter",
    "segmenters",
    CHOICES,
    {"nupunkt": SentenceSegmenter, "punkt": PunktSegmenter},
    "signature split",
    lambda name: UnknownValueError("segmenter", name, [c.name for c in CHOICES]),
)
make_segmenter = SEGMENTERS.make
