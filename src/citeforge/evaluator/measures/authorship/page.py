"""The authorship part of the HTML report: all tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment, select_autoescape

from citeforge.evaluator.measures.authorship.tables import tables
from citeforge.schemas.scores import ScoreFile

_TEMPLATE = Path(__file__).parents[2] / "reports" / "templates" / "authorship.html.j2"


def render_authorship(files: Sequence[ScoreFile]) -> str:
    """HTML of the authorship part; all texts are escaped."""
    environment = Environment(autoescape=select_autoescape(default=True))
    template = environment.from_string(_TEMPLATE.read_text(encoding="utf-8"))
    return template.render(tables=tables(files))
