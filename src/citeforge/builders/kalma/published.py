"""BioKaLMA's published files as questions and sub-graphs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from citeforge.builders.kalma.contexts import Entry
from citeforge.builders.kalma.package import Question
from citeforge.engines.files import sha256_file
from citeforge.ir_convert.kalma import read_gold, read_items
from citeforge.schemas.errors import InputError
from citeforge.schemas.kg import Triple
from citeforge.schemas.sources import SourceInfo

LICENCE = "other"
"""S-Lab licence 1.0, non-commercial; it has no SPDX identifier."""


@dataclass(frozen=True)
class Published:
    """What the files hold, and which files they are."""

    questions: list[Question]
    entries: list[Entry]
    gold: list[list[tuple[Triple, int]]]
    source: SourceInfo
    config: dict[str, str | None]


def read_published(
    specific: Path, general: Path | None, gold: Path | None, limit: int | None
) -> Published:
    """Read the files together; entries belong together by their position.

    Raises:
        InputError: another layout, or files of unequal length.
    """
    items = read_items(specific)
    others = read_items(general) if general is not None else None
    sets = read_gold(gold) if gold is not None else None
    for path, found in ((general, others), (gold, sets)):
        if found is not None and len(found) != len(items):
            raise InputError(
                f"has {len(found)} entries and {specific.name} has {len(items)}", path=path
            )
    files = {p.name: sha256_file(p) for p in (specific, general, gold) if p is not None}
    source = SourceInfo(
        spec=f"kalma:{specific}",
        kind="kalma",
        licence=LICENCE,
        files=files,
        rules={"relations": "names mapped to Wikidata's labels"},
        counts={"values left out: empty": sum(i.empty for i in items)},
    )
    questions, entries, golds = [], [], []
    for at, item in enumerate(items[:limit]):
        query = f"e{at + 1:04d}"
        questions.append(
            Question(
                item.question,
                others[at].question if others is not None else "",
                {
                    "entities": [g.qid for g in item.graphs],
                    "names": [g.name for g in item.graphs],
                },
            )
        )
        names = {g.qid: g.name for g in item.graphs}
        mine = [
            (Triple(q, names.get(q, q), "", r, v), 0)
            for q, r, v in (sets[at] if sets is not None else [])
        ]
        entries.append(Entry(query, item.graphs, tuple(t for t, _ in mine)))
        golds.append(mine)
    config = {
        "source": source.spec,
        "general": None if general is None else general.name,
        "gold": None if gold is None else gold.name,
    }
    return Published(questions, entries, golds, source, config)
