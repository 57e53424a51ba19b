"""Topics of passages: declared by folder, heading or metadata, or found as clusters of vectors."""

import json
import re
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from fnmatch import translate
from pathlib import PurePosixPath
from typing import Any

import numpy as np
import numpy.typing as npt

from citeforge.engines.draws import key, sample_ids
from citeforge.engines.models.vectors import gather
from citeforge.engines.retrieval.certain import CorpusModel
from citeforge.engines.tables import iter_batches, rows_of
from citeforge.engines.text.short_replies import json_objects
from citeforge.plugins.documents.corpus import PassagePool, passage_file
from citeforge.plugins.documents.design import FOLDER, HEADING, REST, DesignedTopic
from citeforge.plugins.documents.llm_requests import TOPICS, PromptedLlm
from citeforge.plugins.documents.question_specs import Topics
from citeforge.plugins.documents.questions import Evidence
from citeforge.plugins.documents.recipe import DocumentsRecipe
from citeforge.schemas.errors import InputError

Rows = npt.NDArray[np.int64]
_MOST_FITTED, _AT_ONCE = 2000, 10_000
"""Passages from which clusters are computed; others that are assigned to them at once."""
_OPEN = 1e-4
"""Squared distances from two centres that are no further apart are decided by exact vectors: unit
vectors in float32 err by some 1e-7, and a squared distance by at most four times as much."""
_DECIMALS = 12
"""Decimals to which exact distances are compared: float64 errs by some 1e-15 here."""
_ROUNDS = 100
"""Most rounds of k-means."""
SHOWN = 5
"""Passages of a cluster that the LLM is shown to name it."""
NAME_TRIES = 3
"""Requests for names of clusters, at most."""
_LONGEST_NAME, _MOST_EXAMPLES = 60, 12


def find_topics(
    recipe: DocumentsRecipe, prompted_llm: PromptedLlm, passages: PassagePool, model: CorpusModel
) -> Topics:
    """Assign passages to topics, listed by the user or found by clustering; empty for neither.

    Args:
        recipe: names the design.
        prompted_llm: the LLM that names clusters.
        passages: passages of the corpus.
        model: vectors of all passages.

    Raises:
        InputError: a topic without passages, or no names for clusters.
    """
    has_topics = bool(prompted_llm.design.topics) or prompted_llm.design.found_topics is not None
    if has_topics and not passages.order:
        raise InputError(
            "has no passage that is long enough for a question", path=recipe.source,
            allowed="longer documents", code="no-queries",
        )  # fmt: skip
    if prompted_llm.design.found_topics is None:
        return read_topics(recipe, prompted_llm.design.topics, passages)
    names, rows = passages.ids, {name: n for n, name in enumerate(passages.ids)}
    clusters = find_clusters(
        model, [rows[name] for name in passages.order],
        prompted_llm.design.found_topics.number, recipe.seed,
    )  # fmt: skip
    shown = [names[row] for some in clusters for row in some[:SHOWN]]
    texts = passages.texts(shown)
    groups = [[texts[names[row]] for row in some[:SHOWN]] for some in clusters]
    topics = name_topics(prompted_llm, groups)
    of_passage = {
        names[row]: topic for topic, some in zip(topics, clusters, strict=True) for row in some
    }
    shares = {
        topic: prompted_llm.design.found_topics.share(n, len(some))
        for n, (topic, some) in enumerate(zip(topics, clusters, strict=True))
    }
    return Topics(shares, of_passage)


def read_topics(
    recipe: DocumentsRecipe, topics: Sequence[DesignedTopic], passages: PassagePool
) -> Topics:
    """Assign passages to the topics that the user listed, each to the first that matches.

    Args:
        recipe: names the design, for errors.
        topics: topics of the design; none for no topics.
        passages: passages of the corpus.

    Raises:
        InputError: a topic has no passage that is long enough for a question.
    """
    if not topics:
        return Topics()
    patterns = [re.compile(translate(topic.pattern.casefold())) for topic in topics]
    asked, of_passage = {*passages.order}, dict[str, str]()
    found: dict[str, Counter[str]] = {topic.by: Counter() for topic in topics}
    for batch in iter_batches(passages.corpus, ["_id", "title", "metadata"]):
        for name, title, about in rows_of(batch):
            if name not in asked:
                continue
            values = {by: _read_values(by, name, title, about) for by in found}
            for by, some in values.items():
                found[by].update(some)
            for topic, pattern in zip(topics, patterns, strict=True):
                if topic.name != REST and any(map(pattern.fullmatch, values[topic.by])):
                    of_passage[name] = topic.name
                    break
    if any(topic.name == REST for topic in topics):
        of_passage |= dict.fromkeys(asked - of_passage.keys(), REST)
    numbers = Counter(of_passage.values())
    for n, topic in enumerate(topics):
        if not numbers[topic.name]:
            raise _empty_topic(recipe, n, topic, found[topic.by])
    return Topics({topic.name: topic.share for topic in topics}, of_passage)


def _read_values(field: str, passage_id: str, title: str, metadata_json: str | None) -> list[str]:
    """Get a passage's folders, headings or values of a metadata field, in lower case.

    Args:
        field: folder, heading, or a field of the metadata.
        passage_id: id of a passage.
        title: its title.
        metadata_json: its metadata, as JSON.

    Returns:
        The folders above its file, the headings above it, or the values of the field.
    """
    if field == FOLDER:
        return [
            str(f).casefold()
            for f in PurePosixPath(passage_file(passage_id, metadata_json)).parents
        ]
    if field == HEADING:
        return [part.casefold() for part in title.split(" > ") if part]
    metadata: Any = json.loads(metadata_json) if metadata_json else None
    value = metadata.get(field) if isinstance(metadata, dict) else None
    values = value if isinstance(value, list) else [value]
    return [str(one).casefold() for one in values if isinstance(one, str | int | float)]


