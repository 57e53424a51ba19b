"""Tables and statistics of a KaLMA package, and the checks between its tables."""

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import pyarrow as pa

from citeforge.builders.build import Stats
from citeforge.builders.kalma.contexts import Equivalents, KalmaQuestion, TripleContext
from citeforge.builders.kalma.evolve import Evolution
from citeforge.builders.kalma.mentions import marker
from citeforge.builders.kalma.selection import missing_values
from citeforge.builders.package import PackageWriter
from citeforge.builders.verify import Problems
from citeforge.engines.shown import show_number
from citeforge.engines.tables import rows_of
from citeforge.engines.text.names import mask_names
from citeforge.engines.text.variety import variety_stats
from citeforge.kg.sensitive import sensitive_relations
from citeforge.package.items import by_query
from citeforge.package.package import Package
from citeforge.schemas.counts import SENSITIVE, SENSITIVE_GOLD
from citeforge.schemas.errors import UnknownValueError
from citeforge.schemas.kg import (
    ANSWERS,
    Triple,
    as_row,
    from_row,
    read_answers,
    relation_key,
)
from citeforge.schemas.manifest import ContextSet
from citeforge.schemas.tables import KG_BY_CONFIG

_DISTINCT = {
    "occupations": ("occupation",),
    "countries": ("country of citizenship", "country"),
    "places_of_birth": ("place of birth",),
}
"""Statistic to the relations whose distinct values it counts, where there are any."""
_DATE = re.compile(r"(?P<sign>-?)(?P<year>\d{1,9})(?:s|(?:-\d{2}){0,2})(?P<era> BCE)?")


def write_tables(
    writer: PackageWriter,
    questions: Sequence[KalmaQuestion],
    evolutions: Sequence[Evolution],
    contexts: Mapping[str, TripleContext],
    equivalents: Equivalents,
) -> dict[str, ContextSet]:
    """Write the tables of a KaLMA package; return its context sets' descriptions for the manifest.

    Args:
        writer: where the package grows.
        questions: in their order.
        evolutions: how questions grew; none where they did not.
        contexts: what is shown, by the name of the set.
        equivalents: triples that state the gold facts in other words.
    """

    def add(config: str, split: str, rows: Iterable[dict[str, Any]]) -> None:
        """Write rows as one table of the package."""
        table = pa.Table.from_pylist(list(rows), schema=KG_BY_CONFIG[config])
        writer.add(config, split, table)

    for form in ("specific", "general"):
        rows = [
            {"_id": q.query_id, "text": getattr(q, form), "metadata": _dump_metadata(q, form)}
            for q in questions
        ]
        if all(r["text"] for r in rows):
            add("queries", form, rows)
    for name, context in contexts.items():
        shown = [(q.query_id, map(as_row, context.triples[q.query_id])) for q in questions]
        add("contexts", name, ({"query_id": q, "triples": list(t)} for q, t in shown))
        if context.removed:
            gone = [(query, t, why) for query, row in context.removed.items() for t, why in row]
            add("absent", name, ({"query_id": q, **as_row(t), "why": why} for q, t, why in gone))
    add("gold", "gold", (
        {"query_id": q.query_id, **as_row(t), "round": number,
         "equivalents": list(map(as_row, equivalents[q.query_id][t]))}
        for q in questions for t, number in q.gold
    ))  # fmt: skip
    add("evolution", "evolution", (
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
    ))  # fmt: skip
    return {n: ContextSet(description=c.description, short=c.short) for n, c in contexts.items()}


def _dump_metadata(question: KalmaQuestion, form: str) -> str:
    """Dump a question's metadata as JSON; if ``form`` is general, with answers besides the gold."""
    metadata = question.metadata
    if form == "general" and question.answers:
        answers = [[t.qid, t.relation, t.value] for t in question.answers]
        metadata = metadata | {ANSWERS: answers}
    return json.dumps(metadata, ensure_ascii=False, sort_keys=True)


