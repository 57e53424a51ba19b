"""Contexts of benchmarks with hidden labels, chosen for all queries together."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from citeforge.builders.rage.exclusions import find_exclusions
from citeforge.builders.rage.form import LEVELLED, Form, Forms, find_forms, find_revealing
from citeforge.builders.rage.hidden_negatives import (
    Candidates,
    Chosen,
    Pairs,
    choose_negatives,
    count_near_candidates,
    sort_by_shared_words,
    word_weights,
)
from citeforge.builders.rage.material import Material
from citeforge.builders.rage.mixture import Contexts, Mappings, Pools, too_few_error
from citeforge.builders.rage.suspects import drop_negatives
from citeforge.engines.draws import generator
from citeforge.engines.tables import find_rows, iter_batches, rows_of, rows_with, table_of
from citeforge.engines.textfiles import count_text
from citeforge.schemas.manifest import ContextSet
from citeforge.schemas.recipes.rage import Mixture
from citeforge.schemas.tables import CORPUS, IRRELEVANT, MAPPING, RELEVANT, SEEMINGLY_RELEVANT


@dataclass(frozen=True)
class HiddenContexts:
    """Contexts that do not reveal which passages are relevant, and the mappings of a build.

    Attributes:
        mappings: label to rows, with the irrelevant passages that were chosen.
        docs: query to ``corpus-id`` and ``label`` of its passages.
        info: description of the context set, for the manifest.
        levelled: titles or line breaks (LEVELLED) that are to be removed from all passages.
    """

    mappings: Mappings
    docs: Contexts
    info: ContextSet
    levelled: list[str]


def freeze_hidden(
    material: Material,
    mappings: Mappings,
    mixture: Mixture,
    seed: int,
) -> HiddenContexts:
    """Draw contexts by a mixture (passages per label) that do not reveal which are relevant.

    Args:
        material: material of the build; its counts are updated.
        mappings: mappings to choose negatives from.
        mixture: how many passages of each label; near negatives take the places of missing
            relevant ones.
        seed: secret seed of the draws.

    Raises:
        InputError: a query has fewer passages than the mixture names.
    """
    pools = Pools.from_mappings(material.ids, mappings)
    passages = _read_candidates(material, pools)
    candidates = _collect_candidates(material, pools, mixture, seed, passages)
    forms = _choose_forms(pools, mixture, candidates, find_forms(passages), seed)
    refused = _Refusals(material, mappings)
    levelled: set[str] = set()
    # A feature that tells labels is matched more strictly, and removed if it tells even so.
    while True:
        chosen, contexts = _draw_contexts(
            mixture, pools.query_ids, candidates, seed, refused, forms
        )
        revealing = find_revealing(contexts, forms.passages)
        if revealing - forms.revealing:
            forms = replace(forms, revealing=forms.revealing | revealing)
        elif removable := revealing.intersection(LEVELLED):
            levelled |= removable
            forms = forms.without(levelled)
        else:
            break
    counts = material.counts
    counts |= {
        "hidden_times_shown": chosen.repeats,
        "hidden_places_filled_with_far_negatives": chosen.n_short,
        "hidden_places_of_any_frequency": chosen.n_uneven,
        "hidden_places_of_another_form": chosen.n_unlike,
    }
    short = _find_short(contexts, mixture)
    n_near = mixture.relevant + mixture.seemingly_relevant
    about = (
        f"up to {mixture.relevant} relevant passages; with seemingly relevant ones {n_near}, the "
        f"others irrelevant: always {mixture.total}, in random order. Each passage is shown "
        f"{count_text(chosen.repeats, 'time')} for each query that it is relevant to, or as if it "
        "were"
    )
    info = ContextSet(description=about, sizes=mixture.sizes, short=short)
    irrelevant = _put_chosen_first(pools.by_label[IRRELEVANT], chosen.far)
    rows = [(query, p, None, None, None) for query, ids in irrelevant.items() for p in ids]
    mappings = {**mappings, IRRELEVANT: table_of(rows, MAPPING)}
    return HiddenContexts(mappings, contexts, info, sorted(levelled))


def _draw_contexts(
    mixture: Mixture,
    query_ids: Sequence[str],
    candidates: Sequence[Candidates],
    seed: int,
    find_forbidden: "_Refusals",
    forms: Forms,
) -> tuple[Chosen, Contexts]:
    """Choose all queries' negatives, draw contexts by a mixture: return (negatives, contexts).

    Args:
        mixture: how many passages of each label.
        query_ids: queries, in order.
        candidates: candidates of each query.
        seed: secret seed of the draws.
        find_forbidden: says which far negatives may not be.
        forms: forms that negatives are to have.

    Raises:
        InputError: a query has fewer passages than the mixture names.
    """
    n_near = mixture.relevant + mixture.seemingly_relevant
    ordered = [
        replace(mine, near=forms.order(row, mine.near)) for row, mine in enumerate(candidates)
    ]
    chosen = choose_negatives(ordered, mixture.total, n_near, seed, find_forbidden, forms)
    contexts: Contexts = {}
    for query, mine, near, far in zip(query_ids, ordered, chosen.near, chosen.far, strict=True):
        parts = {RELEVANT: mine.relevant, IRRELEVANT: far, SEEMINGLY_RELEVANT: near}
        docs = [{"corpus-id": p, "label": label} for label, ids in parts.items() for p in ids]
        if len(docs) < mixture.total:
            raise too_few_error(query, len(docs), mixture, mixture.total)
        generator(seed, "order", mixture.name, query).shuffle(docs)
        contexts[query] = docs
    return chosen, contexts


def _find_short(contexts: Contexts, mixture: Mixture) -> dict[str, dict[str, int]]:
    """Find contexts with fewer negatives than the mixture has: query to label to number found."""
    short: dict[str, dict[str, int]] = {}
    for query, docs in contexts.items():
        labels = Counter(doc["label"] for doc in docs)
        for label in (IRRELEVANT, SEEMINGLY_RELEVANT):
            if labels[label] < mixture.sizes[label]:
                short.setdefault(query, {})[label] = labels[label]
    return short


def _read_candidates(material: Material, pools: Pools) -> pa.Table:
    """Read the passages that are labelled for any query (schema CORPUS)."""
    names = {p for of_query in pools.by_label.values() for ids in of_query.values() for p in ids}
    wanted = pa.array(sorted(names), pa.string())
    batches = iter_batches(material.corpus, schema=CORPUS)
    return pa.Table.from_batches([rows_with(b, "_id", wanted) for b in batches], CORPUS)


def _choose_forms(
    pools: Pools,
    mixture: Mixture,
    candidates: Sequence[Candidates],
    passages: dict[str, Form],
    seed: int,
) -> Forms:
    """Choose which form (title, …) each query's negatives should have: its relevant passages'.

    Args:
        pools: queries, in order.
        mixture: its name keys the draws.
        candidates: candidates of each query.
        passages: passage id to its form.
        seed: secret seed of the draws.
    """
    targets = []
    for query, mine in zip(pools.query_ids, candidates, strict=True):
        wanted = [passages[p] for p in mine.relevant]
        generator(seed, "form", mixture.name, query).shuffle(wanted)
        targets.append(wanted)
    return Forms(passages, targets)


def _collect_candidates(
    material: Material, pools: Pools, mixture: Mixture, seed: int, passages: pa.Table
) -> list[Candidates]:
    """Collect each query's candidates: relevant, seemingly relevant (near), irrelevant (far).

    Args:
        material: material of the build.
        pools: passages of each query by label.
        mixture: how many relevant passages a query shows.
        seed: secret seed of the draws.
        passages: all passages of the pools, schema CORPUS.
    """
    by_label = pools.by_label
    near = by_label[SEEMINGLY_RELEVANT]
    rows = rows_with(
        passages, "_id", pa.array(sorted({p for ids in near.values() for p in ids}), pa.string())
    )
    texts = {name: f"{title} {text}" for name, title, text in rows_of(rows, "_id", "title", "text")}
    weights = word_weights(texts.values())
    result = []
    numbers = count_near_candidates(
        material.recipe, [len(by_label[RELEVANT][q]) for q in pools.query_ids]
    )
    queries = material.queries["text"].to_pylist()
    for query, text, number in zip(pools.query_ids, queries, numbers.tolist(), strict=True):
        relevant = by_label[RELEVANT][query]
        rng = generator(seed, "mixture", mixture.name, query, RELEVANT)
        shown = rng.sample(relevant, min(mixture.relevant, len(relevant)))
        # A given ranking may have more passages than the query is to have.
        names = sorted(near[query][:number])
        generator(seed, "near", mixture.name, query).shuffle(names)
        ordered = sort_by_shared_words(text, names, texts, weights)
        result.append(Candidates(shown, ordered, by_label[IRRELEVANT][query]))
    return result


def _put_chosen_first(
    drawn: dict[str, list[str]], chosen: Sequence[Sequence[str]]
) -> dict[str, list[str]]:
    """Join each query's chosen and drawn irrelevant passages; cut to the longer list's length.

    Args:
        drawn: query to the irrelevant passages that were drawn for it.
        chosen: those that its context shows, in the order of the queries.
    """
    result = {}
    for (query, ids), far in zip(drawn.items(), chosen, strict=True):
        both = list(dict.fromkeys([*far, *ids]))
        result[query] = both[: max(len(far), len(ids))]
    return result


class _Refusals:
    """Finds the passages that must not be shown as irrelevant to a query."""

    def __init__(self, material: Material, mappings: Mappings) -> None:
        """Collect each query's relevant, seemingly relevant (near) and excluded passages."""
        # These are candidates: what is dropped in the end is counted elsewhere.
        self._material = replace(material, counts={})
        self._relevant = mappings[RELEVANT]
        near = mappings.get(SEEMINGLY_RELEVANT, MAPPING.empty_table())
        self._near = set(rows_of(near, "query-id", "corpus-id"))
        self._relevant_of: dict[str, set[str]] = {query: set() for query in material.ids}
        for query, passage in rows_of(self._relevant, "query-id", "corpus-id"):
            self._relevant_of[query].add(passage)
        self._exclusions = find_exclusions(material)
        self._position: dict[str, int] = {}

    def __call__(self, pairs: Pairs) -> Pairs:
        """Select, of (query number, passage) pairs, those that must not be shown as irrelevant."""
        ids, exclusions = self._material.ids, self._exclusions
        ordered = sorted(pairs)
        self._locate({passage for _, passage in ordered})
        rows = np.array([row for row, _ in ordered], np.int64)
        positions = np.array([self._position[p] for _, p in ordered], np.int64)
        bad = exclusions.classify(rows, positions) != 0
        refused = {
            (row, p)
            for (row, p), is_bad in zip(ordered, bad.tolist(), strict=True)
            if is_bad
            or p in self._relevant_of[ids[row]]
            or (ids[row], p) in self._near
            or self._position[p] in exclusions.forbidden[row]
        }
        table = table_of([(ids[row], p, None, None, None) for row, p in ordered], MAPPING)
        pairs_of = {RELEVANT: self._relevant, IRRELEVANT: table}
        kept = drop_negatives(self._material, pairs_of)[IRRELEVANT]
        there = set(rows_of(kept, "query-id", "corpus-id"))
        return refused | {(row, p) for row, p in ordered if (ids[row], p) not in there}

    def _locate(self, passages: set[str]) -> None:
        """Look up and cache the corpus positions of passages by id."""
        new = sorted(passages - self._position.keys())
        if new:
            positions, indices = find_rows(self._material.corpus, "_id", pa.array(new, pa.string()))
            self._position.update(
                zip((new[i] for i in indices.tolist()), positions.tolist(), strict=True)
            )
