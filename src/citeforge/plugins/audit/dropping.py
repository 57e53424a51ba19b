"""Remove negatives that are probably relevant: ``build rage --drop-suspects``, ``--decided``."""

from collections import Counter

import pyarrow as pa

from citeforge.builders.derive import Docs
from citeforge.builders.rage.mixture import Mappings
from citeforge.builders.rage.sources import Material
from citeforge.engines.files import read_json
from citeforge.engines.tables import rows_of
from citeforge.engines.textfiles import validated
from citeforge.package.package import short_answers, texts_of
from citeforge.plugins.audit import flaws
from citeforge.schemas.audit import Audit
from citeforge.schemas.errors import InputError
from citeforge.schemas.tables import RELEVANT


def drop_suspects(material: Material, mappings: Mappings) -> Mappings:
    """Remove from mappings the negatives that model-free checks find probably relevant."""
    ids = material.ids
    relevant: dict[str, list[str]] = {q: [] for q in ids}
    negative: dict[str, Docs] = {q: [] for q in ids}
    for label, table in mappings.items():
        pairs = rows_of(table, "query-id", "corpus-id")
        for query, passage in pairs:
            if label == RELEVANT:
                relevant[query].append(passage)
            else:
                negative[query].append({"corpus-id": passage, "label": label})
    gold = short_answers(material.queries, mappings[RELEVANT], material.gold)
    passages = {i for t in mappings.values() for i in t["corpus-id"].to_pylist()}
    texts = {i: text for i, (_, text) in texts_of(material.corpus, passages).items()}
    mapped = flaws.DraftBase(relevant, negative, dict(zip(ids, gold, strict=True)))
    suspects = list(flaws.find_suspects(mapped, texts, material.recipe.mining.contained))
    dropped = Counter(f.kind for f in suspects)
    for reason in ("near-duplicate", "answer-in-negative", "shared-text"):
        if dropped[reason]:
            material.counts[f"suspect negatives dropped: {reason}"] = dropped[reason]
    return _remove_pairs(mappings, {(f.query, f.passage) for f in suspects})


def drop_decided(material: Material, mappings: Mappings) -> Mappings:
    """Remove from mappings the negatives that an audit decided are relevant; count them.

    Raises:
        InputError: the recipe's file is no audit, or contains no decisions.
    """
    path, counts = material.recipe.decided, material.counts
    assert path is not None
    audit = validated(Audit, read_json(path), path)
    if audit.cascade is None:
        raise InputError(
            "contains no decisions", path=path, field="cascade", code="missing-field",
            allowed="audit.json of `citeforge audit DIR --strong-judge JUDGE`",
        )  # fmt: skip
    by = {(d.query, d.passage): d.by for d in audit.decisions if d.verdict == "relevant"}
    there = {
        pair
        for label, table in mappings.items() if label != RELEVANT
        for pair in rows_of(table, "query-id", "corpus-id")
    }  # fmt: skip
    for who, n in sorted(Counter(by[pair] for pair in there & set(by)).items()):
        counts[f"negatives dropped: decided to be relevant by {who}"] = n
    counts["decided to be relevant, but no negatives here"] = len(set(by) - there)
    return _remove_pairs(mappings, set(by))


def _remove_pairs(tables: Mappings, pairs: set[tuple[str, str]]) -> Mappings:
    """Remove (query, passage) pairs from the tables of negatives."""
    result = dict(tables)
    for label in result.keys() - {RELEVANT}:
        rows = rows_of(tables[label], "query-id", "corpus-id")
        result[label] = tables[label].filter(pa.array([r not in pairs for r in rows], pa.bool_()))
    return result