def kalma_stats(questions: Sequence[KalmaQuestion], further_stats: Mapping[str, object]) -> Stats:
    """Compute a KaLMA package's statistics as in the paper (section 2.3); add further ones."""
    graphs = {g.qid: g for q in questions for g in q.graphs}
    triples = [t for g in graphs.values() for t in g.triples]

    def count_distinct(*relations: str) -> int:
        """Count the distinct values of given relations in all sub-graphs."""
        return len({t.value for t in triples if t.relation in relations})

    years = [
        year
        for t in triples
        if relation_key(t.relation) in ("date of birth", "inception") and t.precision
        if (year := parse_year(t.value)) is not None
    ]
    relations = Counter(t.relation for q in questions for t, _ in q.gold)
    gold = {t for q in questions for t, _ in q.gold}
    texts = Counter(q.specific for q in questions)
    stats: Stats = {
        "queries": len(questions),
        "sub_graphs": len(graphs),
        "triples_per_sub_graph_mean": round(len(triples) / max(len(graphs), 1), 2),
        "knowledge_per_question_mean": round(
            math.fsum(len(q.gold) for q in questions) / max(len(questions), 1), 4
        ),
        "relations": len(relations),
        **{name: n for name, labels in _DISTINCT.items() if (n := count_distinct(*labels))},
        "repeated_questions": sum(n - 1 for n in texts.values()),
        **further_stats,
        **question_variety(questions),
    }
    if n_partial := sum(map(_leaves_an_entity_out, questions)):
        stats["questions_that_leave_an_entity_out"] = n_partial
    if years:
        stats["years_of_birth"] = f"{_year_text(min(years))} to {_year_text(max(years))}"
    for name, some in ((SENSITIVE, triples), (SENSITIVE_GOLD, gold)):
        if found := sensitive_relations(some):
            stats[name] = found
    stats["relations_of_knowledge_sets"] = dict(relations.most_common())
    return stats


def question_variety(questions: Sequence[KalmaQuestion], key_suffix: str = "") -> Stats:
    """Measure how varied general and specific questions are, with X in place of entity names.

    Args:
        questions: with the texts of both forms.
        key_suffix: text after the form in the statistics' keys, for another writer's questions.
    """
    stats: Stats = {}
    for form in ("specific", "general"):
        texts = [
            mask_names(text, [g.name for g in q.graphs])
            for q in questions
            if (text := getattr(q, form))
        ]
        if texts:
            stats |= variety_stats(f"{form} questions{key_suffix}", texts)
    return stats


def _leaves_an_entity_out(question: KalmaQuestion) -> bool:
    """Whether the specific question on several entities does not name all of them."""
    names = [graph.name for graph in question.graphs]
    return len(names) > 1 and not all(name in question.specific for name in names)


def parse_year(date: str) -> int | None:
    """Get the year of a date in a triple, with 0 for 1 BCE; None if the text is no such date.

    ``1815-12-10``, ``1810s``, ``44-03-15 BCE``, and as published files have it ``-0043-03-15``
    (XSD 1.1: 44 BCE).
    """
    match = _DATE.fullmatch(date)
    if match is None:
        return None
    if match["era"]:
        return 1 - int(match["year"])
    return -int(match["year"]) if match["sign"] else int(match["year"])


def _year_text(number: int) -> str:
    """Write a year number as text, in which 0 is 1 BCE: ``44 BCE`` for -43."""
    return f"{1 - number} BCE" if number < 1 else str(number)


def trace_text(package: Package, query_id: str) -> str:
    """Describe round by round how a question was composed, as in the paper's Table 18.

    Raises:
        UnknownValueError: no such query.
    """

    if query_id not in package.row_of:
        raise UnknownValueError("query", query_id, package.query_ids)
    lines = []
    for row in package.evolution.to_pylist():
        if row["query_id"] != query_id:
            continue
        lines += [f"Round {row['round']}"]
        lines += [f"  knowledge  {marker(from_row(t))} ({t['name']})" for t in row["triples"]]
        lines.append(f"  paragraph  {row['paragraph']}")
        for one in row["candidates"][:5]:
            t = from_row(one["triple"])
            score, specificity, coherence = (
                show_number(one[name], 4) for name in ("score", "specificity", "coherence")
            )
            lines.append(
                f"  candidate  {score} = specificity {specificity}, "
                f"coherence {coherence}  {t.name}, {t.relation}: {t.value}"
            )
        lines += [f"  refused    {text}" for text in row["refused"]]
    if not lines:
        lines.append("This benchmark was not evolved here: it keeps no rounds.")
    for form, table in reversed(package.forms.items()):
        text = table["text"][package.row_of[query_id]].as_py()
        lines.append(f"{form.capitalize()} question: {text}")
    return "\n".join(lines) + "\n"


