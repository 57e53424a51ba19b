"""Candidate passages, choice of queries, and the ordered passages shown with each query."""

import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path

import pyarrow as pa

from citeforge.builders.derive import Base, Docs
from citeforge.engines.draws import generator, sample_ids
from citeforge.engines.models.embedder import Embedder
from citeforge.engines.retrieval.bm25 import Bm25
from citeforge.engines.retrieval.settings import RetrieverSettings
from citeforge.engines.running.names import make_retriever
from citeforge.engines.running.setup import run_embedder
from citeforge.schemas.errors import UsageError
from citeforge.schemas.matching.answers import contains_answer
from citeforge.schemas.recipes.authorship import AuthorshipRecipe, Selection
from citeforge.schemas.recipes.base import RunOptions
from citeforge.schemas.tables import RELEVANT, SEEMINGLY_RELEVANT, UNJUDGED
from citeforge.schemas.text import normalise_passages

Ranked = dict[str, list[str]]
"""Query to passage ids, best first."""


def find_candidates(base: Base, recipe: AuthorshipRecipe, run: RunOptions) -> Ranked:
    """Find each query's candidate passages as the recipe says: mapping, context set, retriever.

    Raises:
        UsageError: the mapping has no negatives.
        InputError: a run file is malformed.
    """
    name = recipe.candidates
    if name == "mapping":
        if not any(base.negatives.values()):
            raise UsageError(
                f"--candidates mapping: {base.manifest.name} has no negatives in its mapping; give "
                "--candidates bm25, dense or a TREC run file, or build it with `build rage`",
                code="bad-option",
            )
        negatives = _mapped_negatives(base, recipe.selection.seed)
        return {q: [*base.relevant[q], *negatives[q]] for q in base.query_ids}
    if name.startswith("context:"):
        docs_of = base.shown_passages(name.removeprefix("context:"))
        return {query: [d["corpus-id"] for d in docs] for query, docs in docs_of.items()}
    # Deep enough that relevant, equal and twin passages can be left out; a run is read whole.
    depth = 4 * recipe.selection.k + 20
    if name not in ("bm25", "dense"):
        name, depth = f"run:{name.removeprefix('run:')}", sys.maxsize
    with tempfile.TemporaryDirectory() as folder:
        embedder = partial(run_embedder, recipe.embedder, run)
        return retrieve_candidates(base, name, depth, embedder, Path(folder))


def _mapped_negatives(base: Base, seed: int) -> Ranked:
    """List each query's negatives: seemingly relevant by rank (or shuffled), then irrelevant."""
    is_ranked = base.mappings[SEEMINGLY_RELEVANT]["rank"].null_count == 0
    found: Ranked = {}
    for query, docs in base.negatives.items():
        near = [d["corpus-id"] for d in docs if d["label"] == SEEMINGLY_RELEVANT]
        if not is_ranked:
            generator(seed, "mapped negatives", query).shuffle(near)
        others = [d["corpus-id"] for d in docs if d["label"] != SEEMINGLY_RELEVANT]
        found[query] = [*near, *others]
    return found


def retrieve_candidates(
    base: Base, spec: str, depth: int, embedder: Callable[[], Embedder], folder: Path
) -> Ranked:
    """Retrieve each query's candidate passages, best first, from the benchmark's corpus.

    Args:
        base: the benchmark.
        spec: ``bm25`` (passages without a word of the query follow by id), ``dense`` (highest
            cosines in float64, to 6 decimals; ties by id), or ``run:FILE`` (a TREC run, by score;
            ties by id).
        depth: passages per query.
        embedder: makes the embedder of ``dense``.
        folder: folder for its vectors.

    Raises:
        InputError: a line of the run is malformed, repeats a passage, or names an unknown one.
    """
    texts = dict(zip(base.query_ids, base.queries["text"].to_pylist(), strict=True))
    if spec == "bm25":
        rankings = Bm25.from_corpus(base.corpus).rank(texts, depth, includes_unmatched=True)
    else:
        retriever = make_retriever(spec, RetrieverSettings(base.corpus, embedder, folder))
        rankings = retriever.rank(texts, depth)
    return {query: [one.docid for one in row] for query, row in rankings.items()}


