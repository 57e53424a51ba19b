"""KaLMA: questions whose answers must cite triples of a knowledge graph."""

from __future__ import annotations

from citeforge.kinds.hook import Hook
from citeforge.kinds.kind import Kind
from citeforge.kinds.rage import NO_CELLS, OTHER_TASKS
from citeforge.schemas.kg import GENERAL
from citeforge.schemas.recipes import KalmaRecipe
from citeforge.schemas.tables import KG_BY_CONFIG

_NO_PASSAGES = "its contexts hold no passages"
_NO_ANSWERS = "its gold is facts, not answers; echo-relevant writes them"

KALMA = Kind(
    name="kalma",
    recipe=KalmaRecipe,
    builder=Hook("citeforge.builders.kalma.build:build_kalma"),
    about="questions whose answers must cite triples of a knowledge graph (KaLMA)",
    paper="kalma",
    task_categories=("question-answering", "text-generation"),
    tables=KG_BY_CONFIG,
    shows="triples",
    items=Hook("citeforge.package.reading:graph_items"),
    readings={"triples": Hook("citeforge.evaluator.kalma.graphs:GraphReading")},
    questions="specific",
    other_questions={GENERAL: "general"},
    template="kalma",
    default_measures=("kalma",),
    headline=("KaLMA.F1@micro", "KaLMA.P@micro", "KaLMA.R@micro"),
    annotation=(
        "kalma-authenticity",
        "kalma-naturalness",
        "kalma-significance",
        "kalma-relevance",
    ),
    exports=("kalma", "hf-csv"),
    refusals={
        "hide-gold": "its questions and their gold grow from a graph by fixed rules, so that "
        "whoever has the graph builds them again",
        "export": _NO_PASSAGES,
        "annotate": OTHER_TASKS,
        "run gold": _NO_ANSWERS,
        "run all-gold": _NO_ANSWERS,
        "run top-1": _NO_PASSAGES,
        "run top-1-two-sentences": _NO_PASSAGES,
        "run label-blind": NO_CELLS,
        "run label-follower": NO_CELLS,
    },
    problems=(Hook("citeforge.builders.kalma.verify:wrong_kalma"),),
    pages=Hook("citeforge.publish.leaderboard.queries:graph_pages"),
    checking=Hook("citeforge.evaluator.check_answers:Triples"),
    systems=dict.fromkeys(("random", "echo-relevant"), Hook("citeforge.baselines.kalma:lines")),
    trace=Hook("citeforge.builders.kalma.package:trace_text"),
)
