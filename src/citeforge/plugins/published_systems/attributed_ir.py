"""Declarations of Attributed-IR's systems, which the entry points load."""

from functools import partial
from pathlib import Path

from citeforge.plugins.published_systems import attributed_ir_options as o
from citeforge.plugins.published_systems import scenarios
from citeforge.plugins.published_systems.scenarios import query_gen
from citeforge.schemas.recipes.systems import System
from citeforge.systems.system_options import LlmOptions

_air = partial(
    System, argument="", family="Attributed-IR", paper="attributed_ir", section="2.3", llm=True,
    shows="passages", own=True, templates=Path(__file__).parent / "templates",
)  # fmt: skip
_closed = partial(_air, template="air-closed")
_cited = partial(_air, template="air-cited")
G = _closed(
    "g",
    help="an answer from what the model knows, without citations",
    factory=scenarios.generate,
    options=LlmOptions,
)
RTG_GOLD = _cited(
    "rtg-gold",
    help="retrieve then generate, with the relevant passages for retrieval",
    factory=scenarios.gold,
    options=o.GoldPassagesOptions,
    section="2.4",
)
RTG_VANILLA = _cited(
    "rtg-vanilla",
    help="retrieve then generate: BM25, a reranker, an answer from the first passages",
    factory=scenarios.retrieve_first,
    options=o.VanillaOptions,
)
RTG_QUERY_GEN = _cited(
    "rtg-query-gen",
    help="the same with sub-queries by the LLM, whose rankings are fused",
    factory=query_gen,
    options=o.QueryGenOptions,
)
GTR = _closed(
    "gtr",
    help="generate then retrieve: the answer of g, passages for each of its statements",
    factory=scenarios.gtr,
    options=o.GtrOptions,
)
