"""What pages are made of: templates and their files, and data that cannot leave their element."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

_TEMPLATES = Path(__file__).parent / "templates"


def render_markup(template: str, **values: Any) -> str:
    """A page or a part of one; all texts are escaped, and nothing may be missing."""
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES), autoescape=select_autoescape(default=True),
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    return environment.get_template(template).render(values)


def text_of(name: str) -> str:
    """A style sheet or script of the templates."""
    return (_TEMPLATES / name).read_text(encoding="utf-8")


def script_json(value: Any) -> str:
    """JSON that cannot end the script element it stands in."""
    text = json.dumps(value, ensure_ascii=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
