"""Systems of Attributed-IR and KaLMA, declared."""

from __future__ import annotations

from functools import partial

from citeforge.schemas.systems.declaration import System

_air = partial(
    System,
    argument="",
    family="Attributed-IR",
    paper="attributed_ir",
    llm=True,
    shows="passages",
    own=True,
)

ATTRIBUTED_IR = (
    _air(
        name="g",
        what="an answer from what the model knows, without citations",
        section="2.3",
        template="air-closed",
    ),
    _air(
        name="rtg-gold",
        what="retrieve then generate, with the relevant passages for retrieval",
        section="2.4",
        template="air-cited",
    ),
    _air(
        name="rtg-vanilla",
        what="retrieve then generate: BM25, a reranker, an answer from the first passages",
        section="2.3",
        template="air-cited",
    ),
    _air(
        name="rtg-query-gen",
        what="the same with sub-queries by the LLM, whose rankings are fused",
        section="2.3",
        template="air-cited",
    ),
    _air(
        name="gtr",
        what="generate then retrieve: the answer of g, passages for each of its statements",
        section="2.3",
        template="air-closed",
    ),
)

KALMA = (
    System(
        "kalma",
        "",
        "sub-graphs and one demonstration with [NA] in one prompt",
        family="KaLMA",
        paper="kalma",
        section="3.3",
        llm=True,
        shows="triples",
        context="retrieved",
        template="kalma",
    ),
)
