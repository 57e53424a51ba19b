"""Templates of pages, and JSON that is safe inside of pages."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from citeforge.engines.markdown import markdown_code, markdown_text

_WIDE_TABLES = Path(__file__).parent / "templates" / "wide_tables.js"


@cache
def page_templates(folder: Path) -> Environment:
    """Load a folder's page templates, once; they escape texts, and fail on missing values.

    ``wide_tables`` is a script for the end of a page: it notes which tables have to be scrolled.
    """
    templates = Environment(
        loader=FileSystemLoader(folder), autoescape=select_autoescape(default=True),
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    templates.filters |= {"markdown_text": markdown_text, "markdown_code": markdown_code}
    templates.globals["wide_tables"] = _WIDE_TABLES.read_text(encoding="utf-8")
    return templates


def script_json(value: Any) -> str:
    """Convert a value to JSON that cannot end the script element around it."""
    text = json.dumps(value, ensure_ascii=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
