"""A KaLMA benchmark as tables."""

import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from citeforge.builders.kalma.contexts import KalmaQuestion, TripleContext
from citeforge.builders.kalma.evolve import Evolution
from citeforge.builders.packaging.package import PackageWriter
from citeforge.builders.stages.build import Stats
from citeforge.package.package import Package
from citeforge.schemas.benchmarks.kg import (
    KG_ABSENT,
    KG_CONTEXTS,
    KG_EVOLUTION,
    KG_GOLD,
    as_row,
    from_row,
    relation_key,
)
from citeforge.schemas.benchmarks.manifest import ContextSet
from citeforge.schemas.benchmarks.tables import QUERIES
from citeforge.schemas.errors import UnknownValueError

_DATE = re.compile(r"(?P<sign>-?)(?P<year>\d{1,9})(?:s|(?:-\d{2}){0,2})(?P<era> BCE)?")


def write_tables(
    writer: PackageWriter,
    questions: Sequence[KalmaQuestion],
    evolutions: Sequence[Evolution],
    contexts: Mapping[str, TripleContext],
) -> dict[str, ContextSet]:
    """Write the tables; gives what the manifest says of the context sets.

    Args:
        writer: where the package grows.
        questions: in their order.
        evolutions: how questions grew; none where they did not.
        contexts: what is shown, by the name of the set.
    """
    rows: list[dict[str, Any]]
    for form in ("specific", "general"):
        rows = [
            {"_id": q.query_id, "text": getattr(q, form),
             "metadata": json.dumps(q.metadata, ensure_ascii=False, sort_keys=True)}
            for q in questions
        ]  # fmt: skip
        if all(r["text"] for r in rows):
            writer.add("queries", form, pa.Table.from_pylist(rows, schema=QUERIES))
    for name, context in contexts.items():
        rows = [
            {"query_id": q.query_id, "triples": list(map(as_row, context.triples[q.query_id]))}
            for q in questions
        ]
        writer.add("contexts", name, pa.Table.from_pylist(rows, schema=KG_CONTEXTS))
    for name in (n for n, c in contexts.items() if c.removed):
        rows = [
            {"query_id": query, **as_row(t), "why": why}
            for query, removed in contexts[name].removed.items()
            for t, why in removed
        ]
        writer.add("absent", name, pa.Table.from_pylist(rows, schema=KG_ABSENT))
    rows = [
        {"query_id": q.query_id, **as_row(t), "round": number}
        for q in questions
        for t, number in q.gold
    ]
    writer.add("gold", "gold", pa.Table.from_pylist(rows, schema=KG_GOLD))
    writer.add("evolution", "evolution", _evolution_table(evolutions))
    return {n: ContextSet(description=c.description, short=c.short) for n, c in contexts.items()}


def _evolution_table(evolutions: Sequence[Evolution]) -> pa.Table:
    rows = [
        {
            "query_id": e.pair.id,
            "round": r.number,
            "paragraph": r.paragraph,
            "triples": [as_row(t) for t in r.triples],
            "candidates": [{**vars(s), "triple": as_row(s.triple)} for s in r.candidates],
            "refused": list(r.refused),
        }
        for e in evolutions
        for r in e.rounds
    ]
    return pa.Table.from_pylist(rows, schema=KG_EVOLUTION)


def kalma_stats(questions: Sequence[KalmaQuestion]) -> Stats:
    """Statistics as the paper gives them (section 2.3), and spreads."""
    graphs = {g.qid: g for q in questions for g in q.graphs}
    triples = [t for g in graphs.values() for t in g.triples]

    def distinct(*relations: str) -> int:
        return len({t.value for t in triples if t.relation in relations})

    years = [
        year
        for t in triples
        if relation_key(t.relation) in ("date of birth", "inception") and t.precision
        if (year := year_of(t.value)) is not None
    ]
    relations = Counter(t.relation for q in questions for t, _ in q.gold)
    texts = Counter(q.specific for q in questions)
    stats: Stats = {
        "queries": len(questions),
        "sub-graphs": len(graphs),
        "triples per sub-graph, mean": round(len(triples) / max(len(graphs), 1), 2),
        "knowledge per question, mean": round(
            math.fsum(len(q.gold) for q in questions) / max(len(questions), 1), 4
        ),
        "relations in minimum knowledge sets": len(relations),
        "occupations": distinct("occupation"),
        "countries": distinct("country of citizenship", "country"),
        "places of birth": distinct("place of birth"),
        "repeated questions": sum(n - 1 for n in texts.values()),
    }
    if years:
        stats["years of birth"] = f"{_year(min(years))} to {_year(max(years))}"
    stats["relations of minimum knowledge sets"] = dict(relations.most_common())
    return stats


def year_of(date: str) -> int | None:
    """Year of a date as triples hold it, counted without a gap: 0 is 1 BCE.

    ``1815-12-10``, ``1810s``, ``44-03-15 BCE``, and as published files have it ``-0043-03-15``
    (XSD 1.1: 44 BCE); None for centuries and the like.
    """
    match = _DATE.fullmatch(date)
    if match is None:
        return None
    if match["era"]:
        return 1 - int(match["year"])
    return -int(match["year"]) if match["sign"] else int(match["year"])


def _year(number: int) -> str:
    return f"{1 - number} BCE" if number < 1 else str(number)


def trace_text(package: Package, query_id: str) -> str:
    """How a question grew, round by round, as the paper's Table 18 shows it.

    Raises:
        UnknownValueError: no such query.
    """
    from citeforge.builders.kalma.annotate import marker

    if query_id not in package.row_of:
        raise UnknownValueError("query", query_id, package.query_ids[:20])
    lines = []
    for row in package.evolution.to_pylist():
        if row["query_id"] != query_id:
            continue
        lines += [f"Round {row['round']}"]
        lines += [f"  knowledge  {marker(from_row(t))} ({t['name']})" for t in row["triples"]]
        lines.append(f"  paragraph  {row['paragraph']}")
        for one in row["candidates"][:5]:
            t = from_row(one["triple"])
            lines.append(
                f"  candidate  {one['score']:.4f} = specificity {one['specificity']:.4f}, "
                f"coherence {one['coherence']:.4f}  {t.name}, {t.relation}: {t.value}"
            )
        lines += [f"  refused    {text}" for text in row["refused"]]
    if not lines:
        lines.append("This benchmark was not evolved here: it keeps no rounds.")
    for form, table in reversed(package.forms.items()):
        text = table["text"][package.row_of[query_id]].as_py()
        lines.append(f"{form.capitalize()} question: {text}")
    return "\n".join(lines) + "\n"
