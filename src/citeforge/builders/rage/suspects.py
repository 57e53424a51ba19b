"""Find negatives that are probably relevant, and drop them (``--drop-suspects``, ``--decided``)."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from citeforge.builders.rage.material import Material
from citeforge.builders.rage.mixture import Mappings
from citeforge.engines.files import read_json
from citeforge.engines.shown import show_number
from citeforge.engines.tables import rows_of
from citeforge.engines.text.overlap import shared, shingles
from citeforge.engines.textfiles import validated
from citeforge.package.package import read_texts, short_answers
from citeforge.schemas.audit import Audit, Flaw
from citeforge.schemas.counts import SUSPECTS, count_key
from citeforge.schemas.errors import InputError
from citeforge.schemas.matching.answers import AnswerText
from citeforge.schemas.tables import RELEVANT

NEAR = 0.8
"""Estimated Jaccard similarity of word trigrams from which two passages are near-duplicates."""

_PERMUTATIONS = 128
_SHINGLE_WORDS = 3
_WORD = re.compile(r"\w+")


def find_suspects(
    negatives: Iterable[tuple[str, str]],
    relevant: Mapping[str, Sequence[str]],
    answers: Mapping[str, Sequence[str]],
    texts: Mapping[str, str],
    min_share: float,
) -> Iterator[Flaw]:
    """Find negatives that are probably relevant, by comparing texts without a model.

    They nearly repeat a relevant passage of their query (MinHash), share text with one literally,
    or contain a gold short answer.

    Args:
        negatives: (query, passage) of each.
        relevant: query to its relevant passages.
        answers: query to its gold short answers.
        texts: passages by id.
        min_share: share of the shorter text's runs of five words, from which a negative is suspect;
            see engines.text.overlap.
    """
    sketch = cache(lambda name: _sketch(texts[name]))
    cut = cache(lambda name: shingles(texts[name]))
    read = cache(lambda name: AnswerText(texts[name]))
    for query, passage in negatives:
        if passage not in texts:
            continue
        known = [name for name in relevant[query] if name in texts]
        for name in known:
            if (likeness := sketch(passage).jaccard(sketch(name))) >= NEAR:
                yield Flaw("near-duplicate", query, passage, f"{show_number(likeness)} like {name}")
                break
        share, name = max(((shared(cut(passage), cut(r)), r) for r in known), default=(0.0, ""))
        if share >= min_share:
            yield Flaw("shared-text", query, passage, f"{show_number(share)} shared with {name}")
        hits = filter(read(passage).contains, answers[query])
        if (hit := next(hits, None)) is not None:
            yield Flaw("answer-in-negative", query, passage, f"holds {hit!r}")


def _sketch(text: str) -> Any:
    """Compute the MinHash sketch of a text's word trigrams (``datasketch.MinHash``).

    Two sketches estimate the Jaccard similarity of their texts.
    """
    from datasketch import MinHash

    words = _WORD.findall(text.lower())
    grams = {
        " ".join(words[i : i + _SHINGLE_WORDS])
        for i in range(max(1, len(words) - _SHINGLE_WORDS + 1))
    }
    sketch = MinHash(num_perm=_PERMUTATIONS, seed=1)
    sketch.update_batch([s.encode() for s in sorted(grams)])
    return sketch


def drop_suspects(material: Material, mappings: Mappings) -> Mappings:
    """Remove probably relevant negatives from the tables of each label; count them."""
    ids = material.ids
    relevant: dict[str, list[str]] = {q: [] for q in ids}
    for query, passage in rows_of(mappings[RELEVANT], "query-id", "corpus-id"):
        relevant[query].append(passage)
    gold = short_answers(material.queries, mappings[RELEVANT], material.gold)
    passages = {i for t in mappings.values() for i in t["corpus-id"].to_pylist()}
    texts = {i: text for i, (_, text) in read_texts(material.corpus, passages).items()}
    answers = dict(zip(ids, gold, strict=True))
    least = material.recipe.mining.contained
    suspects = list(find_suspects(_list_negatives(mappings), relevant, answers, texts, least))
    dropped = Counter(f.kind for f in suspects)
    for reason in ("near-duplicate", "answer-in-negative", "shared-text"):
        if dropped[reason]:
            material.counts[count_key(SUSPECTS, reason)] = dropped[reason]
    return _remove_pairs(mappings, {(f.query, f.passage) for f in suspects})


def drop_decided(audit_path: Path, material: Material, mappings: Mappings) -> Mappings:
    """Remove and count negatives that an audit's judge decided are relevant.

    Args:
        audit_path: the audit.
        material: material of the build, whose counts are added to.
        mappings: rows of each label.

    Raises:
        InputError: the file is no audit, or contains no decisions.
    """
    audit, counts = validated(Audit, read_json(audit_path), audit_path), material.counts
    if audit.cascade is None:
        raise InputError(
            "contains no decisions", path=audit_path, field="cascade", code="missing-field",
            allowed="audit.json of `citeforge audit DIR --strong-judge JUDGE`",
        )  # fmt: skip
    by = {(d.query, d.passage): d.by for d in audit.decisions if d.verdict == "relevant"}
    there = set(_list_negatives(mappings))
    for who, n in sorted(Counter(by[pair] for pair in there & set(by)).items()):
        counts[count_key("decided_relevant", who)] = n
    counts["decided_relevant_elsewhere"] = len(set(by) - there)
    return _remove_pairs(mappings, set(by))


def drop_negatives(material: Material, mappings: Mappings) -> Mappings:
    """Return tables by label without (probably) relevant negatives, if the recipe drops them.

    Args:
        material: material of the build, whose counts are added to.
        mappings: label to (query, passage) pairs, schema MAPPING.
    """
    recipe = material.recipe
    if recipe.drop_suspects:
        mappings = drop_suspects(material, mappings)
    if recipe.decided is not None:
        mappings = drop_decided(recipe.decided, material, mappings)
    return mappings


def _list_negatives(mappings: Mappings) -> list[tuple[str, str]]:
    """List (query, passage) of every negative: all pairs whose label is not relevant."""
    tables = (table for label, table in mappings.items() if label != RELEVANT)
    return [pair for table in tables for pair in rows_of(table, "query-id", "corpus-id")]


def _remove_pairs(mappings: Mappings, pairs: set[tuple[str, str]]) -> Mappings:
    """Return tables by label, without given (query, passage) pairs unless labelled relevant."""
    result = dict(mappings)
    for label in result.keys() - {RELEVANT}:
        rows = rows_of(mappings[label], "query-id", "corpus-id")
        keep = pa.array([r not in pairs for r in rows], pa.bool_())
        result[label] = mappings[label].filter(keep)
    return result
