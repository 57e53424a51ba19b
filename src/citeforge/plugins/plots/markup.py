"""Templates, style sheets and scripts of these pages."""

from pathlib import Path
from typing import Any

from citeforge.evaluator.reports.markup import page_templates

_TEMPLATES = Path(__file__).parent / "templates"


def render_markup(template: str, **values: Any) -> str:
    """A page or a part of one."""
    return page_templates(_TEMPLATES).get_template(template).render(values)


def text_of(*names: str) -> str:
    """Style sheets or scripts, one after the other."""
    return "\n".join((_TEMPLATES / name).read_text(encoding="utf-8") for name in names)
