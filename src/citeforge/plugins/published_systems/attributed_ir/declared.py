"""Attributed-IR's scenarios, as entry points name them."""

from __future__ import annotations

from pathlib import Path

from citeforge.plugins.published_systems.attributed_ir import options as o
from citeforge.plugins.published_systems.attributed_ir import scenarios
from citeforge.plugins.published_systems.attributed_ir.query_gen import query_gen
from citeforge.schemas.systems.listed import system_made_by
from citeforge.systems.options import LlmOptions

_FOLDER = Path(__file__).parent / "templates"
G = system_made_by("g", scenarios.generate, LlmOptions, _FOLDER)
RTG_GOLD = system_made_by("rtg-gold", scenarios.gold, o.GoldPassagesOptions, _FOLDER)
RTG_VANILLA = system_made_by("rtg-vanilla", scenarios.retrieve_first, o.VanillaOptions, _FOLDER)
RTG_QUERY_GEN = system_made_by("rtg-query-gen", query_gen, o.QueryGenOptions, _FOLDER)
GTR = system_made_by("gtr", scenarios.gtr, o.GtrOptions, _FOLDER)
