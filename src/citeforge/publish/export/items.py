"""Layouts of one row a question: ALCE, AttriEval, Attributed-IR, and KaLMA's JSON."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

from citeforge.builders.derive import Base
from citeforge.engines.files import write_text
from citeforge.engines.tables import read_table, shard_paths
from citeforge.ir_convert.kalma import write_gold, write_items
from citeforge.package.manifest import load_intact
from citeforge.publish.export.tables import Lost
from citeforge.schemas.errors import InputError
from citeforge.schemas.kg import EMPTY, KG_CONTEXTS, KG_GOLD, Triple, from_row, graphs_of
from citeforge.schemas.tables import QUERIES


def only_context(base: Base, context: str | None) -> tuple[str, Lost]:
    """The context set that a layout with one context a question takes, and what it leaves."""
    name = context or next(iter(base.manifest.contexts))
    others = [n for n in base.manifest.contexts if n != name]
    lost = [f"context sets but {name}: {', '.join(others)}"] if others else []
    if any(base.negatives.values()):
        lost.append("mapped negatives that the context does not show")
    return name, lost


def export_alce(base: Base, out: Path, context: str | None = None) -> Lost:
    """``data.json``: a list of items with question, docs, and what gold there is."""
    name, lost = only_context(base, context)
    items = []
    for row in base.items(name):
        item: dict[str, Any] = {
            "sample_id": row.query_id,
            "question": row.query,
            "docs": [{"id": d.id, "title": d.title, "text": d.text} for d in row.passages],
        }
        pairs = [g for g in row.gold if g.kind == "qa_pair"]
        if pairs:
            item["qa_pairs"] = [
                {"question": g.text or "", "short_answers": list(g.aliases)} for g in pairs
            ]
        longs = [g.text for g in row.gold if g.kind == "long_answer"]
        if longs:
            item["annotations"] = [{"long_answer": t} for t in longs]
        lists = [list(g.aliases) for g in row.gold if g.kind == "answer_list"]
        if lists:
            item["answers"] = lists
        claims = [g.text for g in row.gold if g.kind == "claim"]
        if claims:
            item["claims"] = claims
        answers = [g.text for g in row.gold if g.kind == "answer" and g.text]
        if answers:
            item["answer"] = answers[0]
        short = base.answers[row.query_id]
        if short and not pairs and not lists:
            item["qa_pairs"] = [{"question": row.query, "short_answers": short}]
        items.append(item)
    write_text(out / "data.json", json.dumps(items, ensure_ascii=False, indent=1) + "\n")
    lost.append("relevance labels: ALCE calls documents relevant that hold a short answer")
    if any(g["citations"] for g in base.gold.to_pylist()):
        lost.append("citations and labels of gold answers, and all answers but the first")
    return lost


def export_attrieval(base: Base, out: Path, context: str | None = None) -> Lost:
    """A saved ``datasets.Dataset``: query, passages{passage_text, is_selected}, org_answers."""
    import datasets

    datasets.disable_progress_bars()
    name, lost = only_context(base, context)
    rows = [
        {
            "query_id": row.query_id,
            "query": row.query,
            "passages": {
                "passage_text": [d.text for d in row.passages],
                "is_selected": [int(d.is_relevant) for d in row.passages],
            },
            "org_answers": base.answers[row.query_id],
        }
        for row in base.items(name)
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
    if any(base.gold["text"].to_pylist()):
        lost.append("long gold answers")
    return lost


def export_attributed_ir(base: Base, out: Path, context: str | None = None) -> Lost:
    """``data.csv``: Python literals in cells; ``output`` is left empty for the system."""
    name, lost = only_context(base, context)
    out.mkdir(parents=True, exist_ok=True)
    with (out / "data.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["query_id", "query", "quotes", "answers", "output"])
        for row in base.items(name):
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


def export_kalma(folder: Path, out: Path, context: str | None = None) -> Lost:
    """``specific.json``, ``general.json`` and, where there is gold, ``gold.json`` (with rounds) and
    ``gold_no_round1.json``: the two files that KaLMA's code reads.

    Raises:
        InputError: not a kalma benchmark.
    """
    manifest = load_intact(folder)
    if manifest.kind != "kalma":
        raise InputError(
            f"is a {manifest.kind} benchmark", path=folder, allowed="one of build kalma"
        )
    name = context or "full"
    rows = read_table(shard_paths(folder / "contexts", name), KG_CONTEXTS).to_pylist()
    graphs = [list(graphs_of([from_row(t) for t in r["triples"]])) for r in rows]
    n_lost = 0
    specific: list[str] = []
    for form in ("specific", "general"):
        table = read_table(shard_paths(folder / "queries", form), QUERIES)
        texts: list[str] = table["text"].to_pylist()
        if texts:
            empty = [json.loads(m or "{}").get(EMPTY, {}) for m in table["metadata"].to_pylist()]
            n_lost = write_items(texts, graphs, out / f"{form}.json", empty)
        specific = texts if form == "specific" else specific
    gold: dict[str, list[tuple[Triple, int]]] = {r["query_id"]: [] for r in rows}
    for row in read_table(shard_paths(folder / "gold", "gold"), KG_GOLD).to_pylist():
        gold[row["query_id"]].append((from_row(row), row["round"]))
    if any(gold.values()):
        later = [[(t, n) for t, n in mine if n != 1] for mine in gold.values()]
        write_gold(specific, list(gold.values()), out / "gold.json")
        write_gold(specific, later, out / "gold_no_round1.json")
    lost = ["query ids, ids of relations and values, precision of dates"]
    if n_lost:
        lost.append(f"{n_lost} further values of relations that have several")
    others = [n for n in manifest.contexts if n not in (name, f"{name}_general")]
    return lost + ([f"context sets but {name}: {', '.join(others)}"] if others else [])
