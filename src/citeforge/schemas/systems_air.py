"""Systems of Attributed-IR and KaLMA, declared."""

from __future__ import annotations

from functools import partial

from citeforge.schemas.system import System

_HERE = "citeforge.baselines.attributed_ir"
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
        factory=f"{_HERE}.generate:generate",
        options=f"{_HERE}.options:GenerateOptions",
        section="2.3",
        template="air-closed",
    ),
    _air(
        name="rtg-gold",
        what="retrieve then generate, with the relevant passages for retrieval",
        factory=f"{_HERE}.rtg:gold",
        options=f"{_HERE}.options:GoldPassagesOptions",
        section="2.4",
        template="air-cited",
    ),
    _air(
        name="rtg-vanilla",
        what="retrieve then generate: BM25, a reranker, an answer from the first passages",
        factory=f"{_HERE}.rtg:vanilla",
        options=f"{_HERE}.options:VanillaOptions",
        section="2.3",
        template="air-cited",
    ),
    _air(
        name="rtg-query-gen",
        what="the same with sub-queries by the LLM, whose rankings are fused",
        factory=f"{_HERE}.query_gen:query_gen",
        options=f"{_HERE}.options:QueryGenOptions",
        section="2.3",
        template="air-cited",
    ),
    _air(
        name="gtr",
        what="generate then retrieve: the answer of g, passages for each of its statements",
        factory=f"{_HERE}.gtr:gtr",
        options=f"{_HERE}.options:GtrOptions",
        section="2.3",
        template="air-closed",
    ),
)

KALMA = (
    System(
        "kalma",
        "",
        "sub-graphs and one demonstration with [NA] in one prompt",
        "citeforge.baselines.asking_kalma:kalma",
        options="citeforge.baselines.asking_kalma:KalmaOptions",
        family="KaLMA",
        paper="kalma",
        section="3.3",
        llm=True,
        shows="triples",
        context="retrieved",
        template="kalma",
    ),
)
