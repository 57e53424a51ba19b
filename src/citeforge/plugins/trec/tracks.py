"""TREC's report tracks: the layout and rules of each, from the tracks' guidelines.

Errors and warnings are those of autojudge-base 1.0.0 (``track_specs.yml``) where it has the track,
else those of the guidelines. A new track is a block here.
"""

from dataclasses import dataclass
from typing import Literal

Style = Literal["index", "ids", "scores"]
"""How a sentence cites: places in ``references`` from 0, ids, or ids with confidences."""
References = Literal["shown", "cited", "free"]
"""Ids in ``references``: passages retrieved, exactly those cited, or no rule."""

_SEGMENT = r"msmarco_v2\.1_doc_\d\d_\d+#\d+_\d+"
_NEWS = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}_\d+"
_USUAL = frozenset({"empty_answer", "references_duplicate"})


@dataclass(frozen=True)
class Track:
    """One track of one year.

    Attributes:
        name: short name; ``trec-NAME`` is the format.
        title: its full name.
        topic: field with the topic's id.
        sentences: field with the sentences.
        styles: citation styles that are allowed; exports write the first.
        required: fields about the run that must be there and not empty.
        advised: fields that ought to be there.
        is_flat: whether those fields are beside the sentences, not in ``metadata``.
        references: rule for the ids in ``references``.
        most_references: entries that ``references`` may have.
        most_citations: citations that a sentence may have.
        most_run_id: characters that a run's id may have.
        docid: regular expression of the ids in its collection.
        most_words: words that a report may have.
        copies_topic: whether ``narrative`` must be the topic's text.
        warns: rules whose breach is a warning, not an error.
    """

    name: str
    title: str
    topic: str
    sentences: str
    styles: tuple[Style, ...]
    required: tuple[str, ...]
    advised: tuple[str, ...] = ()
    is_flat: bool = False
    references: References = "free"
    most_references: int | None = None
    most_citations: int | None = None
    most_run_id: int | None = None
    docid: str | None = None
    most_words: int | None = None
    copies_topic: bool = False
    warns: frozenset[str] = _USUAL

    @property
    def format(self) -> str:
        """Name of the format on the command line."""
        return f"trec-{self.name}"


TRACKS = (
    Track(
        "rag24", "TREC RAG 2024", "topic_id", "answer", ("index",),
        required=("run_id", "topic_id", "topic"), advised=("response_length",), is_flat=True,
        references="shown", most_references=20, docid=_SEGMENT, most_words=400,
        warns=_USUAL | {"blank_sentence", "references_uncited", "references_max", "length"},
    ),
    Track(
        "rag25", "TREC RAG 2025", "narrative_id", "answer", ("index", "ids"),
        required=("team_id", "run_id", "type", "narrative_id", "narrative"),
        references="shown", most_references=100, docid=_SEGMENT, most_words=400, copies_topic=True,
        warns=_USUAL | {"references_uncited", "length"},
    ),
    Track(
        "rag26", "TREC RAG 2026", "narrative_id", "answer", ("index", "ids"),
        required=("team_id", "narrative_id", "narrative", "run_id", "run_desc"),
        references="shown", most_citations=3, most_run_id=20, docid=r"shard_\d+_\d+",
        most_words=1024, copies_topic=True,
        warns=_USUAL | {"references_uncited", "citation_count"},
    ),
    Track(
        "ragtime25", "TREC RAGTIME 2025", "topic_id", "responses", ("scores", "ids"),
        required=("team_id", "topic_id", "run_id"), advised=("task",),
        references="cited", most_citations=3, most_run_id=25, docid=_NEWS,
        warns=_USUAL | {
            "blank_sentence", "references_missing", "references_undeclared",
            "metadata_recommended", "citation_count",
        },
    ),
    Track(
        "ragtime26", "TREC RAGTIME 2026", "topic_id", "responses", ("scores", "ids"),
        required=("team_id", "topic_id", "run_id"), advised=("run_desc",),
        most_citations=3, most_run_id=20, docid=_NEWS,
        warns=_USUAL | {"blank_sentence", "citation_count", "metadata_recommended"},
    ),
    Track(
        "dragun25", "TREC DRAGUN 2025", "topic_id", "responses", ("ids",),
        required=("team_id", "run_id", "topic_id", "type", "use_starter_kit"),
        most_citations=3, docid=_SEGMENT, most_words=250,
        warns=_USUAL | {"blank_sentence", "citation_count"},
    ),
    # The layout that RAG tracks share (rag-run-validator), with NeuCLIR's plain lists of ids.
    Track(
        "neuclir24", "TREC NeuCLIR 2024 reports", "topic_id", "responses", ("ids",),
        required=("team_id", "topic_id", "run_id"), references="cited", docid=None,
        warns=_USUAL | {"blank_sentence", "references_missing"},
    ),
)  # fmt: skip
