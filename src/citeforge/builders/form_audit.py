"""Audit of hidden labels: does the form of the shown passages tell which ones are relevant?

An attacker learns from the labels of four fifths of the queries and guesses those of the rest: by
the texts alone, which the task itself shows, and by the texts with one feature of form. A feature
tells labels if it finds relevant passages for more queries than it loses. Probabilities are exact
(a sign test over queries) and corrected for all tests of the audit (Holm 1979). One thread, seeds
and a regression that converges make figures the same whatever the number of threads.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from citeforge.builders.surface import (
    Floats,
    SurfacePassage,
    compute_columns,
    find_languages,
    keep_frequent,
    one_hot,
    read_source_fields,
)
from citeforge.engines.shown import show_significant
from citeforge.engines.tables import rows_with
from citeforge.package.items import Item
from citeforge.package.package import Package
from citeforge.schemas.form import EVERYTHING, FIELD, LEVEL, FeatureTest, FormAudit

REGRESSION, TREES = "logistic regression", "trees"
_FOLDS = 5
_FEWEST_QUERIES = 20
_MOST_QUERIES = 2000
"""Queries that are audited, evenly spread over the benchmark: enough to see what matters."""
_Key = tuple[str, str]
"""Feature and attacker."""
_Counts = npt.NDArray[np.int64]
_Hits = dict[_Key, _Counts]
"""Relevant passages found, by query."""
NEEDED = ("sklearn", "py3langid")
"""Modules that the audit needs."""


@dataclass(frozen=True)
class Shown:
    """Passages that contexts show, one row per place, query by query.

    Attributes:
        questions: text of each query.
        ends: first row of each query, and the number of rows.
        ids: passage of each row.
        relevant: whether it is relevant, by row.
        texts: passage to its text, title and metadata.
    """

    questions: list[str]
    ends: npt.NDArray[np.int64]
    ids: list[str]
    relevant: npt.NDArray[np.bool_]
    texts: dict[str, SurfacePassage]

    @property
    def query_rows(self) -> npt.NDArray[np.int64]:
        """Index of the query of each row, where a row is a passage shown in a context."""
        return np.repeat(np.arange(len(self.questions)), np.diff(self.ends))


def audit_form(package: Package, advance: Callable[[int], None] = lambda _: None) -> FormAudit:
    """Audit whether length, titles etc. of passages give away which ones are relevant.

    Args:
        package: package with labels, and the ids and orders that are to be public.
        advance: reports finished tests.
    """
    context = next(name for name in package.contexts if name not in package.kind.facts.withheld)
    shown = read_shown(package, context)
    if len(shown.questions) < _FEWEST_QUERIES:
        return FormAudit(
            not_audited=f"{len(shown.questions)} queries show both relevant passages and others, "
            f"{_FEWEST_QUERIES} are needed"
        )
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        return compare_features(context, shown, advance)


def read_shown(package: Package, context: str) -> Shown:
    """Read the passages of a context set, for queries that show relevant passages and others.

    Relevant are the passages labelled so, or those that gold answers cite where all are labelled.
    """
    items = list(package.items(context))
    has_labels = any(not p.is_relevant for item in items for p in item.passages)
    labelled = [(item, find_relevant(item, has_labels)) for item in items]
    mixed = [(i, found) for i, found in labelled if 0 < len(found) < len(i.passages)]
    step = -(-len(mixed) // _MOST_QUERIES)
    mixed = mixed[:: max(1, step)]
    ids = [p.id for item, _ in mixed for p in item.passages]
    metadata: dict[str, str] = {}
    wanted = pa.array(sorted(set(ids)), pa.string())
    for batch in package.passages(["_id", "metadata"]):
        found = rows_with(batch, "_id", wanted)
        metadata |= zip(found["_id"].to_pylist(), found["metadata"].to_pylist(), strict=True)
    return Shown(
        [item.query for item, _ in mixed],
        np.cumsum([0, *(len(item.passages) for item, _ in mixed)]),
        ids,
        np.array([p.id in found for item, found in mixed for p in item.passages]),
        {
            p.id: SurfacePassage(p.title, p.text, metadata.get(p.id) or "")
            for item, _ in mixed for p in item.passages
        },
    )  # fmt: skip


def find_relevant(item: Item, has_labels: bool) -> set[str]:
    """Find the ids of a query's relevant passages: labelled so, or cited by gold answers.

    Args:
        item: a query with its passages and gold.
        has_labels: whether labels say which passages are relevant.
    """
    if has_labels:
        return {p.id for p in item.passages if p.is_relevant}
    cited = {name for row in item.gold for name in row.citations}
    return cited & {p.id for p in item.passages}


def compare_features(
    context: str, shown: Shown, advance: Callable[[int], None] = lambda _: None
) -> FormAudit:
    """Test whether features (length, …), each and all, predict relevance beyond shared words.

    Args:
        context: name of the context set, for the record.
        shown: passages that it shows, with labels.
        advance: reports finished tests.
    """
    texts = _relate(shown, text_likeness(shown))
    features = {name: _relate(shown, x) for name, x in form_features(shown).items()}
    everything = np.hstack(list(features.values()))
    chance, error = guess_blindly(shown)
    found: _Hits = {}
    base = {name: find_hits(shown, texts, make) for name, make in _LEARNERS.items()}
    for attacker, make in _LEARNERS.items():
        both = np.hstack([texts, everything])
        found[EVERYTHING, attacker] = find_hits(shown, both, make)
    for name, x in features.items():
        found[name, REGRESSION] = find_hits(shown, np.hstack([texts, x]), _make_regression)
        advance(1)
    n_tests = len(_LEARNERS) * (1 + len(features))
    p = _test_all(found, base, n_tests)
    if p[EVERYTHING, TREES] < LEVEL <= min(p[name, REGRESSION] for name in features):
        # Trees take long: they look for a name where the regression found none and there is one.
        for name, x in features.items():
            found[name, TREES] = find_hits(shown, np.hstack([texts, x]), _make_trees)
        p = _test_all(found, base, n_tests)
    tests = []
    for (name, attacker), hits in found.items():
        alone = None
        if name in features and attacker == REGRESSION:
            alone = int(find_hits(shown, features[name], _make_regression).sum())
        tests.append(FeatureTest(
            feature=name, attacker=attacker, alone=alone,
            z=None if alone is None else round((alone - chance) / error, 2),
            with_texts=int(hits.sum()), p=float(show_significant(p[name, attacker], 2)),
        ))  # fmt: skip
    return FormAudit(
        context=context, queries=len(shown.questions), passages=len(shown.ids),
        relevant=int(shown.relevant.sum()), chance=round(chance, 1), error=round(error, 2),
        texts={name: int(hits.sum()) for name, hits in base.items()}, tests=tests,
    )  # fmt: skip


def form_features(shown: Shown) -> dict[str, Floats]:
    """Compute each form feature (length, title, …) of all shown passages: name to columns.

    Besides the form of title and text: language, fields of the metadata with few values, the id,
    the place in the context, the number of contexts that show the passage.
    """
    names = list(shown.texts)
    row_of = {name: row for row, name in enumerate(names)}
    rows = np.array([row_of[name] for name in shown.ids])
    passages = [shown.texts[name] for name in names]
    columns = [compute_columns(passage) for passage in passages]
    of_passage = {
        feature: np.array([c[feature] for c in columns], np.float64) for feature in columns[0]
    }
    of_passage["language"] = one_hot(find_languages([p.text for p in passages]))
    for name, values in read_source_fields([p.metadata for p in passages]).items():
        of_passage[f"{FIELD}{name}"] = one_hot(keep_frequent(values))
    of_passage["id"] = np.array([_describe_id(name) for name in names])
    often = Counter(shown.ids)
    of_passage["times shown"] = np.array([[float(often[name])] for name in names])
    features = {feature: x[rows] for feature, x in of_passage.items()}
    sizes = np.diff(shown.ends)
    features["place"] = np.concatenate([np.arange(size) for size in sizes])[:, None] / sizes.max()
    features["title shared"] = _count_same_titles(shown)[:, None]
    return {name: x for name, x in features.items() if x.size and (x != x[0]).any()}


def _describe_id(passage_id: str) -> list[float]:
    """Describe an id by numbers: length, share of digits, and place in alphabetical order."""
    order = sum(ord(c) % 128 / 128 ** (n + 1) for n, c in enumerate(passage_id[:8]))
    return [len(passage_id), sum(map(str.isdigit, passage_id)) / max(1, len(passage_id)), order]


def _count_same_titles(shown: Shown) -> Floats:
    """Count, for each passage shown, the other passages of its context with the same title."""
    counts = []
    for start, end in pairwise(shown.ends.tolist()):
        titles = [shown.texts[name].title for name in shown.ids[start:end]]
        number = Counter(titles)
        counts += [number[title] - 1 if title else 0 for title in titles]
    return np.array(counts, np.float64)


def text_likeness(shown: Shown) -> Floats:
    """Compute (IDF sum, share of it) of the question's words that each shown passage contains.

    Cosines and BM25 would carry the form: they are lower for long texts, and cosines of vectors for
    those of other languages.
    """
    from sklearn.feature_extraction.text import CountVectorizer

    names = list(shown.texts)
    row_of = {name: row for row, name in enumerate(names)}
    rows, queries = np.array([row_of[name] for name in shown.ids]), shown.query_rows
    vectorizer = CountVectorizer(token_pattern=r"(?u)\b\w+\b", binary=True)
    words = vectorizer.fit_transform(
        [shown.texts[name].text for name in names] + shown.questions
    ).tocsr()
    passages, questions = words[: len(names)], words[len(names) :]
    often = np.asarray(passages.sum(axis=0)).ravel()
    weighted = questions.multiply(np.log1p((len(names) - often + 0.5) / (often + 0.5))).tocsr()
    shared = np.asarray(weighted[queries].multiply(passages[rows]).sum(axis=1)).ravel()
    total = np.asarray(weighted.sum(axis=1)).ravel()[queries]
    return np.column_stack([shared, shared / np.maximum(total, 1e-9)])


def _relate(shown: Shown, columns: Floats) -> Floats:
    """Append to features their difference from the context's mean and distance from its median.

    Args:
        shown: passages of the contexts.
        columns: features, a row per place.
    """
    means, medians = np.empty_like(columns), np.empty_like(columns)
    for start, end in pairwise(shown.ends.tolist()):
        means[start:end] = columns[start:end].mean(axis=0)
        medians[start:end] = np.median(columns[start:end], axis=0)
    return np.hstack([columns, columns - means, np.abs(columns - medians)])


def _make_regression() -> Any:
    """Make a logistic regression on standardised features, solved to convergence."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), LogisticRegression(solver="newton-cholesky", tol=1e-8))


