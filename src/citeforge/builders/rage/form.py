"""Form of negatives in hidden contexts: like that of the relevant passages, or levelled.

Whether a passage has a title, how long it is, whether it has line breaks, its language and where it
comes from can tell labels if relevant passages differ in it from the others of a corpus. Negatives
of a query are therefore chosen to have the forms of its relevant passages, in the same proportions.
Near negatives are first chosen by their words alone, as nearness is worth more. What tells labels
then decides their choice, too. Titles and line breaks that tell even so are removed from all
passages.
"""

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import cycle, islice
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from citeforge.builders.rage.mixture import Contexts
from citeforge.builders.surface import find_languages, keep_frequent, read_source_fields
from citeforge.schemas.tables import CORPUS, RELEVANT

_BANDS = 2
"""Bands of length per doubling; neighbours count as equal."""
_SURE = 3.0
"""Standard deviations above or below chance from which a feature tells labels."""
TITLES, LINE_BREAKS, LENGTH = "titles", "line breaks", "length"
FEATURES = (TITLES, LINE_BREAKS, "language", "source", LENGTH)
"""Names of the fields of a form."""
_ALL = frozenset(FEATURES)
LEVELLED = (TITLES, LINE_BREAKS)
"""Those that can be removed from all passages."""


class Form(NamedTuple):
    """Form of a passage.

    Attributes:
        is_titled: whether it has a title.
        has_breaks: whether its text has line breaks.
        language: ISO code; empty if it is not clear or rare.
        source: fields of its metadata that few values are in.
        band: band of its length.
    """

    is_titled: bool
    has_breaks: bool
    language: str
    source: tuple[str, ...]
    band: int

    def without(self, features: Collection[str]) -> "Form":
        """Copy a passage's features, as if its title, its line breaks or both were removed."""
        return self._replace(
            is_titled=self.is_titled and TITLES not in features,
            has_breaks=self.has_breaks and LINE_BREAKS not in features,
        )


@lru_cache(1 << 16)
def count_differences(form: Form, other_form: Form, features: frozenset[str] = _ALL) -> int:
    """Count the features (title, …) in which two passages' forms differ; lengths count in steps.

    Args:
        form: form of a passage.
        other_form: another form.
        features: those of FEATURES that are compared.
    """
    plain = zip(FEATURES[:-1], form[:-1], other_form[:-1], strict=True)
    differing = sum(mine != its for name, mine, its in plain if name in features)
    bands = abs(form.band - other_form.band) if LENGTH in features else 0
    return differing + max(0, bands - 1)


