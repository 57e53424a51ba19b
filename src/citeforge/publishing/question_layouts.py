"""Layouts with one row per question: ALCE, AttriEval, Attributed-IR, and KaLMA's JSON."""

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from citeforge.builders.derive import Base
from citeforge.engines.files import write_text
from citeforge.package.items import by_query
from citeforge.package.package import Package
from citeforge.publishing.dataset_layouts import other_contexts
from citeforge.publishing.export import ContextOptions, DroppedFields, Export
from citeforge.schemas.kg import EMPTY, Graph, Triple, from_row


def choose_context(benchmark: Base, options: ContextOptions) -> tuple[str, DroppedFields]:
    """Choose the context set to export, the named or first one: (its name, data dropped)."""
    name = options.context or benchmark.contexts[0]
    lost = other_contexts(benchmark, name)
    if any(benchmark.negatives.values()):
        lost.append("mapped negatives that the context does not show")
    return name, lost


def export_alce(folder: Path, out: Path, options: ContextOptions) -> DroppedFields:
    """Write a benchmark in ALCE's layout, ``data.json``; list what is lost.

    Returns:
        What is lost, one line each.
    """
    benchmark = Base(folder)
    name, lost = choose_context(benchmark, options)
    items = []
    for row in benchmark.items(name):
        gold = {
            "qa_pairs": [
                {"question": g.text or "", "short_answers": list(g.aliases)}
                for g in row.gold.qa_pairs
            ],
            "annotations": [{"long_answer": g.text} for g in row.gold.long_answers],
            "answers": [list(g.aliases) for g in row.gold.answer_lists],
            "claims": [g.text for g in row.gold.claims],
            "answer": next((g.text for g in row.gold.answers if g.text), None),
        }
        item: dict[str, Any] = {
            "sample_id": row.query_id,
            "question": row.query,
            "docs": [{"id": d.id, "title": d.title, "text": d.text} for d in row.passages],
            **{field: value for field, value in gold.items() if value},
        }
        short = benchmark.answers[row.query_id]
        if short and not gold["qa_pairs"] and not gold["answers"]:
            item["qa_pairs"] = [{"question": row.query, "short_answers": short}]
        items.append(item)
    write_text(out / "data.json", json.dumps(items, ensure_ascii=False, indent=1) + "\n")
    lost.append("relevance labels: ALCE calls documents relevant that hold a short answer")
    if any(g["citations"] for g in benchmark.gold.to_pylist()):
        lost.append("citations and labels of gold answers, and all answers but the first")
    return lost


def export_attrieval(folder: Path, out: Path, options: ContextOptions) -> DroppedFields:
    """Write a benchmark in AttriEval's layout, a saved data set; list what is lost.

    Returns:
        What is lost, one line each.
    """
    import datasets

    datasets.disable_progress_bars()
    benchmark = Base(folder)
    name, lost = choose_context(benchmark, options)
    rows = [
        {
            "query_id": row.query_id,
            "query": row.query,
            "passages": {
                "passage_text": [d.text for d in row.passages],
                "is_selected": [int(d.is_relevant) for d in row.passages],
            },
            "org_answers": benchmark.answers[row.query_id],
        }
        for row in benchmark.items(name)
    ]
    features = datasets.Features(
        {
            "query_id": datasets.Value("string"),
            "query": datasets.Value("string"),
            "passages": {
                "passage_text": datasets.Sequence(datasets.Value("string")),
                "is_selected": datasets.Sequence(datasets.Value("int32")),
            },
            "org_answers": datasets.Sequence(datasets.Value("string")),
        }
    )
    out.mkdir(parents=True, exist_ok=True)
    datasets.Dataset.from_list(rows, features=features).save_to_disk(str(out / "data"))
    lost.append("passage ids and titles: passages are known by their text")
    if any(benchmark.gold["text"].to_pylist()):
        lost.append("long gold answers")
    return lost


