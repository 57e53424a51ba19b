"""Arrow schemas of the tables in a benchmark package.

Splits of one config share one schema, because ``datasets.load_dataset`` refuses configs whose
splits differ in columns. Column names with hyphens are those of RAGE's Hub data sets.
"""

import re

import pyarrow as pa

from citeforge.schemas.kg import (
    KG_ABSENT,
    KG_CONTEXTS,
    KG_EVOLUTION,
    KG_GOLD,
    TEXT,
    required_fields,
)

SCHEMA_VERSION = 1

_SPLIT_NAME = re.compile(r"\w+(?:\.\w+)*")


def is_split_name(name: str) -> bool:
    """Whether ``datasets`` loads a split of this name: words joined by dots, and not ``all``."""
    return name != "all" and _SPLIT_NAME.fullmatch(name) is not None


CORPUS = pa.schema([*required_fields(TEXT, "_id", "title", "text"), ("metadata", TEXT)])
QUERIES = pa.schema([*required_fields(TEXT, "_id", "text"), ("metadata", TEXT)])
"""``metadata`` is a JSON document, verbatim."""

MAPPING = pa.schema(
    [
        *required_fields(TEXT, "query-id", "corpus-id"),
        ("short_answers", TEXT),  # a JSON list of strings
        ("score", pa.float64()),  # relevant: the judgement; of a run: its score
        ("rank", pa.int32()),  # 1-based, of a run only
    ]
)

COSINES = pa.schema(
    [
        # How near a mined passage is, as far as it had to be known; not part of the hash.
        *required_fields(TEXT, "query-id", "corpus-id"),
        *required_fields(pa.float64(), "cosine"),
        *required_fields(pa.int32(), "rank"),  # 1-based among the candidates
    ]
)

_DOC = pa.struct([("corpus-id", TEXT), ("label", TEXT)])
CONTEXTS = pa.schema([*required_fields(TEXT, "query_id"), *required_fields(pa.list_(_DOC), "docs")])

_LABELS = [("informative", pa.int8()), ("attributable", pa.int8())]
_CITATIONS = ("citations", pa.list_(TEXT))  # passage ids
_SENTENCE = pa.struct([("text", TEXT), ("index", pa.int32()), *_LABELS, _CITATIONS])
GOLD = pa.schema(
    [
        *required_fields(TEXT, "query_id", "kind"),
        *required_fields(pa.int32(), "position"),  # 0-based among the query's rows
        ("text", TEXT),
        ("aliases", pa.list_(TEXT)),
        ("answer_type", TEXT),
        *_LABELS,
        _CITATIONS,
        ("sentences", pa.list_(_SENTENCE)),
        ("metadata", TEXT),
    ]
)

TWINS = pa.schema(
    [
        # The human passage, its twin, and the model that wrote it.
        *required_fields(TEXT, "_id", "twin_id", "author", "prompt_sha256"),
        *required_fields(pa.int32(), "attempts"),
        *required_fields(pa.float64(), "temperature"),  # of the attempt that was kept
        *required_fields(pa.bool_(), "accepted"),
        *required_fields(pa.list_(TEXT), "failed", "notes"),  # failed checks, a note on each
        # Words of twin / of human text; 0 to 1, 1 for a copy; share of twin trigrams.
        *required_fields(pa.float64(), "length_ratio", "edit_similarity", "ngram_overlap"),
    ]
)

AUTHORS = pa.schema(
    [*required_fields(TEXT, "query_id"), *required_fields(pa.list_(TEXT), "labels")]
)
"""One label a passage, in order."""

CANDIDATES = pa.schema(
    [
        *required_fields(TEXT, "query_id", "corpus-id"),
        *required_fields(pa.int32(), "rank"),  # from 1
        *required_fields(pa.float64(), "score"),  # the retriever's own
    ]
)

CONDENSED = pa.schema(
    [
        *required_fields(TEXT, "query_id", "corpus-id", "text"),  # what answers the query
        *required_fields(pa.bool_(), "irrelevant"),  # the writer found nothing
    ]
)

CONDENSED_FORMS = ("summary", "snippet")
"""Splits of ``condensed``."""

RELEVANT = "relevant"
IRRELEVANT = "irrelevant"
SEEMINGLY_RELEVANT = "seemingly_relevant"
UNJUDGED = "unjudged"
"""Label of a shown passage without a judgement; it is in no mapping."""
UNSURE = "unsure"
"""Split of ``mapping`` with passages that may be relevant, for people to decide; shown nowhere."""

LABELS = (RELEVANT, IRRELEVANT, SEEMINGLY_RELEVANT)

BY_CONFIG = {
    "corpus": CORPUS,
    "queries": QUERIES,
    "mapping": MAPPING,
    "cosines": COSINES,
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