@dataclass(frozen=True)
class Forms:
    """Forms of passages, and those that the negatives of each query are to have.

    Attributes:
        passages: passage to its form.
        targets: forms for the negatives of each query, most wanted first, to be repeated in turn;
            empty where any form will do.
        revealing: features that come before shared words in the choice of near negatives, and count
            in that of how often passages are shown.
    """

    passages: Mapping[str, Form] = field(default_factory=dict)
    targets: Sequence[Sequence[Form]] = ()
    revealing: frozenset[str] = frozenset()

    def distance(self, query_index: int, slot: int, passage: str) -> int:
        """Count features (title, …) in which a passage differs from those wanted for a slot.

        Args:
            query_index: number of the query.
            slot: number of the negative among those of the query, from 0.
            passage: id of the passage.
        """
        targets = self.targets[query_index] if self.targets else ()
        if not targets:
            return 0
        return count_differences(self.passages[passage], targets[slot % len(targets)])

    def without(self, features: Collection[str]) -> "Forms":
        """Copy the features of all passages, as if titles, line breaks or both were removed."""
        return Forms(
            {name: form.without(features) for name, form in self.passages.items()},
            [[form.without(features) for form in targets] for targets in self.targets],
            self.revealing.difference(features),
        )

    def order(self, query_index: int, passage_ids: Sequence[str]) -> list[str]:
        """Order passages so that the n-th has a form like the n-th wanted one (title, length, …).

        Args:
            query_index: number of the query whose negatives they are to be.
            passage_ids: ids of the passages; they stay in this order where no feature tells labels.
        """
        targets = self.targets[query_index] if self.targets and self.revealing else ()
        left, ordered = list(passage_ids), []
        for target in islice(cycle(targets), len(passage_ids)):
            best = min(
                left,
                key=lambda name: count_differences(self.passages[name], target, self.revealing),
            )
            left.remove(best)
            ordered.append(best)
        return ordered + left

    def revealing_values(self, form: Form) -> tuple[object, ...]:
        """Get the values of those form features (title, …) that could reveal a passage's label."""
        coarse = form._replace(band=form.band // _BANDS)
        return tuple(
            value for name, value in zip(FEATURES, coarse, strict=True) if name in self.revealing
        )

    def count_wanted(self, n_per_query: Sequence[int]) -> Counter[tuple[object, ...]]:
        """Count the wanted negatives per form (title, …); empty if no form reveals labels.

        Args:
            n_per_query: negatives of each query.

        Returns:
            Values of the revealing features to the number of negatives.
        """
        if not self.revealing:
            return Counter()
        return Counter(
            self.revealing_values(form)
            for targets, n in zip(self.targets, n_per_query, strict=False)
            for form in islice(cycle(targets), n)
        )


def find_forms(passages: pa.Table) -> dict[str, Form]:
    """Find the form (title, line breaks, length, …) of each passage: id to form.

    Args:
        passages: schema CORPUS.
    """
    names, titles, texts, metadata = (passages[c].to_pylist() for c in CORPUS.names)
    languages = find_languages(texts)
    fields = [keep_frequent(v) for v in read_source_fields([m or "" for m in metadata]).values()]
    sources = list(zip(*fields, strict=True)) if fields else [()] * len(names)
    return {
        name: Form(bool(title), "\n" in text, language, source, _find_band(text))
        for name, title, text, language, source in zip(
            names, titles, texts, languages, sources, strict=True
        )
    }


def _find_band(text: str) -> int:
    """Compute the band (number) of a text's length: two bands per doubling of its length."""
    return int((1 + len(text)) ** _BANDS).bit_length()


def find_revealing(contexts: Contexts, forms: Mapping[str, Form]) -> set[str]:
    """Find features (length, …) that relevant passages have more or less often than by chance.

    Args:
        contexts: passages and labels that each query shows.
        forms: passage id to its form.
    """
    middle = sorted(form.band for form in forms.values())[len(forms) // 2] if forms else 0
    having: dict[tuple[str, object], set[str]] = {}
    for name, form in forms.items():
        values = (form.is_titled, form.has_breaks, form.language, form.source, form.band > middle)
        for feature, value in zip(FEATURES, values, strict=True):
            having.setdefault((feature, value), set()).add(name)
    return {
        feature
        for (feature, _), names in having.items()
        if abs(_compute_excess(contexts, names)) > _SURE
    }


def _compute_excess(contexts: Contexts, with_feature: Collection[str]) -> float:
    """Compute the z score of how often relevant passages have a feature, against chance.

    In each context the number of relevant passages that have it is hypergeometric by chance.

    Args:
        contexts: passages and labels that each query shows.
        with_feature: ids of the passages that have it.
    """
    excess = variance = 0.0
    for docs in contexts.values():
        n = len(docs)
        r = sum(doc["label"] == RELEVANT for doc in docs)
        h = sum(doc["corpus-id"] in with_feature for doc in docs)
        both = sum(doc["label"] == RELEVANT and doc["corpus-id"] in with_feature for doc in docs)
        excess += both - r * h / n
        if n > 1:
            variance += r * h * (n - r) * (n - h) / (n * n * (n - 1))
    return excess / math.sqrt(variance) if variance else 0.0


class Levelling:
    """Removes titles or line breaks from passages.

    Attributes:
        changed: what is removed to the number of passages that had it.
    """

    def __init__(self, features: Collection[str]) -> None:
        """Set the features to remove from all passages: TITLES, LINE_BREAKS, or both."""
        self.changed = dict.fromkeys(features, 0)

    def level(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Remove the titles or line breaks of passages (schema CORPUS), and count changes."""
        title, text = batch["title"], batch["text"]
        if TITLES in self.changed:
            self.changed[TITLES] += pc.sum(pc.not_equal(title, "")).as_py() or 0
            batch = batch.set_column(1, CORPUS.field("title"), pa.array([""] * len(title)))
        if LINE_BREAKS in self.changed:
            self.changed[LINE_BREAKS] += pc.sum(pc.match_substring(text, "\n")).as_py() or 0
            joined = pc.replace_substring_regex(text, r"\s*\n\s*", " ")
            batch = batch.set_column(2, CORPUS.field("text"), joined)
        return batch