def _make_trees() -> Any:
    """Make a gradient-boosted trees classifier, which finds thresholds and interactions."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(
        max_iter=40, max_leaf_nodes=8, min_samples_leaf=40, early_stopping=False, random_state=0
    )


_Make = Callable[[], Any]
"""Makes a model of scikit-learn."""
_LEARNERS: dict[str, _Make] = {REGRESSION: _make_regression, TREES: _make_trees}


def find_hits(shown: Shown, features: Floats, make_model: _Make) -> _Counts:
    """Count, per query, the relevant passages that a cross-validated classifier ranks first.

    It knows how many are relevant, and names as many. It never learns from the query it guesses.

    Args:
        shown: passages and labels.
        features: columns of features, a row per place.
        make_model: makes the model.
    """
    from sklearn.model_selection import GroupKFold

    scores = np.empty(len(shown.ids))
    for learnt, guessed in GroupKFold(_FOLDS).split(features, groups=shown.query_rows):
        learner = make_model()
        learner.fit(features[learnt], shown.relevant[learnt])
        scores[guessed] = learner.predict_proba(features[guessed])[:, 1]
    ties = np.random.default_rng(0).permutation(len(scores))
    hits = []
    for start, end in pairwise(shown.ends.tolist()):
        relevant = shown.relevant[start:end]
        order = np.lexsort((ties[start:end], -scores[start:end].round(6)))
        hits.append(relevant[order[: relevant.sum()]].sum())
    return np.array(hits, np.int64)


def guess_blindly(shown: Shown) -> tuple[float, float]:
    """Compute (expected number of relevant passages found by random guesses, standard error).

    Per query the number is hypergeometric.
    """
    n = np.diff(shown.ends).astype(np.float64)
    r = np.add.reduceat(shown.relevant.astype(np.float64), shown.ends[:-1])
    variance = r * (r / n) * (1 - r / n) * (n - r) / (n - 1)
    return float((r * r / n).sum()), float(np.sqrt(variance.sum()))


def _sign_test(hits: _Counts, baseline_hits: _Counts) -> float:
    """Compute the one-sided exact sign-test p-value of hits with a feature against without.

    Args:
        hits: relevant passages found with a feature, by query.
        baseline_hits: those found without it.
    """
    from scipy.stats import binomtest

    more, fewer = int((hits > baseline_hits).sum()), int((hits < baseline_hits).sum())
    return float(binomtest(more, more + fewer, alternative="greater").pvalue) if more else 1.0


def _test_all(
    hits_by_test: _Hits, baseline_hits: Mapping[str, _Counts], n_tests: int
) -> dict[_Key, float]:
    """Map (feature, classifier) to the Holm-corrected p-value of its hits against words alone.

    Args:
        hits_by_test: (feature, attacker) to the relevant passages found, by query.
        baseline_hits: attacker to those found by the texts alone.
        n_tests: number of tests in all.

    Returns:
        (feature, attacker) to the corrected probability.
    """
    raw = {key: _sign_test(hits, baseline_hits[key[1]]) for key, hits in hits_by_test.items()}
    corrected, highest = {}, 0.0
    for rank, key in enumerate(sorted(raw, key=lambda key: raw[key])):
        highest = max(highest, min(1.0, raw[key] * (n_tests - rank)))
        corrected[key] = highest
    return corrected