def export_attributed_ir(folder: Path, out: Path, options: ContextOptions) -> DroppedFields:
    """Write a benchmark in Attributed-IR's layout, ``data.csv``; list what is lost.

    Returns:
        What is lost, one line each.
    """
    benchmark = Base(folder)
    name, lost = choose_context(benchmark, options)
    out.mkdir(parents=True, exist_ok=True)
    with (out / "data.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["query_id", "query", "quotes", "answers", "output"])
        for row in benchmark.items(name):
            quotes = [
                {"idx": i, "docid": d.id, "title": d.title, "text": d.text}
                for i, d in enumerate(row.passages, 1)
            ]
            answers = [
                {"answer": g.text, "answer_type": g.answer_type,
                 "informative": g.informative, "attributable": g.attributable}
                for g in row.gold if g.text
            ]  # fmt: skip
            writer.writerow([row.query_id, row.query, repr(quotes), repr(answers), ""])
    return [*lost, "relevance labels of passages", "sentence labels of gold answers"]


def export_kalma(folder: Path, out: Path, options: ContextOptions) -> DroppedFields:
    """Write a benchmark in KaLMA's layout of JSON files; list what is lost.

    Gold goes into ``gold.json`` (with rounds) and ``gold_no_round1.json``, the two files that
    KaLMA's code reads.

    Returns:
        What is lost, one line each.
    """
    package = Package(folder)
    name = options.context or "full"
    graphs = [list(item.graphs) for item in package.items(name)]
    n_lost = 0
    for form, table in package.forms.items():
        empty = [json.loads(m or "{}").get(EMPTY, {}) for m in table["metadata"].to_pylist()]
        n_lost = write_items(table["text"].to_pylist(), graphs, out / f"{form}.json", empty)
    rows = by_query(package.gold.to_pylist())
    if rows:
        gold = [[(from_row(r), r["round"]) for r in rows.get(q, [])] for q in package.query_ids]
        later = [[(t, n) for t, n in mine if n != 1] for mine in gold]
        questions: list[str] = package.queries["text"].to_pylist()
        write_gold(questions, gold, out / "gold.json")
        write_gold(questions, later, out / "gold_no_round1.json")
    lost = ["query ids, ids of relations and values, precision of dates"]
    if n_lost:
        lost.append(f"{n_lost} further values of relations that have several")
    return lost + other_contexts(package, name, f"{name}_general")


def write_items(
    questions: Sequence[str],
    graphs: Sequence[Sequence[Graph]],
    path: Path,
    empty_relations: Sequence[Mapping[str, Mapping[str, str]]] = (),
) -> int:
    """Write questions with graphs in KaLMA's layout; return how many relation values are lost.

    Args:
        questions: texts.
        graphs: sub-graphs of each.
        path: file to make.
        empty_relations: per question, relations with an empty value by entity; none if built.

    Returns:
        Number of values that the layout, with one value per relation, cannot hold.
    """
    lost = 0
    rows = []
    for at, (question, mine) in enumerate(zip(questions, graphs, strict=True)):
        entries = []
        for graph in mine:
            entry: dict[str, str] = {}
            for triple in graph.triples:
                lost += entry.get(triple.relation, triple.value) != triple.value
                entry.setdefault(triple.relation, triple.value)
            blank = dict(empty_relations[at].get(graph.qid, {})) if empty_relations else {}
            entries.append({**blank, **entry, "name": graph.name, "qid": graph.qid})
        rows.append([question, entries])
    write_text(path, json.dumps(rows, ensure_ascii=False, indent=1) + "\n")
    return lost


def write_gold(
    questions: Sequence[str], gold: Sequence[Sequence[tuple[Triple, int]]], path: Path
) -> None:
    """Write questions with gold facts and their rounds in BioKaLMA's layout.

    Args:
        questions: texts.
        gold: facts of each, with the round of the build that added them (0 if unknown).
        path: file to make.
    """
    rows = [
        [q, [[t.qid, t.relation, t.value, *([number] if number else [])] for t, number in mine]]
        for q, mine in zip(questions, gold, strict=True)
    ]
    write_text(path, json.dumps(rows, ensure_ascii=False, indent=1) + "\n")


ALCE = Export("alce", "ALCE's list of questions with documents.", export_alce, ContextOptions)
ATTRIEVAL = Export(
    "attrieval", "AttriEval's data set of questions.", export_attrieval, ContextOptions
)
ATTRIBUTED_IR = Export(
    "attributed-ir", "Attributed-IR's CSV of questions.", export_attributed_ir, ContextOptions
)
KALMA = Export(
    "kalma", "KaLMA's questions, sub-graphs and gold.", export_kalma, ContextOptions, of="triples"
)
