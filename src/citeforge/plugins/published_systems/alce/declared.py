"""ALCE's systems, as entry points name them."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from citeforge.plugins.published_systems.alce.interact import inline_search, interact
from citeforge.plugins.published_systems.alce.options import (
    AlceOptions,
    CondensedOptions,
    InteractOptions,
    SearchOptions,
    ShotOptions,
)
from citeforge.plugins.published_systems.alce.prompts import closed_book, short_versions, vanilla
from citeforge.schemas.systems.listed import system_made_by

_FOLDER = Path(__file__).parent / "templates"
VANILLA = system_made_by("vanilla", vanilla, AlceOptions, _FOLDER)
ORACLE = system_made_by("oracle", vanilla, AlceOptions, _FOLDER)
SUMM = system_made_by("summ", partial(short_versions, "summary"), CondensedOptions, _FOLDER)
SNIPPET = system_made_by("snippet", partial(short_versions, "snippet"), CondensedOptions, _FOLDER)
INTERACT = system_made_by("interact", interact, InteractOptions, _FOLDER)
INLINE_SEARCH = system_made_by("inline-search", inline_search, SearchOptions, _FOLDER)
CLOSED_BOOK = system_made_by("closed-book", closed_book, ShotOptions, _FOLDER)
