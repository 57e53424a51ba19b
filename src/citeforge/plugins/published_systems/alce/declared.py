"""ALCE's systems, as entry points name them."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from citeforge.plugins.published_systems.alce import interact, prompts
from citeforge.plugins.published_systems.alce import options as o
from citeforge.schemas.systems.listed import system_made_by

_FOLDER = Path(__file__).parent / "templates"
VANILLA = system_made_by("vanilla", prompts.vanilla, o.AlceOptions, _FOLDER)
ORACLE = system_made_by("oracle", prompts.vanilla, o.AlceOptions, _FOLDER)
SUMM = system_made_by(
    "summ", partial(prompts.short_versions, "summary"), o.CondensedOptions, _FOLDER
)
SNIPPET = system_made_by(
    "snippet", partial(prompts.short_versions, "snippet"), o.CondensedOptions, _FOLDER
)
INTERACT = system_made_by("interact", interact.interact, o.InteractOptions, _FOLDER)
INLINE_SEARCH = system_made_by("inline-search", interact.inline_search, o.SearchOptions, _FOLDER)
CLOSED_BOOK = system_made_by("closed-book", prompts.closed_book, o.ShotOptions, _FOLDER)
