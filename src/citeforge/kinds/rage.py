"""RAGE: passages that are relevant, irrelevant, or only seem relevant."""

from __future__ import annotations

from citeforge.kinds.hook import Hook
from citeforge.kinds.kind import Kind
from citeforge.schemas.recipes import RageRecipe
from citeforge.schemas.tables import BY_CONFIG, CONDENSED_FORMS

NO_CELLS = "it follows the labels of an authorship benchmark's cells"
NO_TRIPLES = "the format holds sub-graphs, and its contexts hold passages"
OTHER_TASKS = "the task looks at tables that it does not have"

RAGE = Kind(
    name="rage",
    recipe=RageRecipe,
    builder=Hook("citeforge.builders.rage:build_rage"),
    about="passages that are relevant, irrelevant, or only seem relevant (RAGE)",
    paper="rage",
    tables=BY_CONFIG,
    items=Hook("citeforge.package.reading:passage_items"),
    readings={"passages": Hook("citeforge.evaluator.passages:PassageReading")},
    default_measures=("rage",),
    headline=("CiteF1", "CiteP", "CiteR"),
    annotation=("audit-negative",),
    exports=(
        "beir",
        "mteb",
        "trec",
        "rage-toolkit",
        "hf-csv",
        "alce",
        "attrieval",
        "attributed-ir",
        "sft",
        "rl-prompts",
    ),
    public=("corpus", "queries"),
    blinded={"contexts": Hook("citeforge.publish.hidden:unlabelled")},
    withheld=("oracle", *CONDENSED_FORMS),
    whole_corpus=("corpus", "all"),
    refusals={
        "run label-blind": NO_CELLS,
        "run label-follower": NO_CELLS,
        "export": NO_TRIPLES,
        "annotate": OTHER_TASKS,
    },
    problems=(
        Hook("citeforge.builders.verify:wrong_ids"),
        Hook("citeforge.builders.verify:wrong_contexts"),
    ),
    pages=Hook("citeforge.publish.leaderboard.queries:passage_pages"),
    checking=Hook("citeforge.evaluator.check_answers:Marks"),
)
