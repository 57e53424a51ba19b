"""Attributed-IR's scenarios, as entry points name them."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from citeforge.plugins.published_systems.attributed_ir.answers import generate
from citeforge.plugins.published_systems.attributed_ir.gtr import gtr
from citeforge.plugins.published_systems.attributed_ir.options import (
    GenerateOptions,
    GoldPassagesOptions,
    GtrOptions,
    QueryGenOptions,
    VanillaOptions,
)
from citeforge.plugins.published_systems.attributed_ir.query_gen import query_gen
from citeforge.plugins.published_systems.attributed_ir.rtg import gold, retrieve_then_generate
from citeforge.schemas.systems.declaration import System

_air = partial(
    System, argument="", family="Attributed-IR", paper="attributed_ir", section="2.3", llm=True,
    shows="passages", own=True, templates=Path(__file__).parent / "templates",
)  # fmt: skip
_closed = partial(_air, template="air-closed")
_cited = partial(_air, template="air-cited")
G = _closed(
    "g",
    what="an answer from what the model knows, without citations",
    factory=generate,
    options=GenerateOptions,
)
RTG_GOLD = _cited(
    "rtg-gold",
    what="retrieve then generate, with the relevant passages for retrieval",
    factory=gold,
    options=GoldPassagesOptions,
    section="2.4",
)
RTG_VANILLA = _cited(
    "rtg-vanilla",
    what="retrieve then generate: BM25, a reranker, an answer from the first passages",
    factory=retrieve_then_generate,
    options=VanillaOptions,
)
RTG_QUERY_GEN = _cited(
    "rtg-query-gen",
    what="the same with sub-queries by the LLM, whose rankings are fused",
    factory=query_gen,
    options=QueryGenOptions,
)
GTR = _closed(
    "gtr",
    what="generate then retrieve: the answer of g, passages for each of its statements",
    factory=gtr,
    options=GtrOptions,
)