def wrong_kalma(package: Package) -> Problems:
    """Yield (table, problem) for inconsistencies among a KaLMA package's tables."""
    ids = package.query_ids
    if len(set(ids)) != len(ids):
        yield "queries/specific", "duplicate _id"
    for split, table in package.forms.items():
        if table["_id"].to_pylist() != ids:
            yield (
                f"queries/{split}",
                f"its queries are not those of {package.kind.facts.questions}, in their order",
            )
    per_set: dict[str, dict[str, list[Triple]]] = {}
    for name in package.contexts:
        table = package.context_table(name)
        if table["query_id"].to_pylist() != ids:
            yield f"contexts/{name}", "its queries are not those of queries, in their order"
            return
        rows = ([from_row(t) for t in row] for row in table["triples"].to_pylist())
        per_set[name] = dict(zip(ids, rows, strict=True))
    # Published graphs are what a retrieval found; their gold may be of others.
    is_published = "kalma" in {source.kind for source in package.manifest.sources}
    full = {q: {t.key for t in triples} for q, triples in per_set["full"].items()}
    shown = {q: {t.key for mine in per_set.values() for t in mine[q]} for q in ids}
    for row in package.gold.to_pylist():
        for key in (from_row(t).key for t in row["equivalents"]):
            if key not in shown.get(row["query_id"], ()):
                yield "gold", f"query {row['query_id']!r}: the equivalent {key} is shown nowhere"
        if row["query_id"] not in full:
            yield "gold", f"names the query {row['query_id']!r}, which is not in queries"
        elif from_row(row).key not in full[row["query_id"]] and not is_published:
            key = from_row(row).key
            yield "gold", f"query {row['query_id']!r}: {key} is not in its sub-graphs"
    for query, text in rows_of(package.forms.get("general", package.queries), "_id", "metadata"):
        for key in read_answers(json.loads(text)):
            if key not in full.get(query, ()):
                yield "queries/general", f"query {query!r}: the answer {key} is not shown"
    if not is_published:
        yield from _find_missing_values(package, per_set["full"])
    yield from _find_wrong_removals(package, per_set)
    yield from _find_unnested_sets(per_set)


def _find_missing_values(package: Package, triples_of: dict[str, list[Triple]]) -> Problems:
    """Yield (table, problem) for values missing beside gold values of the same relation."""
    gold = by_query(package.gold.to_pylist())
    for query, text in rows_of(package.queries, "_id", "metadata"):
        metadata, mine = json.loads(text), list(map(from_row, gold.get(query, [])))
        for t in missing_values(triples_of.get(query, []), mine, metadata["entities"]):
            yield "gold", f"query {query!r}: has other values of {t.relation}, not {t.value!r}"


def _find_wrong_removals(
    package: Package, triples_by_set: dict[str, dict[str, list[Triple]]]
) -> Problems:
    """Yield problems of ``absent_N`` sets that are not the set ``full`` minus removed triples."""
    before: Counter[tuple[str, Triple]] = Counter()
    for name in (n for n in package.contexts if n.startswith("absent_")):
        rows = package.absent(name).to_pylist()
        removed = Counter((r["query_id"], from_row(r)) for r in rows)
        for query, triples in triples_by_set[name].items():
            gone = {t for q, t in removed if q == query}
            expected = [t for t in triples_by_set["full"][query] if t not in gone]
            if triples != expected:
                yield f"contexts/{name}", f"query {query!r} is not full without what was removed"
        if before - removed:
            yield f"absent/{name}", "is missing triples that the smaller set removed"
        before = removed


def _find_unnested_sets(triples_by_set: dict[str, dict[str, list[Triple]]]) -> Problems:
    """Yield problems of ``retrieval_P`` sets not nested in the set of next higher P."""
    right = {q: {t.qid for t in triples} for q, triples in triples_by_set["full"].items()}
    names = [n for n in triples_by_set if n.startswith("retrieval_")]
    right_graphs = {
        n: {
            (q, t.qid)
            for q, triples in triples_by_set[n].items()
            for t in triples
            if t.qid in right[q]
        }
        for n in sorted(names, key=lambda n: -int(n.rpartition("_")[2]))
    }
    for higher, lower in pairwise(right_graphs):
        if not right_graphs[lower] <= right_graphs[higher]:
            yield f"contexts/{lower}", "is not nested in the set with the higher accuracy"
