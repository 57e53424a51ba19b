"""Relations that state of a person what laws protect most, such as religion and health."""

import tomllib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from citeforge.schemas.kg import Triple, relation_key

_FILE = Path(__file__).parent / "data" / "sensitive.toml"


@cache
def _read_relations() -> tuple[dict[str, str], dict[str, str]]:
    """Read legally protected relations: (property id to label, normalised label to id)."""
    content = tomllib.loads(_FILE.read_text(encoding="utf-8"))
    labels = {relation_key(label): pid for pid, label in content["relations"].items()}
    labels |= {relation_key(label): pid for label, pid in content["labels"].items()}
    return content["relations"], labels


def sensitive_relations(triples: Iterable[Triple]) -> dict[str, int]:
    """Count the entities with each legally protected relation, the most frequent first.

    Relations count by their Wikidata property id; triples without one by their label.
    """
    relations, labels = _read_relations()
    entities: dict[str, set[str]] = {}
    for t in triples:
        pid = t.pid if t.pid in relations else labels.get(relation_key(t.relation), "")
        if pid:
            entities.setdefault(relations[pid], set()).add(t.qid)
    counts = {relation: len(mine) for relation, mine in entities.items()}
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
