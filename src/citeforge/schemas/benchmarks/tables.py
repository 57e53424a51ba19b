"""Arrow schemas of the tables in a benchmark package.

Splits of one config share one schema, because ``datasets.load_dataset`` refuses configs whose
splits differ in columns. Column names with hyphens are those of RAGE's Hub data sets.
"""

from __future__ import annotations

import pyarrow as pa

from citeforge.schemas.benchmarks.kg import KG_ABSENT, KG_CONTEXTS, KG_EVOLUTION, KG_GOLD

SCHEMA_VERSION = 1

CORPUS = pa.schema(
    [
        pa.field("_id", pa.string(), nullable=False),
        pa.field("title", pa.string(), nullable=False),
        pa.field("text", pa.string(), nullable=False),
        pa.field("metadata", pa.string()),  # a JSON document, verbatim
    ]
)

QUERIES = pa.schema(
    [
        pa.field("_id", pa.string(), nullable=False),
        pa.field("text", pa.string(), nullable=False),
        pa.field("metadata", pa.string()),
    ]
)

MAPPING = pa.schema(
    [
        pa.field("query-id", pa.string(), nullable=False),
        pa.field("corpus-id", pa.string(), nullable=False),
        pa.field("short_answers", pa.string()),  # a JSON list of strings
        pa.field("score", pa.float64()),  # relevant: the judgement; seemingly relevant: cosine
        pa.field("rank", pa.int32()),  # 1-based, seemingly relevant only
    ]
)

CONTEXTS = pa.schema(
    [
        pa.field("query_id", pa.string(), nullable=False),
        pa.field(
            "docs",
            pa.list_(pa.struct([("corpus-id", pa.string()), ("label", pa.string())])),
            nullable=False,
        ),
    ]
)

_SENTENCE = pa.struct(
    [
        ("text", pa.string()),
        ("index", pa.int32()),
        ("informative", pa.int8()),
        ("attributable", pa.int8()),
        ("citations", pa.list_(pa.string())),  # passage ids
    ]
)

GOLD = pa.schema(
    [
        pa.field("query_id", pa.string(), nullable=False),
        pa.field("kind", pa.string(), nullable=False),
        pa.field("position", pa.int32(), nullable=False),  # 0-based among the query's rows
        pa.field("text", pa.string()),
        pa.field("aliases", pa.list_(pa.string())),
        pa.field("answer_type", pa.string()),
        pa.field("informative", pa.int8()),
        pa.field("attributable", pa.int8()),
        pa.field("citations", pa.list_(pa.string())),
        pa.field("sentences", pa.list_(_SENTENCE)),
        pa.field("metadata", pa.string()),
    ]
)

TWINS = pa.schema(
    [
        pa.field("_id", pa.string(), nullable=False),  # the human passage
        pa.field("twin_id", pa.string(), nullable=False),
        pa.field("author", pa.string(), nullable=False),  # model that wrote the twin
        pa.field("prompt_sha256", pa.string(), nullable=False),
        pa.field("attempts", pa.int32(), nullable=False),
        pa.field("temperature", pa.float64(), nullable=False),  # of the attempt that was kept
        pa.field("accepted", pa.bool_(), nullable=False),
        pa.field("failed", pa.list_(pa.string()), nullable=False),  # names of failed checks
        pa.field("notes", pa.list_(pa.string()), nullable=False),  # one a failed check
        pa.field("length_ratio", pa.float64(), nullable=False),  # words of twin / of human text
        pa.field("edit_similarity", pa.float64(), nullable=False),  # 0 to 1, 1 for a copy
        pa.field("ngram_overlap", pa.float64(), nullable=False),  # share of twin trigrams
    ]
)

AUTHORS = pa.schema(
    [
        pa.field("query_id", pa.string(), nullable=False),
        pa.field("labels", pa.list_(pa.string()), nullable=False),  # one a passage, in order
    ]
)

CANDIDATES = pa.schema(
    [
        pa.field("query_id", pa.string(), nullable=False),
        pa.field("corpus-id", pa.string(), nullable=False),
        pa.field("rank", pa.int32(), nullable=False),  # from 1
        pa.field("score", pa.float64(), nullable=False),  # the retriever's own
    ]
)

CONDENSED = pa.schema(
    [
        pa.field("query_id", pa.string(), nullable=False),
        pa.field("corpus-id", pa.string(), nullable=False),
        pa.field("text", pa.string(), nullable=False),  # what the passage says to the query
        pa.field("irrelevant", pa.bool_(), nullable=False),  # the writer found nothing
    ]
)

CONDENSED_FORMS = ("summary", "snippet")
"""Splits of ``condensed``."""

RELEVANT = "relevant"
IRRELEVANT = "irrelevant"
SEEMINGLY_RELEVANT = "seemingly_relevant"
UNJUDGED = "unjudged"
"""Label of a shown passage that nobody judged; it stands in no mapping."""
UNSURE = "unsure"
"""Split of ``mapping`` with passages that may be relevant, for people to decide; shown nowhere."""

LABELS = (RELEVANT, IRRELEVANT, SEEMINGLY_RELEVANT)

BY_CONFIG = {
    "corpus": CORPUS,
    "queries": QUERIES,
    "mapping": MAPPING,
    "contexts": CONTEXTS,
    "gold": GOLD,
    "twins": TWINS,
    "authors": AUTHORS,
    "candidates": CANDIDATES,
    "condensed": CONDENSED,
}
KG_BY_CONFIG = {
    "queries": QUERIES,
    "contexts": KG_CONTEXTS,
    "gold": KG_GOLD,
    "absent": KG_ABSENT,
    "evolution": KG_EVOLUTION,
}
