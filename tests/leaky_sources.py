"""Sources as careless people make them: ids, orders and metadata tell what is relevant."""

import json
import random
from pathlib import Path
from typing import Any

from conftest import write_beir

N = 30
"""Queries of a source."""


def n_relevant(number: int) -> int:
    """1, 2 and 3 relevant passages in turn."""
    return 1 + number % 3


def write_source(folder: Path) -> Path:
    """BEIR as careless people make it: relevant passages first, ids by hand, answers beside the
    questions, and the query noted beside its passage."""
    passages = [
        (q, i, i < n_relevant(q)) for i in range(8) for q in range(N)
    ]  # row by row: of each query the first, the second …
    texts, marks, qrels = {}, {}, []
    for at, (q, i, is_relevant) in enumerate(passages):
        name, topic = f"p{at:03d}", f"topic{q:02d}"
        texts[name] = f"{topic} " * (2 if is_relevant else 1) + f"word{at * 7 % 240} number{at}."
        if is_relevant:
            texts[name] += f" answer{q:02d}x{i}"
            marks[name] = {"is_gold_for": [f"q{q:02d}"]}
            qrels.append((f"q{q:02d}", name, 1))
    write_beir(folder, texts, {f"q{q:02d}": f"topic{q:02d}" for q in range(N)}, qrels)
    for file, result in (("corpus.jsonl", marks), ("queries.jsonl", _answers())):
        rows = [json.loads(line) for line in (folder / file).read_text().splitlines()]
        rows = [{**r, "metadata": result.get(r["_id"], {})} for r in rows]
        (folder / file).write_text("".join(json.dumps(r) + "\n" for r in rows))
    return folder


def _answers() -> dict[str, Any]:
    return {
        f"q{q:02d}": {"answers": [f"answer{q:02d}x{i}" for i in range(n_relevant(q))]}
        for q in range(N)
    }


def write_hagrid(path: Path, first: int = 0) -> Path:
    """Questions with six quotes, whose answers cite 1 to 3 of them from ``first`` on."""
    rows = []
    for q in range(N):
        quotes = [{"idx": i + 1, "docid": f"d{q:02d}{i}", "text": f"Quote {i} of question {q}."}
                  for i in range(6)]  # fmt: skip
        text = f"So it is {''.join(f'[{first + i + 1}]' for i in range(n_relevant(q)))}."
        answer: dict[str, Any] = {
            "answer": text,
            "answer_type": "long",
            "informative": 1,
            "attributable": 1,
        }
        answer["sentences"] = [{"text": text, "index": 0}]
        question = {"query_id": q, "query": f"What is {q}?"}
        rows.append({**question, "quotes": quotes, "answers": [answer]})
    path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    return path


def write_rage(folder: Path, relevant: dict[str, list[str]]) -> None:
    """Nine passages, which every query is shown, whatever is relevant."""
    texts = {f"p{i}": f"Thing {i} is so and so number{i}." for i in range(9)}
    qrels = [(q, p, 1) for q, ids in relevant.items() for p in ids]
    write_beir(folder, texts, {q: f"Which thing {q}?" for q in relevant}, qrels)


def write_asqa(path: Path, answer: str) -> None:
    """Two questions with three documents, of which one holds the answer."""
    docs = [{"id": f"d{i}", "title": "T", "text": f"It was in {1900 + i}."} for i in range(3)]
    pairs = [{"question": "When?", "short_answers": [answer], "context": ""}]
    rows = [
        {"sample_id": f"s{n}", "question": f"When was {n}?", "qa_pairs": pairs, "docs": docs,
         "annotations": [{"knowledge": [], "long_answer": f"In {answer}."}], "answer": answer}
        for n in range(2)
    ]  # fmt: skip
    path.write_text(json.dumps(rows))


def write_many(folder: Path, n: int = 700, most_relevant: int = 3) -> Path:
    """Many queries over few passages: 20 queries a theme, each with 1 to 3 relevant passages (or
    more) that have most of its words, and 30 passages a theme that are relevant to none.
    ``run.trec`` has the 14 passages that share most words with each query."""
    rng = random.Random(0)
    queries: dict[str, str] = {}
    texts: dict[str, str] = {}
    qrels, themes = [], {}
    for q in range(n):
        theme = [f"t{q // 20}w{k}" for k in range(12)]
        words = rng.sample(theme, 6)
        queries[f"q{q:03d}"] = " ".join(words)
        themes[f"q{q:03d}"] = q // 20
        for _ in range(1 + q % most_relevant):
            mine = [w for w in words if rng.random() < 0.85] + rng.sample(theme, 2)
            qrels.append((f"q{q:03d}", f"p{len(texts):05d}", 1))
            themes[qrels[-1][1]] = q // 20
            texts[qrels[-1][1]] = _text(mine, rng, len(texts))
    for i in range(30 * n // 20):
        theme = [f"t{i // 30}w{k}" for k in range(12)]
        themes[f"p{len(texts):05d}"] = i // 30
        texts[f"p{len(texts):05d}"] = _text(rng.sample(theme, 5), rng, len(texts))
    write_beir(folder, texts, queries, qrels)
    words_of = {name: set(text.split()) for name, text in texts.items()}
    lines = []
    for query, text in queries.items():
        words = set(text.split())
        names = [p for p in texts if themes[p] == themes[query]]
        names.sort(key=lambda p: -len(words & words_of[p]))
        lines += [f"{query} Q0 {p} {k} {1 / k} r" for k, p in enumerate(names[:14], 1)]
    (folder / "run.trec").write_text("\n".join(lines) + "\n")
    return folder


def _text(words: list[str], rng: random.Random, number: int) -> str:
    common = [f"common{rng.randrange(300)}" for _ in range(6)]
    return " ".join([*dict.fromkeys(words), *common, f"number{number}"])
