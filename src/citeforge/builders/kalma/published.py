"""BioKaLMA's published files as questions and sub-graphs."""

from pathlib import Path

from citeforge.builders.kalma.contexts import KalmaQuestion
from citeforge.engines.io.files import sha256_file
from citeforge.ir_convert.kalma import read_entries, read_gold
from citeforge.schemas.benchmarks.kg import EMPTY, Key, Triple
from citeforge.schemas.benchmarks.sources import SourceInfo
from citeforge.schemas.errors import InputError, UsageError

LICENCE = "other"
"""S-Lab licence 1.0, non-commercial; it has no SPDX identifier."""


def read_published(
    specific: Path,
    general: Path | None,
    gold: Path | None,
    limit: int | None,
    later: Path | None = None,
) -> tuple[list[KalmaQuestion], SourceInfo]:
    """Read the files together; entries belong together by their position.

    Args:
        specific: specific questions with their sub-graphs.
        general: general questions, in the same layout.
        gold: minimum knowledge sets.
        limit: entries at most.
        later: minimum knowledge sets without the facts of round 1.

    Raises:
        InputError: another layout, files of unequal length, or sets that do not fit together.
        UsageError: ``later`` without ``gold``.
    """
    if later is not None and gold is None:
        raise UsageError("--gold-later goes with --gold, the sets of all rounds")
    items = read_entries(specific)
    others = [i.question for i in read_entries(general)] if general else [""] * len(items)
    sets = read_gold(gold, later) if gold else [[] for _ in items]
    for path, n in ((general, len(others)), (gold, len(sets))):
        if n != len(items):
            raise InputError(f"has {n} entries and {specific.name} has {len(items)}", path=path)
    files = {p.name: sha256_file(p) for p in (specific, general, gold, later) if p is not None}
    source = SourceInfo(
        spec=f"kalma:{specific}",
        kind="kalma",
        licence=LICENCE,
        files=files,
        counts={"values left out: empty": sum(i.n_empty for i in items)},
    )
    questions = []
    strangers = 0
    rows = zip(items[:limit], others, sets, strict=False)
    for number, (item, general_text, facts) in enumerate(rows, 1):
        names = {g.qid: g.name for g in item.graphs}
        triples = {t.key: t for g in item.graphs for t in g.triples}
        gold_facts = []
        for fact in facts:
            own = triples.get(Key(*fact[:3]))
            strangers += own is None
            name = names.get(fact.qid, fact.qid)
            gold_facts.append((own or Triple(fact.qid, name, "", *fact[1:3]), fact.round))
        metadata = {
            "entities": [g.qid for g in item.graphs],
            "names": [g.name for g in item.graphs],
            **({EMPTY: item.empty} if item.empty else {}),
        }
        questions.append(
            KalmaQuestion(
                f"e{number:04d}", item.graphs, tuple(gold_facts), item.question, general_text,
                metadata,
            )
        )  # fmt: skip
    if strangers:
        source.counts["gold facts that no shown graph has"] = strangers
    return questions, source