def choose_contexts(
    base: Base, ranked: Ranked, selection: Selection, usable: Collection[str] | None = None
) -> tuple[dict[str, Docs], Counter[str]]:
    """Choose each query's ``usable`` passages, in order; count queries and candidates left out.

    Non-relevant passages keep the order of the candidates; the relevant ones are put at positions
    drawn for each query, which all cells of the design share.

    Args:
        base: package that the passages come from.
        ranked: candidates of each query, best first.
        selection: choices.
        usable: passages that may be shown (those with a twin); None for all.

    Returns:
        (query to its ordered human passages, in the order of the benchmark; counts of queries and
        candidates left out, by reason).
    """
    selector = _Selector(base, ranked, selection, None if usable is None else set(usable))
    chosen: dict[str, Docs] = {}
    kept: dict[str, tuple[list[str], list[str]]] = {}
    for query in base.query_ids:
        if relevant := selector.list_relevant(query)[: selection.k - 1]:
            if others := selector.list_others(query)[: selection.k - len(relevant)]:
                kept[query] = (relevant, others)
            else:
                selector.counts["queries_without_candidates"] += 1
    if selection.sample is not None:
        names = sample_ids(list(kept), selection.sample, selection.seed, "authorship sample")
        kept = {q: kept[q] for q in names}
    labels = {
        (q, d["corpus-id"]): d["label"] for q, docs in base.negatives.items() for d in docs
    }  # fmt: skip
    for query, (relevant, others) in kept.items():
        docs = [{"corpus-id": i, "label": labels.get((query, i), UNJUDGED)} for i in others]
        rng = generator(selection.seed, "authorship position", query)
        for passage in relevant:
            docs.insert(rng.randint(0, len(docs)), {"corpus-id": passage, "label": RELEVANT})
        chosen[query] = docs
    return chosen, selector.counts


class _Selector:
    """Selects the passages that may be shown with a query, and counts those left out."""

    def __init__(
        self, base: Base, ranked: Ranked, selection: Selection, usable: set[str] | None
    ) -> None:
        """Read the texts of all candidate and relevant passages, to select passages to show."""
        self.counts: Counter[str] = Counter()
        self._base, self._ranked, self._selection, self._usable = base, ranked, selection, usable
        candidates = {i for ids in (*ranked.values(), *base.relevant.values()) for i in ids}
        self._texts = {i: text for i, (_, text) in base.texts(candidates).items()}
        forms = normalise_passages(pa.array(list(self._texts.values()), pa.string()))
        self._forms = dict(zip(self._texts, forms.to_pylist(), strict=True))

    def list_relevant(self, query: str) -> list[str]:
        """List a query's relevant passages; empty (and counted) if rules exclude the query."""
        base, rule, counts = self._base, self._selection.rule, self.counts
        judged = list(dict.fromkeys(base.relevant[query]))
        if rule == "one-in-list":
            relevant = set(judged) - base.twin_ids
            judged = [i for i in self._ranked[query][: self._selection.k] if i in relevant]
        if not judged:
            counts["queries_without_relevant_passages"] += 1
        elif len(judged) > 1 and rule != "any":
            counts["queries_with_several_relevant_passages"] += 1
        elif self._usable is not None and not set(judged) <= self._usable:
            counts["queries_with_a_passage_without_twin"] += 1
        else:
            return judged
        return []

    def list_others(self, query: str) -> list[str]:
        """List a query's first k usable non-relevant candidates; count those that rules exclude."""
        base, selection = self._base, self._selection
        relevant = set(base.relevant[query])
        same = {self._forms.get(i) for i in relevant}
        answers = base.answers[query] if selection.exclude_answers else []
        others: list[str] = []
        for passage in self._ranked[query]:
            if passage in relevant or passage in base.twin_ids:
                continue
            if self._usable is not None and passage not in self._usable:
                continue
            if self._forms[passage] in same:
                self.counts["candidates_of_equal_text"] += 1
            elif answers and contains_answer(self._texts[passage], answers):
                self.counts["candidates_with_a_gold_answer"] += 1
            else:
                others.append(passage)
                if len(others) == selection.k:
                    break
        return others
