"""spaCy pipelines of users."""

from __future__ import annotations

from typing import Any

from citeforge.schemas.errors import InputError


def installed_pipeline(name: str) -> Any:
    """An installed spaCy model.

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
            allowed=f"python -m spacy download {name}, or leave --ner out",
        ) from error
