"""What people say of a statement and what it cites, and the formats of files that say so."""

from __future__ import annotations

LABEL_FORMATS = ("auto", "annotations", "expertqa", "alce", "claims")
"""Formats of files of labels; ``auto`` looks."""