def _empty_topic(
    recipe: DocumentsRecipe, index: int, topic: DesignedTopic, values: Counter[str]
) -> InputError:
    """Make the error for a listed topic (by index) whose pattern matches none of the values."""
    if topic.name == REST:
        return recipe.design_error(
            "has no passage: the other topics have all of them", ("topics", index, "name"),
            "a design without it",
        )  # fmt: skip
    if not values:
        return recipe.design_error(
            f"no passage has {topic.by!r} in its metadata", ("topics", index, "by"),
            f"{FOLDER}, {HEADING}, or a field of the metadata, such as file",
        )  # fmt: skip
    examples = ", ".join(repr(value) for value, _ in values.most_common(_MOST_EXAMPLES))
    return recipe.design_error(
        f"{topic.pattern!r} matches no passage that earlier topics leave",
        ("topics", index, "pattern"), f"of {topic.by} there are {examples}",
    )  # fmt: skip


def find_clusters(
    model: CorpusModel, passage_rows: Sequence[int], max_clusters: int, seed: int
) -> list[list[int]]:
    """Cluster passages (rows in the corpus) by k-means: rows of each cluster, largest first.

    Members do not depend on the processor: clusters are computed from exact vectors of some
    passages, and so are members of two clusters that other vectors put at about one distance.

    Args:
        model: vectors of all passages.
        passage_rows: rows to cluster.
        max_clusters: number of clusters; there may be fewer if vectors are equal.
        seed: seed of the draws.

    Returns:
        Rows of each cluster: those that it was computed from, next to its centre first, then all
        others.
    """
    from scipy.cluster.vq import kmeans2, vq

    ordered = np.sort(np.asarray(passage_rows, np.int64))
    drawn = sample_ids(ordered.tolist(), _MOST_FITTED, seed, "passages of clusters")
    fitted = np.sort(np.asarray(drawn, np.int64))
    vectors = model.exact_vectors("clusters", fitted)
    n_clusters = min(max_clusters, len(np.unique(vectors.round(_DECIMALS), axis=0)))
    start = np.random.RandomState(key(seed, "centres of clusters") % 2**32)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "One of the clusters is empty")  # it is left out below
        centres, _ = kmeans2(vectors, n_clusters, iter=_ROUNDS, minit="++", seed=start)
    labels, distances = vq(vectors, centres)
    order = np.lexsort((fitted, distances.round(_DECIMALS)))
    placed = list(zip(labels[order].tolist(), fitted[order].tolist(), strict=True))
    others = np.setdiff1d(ordered, fitted)
    placed += zip(_assign_to_centres(model, others, centres), others.tolist(), strict=True)
    clusters: list[list[int]] = [[] for _ in range(n_clusters)]
    for label, row in placed:
        clusters[label].append(row)
    return sorted(filter(None, clusters), key=lambda some: (-len(some), some[0]))


def _assign_to_centres(
    model: CorpusModel, passage_rows: Rows, centres: npt.NDArray[np.float64]
) -> list[int]:
    """Assign passages (rows in the corpus) to the nearest cluster centres: index of each."""
    labels, is_open = list[int](), list[bool]()
    for begin in range(0, len(passage_rows), _AT_ONCE):
        distances = _squared_distances(
            gather(model.passages, passage_rows[begin : begin + _AT_ONCE]), centres
        )
        labels += distances.argmin(axis=1).tolist()
        near = np.sort(distances, axis=1)[:, :2]
        is_open += (near[:, -1] - near[:, 0] < _OPEN).tolist() if len(centres) > 1 else []
    open_places = np.flatnonzero(is_open)
    if len(open_places):
        exact = model.exact_vectors("clusters-open", passage_rows[open_places])
        found = _squared_distances(exact, centres).round(_DECIMALS).argmin(axis=1)
        for place, label in zip(open_places.tolist(), found.tolist(), strict=True):
            labels[place] = label
    return labels


def _squared_distances(
    vectors: npt.NDArray[np.float64], centres: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Compute the squared distance of each vector to each cluster centre."""
    squares = [((vectors - centre) ** 2).sum(axis=1) for centre in centres]
    return np.stack(squares, axis=1)


def name_topics(prompted_llm: PromptedLlm, groups: Sequence[Sequence[Evidence]]) -> list[str]:
    """Have an LLM name clusters of passages, with distinct names.

    Args:
        prompted_llm: the LLM.
        groups: some passages of each cluster.

    Raises:
        InputError: it gives no names in three replies.
    """
    for attempt in range(NAME_TRIES):
        (reply,) = prompted_llm.ask([prompted_llm.to_name_topics(groups, attempt)])
        if (names := _read_names(reply.text, len(groups))) is not None:
            return names
    said = reply.failure or repr(reply.text[:120])
    raise InputError(
        f"no {len(groups)} names of topics in {NAME_TRIES} replies; the last: {said}",
        allowed="another --llm, fewer found_topics, or topics: of your own", code="bad-reply",
    )  # fmt: skip


def _read_names(reply: str, number: int) -> list[str] | None:
    """Parse distinct topic names from an LLM's reply; None unless there are ``number``.

    Args:
        reply: text of the reply.
        number: number of clusters.
    """
    rows: list[Mapping[str, Any]] = list(json_objects(reply))
    value = rows[-1].get(TOPICS) if rows else None
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        return None
    names = [" ".join(one.split())[:_LONGEST_NAME] for one in value]
    is_right = all(names) and len({name.casefold() for name in names}) == len(names) == number
    return names if is_right else None
